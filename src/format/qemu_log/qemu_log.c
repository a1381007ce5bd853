/* SPDX-License-Identifier: MIT */
#include "format/qemu_log/qemu_log.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "format/qemu_log/line.h"
#include "format/qemu_log/match.h"
#include "format/qemu_log/names.h"

#define RUN_MAX 2048 /* several reorder windows long: timeline/reorder.c */
#define PAYLOADS_SIZE (LOG_PAYLOAD_MAX(QEMU_LOG_LINE_MAX) + (size_t)192 * 1024)
/* How far an event of several lines reaches. */
#define REGION_MAX ((size_t)64 * 1024)

/* Its times have microseconds. */
#define TIME_UNIT_NS 1000u

struct qemu_log {
    struct source source;
    struct input in;
    struct log_names names;
    struct log_matcher *matcher;
    const struct event_class *log_class; /* for lines that are not events */
    struct log_head_memory memory;
    enum log_prefix prefix; /* of the first event */
    bool timed;
    bool is_empty; /* had no line when it was opened */
    bool declared; /* there are declarations */
    bool is_cut;   /* it was longer */
    bool skipping; /* a line that is too long is being skipped */
    int error;
    int64_t time;  /* of the line before */
    uint64_t line; /* the number of the line to be read */
    uint64_t skipped;
    uint64_t n_matched;
    uint64_t n_messages;
    uint64_t n_other;
    uint8_t *payloads;
    size_t used;
    uint64_t lost_at_end; /* to be lent as the last one */
    int64_t seek_time;    /* no item before it is needed; INT64_MIN: all are */
    struct item items[RUN_MAX];
};

/* A line in the input's buffer: bytes from input_at(). */
struct line {
    size_t len;    /* without the newline and a carriage return before it */
    size_t total;  /* with them */
    bool too_long; /* it continues after `total` */
};

/* -- lines -- */

/* The line that begins AT bytes after the first unread one. Reads on only with MAY_READ. 1: there
 * is one; 0: there is none (`error` says whether that is the end). */
static int find_line(struct qemu_log *log, size_t at, bool may_read, struct line *ret_line)
{
    struct input *in = &log->in;
    size_t scanned = 0;

    for (;;) {
        const char *p = (const char *)input_at(in) + at;
        size_t n = input_buffered(in) - at;
        size_t limit = MIN(n, QEMU_LOG_LINE_MAX + 1);
        const char *newline = memchr(p + scanned, '\n', limit - scanned);

        if (likely(newline != NULL)) {
            size_t len = (size_t)(newline - p);
            *ret_line = (struct line){
                .len = len > 0 && p[len - 1] == '\r' ? len - 1 : len,
                .total = len + 1,
            };
            return 1;
        }
        if (at == 0 && n == in->capacity && n <= QEMU_LOG_LINE_MAX && !in->ended &&
            input_grow(in, QEMU_LOG_LINE_MAX + 1) < 0)
            log->error =
                error_at(&log->source.error, -ENOMEM, in->path, input_offset(in), "out of memory");
        if (n > QEMU_LOG_LINE_MAX || (at == 0 && n == in->capacity && !in->ended)) {
            size_t len = MIN(n, QEMU_LOG_LINE_MAX);
            *ret_line = (struct line){.len = len, .total = len, .too_long = true};
            return 1;
        }
        if (at > 0 && at + n == in->capacity && !in->ended)
            return 0; /* no room to see its end */
        if (in->ended || log->error) {
            *ret_line = (struct line){.len = n > 0 && p[n - 1] == '\r' ? n - 1 : n, .total = n};
            return n > 0 && !log->is_cut;
        }
        if (!may_read)
            return 0;
        scanned = limit;
        log->error = MIN(input_refill(in, &log->source.error), 0);
    }
}

/* Reads what stands before the event's text of the line P … END. The name found, or NULL: the line
 * begins no event. One that is not declared is returned only after the first prefix, where
 * *RET_LEN is its length and the name is NULL too. */
static inline struct log_name *read_head(struct qemu_log *log, const char *p, const char *end,
                                         struct log_head *ret_head, size_t *ret_len)
{
    struct log_name *name = NULL;
    int32_t pid = PID_UNKNOWN;
    const char *at;
    size_t len;

    log_head_read(&log->memory, p, end, ret_head);
    at = ret_head->rest;
    len = log_head_name(at, end);
    *ret_len = len;
    if (len)
        name = log_names_find(&log->names, at, len);
    if (likely(name && name->candidates) || ret_head->prefix == LOG_PREFIX_PID)
        return name;

    *ret_len = 0;
    at = log_head_skip_context(at, end, &pid);
    len = at ? log_head_name(at, end) : 0;
    name = len ? log_names_find(&log->names, at, len) : NULL;
    if (!name || !name->candidates)
        return NULL;
    ret_head->rest = at;
    ret_head->pid = pid;
    *ret_len = len;
    return name;
}

static bool begins_event(struct qemu_log *log, const char *p, const char *end)
{
    struct log_head head;
    size_t len;

    read_head(log, p, end, &head, &len);
    return len > 0;
}

/* How far the lines that begin no event reach, after the line that is TOTAL long: bytes from
 * input_at(), without the last newline. Reads on; the buffer may move. */
static size_t find_region(struct qemu_log *log, const struct line *line)
{
    size_t end = line->len;
    size_t at = line->total;

    while (!line->too_long && at < REGION_MAX) {
        struct line more;
        const char *p;

        if (!find_line(log, at, true, &more) || more.too_long || at + more.total > REGION_MAX)
            break;
        p = (const char *)input_at(&log->in) + at;
        if (begins_event(log, p, p + more.len))
            break;
        end = at + more.len;
        at += more.total;
    }
    return end;
}

/* -- items -- */

static inline struct item *start_item(struct qemu_log *log, struct item *item,
                                      const struct event_class *class, int32_t pid, uint32_t size)
{
    *item = (struct item){
        .time = log->timed ? log->time : (int64_t)log->line,
        .origin = log->names.origin,
        .class = class,
        .payload = log->payloads + log->used,
        .size = size,
        .cpu = CPU_UNKNOWN,
        .pid = pid,
        .vcpu = VCPU_UNKNOWN,
        .kind = ITEM_EVENT,
    };
    log->used += size;
    return item;
}

static void put_message(struct qemu_log *log, struct item *item, const struct event_class *class,
                        int32_t pid, const char *text, size_t len)
{
    uint8_t *payload = log->payloads + log->used;

    store_u32(payload, (uint32_t)len);
    memcpy(payload + 4, text, len);
    start_item(log, item, class, pid, (uint32_t)len + 4);
}

/* SINCE: the time of the line before. */
static void put_loss(struct qemu_log *log, struct item *item, enum loss_cause cause, uint64_t lost,
                     int64_t since)
{
    int64_t time = log->timed ? log->time : (int64_t)log->line;

    *item = (struct item){
        .time = time,
        .since = log->timed ? MIN(since, time) : time,
        .origin = log->names.origin,
        .lost = lost,
        .cpu = CPU_UNKNOWN,
        .pid = PID_UNKNOWN,
        .vcpu = VCPU_UNKNOWN,
        .skipped = cause == LOSS_UNREADABLE ? (uint32_t)MIN(log->skipped, UINT32_MAX) : 0,
        .kind = ITEM_LOSS,
        .cause = cause,
    };
}

/* The N of "N events were dropped", which libstrata writes where its rings were full; 0: the line says something
 * else. */
static uint64_t read_drops(const char *at, const char *end)
{
    static const char text[] = " events were dropped";
    uint64_t n = 0;

    for (unsigned i = 0; i < 18 && at < end && *at >= '0' && *at <= '9'; i++)
        n = n * 10 + (uint64_t)(*at++ - '0');
    return (size_t)(end - at) == strlen(text) && memcmp(at, text, strlen(text)) == 0 ? n : 0;
}

/* Matches the declarations of NAME over TEXT; with LINES those that can take several lines. */
static bool match(struct qemu_log *log, struct item *item, const struct log_name *name, int32_t pid,
                  const char *text, size_t len, bool lines, size_t *ret_taken)
{
    uint32_t size;

    for (const struct candidate *c = name->candidates; c; c = c->next) {
        if (!c->pattern || (!lines && log_pattern_is_multiline(c->pattern)))
            continue;
        if (log_pattern_match(log->matcher, c->pattern, text, len, lines, log->payloads + log->used,
                              &size, ret_taken)) {
            start_item(log, item, c->class, pid, size);
            return true;
        }
    }
    return false;
}

static void count_lines(struct qemu_log *log, const char *p, size_t len)
{
    const char *end = p + len;

    while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) {
        log->line++;
        p++;
    }
}

/* Behind the first unread line comes an event of several: its text begins SKIP bytes from
 * input_at(). */
static bool match_lines(struct qemu_log *log, struct item *item, const struct log_name *name,
                        int32_t pid, const struct line *line, size_t skip, size_t *ret_total)
{
    size_t region = find_region(log, line);
    const char *p = (const char *)input_at(&log->in);
    const char *text = p + skip;
    size_t taken;

    if (region <= line->len || !match(log, item, name, pid, text, region - skip, true, &taken))
        return false;
    taken += skip;
    /* It ended before a newline or at the end of the input. */
    if (taken < input_buffered(&log->in) && p[taken] == '\r')
        taken++;
    if (taken < input_buffered(&log->in) && p[taken] == '\n')
        taken++;
    *ret_total = taken;
    return true;
}

/* The first unread line, and what belongs to it, as an item. */
static int read_event(struct qemu_log *log, const struct line *line, struct item *item)
{
    const char *p = (const char *)input_at(&log->in);
    const char *end = p + line->len;
    const struct event_class *class = log->log_class;
    size_t total = line->total;
    int64_t before = log->time;
    struct log_head head;
    struct log_name *name;
    const char *text;
    size_t name_len, taken;
    uint64_t drops;
    int r;

    name = read_head(log, p, end, &head, &name_len);
    if (head.prefix)
        log->time = head.time;

    drops = unlikely(!name) ? read_drops(head.rest, end) : 0;
    if (unlikely(drops > 0)) {
        put_loss(log, item, LOSS_DROPPED, drops, before);
        goto done;
    }
    if (unlikely(!name && name_len)) {
        r = log_names_add_undeclared(&log->names, head.rest, name_len, &name);
        if (r < 0)
            return r;
    }
    if (unlikely(!name)) {
        /* What QEMU wrote before the text is its own; the text alone is the message. */
        text = head.prefix == LOG_PREFIX_ISO ? head.rest : p;
        put_message(log, item, class, head.pid, text, (size_t)(end - text));
        log->n_other++;
        goto done;
    }
    if (unlikely(!name->compiled)) {
        r = log_names_compile(&log->names, name);
        if (r < 0)
            return r;
    }

    text = head.rest + name_len;
    text += text < end; /* the blank */
    if (likely(match(log, item, name, head.pid, text, (size_t)(end - text), false, &taken))) {
        log->n_matched++;
        goto done;
    }
    if (name->candidates) {
        size_t skip = (size_t)(text - p);

        if (match_lines(log, item, name, head.pid, line, skip, &total)) {
            log->n_matched++;
            goto done;
        }
        p = (const char *)input_at(&log->in);
        text = p + skip;
        end = p + line->len;
    }
    if (!name->message) {
        r = log_names_add_message_class(&log->names, name->name, &name->message);
        if (r < 0)
            return r;
    }
    put_message(log, item, name->message, head.pid, text, (size_t)(end - text));
    log->n_messages++;
done:
    if (unlikely(line->too_long)) {
        log->skipping = true;
        log->skipped = 0;
    } else if (likely(total == line->total)) {
        log->line++;
    } else {
        count_lines(log, (const char *)input_at(&log->in), total);
    }
    input_skip(&log->in, total);
    return 0;
}

/* Skips the rest of a line that is too long. */
static void skip_line(struct qemu_log *log, struct item *item)
{
    struct input *in = &log->in;

    while (log->skipping) {
        size_t n = input_buffered(in);
        const uint8_t *newline = memchr(input_at(in), '\n', n);

        if (newline) {
            n = (size_t)(newline - input_at(in));
            input_skip(in, n + 1);
            log->skipping = false;
        } else {
            input_skip(in, n);
            if (in->ended || log->error)
                log->skipping = false;
            else
                log->error = MIN(input_refill(in, &log->source.error), 0);
        }
        log->skipped += n;
    }
    put_loss(log, item, LOSS_UNREADABLE, LOST_UNKNOWN, log->time);
    log->line++;
}

/* -- seeking -- */

/* What is read to find a line with a time, and what is left to be read line by line. */
#define PROBE_SIZE ((size_t)8192)
#define SEEK_REST ((uint64_t)65536)
/* Lines step back in time a little, as threads write them. */
#define SEEK_MARGIN_NS INT64_C(1000000000)

/* Finds the first line with a time that begins after OFFSET. -ENODATA: there is none near. */
static int probe(const struct qemu_log *log, uint64_t offset, uint64_t *ret_at, int64_t *ret_time)
{
    struct log_head_memory memory = {0};
    struct error error = {0};
    char buf[PROBE_SIZE];
    int64_t n = input_read_at(&log->in, offset, buf, sizeof buf, &error);
    const char *end = buf + MAX(n, 0), *next;

    if (n < 0)
        return (int)n;
    for (const char *p = buf; (p = memchr(p, '\n', (size_t)(end - p))); p = next) {
        struct log_head head;

        p++;
        next = memchr(p, '\n', (size_t)(end - p));
        if (!next)
            break;
        log_head_read(&memory, p, next, &head);
        if (!head.prefix)
            continue;
        *ret_at = offset + (uint64_t)(p - buf);
        *ret_time = head.time;
        return 0;
    }
    return -ENODATA;
}

/* Continues shortly before the first line that is not earlier than `seek_time`, found by bisection. If no lines with
 * times are found, reading continues after the last line that was read. */
static void seek(struct qemu_log *log)
{
    uint64_t low = input_offset(&log->in), high = log->in.size;
    int64_t time = log->seek_time;
    struct error error = {0};

    log->seek_time = INT64_MIN;
    if (log->skipping || !log->timed || !log->in.seekable || high == UINT64_MAX ||
        time < INT64_MIN + SEEK_MARGIN_NS)
        return;
    time -= SEEK_MARGIN_NS;
    /* The lines before `low` are older. */
    while (low < high && high - low > SEEK_REST) {
        uint64_t middle = low + (high - low) / 2, at;
        int64_t then;

        if (probe(log, middle, &at, &then) < 0)
            break;
        if (then < time && at < high)
            low = at;
        else
            high = middle;
    }
    if (low > input_offset(&log->in))
        (void)input_seek(&log->in, low, &error);
}

static void log_seek(struct source *source, int64_t time)
{
    container_of(source, struct qemu_log, source)->seek_time = time;
}

static int log_next(struct source *source, const struct item **ret_items)
{
    struct qemu_log *log = container_of(source, struct qemu_log, source);
    int n = 0;

    log->used = 0;
    if (unlikely(log->seek_time != INT64_MIN))
        seek(log);
    if (log->skipping)
        skip_line(log, &log->items[n++]);
    while (n < RUN_MAX && !log->skipping &&
           PAYLOADS_SIZE - log->used >= LOG_PAYLOAD_MAX(QEMU_LOG_LINE_MAX)) {
        struct line line;
        int r;

        /* What is there is lent before a read that may wait. */
        if (!find_line(log, 0, n == 0, &line))
            break;
        r = read_event(log, &line, &log->items[n]);
        if (r < 0) {
            error_at(&log->source.error, r, log->in.path, input_offset(&log->in), "out of memory");
            log->error = r;
            log->in.next = log->in.filled;
            break;
        }
        n++;
    }
    if (n == 0 && log->error == 0 && log->lost_at_end > 0) {
        put_loss(log, &log->items[n++], LOSS_DROPPED, log->lost_at_end, log->time);
        log->lost_at_end = 0;
    }
    *ret_items = log->items;
    return n > 0 ? n : log->error;
}

/* -- opening -- */

/* Looks for the first event, as far as the buffer reaches, without taking anything. */
static void look_for_clock(struct qemu_log *log)
{
    size_t at = 0;
    struct line line;

    log->is_empty = true;
    while (find_line(log, at, true, &line)) {
        const char *p = (const char *)input_at(&log->in) + at;
        struct log_head head;
        size_t len;

        log->is_empty = false;
        read_head(log, p, p + line.len, &head, &len);
        if (head.prefix) {
            log->prefix = head.prefix;
            log->timed = true;
            log->time = head.time;
            return;
        }
        if (len > 0 || line.too_long)
            return;
        at += line.total;
    }
}

static void log_free(struct source *source)
{
    struct qemu_log *log = container_of(source, struct qemu_log, source);

    input_done(&log->in);
    log_names_done(&log->names);
    log_matcher_free(log->matcher);
    free(log->payloads);
    free(log);
}

static void log_facts(const struct source *source,
                      void (*put)(void *arg, const char *key, const char *value), void *arg)
{
    static const char *const prefixes[] = {
        [LOG_PREFIX_NONE] = "none",
        [LOG_PREFIX_PID] = "PID@SECONDS.MICROSECONDS",
        [LOG_PREFIX_ISO] = "ISO 8601",
    };
    const struct qemu_log *log = container_of(source, struct qemu_log, source);
    char number[24];

    put(arg, "prefix", prefixes[log->prefix]);
    snprintf(number, sizeof number, "%llu", (unsigned long long)log->n_messages);
    put(arg, "events without values", number);
    snprintf(number, sizeof number, "%llu", (unsigned long long)log->n_other);
    put(arg, "other lines", number);
}

static void log_progress(const struct source *source, uint64_t *ret_done, uint64_t *ret_total)
{
    const struct qemu_log *log = container_of(source, struct qemu_log, source);

    *ret_done = input_offset(&log->in);
    *ret_total = log->in.size == UINT64_MAX ? 0 : log->in.size;
}

static const char *log_hint(const struct source *source)
{
    const struct qemu_log *log = container_of(source, struct qemu_log, source);

    if (!log->declared || log->n_matched || log->n_messages + log->n_other == 0)
        return NULL;
    return "none of its lines matches a declared event, so events have no fields but the text; "
           "give the trace-events-all of the QEMU that wrote the log with --trace-events";
}

static const struct source_ops log_ops = {
    .next = log_next,
    .free = log_free,
    .facts = log_facts,
    .progress = log_progress,
    .seek = log_seek,
    .hint = log_hint,
};

static int add_origin(struct qemu_log *log)
{
    struct origin origin = {
        .layer = LAYER_VMM,
        .format = "qemu-log",
        .path = arena_strdup(&log->names.catalogue->arena, log->in.path),
        .clock = {.name = log->timed ? "realtime" : "line", .hz = log->timed ? NANOSECONDS : 0},
        .duration_error_ns = log->timed ? TIME_UNIT_NS : 0,
        .is_empty = log->is_empty,
    };

    if (!origin.path)
        return -ENOMEM;
    log->names.origin = catalogue_add_origin(log->names.catalogue, &origin);
    return log->names.origin ? 0 : -ENOMEM;
}

void qemu_log_set_cut(struct source *source)
{
    container_of(source, struct qemu_log, source)->is_cut = true;
}

void qemu_log_set_lost(struct source *source, uint64_t lost)
{
    container_of(source, struct qemu_log, source)->lost_at_end = lost;
}

int qemu_log_open(struct input *in, struct catalogue *catalogue, const struct qemu_events *events,
                  struct source **ret_source, struct error *error)
{
    struct qemu_log *log = calloc(1, sizeof *log);
    int r;

    if (!log) {
        r = error_set(error, -ENOMEM, in->path, "out of memory");
        input_done(in);
        return r;
    }
    log->source.ops = &log_ops;
    log->source.one_buffer = true;
    log->in = *in;
    *in = (struct input){.fd = -1};
    log->names.catalogue = catalogue;
    log->declared = events != NULL;
    log->line = 1;
    log->seek_time = INT64_MIN;

    log->payloads = malloc(PAYLOADS_SIZE);
    r = log->payloads ? log_matcher_new(&log->matcher) : -ENOMEM;
    if (r == 0)
        r = log_names_declare(&log->names, events);
    if (r == 0) {
        look_for_clock(log);
        log->source.ordered = !log->timed;
        log->source.skips = log->timed && log->in.seekable && log->in.size != UINT64_MAX;
        r = add_origin(log);
    }
    if (r == 0)
        r = log_names_add_message_class(&log->names, "log", &log->log_class);
    if (r < 0) {
        error_set(error, r, log->in.path, "out of memory");
        log_free(&log->source);
        return r;
    }
    *ret_source = &log->source;
    return 0;
}
