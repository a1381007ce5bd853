/* SPDX-License-Identifier: MIT */
#include "format/kernel_text/kernel_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/map.h"
#include "base/text.h"
#include "format/kernel_text/ahead.h"
#include "format/kernel_text/fields.h"
#include "format/kernel_text/forms.h"
#include "format/kernel_text/graph.h"
#include "format/kernel_text/line.h"
#include "format/kernel_text/named.h"

#define RUN_MAX 512
#define PAYLOADS_SIZE ((size_t)512 * 1024)
#define CLASSES_MAX 4096u /* by name; further names of a damaged text share one class */
#define COMMS_MAX 65536u
#define TASKS_MAX 65536u
#define PROBE_LINES 64u
#define CPUS_MAX 65536u

/* trace_marker's event: what it is called in ftrace's text, and in its formats. */
#define MARKER "tracing_mark_write"
#define MARKER_CLASS "print"

/* A class, and how long the fields before its text are. */
struct text_class {
    const struct event_class *class;
    uint32_t size;
};

struct names {
    struct origin origin;
    const char **comms; /* from number 1 on */
    uint32_t n_comms;
    struct map tasks; /* by thread + 1: its newest name */
};

struct text_cpu {
    bool begun; /* of an overwritten file: its first event was met */
    bool has_last;
    int64_t last; /* when its last event was, or its last loss ended */
    uint64_t
        place; /* of its last item among all, from 1 on; 0: what follows it is known, or there was none */
    bool is_marked; /* that item was lent with before_loss */
};

struct kernel_text {
    struct source source;
    struct input in;
    struct catalogue *catalogue;
    struct names *names; /* in the catalogue's arena */
    struct map classes;  /* by "PATTERN GROUP:NAME" */
    struct map by_name;  /* the first class of each name */
    struct map comms;    /* by name */
    unsigned n_classes;
    enum kernel_text_kind kind;
    bool is_html;
    bool in_trace;    /* of a page: within its trace */
    bool skipping;    /* a line that is too long */
    uint64_t skipped; /* bytes of it */
    bool is_ticks;
    uint32_t time_unit_ns; /* as in struct kernel_line */
    int64_t time;          /* of the event before, or the first; TIME_UNKNOWN: there was none */
    int64_t begin;         /* of the first event */
    int error;
    unsigned n_events, n_other;
    bool after_marker;    /* the event before is trace_marker's, whose text may have newlines */
    unsigned n_continued; /* lines of these texts */
    unsigned n_fieldless; /* events that have fields, in a text that fields.h does not know */
    char fieldless[192];  /* of the first of them */
    /* Of ftrace's file `trace`: events of before were overwritten, and each CPU begins at a time of its own. */
    bool is_overwritten;
    struct text_cpu cpus[CPUS_MAX];
    uint64_t n_lent; /* items of the runs before */
    unsigned n_late; /* losses that were found so late */
    struct text_ahead ahead;
    struct cpu_set absent;  /* CPUs that are not in the text */
    unsigned of_cpus;       /* by its head it is of one CPU of so many; 0: it is not */
    uint32_t next_absent;   /* CPU_SET_MAX: none */
    bool is_looked_through; /* `ahead` is known */
    char hint[512];
    /* The line is to be read once more, after the loss that comes before it, or for its next event. */
    bool again;
    unsigned part; /* of the line: the number of its event that comes next */
    struct graph graph;
    size_t used;
    uint8_t *payloads;
    struct item items[RUN_MAX];
};

/* ---- Lines ---- */

/* The line at P, of N bytes that are there: its length, without its newline in *RET_TOTAL with it. False: it is not whole.
 * IS_END: nothing follows. */
static bool find_line(const uint8_t *p, size_t n, bool is_end, size_t *ret_len, size_t *ret_total)
{
    const uint8_t *newline = memchr(p, '\n', n);

    if (!newline && (!is_end || n == 0))
        return false;
    *ret_len = newline ? (size_t)(newline - p) : n;
    *ret_total = *ret_len + (newline != NULL);
    return true;
}

static bool begins(const char *text, size_t len, const char *with)
{
    size_t n = strlen(with);

    return len >= n && memcmp(text, with, n) == 0;
}

/* Lines that tell no event, and nothing is missing for it (T3). */
static bool is_passed_over(const char *text, size_t len)
{
    const char *p = text;

    while (p < text + len && *p == ' ')
        p++;
    return p == text + len || begins(p, (size_t)(text + len - p), "----------") || *text == '#' ||
           *text == '\t' || begins(p, (size_t)(text + len - p), "=>") ||
           kernel_form_is_no_event(text, len);
}

/* For an HTML page, whose traces are text in elements of their own. Returns false if the line is not in a trace. */
static bool is_in_trace(bool *in_trace, const char *text, size_t len)
{
    const char *script = memmem(text, len, "class=\"trace-data\"", 18);

    if (script || begins(text, len, "  <!-- BEGIN TRACE -->") ||
        begins(text, len, "<!-- BEGIN TRACE -->"))
        *in_trace = true;
    else if (memmem(text, len, "</script>", 9) || begins(text, len, "<!-- END TRACE -->"))
        *in_trace = false;
    else
        return *in_trace;
    return false;
}

static bool is_html(const char *text, size_t len)
{
    return begins(text, len, "<!DOCTYPE html") || begins(text, len, "<!DOCTYPE HTML") ||
           begins(text, len, "<html");
}

/* ---- Recognising ---- */

bool kernel_text_is_in_header(const void *head, size_t n)
{
    const char *p = head;
    const char *end = p + n;

    if (!begins(p, n, "# ========\n"))
        return false;
    while (p < end && *p == '#') {
        const char *newline = memchr(p, '\n', (size_t)(end - p));

        p = newline ? newline + 1 : end;
    }
    return !memchr(p, '\n', (size_t)(end - p));
}

bool kernel_text_probe(const void *head, size_t n)
{
    const char *p = head;
    const char *end = p + n;
    char message[KERNEL_FORM_MESSAGE_SIZE];

    if (!is_html(p, n) && kernel_form_refused(p, n, message, sizeof message))
        return true;
    if (is_html(p, n))
        return memmem(p, n, "Android System Trace", 20) || memmem(p, n, "trace-viewer", 12) ||
               memmem(p, n, "class=\"trace-data\"", 18);
    for (unsigned lines = 0; p < end && lines < PROBE_LINES; lines++) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        size_t len = (size_t)((newline ? newline : end) - p);
        struct kernel_line line;
        int32_t cpu;
        uint64_t lost;

        /* A header may have any number of lines. */
        lines -= len > 0 && *p == '#' && lines > 0;
        if (memchr(p, '\0', len))
            return false;
        if (kernel_line_read(p, len, &line) || kernel_line_lost(p, len, &cpu, &lost))
            return true;
        if (graph_probe(p, len, &line))
            return true;
        if (!is_passed_over(p, len))
            return false;
        if (begins(p, len, "# tracer: ") && !begins(p, len, "# tracer: function_graph"))
            return true;
        p += len + 1;
    }
    return false;
}

/* ---- Classes and names ---- */

static void put_text(const struct item *item, struct text *text)
{
    uint32_t size = item->reader_word;

    text_put(text, (const char *)item->payload + MIN(size, item->size),
             item->size - MIN(size, item->size));
}

static bool is_marker(const struct kernel_line *line)
{
    return line->name_len == strlen(MARKER_CLASS) &&
           memcmp(line->name, MARKER_CLASS, line->name_len) == 0;
}

/* What tells the fields of an event: one of both, or neither. */
struct shape {
    const struct kernel_pattern *pattern;
    const struct kernel_named *named;
};

/* The fields of a class, and how many bytes they take. NULL: memory is out. */
static struct field *make_fields(struct arena *arena, const struct kernel_line *line,
                                 const struct shape *shape, unsigned *ret_n, uint32_t *ret_size)
{
    struct field *fields;

    if (shape->named) {
        *ret_n = shape->named->n;
        *ret_size = shape->named->n * (uint32_t)sizeof(uint64_t);
        return kernel_named_fields(shape->named, arena);
    }
    fields = kernel_pattern_fields(shape->pattern, arena, ret_n, ret_size);
    if (fields && is_marker(line))
        fields[0].name = "buf";
    return fields;
}

/* The name of an event, its group and its fields. */
static int add_class(struct kernel_text *text, const struct kernel_line *line,
                     const struct shape *shape, struct text_class **ret)
{
    struct arena *arena = &text->catalogue->arena;
    const char *group = shape->pattern    ? kernel_pattern_group(shape->pattern)
                        : is_marker(line) ? "ftrace"
                                          : kernel_pattern_group_of(line->name, line->name_len);
    struct text_class *added = arena_alloc(arena, sizeof *added);
    struct event_class class = {.origin = &text->names->origin};
    char name[256];
    unsigned n_fields;
    struct event_class *made;
    int r;

    class.fields = added ? make_fields(arena, line, shape, &n_fields, &added->size) : NULL;
    if (!class.fields)
        return -ENOMEM;
    class.n_fields = n_fields;
    if (!group)
        group = kernel_named_group(line);
    class.group = line->group_len ? arena_strndup(arena, line->group, line->group_len) : group;
    snprintf(name, sizeof name, "%s%.*s", line->call_prefix ? line->call_prefix : "",
             (int)line->name_len, line->name);
    class.name = arena_strdup(arena, name);
    if (!class.name || (line->group_len && !class.group))
        return -ENOMEM;
    class.put_text = put_text;
    class.variant_of = map_get_str(&text->by_name, class.name, strlen(class.name));
    if (class.variant_of && (class.variant_of->group != NULL) == (class.group != NULL) &&
        class.group && strcmp(class.variant_of->group, class.group) != 0)
        class.variant_of = NULL;
    r = catalogue_add(text->catalogue, &class, &made);
    if (r < 0)
        return r;
    added->class = made;
    if (!class.variant_of)
        r = map_put_str(&text->by_name, made->name, strlen(made->name), made);
    text->n_classes++;
    *ret = added;
    return r;
}

/* The class of events of LINE that have SHAPE. -E2BIG: no room for the names of the fields. */
static int get_class(struct kernel_text *text, const struct kernel_line *line,
                     const struct shape *shape, struct text_class **ret)
{
    static const struct shape none = {0};
    char key[1024];
    int len = snprintf(key, sizeof key, "%u %.*s:%s%.*s ", kernel_pattern_number(shape->pattern),
                       (int)line->group_len, line->group ? line->group : "",
                       line->call_prefix ? line->call_prefix : "", (int)line->name_len, line->name);
    char *kept;
    int r;

    if (shape->named) {
        if (!kernel_named_put_types(shape->named, key + len, sizeof key - (size_t)len))
            return -E2BIG;
        len += (int)strlen(key + len);
    }
    *ret = map_get_str(&text->classes, key, (size_t)len);
    if (*ret)
        return 0;
    if (text->n_classes >= CLASSES_MAX) {
        static const struct kernel_line other = {.name = "other", .name_len = 5};

        len = snprintf(key, sizeof key, "0 :other");
        *ret = map_get_str(&text->classes, key, (size_t)len);
        line = &other;
        if (*ret)
            return 0;
        shape = &none;
    }
    kept = arena_strndup(&text->catalogue->arena, key, (size_t)len);
    r = kept ? add_class(text, line, shape, ret) : -ENOMEM;
    return r < 0 ? r : map_put_str(&text->classes, kept, (size_t)len, *ret);
}

static const char *comm_of(const struct origin *origin, uint32_t comm)
{
    const struct names *names = container_of(origin, struct names, origin);

    return comm > 0 && comm <= names->n_comms ? names->comms[comm - 1] : NULL;
}

static const char *task_name_of(const struct origin *origin, int32_t pid)
{
    const struct names *names = container_of(origin, struct names, origin);

    return map_get(&names->tasks, (uint64_t)(uint32_t)pid + 1);
}

/* Thread PID is called by the name of number COMM. -ENOMEM. */
static int note_task(struct names *names, int32_t pid, uint32_t comm)
{
    char *name = comm > 0 ? (char *)(uintptr_t)names->comms[comm - 1] : NULL;
    uint64_t key = (uint64_t)(uint32_t)pid + 1;
    const char *known;

    if (!name || pid == PID_UNKNOWN)
        return 0;
    known = map_get(&names->tasks, key);
    return known == name || (!known && names->tasks.used == TASKS_MAX)
               ? 0
               : map_put(&names->tasks, key, name);
}

/* The number of a name; 0: it has none. -ENOMEM. */
static int get_comm(struct kernel_text *text, const char *name, size_t len, uint32_t *ret)
{
    struct names *names = text->names;
    uintptr_t number = len > 0 ? (uintptr_t)map_get_str(&text->comms, name, len) : 0;
    const char *kept;

    *ret = (uint32_t)number;
    if (number || len == 0 || names->n_comms == COMMS_MAX)
        return 0;
    kept = arena_strndup(&text->catalogue->arena, name, len);
    number = names->n_comms + 1;
    if (!kept || map_put_str(&text->comms, kept, len, (void *)number) < 0)
        return -ENOMEM;
    names->comms[names->n_comms++] = kept;
    *ret = (uint32_t)number;
    return 0;
}

/* ---- Events ---- */

static void put_loss(struct kernel_text *text, struct item *item, enum loss_cause cause,
                     int32_t cpu, uint64_t lost, size_t skipped)
{
    *item = (struct item){
        .kind = ITEM_LOSS,
        .cause = cause,
        .origin = &text->names->origin,
        .time = text->time,
        .since = text->time,
        .lost = lost,
        .skipped = (uint32_t)MIN(skipped, (size_t)UINT32_MAX),
        .cpu = cpu,
        .pid = PID_UNKNOWN,
        .vcpu = VCPU_UNKNOWN,
    };
}

/* CPU has an event at TIME, or a loss that ends there, which is ITEM. */
static void note_last(struct kernel_text *text, int32_t cpu, int64_t time, const struct item *item)
{
    if (cpu == CPU_UNKNOWN)
        return;
    text->cpus[cpu].has_last = true;
    text->cpus[cpu].last = time;
    text->cpus[cpu].place = text->n_lent + (uint64_t)(item - text->items) + 1;
    text->cpus[cpu].is_marked = false;
}

/* A loss of CPU follows its last event. */
static void mark_last(struct kernel_text *text, int32_t cpu)
{
    struct text_cpu *of = cpu != CPU_UNKNOWN ? &text->cpus[cpu] : NULL;

    if (!of || of->place <= text->n_lent)
        return;
    text->items[of->place - text->n_lent - 1].before_loss = true;
    of->is_marked = true;
}

/* LOST events of CPU are missing between its last event and TIME. */
static void put_lost(struct kernel_text *text, struct item *item, int32_t cpu, uint64_t lost,
                     int64_t time)
{
    put_loss(text, item, LOSS_DROPPED, cpu, lost, 0);
    item->time = time;
    if (cpu != CPU_UNKNOWN)
        item->since = text->cpus[cpu].has_last ? text->cpus[cpu].last : TIME_UNKNOWN;
    mark_last(text, cpu);
    if (cpu != CPU_UNKNOWN && !text->cpus[cpu].is_marked && text->cpus[cpu].place > 0 &&
        text->cpus[cpu].place <= text->n_lent)
        text->n_late++;
    note_last(text, cpu, time, item);
}

/* trace_marker's lines are of the class that the kernel's formats call print. Its fields are "ip=0x… buf=TEXT". */
static void rename_marker(struct kernel_line *line)
{
    static const char prefix[] = MARKER ": ";
    const char *buf;

    if (line->name_len == strlen(MARKER) && memcmp(line->name, MARKER, line->name_len) == 0) {
        line->name = MARKER_CLASS;
        line->name_len = strlen(MARKER_CLASS);
    } else if (is_marker(line) && begins(line->text, line->text_len, prefix)) {
        line->text += strlen(prefix);
        line->text_len -= strlen(prefix);
    } else if (is_marker(line) && begins(line->text, line->text_len, "ip=0x")) {
        buf = memmem(line->text, line->text_len, " buf=", 5);
        line->text_len -= buf ? (size_t)(buf + 5 - line->text) : 0;
        line->text = buf ? buf + 5 : line->text;
    }
}

/* Analyses miss the fields of such an event: the user is told. */
static void note_fieldless(struct kernel_text *text, const struct kernel_line *line)
{
    if (text->n_fieldless++ == 0)
        snprintf(
            text->fieldless, sizeof text->fieldless,
            "some events have a text of no known version, so they have no fields; the first is "
            "of %.*s, '%.*s'",
            (int)MIN(line->name_len, (size_t)32), line->name, (int)MIN(line->text_len, (size_t)32),
            line->text);
}

static int put_event(struct kernel_text *text, struct kernel_line *line, struct item *item)
{
    uint8_t *payload = text->payloads + text->used;
    struct kernel_named named;
    struct shape shape = {.pattern = kernel_pattern_read(line, payload)};
    struct text_class *class;
    uint32_t comm = 0;
    int r;

    rename_marker(line);
    text->after_marker = text->kind == KERNEL_TEXT_FTRACE && is_marker(line);
    if (!shape.pattern && !is_marker(line) && kernel_named_read(line, &named)) {
        shape.named = &named;
        kernel_named_put(&named, payload);
    }
    r = get_class(text, line, &shape, &class);
    if (r == -E2BIG) {
        shape.named = NULL;
        r = get_class(text, line, &shape, &class);
    }
    if (r >= 0)
        r = get_comm(text, line->comm, line->comm_len, &comm);
    if (r >= 0)
        r = note_task(text->names, line->pid, comm);
    if (r < 0)
        return r;
    if (!shape.pattern && !line->call_prefix && kernel_pattern_group_of(line->name, line->name_len))
        note_fieldless(text, line);
    memcpy(payload + class->size, line->text, line->text_len);
    text->time = line->time;
    if (text->begin == TIME_UNKNOWN)
        text->begin = line->time;
    *item = (struct item){
        .kind = ITEM_EVENT,
        .origin = class->class->origin,
        .class = class->class,
        .time = line->time,
        .payload = payload,
        .size = class->size + (uint32_t)line->text_len,
        .reader_word = class->size,
        .cpu = line->cpu,
        .pid = line->pid,
        .vcpu = VCPU_UNKNOWN,
        .comm = comm,
    };
    /* Numbers are aligned. */
    text->used += ((size_t)item->size + 7) / 8 * 8;
    text->n_events++;
    note_last(text, line->cpu, line->time, item);
    return 1;
}

/* "# entries-in-buffer/entries-written: 3/12   #P:2": what of the written is not there was overwritten. False: it is another line. */
static bool read_head(const char *p, size_t len, struct text_head *ret)
{
    static const char head[] = "# entries-in-buffer/entries-written: ";
    char numbers[64] = "";
    unsigned long long there, written;
    unsigned n_cpus = 0;

    if (!begins(p, len, head))
        return false;
    len = MIN(len - strlen(head), sizeof numbers - 1);
    memcpy(numbers, p + strlen(head), len);
    /* NOLINTNEXTLINE(cert-err34-c): a number that is too large is the largest */
    if (sscanf(numbers, "%20llu/%20llu #P:%5u", &there, &written, &n_cpus) < 2)
        return false;
    *ret = (struct text_head){.overwritten = written <= there              ? 0
                                             : written - there > INT64_MAX ? LOST_UNKNOWN
                                                                           : written - there,
                              .n_cpus = n_cpus};
    return true;
}

/* True if LINE is the first line of its CPU, before which events may be missing. */
static bool is_first_of_cpu(struct kernel_text *text, const struct kernel_line *line)
{
    bool is_first;

    if (!text->is_overwritten || line->cpu == CPU_UNKNOWN)
        return false;
    is_first = !text->cpus[line->cpu].begun;
    text->cpus[line->cpu].begun = true;
    return is_first && text->n_events > 0;
}

/* The same of a line of function_graph, which may have two events. EVENT: it is one of trace-cmd's text, or NULL. -EINVAL: it is
 * none. */
static int read_graph(struct kernel_text *text, const struct kernel_line *event, const char *p,
                      size_t len, struct item *item)
{
    struct kernel_line line;
    int n = event ? graph_read_event(&text->graph, event, text->part, &line)
                  : graph_read(&text->graph, p, len, text->part, &line);

    if (n <= 0)
        return n;
    if (text->part == 0 && is_first_of_cpu(text, &line)) {
        text->again = true;
        put_loss(text, item, LOSS_DROPPED, line.cpu, LOST_UNKNOWN, 0);
        item->time = line.time;
        item->since = text->begin;
        return 1;
    }
    text->part++;
    text->again = text->part < (unsigned)n;
    if (!text->again)
        text->part = 0;
    return put_event(text, &line, item);
}

/* Finds when a loss of CPU ends: at the event of the next line. The line that reports the loss is followed by the N
 * bytes at P. -EAGAIN: the next line is incomplete. */
static int find_loss_end(const struct kernel_text *text, const uint8_t *p, size_t n, int32_t cpu,
                         int64_t *ret)
{
    struct kernel_line line;
    size_t len, total;

    *ret = text->time;
    if (!find_line(p, n, text->in.ended, &len, &total))
        return text->in.ended || n > KERNEL_TEXT_LINE_MAX ? 0 : -EAGAIN;
    if ((kernel_line_read((const char *)p, len, &line) ||
         graph_probe((const char *)p, len, &line)) &&
        line.is_ticks == text->is_ticks && line.cpu == cpu)
        *ret = line.time;
    return 0;
}

/* A whole line, which N_MORE bytes at MORE follow. 1: it is ITEM; 0: it is none; or a negative errno; -EAGAIN: more must follow. */
static int read_line(struct kernel_text *text, const char *p, size_t len, const uint8_t *more,
                     size_t n_more, struct item *item)
{
    struct kernel_line line;
    struct text_head head;
    int32_t cpu;
    int64_t time;
    uint64_t lost;
    int r;

    text->again = false;
    if (len > 0 && p[len - 1] == '\r')
        len--;
    if (text->is_html && !is_in_trace(&text->in_trace, p, len))
        return 0;
    if (kernel_line_read(p, len, &line) && line.is_ticks == text->is_ticks) {
        r = read_graph(text, &line, p, len, item);
        if (r != -EINVAL)
            return r;
        text->again = is_first_of_cpu(text, &line);
        if (text->again) {
            put_loss(text, item, LOSS_DROPPED, line.cpu, LOST_UNKNOWN, 0);
            item->time = line.time;
            item->since = text->begin;
            return 1;
        }
        if (!line.is_record)
            return put_event(text, &line, item);
        if (line.lost) {
            text->time = line.time;
            put_lost(text, item, line.cpu, line.lost, line.time);
        }
        return line.lost > 0;
    }
    if (kernel_line_lost(p, len, &cpu, &lost)) {
        if (find_loss_end(text, more, n_more, cpu, &time) < 0)
            return -EAGAIN;
        put_lost(text, item, cpu, lost, time);
        return 1;
    }
    if (read_head(p, len, &head) && head.overwritten > 0) {
        text->is_overwritten = true;
        put_loss(text, item, LOSS_DROPPED, CPU_UNKNOWN, head.overwritten, 0);
        return 1;
    }
    /* Its head has no number of events that were written. */
    if (begins(p, len, "# tracer: function_graph"))
        text->names->origin.lost_uncounted = true;
    if (is_passed_over(p, len))
        return 0;
    r = read_graph(text, NULL, p, len, item);
    if (r != -EINVAL)
        return r;
    /* A line with a CPU may be an event that is damaged. */
    if (text->after_marker && !memmem(p, len, " [", 2)) {
        text->n_continued++;
        return 0;
    }
    text->n_other++;
    put_loss(text, item, LOSS_UNREADABLE, CPU_UNKNOWN, LOST_UNKNOWN, len);
    return 1;
}

/* The end of a line that is too long. 1: there is an item; 0: there is none. */
static int end_too_long(struct kernel_text *text, struct item *item)
{
    text->skipping = false;
    /* Of a page, its viewer has lines of any length. */
    if (text->is_html && !text->in_trace)
        return 0;
    put_loss(text, item, LOSS_UNREADABLE, CPU_UNKNOWN, LOST_UNKNOWN,
             (size_t)MIN(text->skipped, (uint64_t)UINT32_MAX));
    return 1;
}

/* Skips the next bytes of a line that is too long. Returns as step(). */
static int skip_too_long(struct kernel_text *text, struct item *item)
{
    const uint8_t *p = input_at(&text->in);
    size_t n = input_buffered(&text->in);
    const uint8_t *newline = memchr(p, '\n', n);
    size_t len = newline ? (size_t)(newline - p) : n;

    text->skipped += len;
    input_skip(&text->in, len + (newline != NULL));
    return newline ? end_too_long(text, item) : -EAGAIN;
}

/* One line of what is buffered. 1: there is an item; 0: there is none, go on; -EAGAIN: no whole line is there. */
static int step(struct kernel_text *text, struct item *item)
{
    const uint8_t *p = input_at(&text->in);
    size_t n = input_buffered(&text->in);
    size_t len, total;
    int r;

    if (text->skipping && n > 0)
        return skip_too_long(text, item);
    if (find_line(p, n, text->in.ended, &len, &total) && len <= KERNEL_TEXT_LINE_MAX) {
        r = read_line(text, (const char *)p, len, p + total, n - total, item);
        if (text->again || r == -EAGAIN)
            return r;
        if (unlikely(text->ahead.n > 0) && r == 1 &&
            text_ahead_begins_loss(&text->ahead, input_offset(&text->in)))
            mark_last(text, item->cpu);
        input_skip(&text->in, total);
        return r;
    }
    if (n <= KERNEL_TEXT_LINE_MAX)
        return -EAGAIN;
    text->skipping = true;
    text->skipped = 0;
    return 0;
}

/* Marks the items of the run of N items that are followed by a loss of their CPU, as far as the text is in the
 * buffer. */
static void look_ahead(struct kernel_text *text, unsigned n)
{
    const uint8_t *p = input_at(&text->in);
    size_t left = MIN(input_buffered(&text->in), TEXT_AHEAD_BYTES);
    bool is_end = text->in.ended && left == input_buffered(&text->in);
    unsigned waiting = 0;
    size_t len, total;

    if (text->is_looked_through && !text->ahead.has_losses)
        return;
    if (!memmem(p, left, " EVENTS", 7) && !memmem(p, left, "PERF_RECORD_LOST", 16))
        return;
    for (unsigned i = 0; i < n; i++)
        waiting += text->items[i].cpu != CPU_UNKNOWN &&
                   text->cpus[text->items[i].cpu].place == text->n_lent + i + 1;
    for (; waiting > 0 && find_line(p, left, is_end, &len, &total); p += total, left -= total) {
        struct kernel_line line = {0};
        uint64_t lost = 0;
        bool is_event = kernel_line_read((const char *)p, len, &line) ||
                        graph_probe((const char *)p, len, &line);

        if (is_event ? line.is_record && !line.lost
                     : !kernel_line_lost((const char *)p, len, &line.cpu, &lost))
            continue;
        if (line.cpu == CPU_UNKNOWN || text->cpus[line.cpu].place <= text->n_lent)
            continue;
        if (!is_event || line.lost)
            mark_last(text, line.cpu);
        text->cpus[line.cpu].place = 0;
        waiting--;
    }
}

/* The next CPU that is not in the text. */
static void put_absent(struct kernel_text *text, struct item *item)
{
    put_loss(text, item, LOSS_DROPPED, (int32_t)text->next_absent, LOST_UNKNOWN, 0);
    item->is_open = true;
    text->next_absent = cpu_set_next(&text->absent, text->next_absent + 1);
}

static int text_next(struct source *source, const struct item **ret_items)
{
    struct kernel_text *text = container_of(source, struct kernel_text, source);
    int n = 0;
    int r = 0;

    text->used = 0;
    *ret_items = text->items;
    while (n < RUN_MAX && text->next_absent < CPU_SET_MAX)
        put_absent(text, &text->items[n++]);
    while (text->error == 0 && n < RUN_MAX &&
           text->used + KERNEL_TEXT_FIELDS_SIZE + KERNEL_TEXT_LINE_MAX + 8 <= PAYLOADS_SIZE) {
        r = step(text, &text->items[n]);
        if (r == -EAGAIN) {
            /* What is there is lent before a read that may wait. */
            if (n > 0 || (text->in.ended && input_buffered(&text->in) == 0))
                break;
            r = input_refill(&text->in, &text->source.error);
            if (r > 0)
                continue;
            if (r == 0)
                break;
        }
        if (r < 0) {
            text->error = error_set(&text->source.error, r, text->in.path, "%s", error_text(r));
            break;
        }
        n += r == 1;
    }
    if (text->skipping && text->error == 0 && n < RUN_MAX && text->in.ended &&
        input_buffered(&text->in) == 0)
        n += end_too_long(text, &text->items[n]);
    /* What can be had without waiting. */
    if (n > 0 && text->error == 0 && !text->in.ended && text->in.size != UINT64_MAX &&
        input_buffered(&text->in) < INPUT_BUFFER_SIZE / 2) {
        r = input_refill(&text->in, &text->source.error);
        if (r < 0)
            text->error = error_set(&text->source.error, r, text->in.path, "%s", error_text(r));
    }
    look_ahead(text, (unsigned)n);
    text->n_lent += (unsigned)n;
    return n > 0 ? n : text->error;
}

static void text_free(struct source *source)
{
    struct kernel_text *text = container_of(source, struct kernel_text, source);

    input_done(&text->in);
    map_done(&text->classes);
    map_done(&text->by_name);
    map_done(&text->comms);
    if (text->names)
        map_done(&text->names->tasks);
    graph_done(&text->graph);
    text_ahead_done(&text->ahead);
    free(text->payloads);
    free(text);
}

static void text_facts(const struct source *source,
                       void (*put)(void *arg, const char *key, const char *value), void *arg)
{
    const struct kernel_text *text = container_of(source, struct kernel_text, source);
    char number[24];

    put(arg, "text of", text->kind == KERNEL_TEXT_PERF ? "perf script" : "ftrace");
    snprintf(number, sizeof number, "%u", text->n_other);
    if (text->n_other)
        put(arg, "lines that cannot be read", number);
}

static const char *text_hint(const struct source *source)
{
    struct kernel_text *text = container_of(source, struct kernel_text, source);
    unsigned n_absent = cpu_set_count(&text->absent);
    char cpus[64];
    int n = 0;

    if (text->of_cpus > 0)
        n = snprintf(text->hint, sizeof text->hint,
                     "it has events of 1 CPU of %u: what the others did is unknown", text->of_cpus);
    else if (n_absent > 0)
        n = snprintf(text->hint, sizeof text->hint,
                     "it has no events of CPU%s %s, which others name: what %s did is unknown",
                     n_absent == 1 ? "" : "s",
                     cpu_set_text(&text->absent, CPU_SET_MAX, cpus, sizeof cpus),
                     n_absent == 1 ? "it" : "they");
    if (text->names->origin.threads_only)
        n += snprintf(text->hint + n, sizeof text->hint - (size_t)n,
                      "%sit has events of only certain threads: what these and others did "
                      "meanwhile is unknown; print the events of all threads",
                      n > 0 ? "; " : "");
    if (text->n_late > 0)
        n += snprintf(
            text->hint + n, sizeof text->hint - (size_t)n,
            "%s%u loss%s found late: states and spans around %s may be wrong; save the text to a "
            "file and read that",
            n > 0 ? "; " : "", text->n_late, text->n_late == 1 ? " was" : "es were",
            text->n_late == 1 ? "it" : "them");
    if (text->n_continued > 0)
        n += snprintf(text->hint + n, sizeof text->hint - (size_t)n,
                      "%slines that continue a text of trace_marker are left out (%u)",
                      n > 0 ? "; " : "", text->n_continued);
    if (text->is_ticks && text->names->origin.clock.hz == 0 && text->begin != TIME_UNKNOWN)
        n += snprintf(text->hint + n, sizeof text->hint - (size_t)n,
                      "%sits times are ticks of a clock whose rate it does not say (x86-tsc); give "
                      "the rate with --cpu-hz",
                      n > 0 ? "; " : "");
    if (text->n_fieldless > 0)
        n += snprintf(text->hint + n, sizeof text->hint - (size_t)n, "%s%s", n > 0 ? "; " : "",
                      text->fieldless);
    return n > 0 ? text->hint : NULL;
}

static void text_progress(const struct source *source, uint64_t *ret_done, uint64_t *ret_total)
{
    const struct kernel_text *text = container_of(source, struct kernel_text, source);

    *ret_done = input_offset(&text->in);
    *ret_total = text->in.size == UINT64_MAX ? 0 : text->in.size;
}

static const struct source_ops text_ops = {
    .next = text_next,
    .free = text_free,
    .facts = text_facts,
    .hint = text_hint,
    .progress = text_progress,
};

/* Determines the kind of the text by the first event in the buffer, and consumes nothing. */
static void look_for_kind(struct kernel_text *text)
{
    const uint8_t *p = input_at(&text->in);
    size_t n = input_buffered(&text->in);
    bool in_trace = false;
    size_t len, total;

    text->kind = KERNEL_TEXT_FTRACE;
    for (; n > 0 && find_line(p, n, true, &len, &total); p += total, n -= total) {
        struct kernel_line line;

        if ((text->is_html && !is_in_trace(&in_trace, (const char *)p, len)) ||
            !kernel_line_read((const char *)p, len, &line))
            continue;
        text->kind = line.kind;
        text->is_ticks = line.is_ticks;
        text->time_unit_ns = line.time_unit_ns;
        text->begin = text->time = line.time;
        return;
    }
}

/* Looks through a text that can be read again (T9). */
static int look_through(struct kernel_text *text, struct error *error)
{
    const uint8_t *p = input_at(&text->in);
    size_t n = input_buffered(&text->in);
    struct text_head head = {0};
    size_t len, total;
    int r;

    if (!text->in.seekable)
        return 0;
    for (; n > 0 && *p == '#' && find_line(p, n, true, &len, &total); p += total, n -= total)
        if (read_head((const char *)p, len, &head))
            break;
    r = text_ahead_look(&text->ahead, &text->in, text->is_ticks, &head, error);
    text->is_looked_through = true;
    if (r < 0)
        return r;
    text->names->origin.lost_begin = text->ahead.lost_begin;
    if (text->ahead.only_cpu == CPU_UNKNOWN || text->begin == TIME_UNKNOWN)
        return 0;
    text->of_cpus = head.n_cpus;
    for (uint32_t cpu = 0; cpu < MIN(head.n_cpus, CPU_SET_MAX); cpu++)
        if (cpu != (uint32_t)text->ahead.only_cpu)
            cpu_set_add(&text->absent, cpu);
    text->next_absent = cpu_set_next(&text->absent, 0);
    return 0;
}

static int add_origin(struct kernel_text *text)
{
    struct arena *arena = &text->catalogue->arena;
    struct names *names = arena_alloc(arena, sizeof *names);

    if (!names)
        return -ENOMEM;
    *names = (struct names){
        .origin = {.layer = text->kind == KERNEL_TEXT_PERF ? LAYER_HOST : LAYER_GUEST,
                   .format = "kernel-text",
                   .path = arena_strdup(arena, text->in.path),
                   .clock = {.name = "unknown", .hz = text->is_ticks ? 0 : NANOSECONDS},
                   .duration_error_ns = text->time_unit_ns,
                   .lost_uncounted = text->kind == KERNEL_TEXT_PERF,
                   .comm = comm_of,
                   .task_name = task_name_of},
        .comms = arena_alloc(arena, COMMS_MAX * sizeof *names->comms),
    };
    text->names = names;
    if (!names->origin.path || !names->comms)
        return -ENOMEM;
    return catalogue_list_origin(text->catalogue, &names->origin);
}

int kernel_text_open(struct input *in, struct catalogue *catalogue, struct source **ret_source,
                     struct error *error)
{
    struct kernel_text *text = calloc(1, sizeof *text);
    char message[KERNEL_FORM_MESSAGE_SIZE];
    const char *refused;
    int r;

    if (!text) {
        input_done(in);
        return error_set(error, -ENOMEM, NULL, "out of memory");
    }
    text->source.ops = &text_ops;
    text->source.one_buffer = true;
    text->in = *in;
    *in = (struct input){.fd = -1};
    text->catalogue = catalogue;
    graph_init(&text->graph);
    text->time = text->begin = TIME_UNKNOWN;
    text->next_absent = CPU_SET_MAX;
    text->is_html = is_html((const char *)input_at(&text->in), input_buffered(&text->in));
    refused = text->is_html
                  ? NULL
                  : kernel_form_refused((const char *)input_at(&text->in),
                                        input_buffered(&text->in), message, sizeof message);
    if (refused) {
        r = error_set(error, -EOPNOTSUPP, text->in.path, "%s", refused);
        text_free(&text->source);
        return r;
    }
    look_for_kind(text);
    text->payloads = malloc(PAYLOADS_SIZE);
    r = text->payloads ? add_origin(text) : -ENOMEM;
    if (r >= 0)
        r = look_through(text, error);
    if (r < 0) {
        text_free(&text->source);
        return r == -ENOMEM ? error_set(error, r, NULL, "out of memory") : r;
    }
    *ret_source = &text->source;
    return 0;
}

void kernel_text_leave_out(struct source *source, const struct cpu_set *cpus, bool threads)
{
    struct kernel_text *text = container_of(source, struct kernel_text, source);

    text->names->origin.threads_only = threads;
    for (uint32_t cpu = cpu_set_next(cpus, 0); cpu < CPU_SET_MAX; cpu = cpu_set_next(cpus, cpu + 1))
        cpu_set_add(&text->absent, cpu);
    text->next_absent = cpu_set_next(&text->absent, 0);
}

int kernel_text_find_ends(struct source *source, const struct cpu_set *cpus, struct error *error)
{
    struct kernel_text *text = container_of(source, struct kernel_text, source);

    return text->is_looked_through
               ? text_ahead_find_ends(&text->ahead, &text->in, text->is_ticks, cpus, error)
               : 0;
}
