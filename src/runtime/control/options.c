/* SPDX-License-Identifier: MIT */
#include "runtime/control/options.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/control/control.h"
#include "runtime/control/event_rules.h"
#include "runtime/control/pattern.h"
#include "runtime/control/snapshot.h"
#include "runtime/events.h"
#include "runtime/macro.h"
#include "runtime/message.h"
#include "runtime/process/file.h"
#include "runtime/process/log.h"
#include "runtime/ring/no_rings.h"
#include "runtime/ring/process_dir.h"
#include "runtime/ring/ring.h"
#include "runtime/ring/ring_drops.h"
#include "runtime/sinks/output.h"
#include "runtime/trace_counts.h"
#include "runtime/writer.h"

/* ---- What was said so far ---- */

struct name {
    struct name *next;
    char text[];
};

static struct {
    pthread_mutex_t lock; /* before the pass lock. Messages are said under it */
    bool asked;           /* events were switched, so there is to be a trace */
    unsigned backends;    /* a bit for each enum strata_backend that is there */
    bool chosen;          /* a sink was named */
    int by_default;       /* the sink that is on because none was named; -1: none */
    char *file;           /* of file=, NULL: not given */
    int file_sink;        /* where it went; -1: nowhere yet; SINKS: to the log */
    bool list;            /* `help` in the environment: groups are listed as they come */
    struct name *names;   /* in the environment, to be looked for at the end */
    struct ring_options rings;
    char *rings_dir;
} said = {.lock = PTHREAD_MUTEX_INITIALIZER, .by_default = -1, .file_sink = -1};

/* How one string of options is read. */
struct reading {
    bool early; /* from the environment: neither events nor backends are known */
    bool help;
};

/* ---- Events ---- */

static int list_one(const struct strata_event *event, void *userdata)
{
    fprintf(userdata, "%s\n", event->name);
    return 0;
}

static int remember_name(const char *name)
{
    size_t size = strlen(name) + 1;
    struct name *entry = malloc(sizeof(*entry) + size);

    if (!entry)
        return -ENOMEM;
    memcpy(entry->text, name, size);
    entry->next = said.names;
    said.names = entry;
    return 0;
}

/* Cuts "PATTERN: CONDITION" behind the pattern. *RET: the condition, NULL: there is none. */
static void cut_condition(char *text, char **ret)
{
    char *colon = strchr(text, ':');
    char *end = colon;

    *ret = NULL;
    if (!colon)
        return;
    *ret = colon + 1 + strspn(colon + 1, " \t");
    while (end > text && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *end = '\0';
}

/* WHERE is "FILE:LINE: " or nothing. */
static int enable(struct reading *reading, char *pattern, const char *where)
{
    bool on = *pattern != '-';
    char *condition;
    int r;

    cut_condition(pattern, &condition);

    if (strcmp(pattern, "help") == 0 || strcmp(pattern, "?") == 0) {
        reading->help = true;
        return 0;
    }
    said.asked = true;
    pattern += !on;
    if (condition && !on) {
        trace_message("%s'-%s: %s': a pattern that switches off cannot have a condition", where,
                      pattern, condition);
        return -EINVAL;
    }
    r = condition ? event_rules_set_filter(pattern, condition, where, reading->early)
                  : strata_event_set_state(pattern, on);
    switch (r) {
    case -EBADMSG: return -EINVAL; /* reported, like an event that refuses its condition */
    case -EOPNOTSUPP: return 0;
    case -ENOENT:
        if (reading->early)
            return remember_name(pattern);
        trace_message("%swarning: trace event '%s' does not exist", where, pattern);
        return 0;
    case -EPERM:
        trace_message("%swarning: trace event '%s' is not traceable", where, pattern);
        return 0;
    case -EINVAL: trace_message("%sno event or pattern is given", where); return r;
    default: return r < 0 ? r : 0;
    }
}

#define EVENTS_FILE_MAX (16U << 20) /* bytes */

/* A FIFO or a device could keep the calling thread for ever, or never end. */
static FILE *open_events(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    FILE *f = NULL;
    int r = 0;

    if (fd < 0) {
        r = errno;
    } else if (fstat(fd, &st) < 0) {
        r = errno;
    } else if (!S_ISREG(st.st_mode)) {
        trace_message("%s: not a regular file", path);
        errno = EINVAL;
    } else if (st.st_size > EVENTS_FILE_MAX) {
        trace_message("%s: larger than %u MiB", path, EVENTS_FILE_MAX >> 20);
        errno = EFBIG;
    } else {
        f = fdopen(fd, "r");
        r = f ? 0 : errno;
    }
    if (r) {
        trace_message("%s: %s", path, strerror(r));
        errno = r;
    }
    if (!f && fd >= 0) {
        int saved_errno = errno;

        close(fd);
        errno = saved_errno;
    }
    return f;
}

static int read_events(struct reading *reading, const char *path)
{
    FILE *f = open_events(path);
    char *line = NULL;
    size_t size = 0;
    unsigned number = 0;
    ssize_t n;
    int r = 0;

    if (!f)
        return -errno;
    while (r >= 0 && (n = getline(&line, &size, f)) >= 0) {
        char where[256];

        number++;
        while (n > 0 && strchr(" \t\r\n", line[n - 1]))
            line[--n] = '\0';
        if (n == 0 || *line == '#')
            continue;
        snprintf(where, sizeof(where), "%s:%u: ", path, number);
        r = enable(reading, line, where);
    }
    if (r >= 0 && ferror(f)) {
        r = -EIO;
        trace_message("%s: %s", path, strerror(errno));
    }
    free(line);
    fclose(f);
    return r;
}

/* ---- Where records go ---- */

static bool has_own_states(void)
{
    return said.backends & 1U << STRATA_BACKEND_OWN_STATES;
}

static bool has_rings(void)
{
    return said.backends & (1U << STRATA_BACKEND_RING | 1U << STRATA_BACKEND_SIMPLE);
}

static const char *const sink_names[SINKS] = {"ctf", "simple", "log", "syslog", "ftrace"};

/* A path that cannot be written now is retried while the program runs, so it is reported, not
 * returned as an error. */
static int sink_on(enum sink_number number, const char *path, bool early)
{
    /* The lines of the backends of the same names go there too, from the first one on. */
    bool lines_too = number == SINK_SYSLOG || number == SINK_FTRACE;
    int r = 0;

    if (writer_sink_is_paused(number) && !writer_sink_is_on(number))
        (void)writer_sink_resume(number); /* a path for the sink also resumes it */
    r = writer_sink_on(number, path, lines_too || (!early && has_rings()));

    if (r == -ENOMEM)
        return r;
    if (r < 0) {
        _cleanup_free_ char *file = path && strstr(path, "%p") ? output_path(path) : NULL;

        trace_message("cannot write the trace (%s%s%s): %s; events are lost until that changes",
                      sink_names[number], path ? " " : "",
                      file   ? file
                      : path ? path
                             : "",
                      file_error_text(r));
    }
    if (said.by_default >= 0 && said.by_default != (int)number &&
        !writer_sink_is_open((enum sink_number)said.by_default))
        writer_sink_off((enum sink_number)said.by_default);
    said.by_default = -1;
    said.chosen = true;
    return 0;
}

static int set_log_file(const char *path)
{
    _cleanup_free_ char *full = output_path(path);
    int r = full ? log_set_file(full) : -ENOMEM;

    if (r < 0)
        trace_message("%s: %s", path, file_error_text(r));
    return r;
}

/* file= is of whatever kind of file the program was built to write. */
static int place_file(bool early)
{
    int sink = said.backends & 1U << STRATA_BACKEND_SIMPLE ? SINK_SIMPLE
               : has_rings()                               ? SINK_CTF
                                                           : SINKS;
    int r;

    if (!said.file || said.file_sink == sink)
        return 0;
    if (said.file_sink >= 0 &&
        (said.file_sink == SINKS || writer_sink_is_open((enum sink_number)said.file_sink)))
        return 0;
    if (said.file_sink >= 0)
        writer_sink_off((enum sink_number)said.file_sink);
    said.file_sink = sink;
    if (sink < SINKS)
        return sink_on((enum sink_number)sink, said.file, early);
    r = set_log_file(said.file);
    return r;
}

static int set_file(struct reading *reading, const char *path)
{
    char *copy = output_absolute(path);

    if (!copy)
        return -ENOMEM;
    free(said.file);
    said.file = copy;
    said.file_sink = -1;
    return reading->early ? 0 : place_file(false);
}

/* For events that are enabled without a sink. */
static void choose_default(void)
{
    int sink = said.backends & 1U << STRATA_BACKEND_SIMPLE ? SINK_SIMPLE : SINK_CTF;

    if (!(said.asked || has_own_states()) || said.chosen || !has_rings() || said.by_default == sink)
        return;
    if (said.by_default >= 0) {
        if (writer_sink_is_open((enum sink_number)said.by_default))
            return;
        writer_sink_off((enum sink_number)said.by_default);
    }
    writer_sink_on((enum sink_number)sink, NULL, false);
    said.by_default = sink;
}

/* ---- Rings ---- */

static int parse_size(const char *text, size_t *ret)
{
    unsigned long long n;
    char *end;

    if (*text < '0' || *text > '9')
        return -EINVAL;
    errno = 0;
    n = strtoull(text, &end, 10);
    if (errno || n == 0 || n > UINT32_MAX)
        return -EINVAL;
    switch (*end) {
    case 'k':
    case 'K':
        n <<= 10;
        end++;
        break;
    case 'M':
        n <<= 20;
        end++;
        break;
    case 'G':
        n <<= 30;
        end++;
        break;
    default: break;
    }
    if (*end || n > SIZE_MAX)
        return -EINVAL;
    *ret = (size_t)n;
    return 0;
}

static int set_rings(void)
{
    said.rings.n_classes = class_count();
    said.rings.dir = said.rings.unnamed ? NULL : said.rings_dir;
    return ring_setup(&said.rings);
}

static int set_size(const char *key, const char *value, size_t *size)
{
    struct ring_options before = said.rings;
    int r = value ? parse_size(value, size) : -EINVAL;

    if (r >= 0)
        r = set_rings();
    if (r < 0) {
        said.rings = before;
        trace_message("%s=%s: invalid size (examples: 65536, 512k, 4M; a subbuffer is at most half "
                      "of a ring)",
                      key, value ? value : "");
    }
    return r;
}

static int set_rings_dir(const char *path)
{
    char *copy = output_path(path);
    int r;

    if (!copy)
        return -ENOMEM;
    free(said.rings_dir);
    said.rings_dir = copy;
    said.rings.unnamed = strcmp(path, "-") == 0;
    r = set_rings();
    if (r < 0)
        trace_message("rings=%s: %s", path, strerror(-r));
    return r;
}

/* Selects what drains the rings: the library's thread, or only a collector outside of the process. */
static int set_writer(const char *value)
{
    if (strcmp(value, "none") != 0 && strcmp(value, "thread") != 0) {
        trace_message("writer=%s: invalid value (thread, none)", value);
        return -EINVAL;
    }
    writer_allow(*value == 't');
    return 0;
}

static int set_mode(const char *value)
{
    if (strcmp(value, "overwrite") != 0 && strcmp(value, "discard") != 0) {
        trace_message("mode=%s: invalid value (discard, overwrite)", value);
        return -EINVAL;
    }
    said.rings.overwrite = *value == 'o';
    return set_rings();
}

/* ---- Snapshots and the control socket ---- */

static int set_snapshot_signal(const char *value)
{
    int number, r;

    r = snapshot_parse_signal(value, &number);
    if (r >= 0)
        r = snapshot_set_signal(number);
    if (r == -EBUSY)
        trace_message("snapshot-signal=%s: the program handles that signal itself", value);
    else if (r == -EINVAL)
        trace_message("snapshot-signal=%s: invalid signal (a name like USR2, a number, or off)",
                      value);
    else if (r < 0)
        trace_message("snapshot-signal=%s: %s", value, strerror(-r));
    return r;
}

static int set_control(const char *value)
{
    if (strcmp(value, "on") != 0 && strcmp(value, "off") != 0) {
        trace_message("control=%s: invalid value (on, off)", value);
        return -EINVAL;
    }
    control_switch(strcmp(value, "on") == 0);
    return 0;
}

/* ---- The language ---- */

static int set_timestamps(const char *value)
{
    if (strcmp(value, "on") != 0 && strcmp(value, "off") != 0) {
        trace_message("timestamps=%s: invalid value (on, off)", value);
        return -EINVAL;
    }
    log_set_stamps(strcmp(value, "on") == 0);
    return 0;
}

static int set_unsafe_directory(const char *value)
{
    if (strcmp(value, "on") != 0 && strcmp(value, "off") != 0) {
        trace_message("unsafe-directory=%s: invalid value (on, off)", value);
        return -EINVAL;
    }
    file_allow_unsafe(strcmp(value, "on") == 0);
    return 0;
}

static int need_value(const char *key)
{
    trace_message("%s needs a value: %s=...", key, key);
    return -EINVAL;
}

/* VALUE is NULL if there is no '='. */
static int set_one(struct reading *reading, const char *key, char *value)
{
    for (unsigned i = 0; i < SINKS; i++)
        if (strcmp(key, sink_names[i]) == 0) {
            if (i == SINK_LOG && !value)
                log_note_standard_error();
            return sink_on((enum sink_number)i, value, reading->early);
        }
    if (strcmp(key, "ring") == 0)
        return set_size(key, value, &said.rings.size);
    if (strcmp(key, "subbuffer") == 0)
        return set_size(key, value, &said.rings.subbuffer_size);
    if (strcmp(key, "memory") == 0)
        return set_size(key, value, &said.rings.total);
    if (strcmp(key, "enable") == 0)
        return value ? enable(reading, value, "") : need_value(key);
    if (strcmp(key, "events") == 0)
        return value ? read_events(reading, value) : need_value(key);
    if (strcmp(key, "file") == 0)
        return value ? set_file(reading, value) : need_value(key);
    if (strcmp(key, "logfile") == 0)
        return value ? set_log_file(value) : need_value(key);
    if (strcmp(key, "timestamps") == 0)
        return value ? set_timestamps(value) : need_value(key);
    if (strcmp(key, "rings") == 0)
        return value ? set_rings_dir(value) : need_value(key);
    if (strcmp(key, "writer") == 0)
        return value ? set_writer(value) : need_value(key);
    if (strcmp(key, "mode") == 0)
        return value ? set_mode(value) : need_value(key);
    if (strcmp(key, "snapshot") == 0)
        return value && *value ? snapshot_set_dir(value) : need_value(key);
    if (strcmp(key, "snapshot-signal") == 0)
        return value ? set_snapshot_signal(value) : need_value(key);
    if (strcmp(key, "control") == 0)
        return value ? set_control(value) : need_value(key);
    if (strcmp(key, "unsafe-directory") == 0)
        return value ? set_unsafe_directory(value) : need_value(key);
    trace_message(
        "unknown trace option '%s' (valid: enable, events, file; ctf, simple, log, syslog, "
        "ftrace; logfile, timestamps; mode, ring, subbuffer, memory, rings, writer; "
        "snapshot, snapshot-signal; control; unsafe-directory)",
        key);
    return -EINVAL;
}

/* Cuts the next piece off *REST, up to a comma that stands alone; two become one. */
static char *next_piece(char **rest)
{
    char *piece = *rest;
    char *to = piece;
    char *p = piece;

    for (; *p; *to++ = *p++)
        if (*p == ',') {
            if (p[1] != ',')
                break;
            p++;
        }
    *rest = *p ? p + 1 : NULL;
    *to = '\0';
    return piece;
}

static int parse(struct reading *reading, const char *options)
{
    _cleanup_free_ char *copy = strdup(options);
    char *rest = copy;
    bool first = true;
    int r = 0;

    if (!copy) {
        trace_message("out of memory: the trace options '%s' have no effect", options);
        return -ENOMEM;
    }
    while (rest && r >= 0) {
        char *piece = next_piece(&rest);
        char *value = piece + strcspn(piece, "=:"); /* a ':' has a condition behind it */

        value = *value == '=' ? value : NULL;
        if (value)
            *value++ = '\0';
        if (!*piece && !value) /* nothing between two commas */
            ;
        else if (first && !value)
            r = enable(reading, piece, "");
        else
            r = set_one(reading, piece, value);
        if (r == -ENOMEM)
            trace_message("out of memory: the trace options from '%s' on have no effect", piece);
        first = false;
    }
    return r;
}

int options_apply(const char *options, bool *ret_help)
{
    struct reading reading = {false, false};
    int r;

    pthread_mutex_lock(&said.lock);
    r = parse(&reading, options);
    if (r >= 0)
        choose_default();
    process_dir_show();
    pthread_mutex_unlock(&said.lock);
    if (r >= 0)
        *ret_help = reading.help;
    return r;
}

bool options_overwrite(void)
{
    bool overwrite;

    pthread_mutex_lock(&said.lock);
    overwrite = said.rings.overwrite;
    pthread_mutex_unlock(&said.lock);
    return overwrite;
}

int strata_trace_opt_parse(const char *options)
{
    bool help;
    int r;

    if (!options)
        return -EINVAL;
    r = options_apply(options, &help);
    if (r < 0 || !help)
        return r;
    strata_event_foreach(NULL, list_one, stdout);
    fflush(stdout);
    return 1;
}

/* ---- The environment, and what comes later ---- */

static void RUNS_FIRST read_environment(void)
{
    const char *options = secure_getenv("STRATA_TRACE");
    struct reading reading = {true, false};

    while (options && *options) {
        const char *end = strchrnul(options, ';');
        _cleanup_free_ char *one = strndup(options, (size_t)(end - options));

        pthread_mutex_lock(&said.lock);
        if (one && *one)
            (void)parse(&reading, one); /* it has reported the error */
        pthread_mutex_unlock(&said.lock);
        options = *end ? end + 1 : end;
    }
    said.list = reading.help;
}

void strata_backend_register(enum strata_backend backend)
{
    pthread_mutex_lock(&said.lock);
    said.backends |= 1U << backend;
    (void)place_file(true);
    choose_default();
    pthread_mutex_unlock(&said.lock);
    writer_needed();
}

void options_group_came(const struct strata_group *group)
{
    pthread_mutex_lock(&said.lock);
    if (said.list)
        for (uint32_t i = 0; i < group->n_events; i++)
            (void)list_one(&group->events[i], stdout);
    (void)place_file(true);
    if (ring_count() == 0)
        (void)set_rings(); /* with room for the drops of all classes */
    process_dir_show();
    pthread_mutex_unlock(&said.lock);
}

/* Under registry_lock(). */
static bool any_is_on(void)
{
    for (uint32_t id = 1; id <= class_count(); id++)
        if (class_by_id(id)->on || class_by_id(id)->filtered)
            return true;
    return false;
}

void options_at_end(void)
{
    bool on;

    pthread_mutex_lock(&said.lock);
    for (const struct name *name = said.names; name; name = name->next) {
        const struct trace_class *class;

        registry_lock();
        class = class_named(name->text, NULL);
        registry_unlock();
        if (!class)
            trace_message("warning: trace event '%s' does not exist", name->text);
        else if (!class->compiled_in)
            trace_message("warning: trace event '%s' is not traceable", name->text);
    }
    registry_lock();
    event_rules_report_unused();
    /* A number may have been given to a ring that could not be made. */
    if ((ring_count() == 0 || (ring_drops_without_ring() > 0 && !dir_path())) && said.rings_dir &&
        !said.rings.unnamed)
        no_rings_report(said.rings_dir, has_rings());
    on = any_is_on();
    event_rules_end();
    registry_unlock();
    /* No trace was asked for, or no event was on, and nothing was traced: do not create a file under a default
     * name. */
    if ((!said.asked || !on) && said.by_default >= 0 && ring_count() == 0)
        writer_sink_off((enum sink_number)said.by_default);
    pthread_mutex_unlock(&said.lock);
}

int options_file_sink(void)
{
    if (writer_sink_is_on(SINK_SIMPLE))
        return SINK_SIMPLE;
    if (writer_sink_is_on(SINK_CTF))
        return SINK_CTF;
    if (!has_rings())
        return -EOPNOTSUPP;
    return said.backends & 1U << STRATA_BACKEND_SIMPLE ? SINK_SIMPLE : SINK_CTF;
}

void options_want_trace(void)
{
    said.asked = true;
    choose_default();
}

void options_file_chosen(void)
{
    free(said.file);
    said.file = NULL;
    said.file_sink = -1;
    said.by_default = -1;
    said.chosen = true;
}

void options_lock(void)
{
    pthread_mutex_lock(&said.lock);
}

void options_unlock(void)
{
    pthread_mutex_unlock(&said.lock);
}

int strata_trace_flush(void)
{
    return writer_flush();
}

void strata_trace_get_stats(struct strata_trace_stats *ret, size_t size)
{
    const struct strata_trace_stats stats = {
        .dropped = atomic_load(&trace_counts.events_dropped),
        .unwritten = atomic_load(&trace_counts.sinks_lost),
        .bytes = atomic_load(&trace_counts.bytes_written),
        .lines = atomic_load(&trace_counts.lines_lost),
        .refused = registry_refused(),
    };

    memset(ret, 0, size);
    memcpy(ret, &stats, size < sizeof(stats) ? size : sizeof(stats));
}
