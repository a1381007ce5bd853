/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/macro.h"
#include "runtime/process/log.h"
#include "runtime/ring/ring_copy.h"
#include "runtime/ring/ring_cursor.h"
#include "runtime/sinks/drain_pass.h"
#include "strata/trace.h"

/* What lies in the rings, as text: the newest events of copies of them, so that emitting threads
 * and the writer are not disturbed. */

struct shown {
    uint64_t ticks;
    uint64_t number; /* of two at the same time, what was met first comes first */
    char *line;
};

/* The newest so far, as a heap with the oldest of them at the root. */
struct newest {
    struct shown *heap;
    size_t n, max;
    uint64_t number;
};

static bool is_older(const struct shown *a, const struct shown *b)
{
    return a->ticks != b->ticks ? a->ticks < b->ticks : a->number < b->number;
}

static void swap(struct shown *a, struct shown *b)
{
    struct shown other = *a;

    *a = *b;
    *b = other;
}

static void sift_up(struct newest *newest, size_t i)
{
    for (; i && is_older(&newest->heap[i], &newest->heap[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&newest->heap[i], &newest->heap[(i - 1) / 2]);
}

static void sift_down(struct newest *newest)
{
    size_t i = 0;

    for (;;) {
        size_t child = 2 * i + 1;

        if (child >= newest->n)
            return;
        if (child + 1 < newest->n && is_older(&newest->heap[child + 1], &newest->heap[child]))
            child++;
        if (!is_older(&newest->heap[child], &newest->heap[i]))
            return;
        swap(&newest->heap[child], &newest->heap[i]);
        i = child;
    }
}

/* PID@SEC.USEC:NAME ARGUMENTS, as the log has it. */
static char *line_of(const struct cursor *cursor)
{
    char text[STRATA_LOG_MAX];
    struct line line = {text, text + sizeof(text) - 1, false};

    if (!cursor->layout)
        return NULL;
    line_put_stamp(&line, cursor->packet.header.tid,
                   pass_realtime(clock_sync_ns(pass_times(), cursor->ticks)));
    layout_put_text(cursor->layout, &line, cursor->arguments);
    *line.at = '\0';
    return strdup(text);
}

static int add(struct newest *newest, const struct cursor *cursor)
{
    struct shown shown = {.ticks = cursor->ticks, .number = newest->number++};

    if (newest->n == newest->max && !is_older(&newest->heap[0], &shown))
        return 0;
    shown.line = line_of(cursor);
    if (!shown.line)
        return -ENOMEM;
    if (newest->n < newest->max) {
        newest->heap[newest->n] = shown;
        sift_up(newest, newest->n++);
    } else {
        free(newest->heap[0].line);
        newest->heap[0] = shown;
        sift_down(newest);
    }
    return 0;
}

/* Requires the pass lock, because the writer's record layouts decode the records. */
static int read_ring(struct newest *newest, const struct ring_copy *copy)
{
    struct cursor cursor = {0};
    int r = ring_reader_init(&cursor.reader, copy->memory, copy->length);

    while (r >= 0 && cursor_next_packet(&cursor, RING_FLUSH) > 0) {
        for (bool more = cursor_first(&cursor); more && r >= 0; more = cursor_next(&cursor))
            r = add(newest, &cursor);
        cursor_release(&cursor);
    }
    return r;
}

static int read_rings(struct newest *newest)
{
    unsigned n = ring_count();

    for (unsigned i = 0; i < n; i++) {
        struct ring_map *map = ring_at(i);
        struct ring_copy copy;
        int r;

        if (!map) /* is being made */
            continue;
        r = ring_copy_take(&copy, map, ring_length(i));
        if (r < 0)
            return r;
        if (r == 0)
            continue;
        pass_lock();
        r = read_ring(newest, &copy);
        pass_unlock();
        ring_copy_done(&copy);
        if (r < 0)
            return r;
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    return is_older(a, b) ? -1 : 1;
}

int strata_trace_show(unsigned max, void (*function)(const char *line, void *userdata),
                      void *userdata)
{
    struct newest newest = {.max = max};
    int r;

    if (max == 0 || max > INT32_MAX)
        return -EINVAL;
    newest.heap = calloc(max, sizeof(*newest.heap));
    if (!newest.heap)
        return -ENOMEM;
    r = read_rings(&newest);
    if (r >= 0) {
        qsort(newest.heap, newest.n, sizeof(*newest.heap), compare);
        for (size_t i = 0; i < newest.n; i++)
            function(newest.heap[i].line, userdata);
        r = (int)newest.n;
    }
    for (size_t i = 0; i < newest.n; i++)
        free(newest.heap[i].line);
    free(newest.heap);
    return r;
}
