/* SPDX-License-Identifier: MIT */
#include "format/xentrace/seek.h"

#include <stdlib.h>

#include "base/macro.h"
#include "event/item.h"
#include "format/xentrace/class.h"

#define CHUNK ((size_t)64 * 1024)
/* Where the first record with a time of a window mostly is. */
#define HEAD ((size_t)512)
/* Windows without any record with a time that are looked through for one. */
#define TIMELESS_MAX 16

struct search {
    struct xentrace_windows *windows;
    uint16_t cpu;
    int64_t time;
    uint8_t *buf; /* CHUNK bytes */
    struct error *error;
};

/* What there is in a stretch of records. */
struct findings {
    bool has_time, tells_vcpu; /* the second: before any record of the time looked for, or later */
    int64_t first_time;
};

/* Looks through the records of SIZE bytes at OFFSET. FIRST: only for the first time. */
static int look_through(const struct search *s, uint64_t offset, uint32_t size, bool first,
                        struct findings *ret)
{
    uint64_t end = offset + size;
    size_t chunk = first ? HEAD : CHUNK;

    *ret = (struct findings){0};
    while (offset < end) {
        int64_t n = xentrace_windows_read(s->windows, offset, s->buf,
                                          (size_t)MIN(end - offset, (uint64_t)chunk), s->error);
        size_t at = 0;

        if (n < 0)
            return (int)n;
        while ((size_t)n - at >= 4) {
            uint32_t header = load_le32(s->buf + at);

            if (!xentrace_header_plausible(header))
                return 0;
            if (xentrace_record_size(header) > (size_t)n - at)
                break;
            if (xentrace_has_tsc(header)) {
                int64_t time = (int64_t)load_le64(s->buf + at + 4);

                if (!ret->has_time)
                    ret->first_time = time;
                ret->has_time = true;
                if (first || time < 0 || time >= s->time)
                    return 0;
            }
            ret->tells_vcpu |= xentrace_tells_vcpu(header);
            if (ret->tells_vcpu && !first)
                return 0;
            at += xentrace_record_size(header);
        }
        if (at == 0)
            return 0;
        offset += at;
        chunk = CHUNK;
    }
    return 0;
}

/* Finds the first record with a time from CURSOR on. Returns 1; 0: no window; negative: an error or -ENODATA. */
static int find_time(const struct search *s, struct xentrace_cursor cursor, int64_t *ret_time)
{
    for (unsigned i = 0; i < TIMELESS_MAX; i++) {
        struct xentrace_window window;
        struct findings found;
        int r = xentrace_windows_next(s->windows, &cursor, s->cpu, &window, s->error);

        if (r <= 0)
            return r;
        r = look_through(s, window.offset, window.size, true, &found);
        if (r < 0)
            return r;
        if (found.has_time) {
            *ret_time = found.first_time;
            return 1;
        }
    }
    return -ENODATA;
}

/* Whether the first record with a time from CURSOR on is earlier than the time. 1, 0, negative: an error or -ENODATA. */
static int is_before(const struct search *s, struct xentrace_cursor cursor)
{
    int64_t time;
    int r = find_time(s, cursor, &time);

    return r > 0 ? time < s->time : r;
}

/* Moves CURSOR to the last place where is_before() is true, by halves of the segments, and of one's windows. It is true at
 * CURSOR. */
static int find_last_before(const struct search *s, struct xentrace_cursor *cursor)
{
    size_t low = cursor->segment, high = s->windows->n_segments;
    unsigned low_window, high_window = s->windows->per_segment;
    int r;

    while (high - low > 1) {
        struct xentrace_cursor middle = {.segment = low + (high - low) / 2};

        r = is_before(s, middle);
        if (r < 0)
            return r;
        if (r > 0)
            *cursor = middle;
        if (r > 0)
            low = middle.segment;
        else
            high = middle.segment;
    }
    low_window = cursor->window;
    while (high_window > low_window && high_window - low_window > 1) {
        struct xentrace_cursor middle = {cursor->segment,
                                         low_window + (high_window - low_window) / 2};

        r = is_before(s, middle);
        if (r < 0)
            return r;
        if (r > 0)
            low_window = middle.window;
        else
            high_window = middle.window;
    }
    cursor->window = low_window;
    return 0;
}

static bool is_earlier(const struct xentrace_cursor *a, const struct xentrace_cursor *b)
{
    return a->segment < b->segment || (a->segment == b->segment && a->window < b->window);
}

/* Moves CURSOR back to a window, not before START, from which on it is known which vCPU runs. 1; 0: there is none. */
static int find_vcpu(const struct search *s, const struct xentrace_cursor *start,
                     struct xentrace_cursor *cursor)
{
    struct xentrace_cursor at = *cursor;
    struct xentrace_window window;
    int r = xentrace_windows_next(s->windows, &at, s->cpu, &window, s->error);

    /* That one first. */
    while (r > 0) {
        struct findings found;

        r = xentrace_windows_previous(s->windows, &at, s->cpu, &window, s->error);
        if (r <= 0 || is_earlier(&at, start))
            break;
        r = look_through(s, window.offset, window.size, false, &found);
        if (r < 0)
            return r;
        if (found.tells_vcpu) {
            *cursor = at;
            return 1;
        }
        r = 1;
    }
    return MIN(r, 0);
}

int xentrace_seek(struct xentrace_windows *windows, uint16_t cpu, int64_t time,
                  const struct xentrace_rest *rest, bool follows, struct xentrace_cursor *cursor,
                  struct error *error)
{
    _cleanup_free_ uint8_t *buf = malloc(CHUNK);
    struct search s = {windows, cpu, time, buf, error};
    struct xentrace_cursor found = *cursor, with_vcpu;
    struct findings findings;
    int r;

    if (!buf)
        return error_set(error, -ENOMEM, windows->in->path, "out of memory");
    r = is_before(&s, found);
    if (r > 0)
        r = find_last_before(&s, &found);
    else if (r == 0)
        return 0;
    if (r < 0)
        return r == -ENODATA ? 0 : r;
    with_vcpu = found;
    r = find_vcpu(&s, cursor, &with_vcpu);
    if (r < 0)
        return r;
    if (r == 0) {
        if (follows)
            return 0;
        r = look_through(&s, rest->offset, rest->size, false, &findings);
        if (r < 0)
            return r;
        if (findings.tells_vcpu)
            return 0;
        with_vcpu = found;
    }
    *cursor = with_vcpu;
    return 1;
}

int xentrace_find_begins(struct xentrace_windows *windows, struct error *error)
{
    _cleanup_free_ uint8_t *buf = malloc(CHUNK);
    struct search s = {.windows = windows, .buf = buf, .error = error};
    unsigned n = 0;
    int64_t first = INT64_MAX, last = 0;

    if (!buf)
        return error_set(error, -ENOMEM, windows->in->path, "out of memory");
    for (unsigned cpu = 0; cpu < XENTRACE_CPUS_MAX; cpu++) {
        int64_t time;
        int r;

        if (!windows->cpu_present[cpu])
            continue;
        s.cpu = (uint16_t)cpu;
        r = find_time(&s, (struct xentrace_cursor){0}, &time);
        if (r < 0 && r != -ENODATA)
            return r;
        if (r <= 0 || time <= 0)
            continue;
        first = MIN(first, time);
        last = MAX(last, time);
        n++;
    }
    windows->first_begin = n > 0 ? first : TIME_UNKNOWN;
    windows->last_begin = n > 1 ? last : 0;
    return 0;
}
