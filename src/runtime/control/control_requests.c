/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/clock.h"
#include "runtime/control/control.h"
#include "runtime/control/options.h"
#include "runtime/control/snapshot.h"
#include "runtime/events.h"
#include "runtime/message.h"
#include "runtime/process/program.h"
#include "runtime/ring/ring.h"
#include "runtime/ring/ring_drops.h"
#include "runtime/writer.h"
#include "strata/trace.h"

static uint64_t began; /* ns since 1970 */

static void begin(void)
{
    began = trace_clock_ns(CLOCK_REALTIME);
}

/* A reply consists of lines: what would end one is written as \xNN, as is a backslash. */
static void put_text(FILE *out, const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f || *text == '\\')
            fprintf(out, "\\x%02x", (unsigned)(unsigned char)*text);
        else
            putc(*text, out);
}

/* ---- hello ---- */

struct count {
    uint64_t on, all;
};

static int count_one(const struct strata_event *event, void *userdata)
{
    struct count *count = userdata;

    count->on += strata_event_is_on(event);
    count->all++;
    return 0;
}

static void put_sink(FILE *out, enum sink_number number)
{
    struct sink_state state;

    if (writer_sink_state(number, &state) < 0)
        return;
    if (state.on) {
        fprintf(out, "sink %s %s %" PRIu64 " ", state.name,
                state.paused    ? "paused"
                : state.is_open ? "open"
                                : "closed",
                state.lost);
        put_text(out, state.path ? state.path : "-");
        putc('\n', out);
    }
    free(state.path);
}

static uint64_t drops_now(void)
{
    uint64_t n = ring_drops_without_ring();

    for (unsigned i = 0; i < ring_count(); i++) {
        const struct ring_map *map = ring_at(i);

        if (map)
            n += ring_discarded(map);
    }
    return n;
}

static int hello(FILE *out, const char *argument)
{
    struct strata_trace_stats stats;
    struct count count = {0, 0};
    uint64_t bytes = 0;
    unsigned rings = 0;

    (void)argument;
    for (unsigned i = 0; i < ring_count(); i++) {
        const struct ring_map *map = ring_at(i);

        if (map) {
            rings++;
            bytes += map->size;
        }
    }
    strata_event_foreach(NULL, count_one, &count);
    strata_trace_get_stats(&stats, sizeof(stats));
    fprintf(out, "protocol %d\nversion %s\nabi %d\npid %ld\nprogram ", CONTROL_PROTOCOL,
            STRATA_VERSION, STRATA_TRACE_ABI, (long)getpid());
    put_text(out, program_name());
    fprintf(out,
            "\nsince %" PRIu64 "\nevents %" PRIu64 " %" PRIu64 "\nmode %s\nrings %u %" PRIu64
            "\ndropped %" PRIu64 "\nunwritten %" PRIu64 "\n",
            began, count.on, count.all, options_overwrite() ? "overwrite" : "discard", rings, bytes,
            drops_now(), stats.unwritten);
    for (unsigned i = 0; i < SINKS; i++)
        put_sink(out, (enum sink_number)i);
    return 0;
}

/* ---- events [PATTERN] ---- */

static int put_event(const struct strata_event *event, void *userdata)
{
    FILE *out = userdata;
    const struct trace_class *class =
        event->id > 0 && event_is_filtered(event) ? class_by_id(event->id) : NULL;
    const char *condition =
        class ? atomic_load_explicit(&class->condition, memory_order_acquire) : NULL;

    fprintf(out, "%s %" PRIu32 " %" PRIu32 " %s ",
            !event->compiled_in         ? "unavailable"
            : strata_event_is_on(event) ? "on"
                                        : "off",
            event->id, event->line, event->name);
    put_text(out, event->file ? event->file : "-");
    if (condition) {
        putc('\t', out); /* which no text has */
        put_text(out, condition);
    }
    putc('\n', out);
    return 0;
}

static int events(FILE *out, const char *argument)
{
    return strata_event_foreach(*argument ? argument : NULL, put_event, out);
}

/* ---- options OPTIONS ---- */

static void put_message(const char *message, void *userdata)
{
    put_text(userdata, message);
    putc('\n', userdata);
}

static int options(FILE *out, const char *argument)
{
    bool help = false;
    int r;

    if (!*argument) {
        fputs("no options are given\n", out);
        return -EINVAL;
    }
    r = options_apply(argument, &help);
    if (r >= 0 && help) {
        fputs("help is not for here: the request `events` lists them\n", out);
        r = -EINVAL;
    }
    if (r == -ENOMEM)
        fputs("out of memory\n", out);
    return r;
}

/* ---- flush, snapshot DIR ---- */

static int flush(FILE *out, const char *argument)
{
    struct strata_trace_stats before, after;
    int r;

    (void)argument;
    strata_trace_get_stats(&before, sizeof(before));
    r = strata_trace_flush();
    strata_trace_get_stats(&after, sizeof(after));
    if (r == -EOPNOTSUPP)
        fputs("it is not this program that writes its records out\n", out);
    else if (r < 0)
        fprintf(out, "%" PRIu64 " events could not be written\n",
                after.unwritten - before.unwritten);
    else
        fprintf(out, "bytes %" PRIu64 "\n", after.bytes - before.bytes);
    return r;
}

static int snapshot(FILE *out, const char *argument)
{
    struct snapshot taken;
    int r;

    if (*argument != '/') {
        fputs("the directory of a snapshot must be an absolute path\n", out);
        return -EINVAL;
    }
    r = snapshot_take(argument, &taken);
    if (r < 0) {
        put_text(out, argument);
        fprintf(out, ": %s\n", r == -EEXIST ? "the name already exists" : strerror(-r));
        return r;
    }
    fprintf(out, "rings %" PRIu64 "\npackets %" PRIu64 "\nbytes %" PRIu64 "\nfolder ", taken.rings,
            taken.packets, taken.bytes);
    put_text(out, taken.path);
    putc('\n', out);
    snapshot_done(&taken);
    return 0;
}

/* ---- file [on|off|set PATH] ---- */

static int file(FILE *out, const char *argument)
{
    _cleanup_free_ char *path = NULL;
    bool on;
    int r;

    if (strcmp(argument, "on") == 0 || strcmp(argument, "off") == 0) {
        r = strata_trace_file_set_enabled(strcmp(argument, "on") == 0);
    } else if (strncmp(argument, "set /", 5) == 0) {
        r = strata_trace_file_set(argument + 4);
    } else if (*argument == '\0') {
        r = 0;
    } else {
        fputs("`file` accepts: on, off, set PATH (absolute), or no argument\n", out);
        return -EINVAL;
    }
    if (r >= 0)
        r = strata_trace_file_get(&path, &on);
    if (r < 0) {
        fprintf(out, "%s\n",
                r == -EOPNOTSUPP ? "the program has no events whose records could be in a file"
                                 : strerror(-r));
        return r;
    }
    fprintf(out, "file %s ", on ? "on" : "off");
    put_text(out, path);
    putc('\n', out);
    return 0;
}

/* ---- stats ---- */

static void put_class_drops(FILE *out)
{
    uint64_t beyond = ring_drops_of(0); /* of those that a ring has no count for */

    for (uint32_t id = 1; id <= class_count(); id++) {
        uint64_t n = ring_drops_of(id);

        if (n == 0)
            continue;
        registry_lock();
        fprintf(out, "class %" PRIu32 " %" PRIu64 " %s\n", id, n, class_by_id(id)->name);
        registry_unlock();
    }
    if (beyond)
        fprintf(out, "class 0 %" PRIu64 " -\n", beyond);
}

/* Its owner may be changing: a race, and harmless. */
__attribute__((no_sanitize("thread"))) static uint32_t copy_name(const struct ring_map *map,
                                                                 char ret[17])
{
    const volatile char *name = map->thread_name;
    const volatile uint32_t *tid = &map->tid;

    for (unsigned i = 0; i < 16; i++)
        ret[i] = name[i];
    ret[16] = '\0';
    return *tid;
}

static void put_rings(FILE *out)
{
    for (unsigned i = 0; i < ring_count(); i++) {
        const struct ring_map *map = ring_at(i);
        uint64_t committed, from;
        char name[17];
        uint32_t tid;

        if (!map)
            continue;
        committed = __atomic_load_n(&map->committed, __ATOMIC_ACQUIRE);
        from = __atomic_load_n(map->flags & RING_OVERWRITE ? &map->oldest : &map->consumed,
                               __ATOMIC_ACQUIRE);
        tid = copy_name(map, name);
        fprintf(out,
                "ring %u %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu32 " %" PRIu32
                " ",
                i, map->flags & RING_OVERWRITE ? "overwrite" : "discard", map->size, committed,
                committed > from ? committed - from : 0, ring_discarded(map),
                __atomic_load_n(&map->owner, __ATOMIC_RELAXED), tid);
        put_text(out, name);
        putc('\n', out);
    }
}

static int stats(FILE *out, const char *argument)
{
    struct strata_trace_stats stats;

    (void)argument;
    strata_trace_get_stats(&stats, sizeof(stats));
    fprintf(out,
            "dropped %" PRIu64 "\nunwritten %" PRIu64 "\nbytes %" PRIu64 "\nlines %" PRIu64
            "\nrefused %" PRIu64 "\nringless %" PRIu64 "\n",
            drops_now(), stats.unwritten, stats.bytes, stats.lines, stats.refused,
            ring_drops_without_ring());
    put_class_drops(out);
    put_rings(out);
    return 0;
}

/* ---- The language ---- */

static const struct request {
    const char *name;
    /* What goes into the reply is written to OUT: with 0 the answer, else a message. */
    int (*function)(FILE *out, const char *argument);
    bool with_argument;
} requests[] = {
    {"hello", hello, false}, {"events", events, true},     {"options", options, true},
    {"flush", flush, false}, {"snapshot", snapshot, true}, {"stats", stats, false},
    {"file", file, true},
};

static const char *answer(FILE *out, char *line, size_t len)
{
    char *argument = line + strcspn(line, " \t");
    size_t name_len = (size_t)(argument - line);
    int r;

    argument += strspn(argument, " \t");
    if (strlen(line) != len) {
        fputs("there is a NUL in the request\n", out);
        return "request";
    }
    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        const struct request *request = &requests[i];

        if (strlen(request->name) != name_len || memcmp(request->name, line, name_len) != 0)
            continue;
        if (*argument && !request->with_argument) {
            fprintf(out, "%s accepts no argument\n", request->name);
            return "argument";
        }
        r = request->function(out, argument);
        return r >= 0 ? NULL : r == -EINVAL ? "argument" : "failed";
    }
    fputs("unknown request (hello, events, options, flush, snapshot, stats, file)\n", out);
    return "request";
}

static int answer_line(const char *line, size_t len, char **ret, size_t *ret_len)
{
    _cleanup_free_ char *copy = malloc(len + 1), *text = NULL;
    const char *error;
    char *reply;
    size_t text_len = 0;
    FILE *out;
    int n;

    if (!copy)
        return -ENOMEM;
    memcpy(copy, line, len);
    copy[len] = '\0';
    if (len > 0 && copy[len - 1] == '\r') /* people use telnet-like tools */
        copy[--len] = '\0';
    out = open_memstream(&text, &text_len);
    if (!out)
        return -ENOMEM;
    /* Messages of the library go into the reply, not to the program's user. */
    message_divert(put_message, out);
    error = answer(out, copy, len);
    message_divert(NULL, NULL);
    if (fclose(out) != 0 || !text) /* glibc leaves no text where memory is out, and returns 0 */
        return -ENOMEM;
    reply = malloc(text_len + 64);
    if (!reply)
        return -ENOMEM;
    n = error ? snprintf(reply, 64, "error %s %zu\n", error, text_len)
              : snprintf(reply, 64, "ok %zu\n", text_len);
    memcpy(reply + n, text, text_len);
    *ret = reply;
    *ret_len = (size_t)n + text_len;
    return 0;
}

const struct control_handler control_requests = {.begin = begin, .answer = answer_line};
