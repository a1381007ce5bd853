/* SPDX-License-Identifier: MIT */
#include "record/qemu/restore.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "record/qemu/leftover.h"
#include "record/qemu/log_destination.h"

#define CHARDEV QEMU_RESTORE_CHARDEV
#define SERIAL "strata-serial"
#define PORT "strata-agent-port"

/* QEMU removes a device when the guest releases it, which may take a moment, or never happen. */
#define REMOVE_TRIES 40
#define REMOVE_WAIT_MS 50
/* What it leaves behind goes surely, when QEMU comes to it: once each vCPU has left the translated code that it is in,
 * which took more than 10 s on a busy machine. */
#define RELEASE_TRIES 1200

/* ---- The monitor's words ---- */

/* COMMAND "PATH" of the human monitor; what it prints is a complaint. */
static int human_path(struct qmp *qmp, const char *command, const char *path, struct error *error)
{
    _cleanup_free_ char *said = NULL;
    struct text line = TEXT_IN_MEMORY;
    int r;

    text_put_str(&line, command);
    text_put_literal(&line, " \"");
    for (const char *p = path; *p; p++) {
        if (*p == '"' || *p == '\\')
            text_put_char(&line, '\\');
        text_put_char(&line, *p);
    }
    text_put(&line, "\"", 2);
    r = line.error ? error_set(error, -ENOMEM, NULL, "out of memory")
                   : qmp_human(qmp, line.start, &said, error);
    text_done(&line);
    if (r >= 0 && said && said[0]) {
        said[strcspn(said, "\r\n")] = '\0';
        r = error_set(error, -EREMOTE, NULL, "%s", said);
    }
    return r;
}

static int human(struct qmp *qmp, const char *line, struct error *error)
{
    _cleanup_free_ char *said = NULL;
    int r = qmp_human(qmp, line, &said, error);

    if (r >= 0 && said && said[0]) {
        said[strcspn(said, "\r\n")] = '\0';
        r = error_set(error, -EREMOTE, NULL, "%s", said);
    }
    return r;
}

static int execute(struct qmp *qmp, const char *command, json_t *arguments, struct error *error)
{
    _cleanup_(json_decrefp) json_t *result = NULL;

    if (!arguments)
        return error_set(error, -ENOMEM, NULL, "out of memory, or text that is not valid UTF-8");
    return qmp_execute(qmp, command, arguments, &result, error);
}

/* ---- Where events go ---- */

int qemu_restore_log(struct qemu_restore *changes, struct qmp *qmp, const char *path,
                     const char *before, struct error *error)
{
    int r;

    changes->log =
        arena_strdup(&changes->arena, before ? before : log_destination_stderr(changes->pid));
    if (!changes->log)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    (void)qemu_leftover_save(changes);
    r = human_path(qmp, "logfile", path, error);
    /* One that QEMU cannot open leaves it without a log. */
    if (r < 0 && r != -EREMOTE)
        changes->log = NULL;
    return r;
}

static void restore_log(struct qemu_restore *changes, struct qmp *qmp, struct error *error)
{
    struct log_loan loan = LOG_LOAN_NONE;
    struct error unused = {0};

    /* Nobody can restore it, as was said before it was changed: QEMU logs nothing from now on. */
    if (!log_destination_is_reachable(changes->pid, changes->log))
        error = &unused;
    if (log_destination_is_stderr(changes->log))
        loan = log_destination_lend_stderr(changes->pid);
    (void)human_path(qmp, "logfile", changes->log, error);
    log_destination_return(&loan);
}

int qemu_restore_simple(struct qemu_restore *changes, struct qmp *qmp, const char *path,
                        struct error *error)
{
    _cleanup_free_ char *said = NULL;
    const char *start, *end;
    int r = qmp_human(qmp, "trace-file", &said, error);

    if (r < 0)
        return r;
    /* Trace file "PATH" on. */
    start = strchr(said, '"');
    end = start ? strrchr(said, '"') : NULL;
    if (!start || end == start)
        return error_set(error, -EREMOTE, NULL, "%s", said);
    changes->simple_was_on = strstr(end, "on") != NULL;
    changes->simple = arena_strndup(&changes->arena, start + 1, (size_t)(end - start - 1));
    if (!changes->simple)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    (void)qemu_leftover_save(changes);
    r = human_path(qmp, "trace-file set", path, error);
    if (r < 0)
        changes->simple = NULL;
    else
        r = human(qmp, "trace-file on", error);
    return r;
}

/* ---- Events ---- */

/* All events, each with its state. */
static int get_states(struct qmp *qmp, json_t **ret, struct error *error)
{
    return qmp_execute(qmp, "trace-event-get-state", json_pack("{s:s}", "name", "*"), ret, error);
}

static int switch_events(struct qmp *qmp, const char *name, bool on, struct error *error)
{
    return execute(
        qmp, "trace-event-set-state",
        json_pack("{s:s, s:b, s:b}", "name", name, "enable", on, "ignore-unavailable", 1), error);
}

/* Before the first event is switched. */
static int save_states(struct qemu_restore *changes, struct qmp *qmp, struct error *error)
{
    int r = changes->states ? 0 : get_states(qmp, &changes->states, error);

    if (r >= 0)
        (void)qemu_leftover_save(changes);
    return r;
}

static bool was_on(const struct qemu_restore *changes, const char *wanted)
{
    const json_t *event;
    size_t i;

    json_array_foreach(changes->states, i, event)
    {
        const char *name = json_string_value(json_object_get(event, "name"));
        const char *state = json_string_value(json_object_get(event, "state"));

        if (name && state && strcmp(name, wanted) == 0)
            return strcmp(state, "enabled") == 0;
    }
    return false;
}

int qemu_restore_log_line(struct qemu_restore *changes, struct qmp *qmp, struct error *error)
{
    static const char event[] = QEMU_RESTORE_EVENT;
    int r = save_states(changes, qmp, error);

    if (r >= 0)
        r = switch_events(qmp, event, true, error);
    /* This command is logged, too, if the event was on before. */
    if (r >= 0)
        r = switch_events(qmp, event, was_on(changes, event), error);
    return r;
}

int qemu_restore_events(struct qemu_restore *changes, struct qmp *qmp, const char *const *patterns,
                        unsigned n, struct error *error)
{
    int r = save_states(changes, qmp, error);

    for (unsigned i = 0; i < n && r >= 0; i++) {
        bool on = patterns[i][0] != '-';

        r = switch_events(qmp, patterns[i] + !on, on, error);
    }
    return r;
}

/* Also what others have switched meanwhile. To ask for the states again would leave all of them in the trace,
 * where the monitor is traced. */
static void restore_events(struct qemu_restore *changes, struct qmp *qmp, struct error *error)
{
    const json_t *event;
    size_t i;

    if (!changes->states || switch_events(qmp, "*", false, error) < 0)
        return;
    json_array_foreach(changes->states, i, event)
    {
        const char *name = json_string_value(json_object_get(event, "name"));
        const char *state = json_string_value(json_object_get(event, "state"));

        if (name && state && strcmp(state, "enabled") == 0)
            (void)switch_events(qmp, name, true, error);
    }
    json_decref(changes->states);
    changes->states = NULL;
}

/* ---- A port ---- */

static int add_chardev(struct qmp *qmp, const char *path, struct error *error)
{
    return execute(qmp, "chardev-add",
                   json_pack("{s:s, s:{s:s, s:{s:{s:s, s:{s:s}}, s:b, s:b}}}", "id", CHARDEV,
                             "backend", "type", "socket", "data", "addr", "type", "unix", "data",
                             "path", path, "server", 1, "wait", 0),
                   error);
}

static int add_port(struct qmp *qmp, const char *name, struct error *error)
{
    return execute(qmp, "device_add",
                   json_pack("{s:s, s:s, s:s, s:s}", "driver", "virtserialport", "id", PORT,
                             "chardev", CHARDEV, "name", name),
                   error);
}

/* Asks until QEMU has removed the device, at most REMOVE_TRIES times. */
static int remove_device(struct qmp *qmp, const char *id, struct error *error)
{
    struct error why = {0};
    int r = execute(qmp, "device_del", json_pack("{s:s}", "id", id), error);

    for (unsigned i = 0; i < REMOVE_TRIES && r >= 0; i++) {
        error_clear(&why);
        if (execute(qmp, "device_del", json_pack("{s:s}", "id", id), &why) == -EREMOTE &&
            strstr(why.what, "not found"))
            return 0;
        (void)poll(NULL, 0, REMOVE_WAIT_MS);
    }
    return r < 0 ? r : error_set(error, -EBUSY, NULL, "the guest has not released %s", id);
}

static int remove_chardev(struct qmp *qmp, struct error *error)
{
    int r = -EREMOTE;

    for (unsigned i = 0; i < RELEASE_TRIES && r == -EREMOTE; i++) {
        struct error why = {0};

        if (i > 0)
            (void)poll(NULL, 0, REMOVE_WAIT_MS);
        r = execute(qmp, "chardev-remove", json_pack("{s:s}", "id", CHARDEV), &why);
        if (r < 0 && (r != -EREMOTE || i + 1 == RELEASE_TRIES) && !error->code)
            *error = why;
    }
    return r;
}

static void remove_port(struct qemu_restore *changes, struct qmp *qmp, struct error *error)
{
    if (changes->port && remove_device(qmp, PORT, error) >= 0)
        changes->port = false;
    if (changes->serial && remove_device(qmp, SERIAL, error) >= 0)
        changes->serial = false;
    /* It is in use as long as the port is there, and a moment longer. */
    if (changes->chardev && !changes->port && remove_chardev(qmp, error) >= 0)
        changes->chardev = false;
}

#define DEVICES "/machine/peripheral/"
#define CHARDEVS "/chardevs/"

/* -errno with ERROR: it is not known. */
static int find_object(struct qmp *qmp, const char *path, bool *ret, struct error *error)
{
    struct error why = {0};
    int r = execute(qmp, "qom-list", json_pack("{s:s}", "path", path), &why);

    if (r < 0 && r != -EREMOTE)
        return error_set(error, r, why.path[0] ? why.path : NULL, "%s", why.what);
    *ret = r >= 0;
    return 0;
}

int qemu_restore_find_port(struct qemu_restore *changes, struct qmp *qmp, struct error *error)
{
    int r = find_object(qmp, CHARDEVS CHARDEV, &changes->chardev, error);

    if (r >= 0)
        r = find_object(qmp, DEVICES SERIAL, &changes->serial, error);
    if (r >= 0)
        r = find_object(qmp, DEVICES PORT, &changes->port, error);
    return r;
}

int qemu_restore_port(struct qemu_restore *changes, struct qmp *qmp, const char *name,
                      const char *path, struct error *error)
{
    struct error why = {0};
    int r = add_chardev(qmp, path, error);

    if (r < 0)
        return r;
    changes->chardev = true;
    /* On a device that the machine has. */
    r = add_port(qmp, name, &why);
    if (r == -EREMOTE) {
        r = execute(qmp, "device_add",
                    json_pack("{s:s, s:s}", "driver", "virtio-serial-pci", "id", SERIAL), error);
        if (r < 0)
            return r;
        changes->serial = true;
        r = add_port(qmp, name, error);
    }
    if (r >= 0)
        changes->port = true;
    return r;
}

/* ---- The way back ---- */

/* QEMU truncates the file when it opens it, so the file that it had written before is renamed. */
static void keep_simple(struct qemu_restore *changes)
{
    _cleanup_free_ char *path = NULL, *kept = NULL;
    struct stat st;

    if ((*changes->simple == '/'
             ? asprintf(&path, "%s", changes->simple)
             : asprintf(&path, "/proc/%ld/cwd/%s", (long)changes->pid, changes->simple)) < 0) {
        path = NULL;
        return;
    }
    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
        return;
    for (unsigned i = 1; i < 1000; i++) {
        free(kept);
        if (asprintf(&kept, "%s.%u", path, i) < 0) {
            kept = NULL;
            return;
        }
        if (link(path, kept) == 0 && unlink(path) == 0) {
            changes->kept = arena_strdup(&changes->arena, kept);
            return;
        }
        if (errno != EEXIST)
            return;
    }
}

static void restore_simple(struct qemu_restore *changes, struct qmp *qmp, struct error *error)
{
    (void)human(qmp, "trace-file flush", error);
    (void)human(qmp, "trace-file off", error);
    if (changes->simple_was_on)
        keep_simple(changes);
    (void)human_path(qmp, "trace-file set", changes->simple, error);
    if (changes->simple_was_on)
        (void)human(qmp, "trace-file on", error);
}

int qemu_restore_undo(struct qemu_restore *changes, struct qmp *qmp, struct error *error)
{
    struct error first = {0}; /* each function leaves what is in it */

    restore_events(changes, qmp, &first);
    if (changes->log)
        restore_log(changes, qmp, &first);
    changes->log = NULL;
    if (changes->simple)
        restore_simple(changes, qmp, &first);
    changes->simple = NULL;
    remove_port(changes, qmp, &first);
    if (first.code && error)
        *error = first;
    return first.code;
}

bool qemu_restore_is_due(const struct qemu_restore *changes)
{
    return changes->states || changes->log || changes->simple || changes->chardev ||
           changes->serial || changes->port;
}

void qemu_restore_done(struct qemu_restore *changes)
{
    json_decref(changes->states);
    arena_done(&changes->arena);
    *changes = (struct qemu_restore){0};
}
