/* SPDX-License-Identifier: MIT */
#include "format/xentrace/windows.h"

#include <inttypes.h>
#include <limits.h>

#include "base/macro.h"

#define PER_SEGMENT 256
#define SEGMENTS_MAX ((size_t)1 << 20) /* 16 MB */
#define FIRST_MAX ((size_t)1 << 17)    /* 3 MB */
#define SEARCH_BUFFER ((size_t)64 * 1024)

#define PEEK_MAX ((size_t)64)

int64_t xentrace_windows_read(const struct xentrace_windows *w, uint64_t offset, void *buf,
                              size_t n, struct error *error)
{
    int64_t r = input_read_at(w->in, offset, buf, n, error);

    if (r > 0 && w->big_endian)
        xentrace_words_to_le(buf, (size_t)r);
    return r;
}

/* The N bytes at OFFSET, whole words, N at most PEEK_MAX; NULL with *ret 0 when the file ends before. */
static const uint8_t *peek(const struct xentrace_windows *w, struct xentrace_walk *walk,
                           uint64_t offset, size_t n, int *ret, struct error *error)
{
    *ret = 0;
    if (offset < walk->buf_offset || offset + n > walk->buf_offset + walk->filled ||
        (w->big_endian && (offset - walk->buf_offset) % 4 != 0)) {
        /* Of windows that are not small, only the heads are read. */
        bool is_near = offset - walk->buf_offset < sizeof walk->buf / 8;
        uint64_t size = is_near ? sizeof walk->buf : PEEK_MAX;
        int64_t r = 0;
        if (offset < w->end)
            r = xentrace_windows_read(w, offset, walk->buf, (size_t)MIN(w->end - offset, size),
                                      error);
        walk->buf_offset = offset;
        walk->filled = r > 0 ? (size_t)r : 0;
        if (r < 0) {
            *ret = (int)r;
            return NULL;
        }
        if (n > walk->filled)
            return NULL;
    }
    return walk->buf + (offset - walk->buf_offset);
}

/* Follows records from AT up to an impossible one: a window's head, damage, or the end. */
static int follow_records(const struct xentrace_windows *w, struct xentrace_walk *walk, uint64_t at,
                          uint64_t *ret_end, struct error *error)
{
    uint64_t limit = at + (UINT32_MAX & ~(uint32_t)3);

    while (at < w->end && at < limit) {
        int r;
        const uint8_t *p = peek(w, walk, at, 4, &r, error);
        uint32_t header;

        if (!p && r < 0)
            return r;
        if (!p)
            break;
        header = load_le32(p);
        if (!xentrace_header_plausible(header) || xentrace_event(header) == XEN_CPU_CHANGE ||
            xentrace_record_size(header) > w->end - at)
            break;
        at += xentrace_record_size(header);
    }
    *ret_end = MIN(at, limit);
    return 0;
}

/* Whether a window that was found by searching is one: what follows it is a window or the end, or else
 * it holds at least something like a record. */
static int confirm(const struct xentrace_windows *w, struct xentrace_walk *walk, uint64_t at,
                   struct error *error)
{
    int r;
    const uint8_t *p = peek(w, walk, at, XENTRACE_WINDOW_HEADER_SIZE, &r, error);
    uint64_t next;

    if (!p)
        return r;
    next = at + XENTRACE_WINDOW_HEADER_SIZE + load_le32(p + 8);
    if (next == w->end)
        return 1;
    if (next < w->end) {
        p = peek(w, walk, next, XENTRACE_WINDOW_HEADER_SIZE, &r, error);
        if (p && xentrace_window_plausible(p, false))
            return 1;
        if (r < 0)
            return r;
    }
    p = peek(w, walk, at + XENTRACE_WINDOW_HEADER_SIZE, 4, &r, error);
    if (!p)
        return r;
    return xentrace_header_plausible(load_le32(p)) &&
           xentrace_event(load_le32(p)) != XEN_CPU_CHANGE;
}

/* Sets *RET_AT to the first window from AT on, or to the end. */
static int search(const struct xentrace_windows *w, struct xentrace_walk *walk, uint64_t at,
                  uint64_t *ret_at, struct error *error)
{
    _cleanup_free_ uint8_t *buf = malloc(SEARCH_BUFFER);

    if (!buf)
        return error_set(error, -ENOMEM, w->in->path, "out of memory");
    while (w->end - at >= XENTRACE_WINDOW_HEADER_SIZE) {
        int64_t n =
            input_read_at(w->in, at, buf, (size_t)MIN(w->end - at, (uint64_t)SEARCH_BUFFER), error);
        size_t found = 0;

        if (n < XENTRACE_WINDOW_HEADER_SIZE)
            return n < 0 ? (int)n : (*ret_at = w->end, 0);
        for (;; found++) {
            int r;
            found = xentrace_find_window(buf, (size_t)n, found, w->big_endian);
            if (found == (size_t)n)
                break;
            r = confirm(w, walk, at + found, error);
            if (r < 0)
                return r;
            if (r > 0) {
                *ret_at = at + found;
                return 0;
            }
        }
        /* A window's head may lie across the end of what was read. */
        at += (uint64_t)n - (XENTRACE_WINDOW_HEADER_SIZE - 1);
    }
    *ret_at = w->end;
    return 0;
}

static int is_window_or_end(const struct xentrace_windows *w, struct xentrace_walk *walk,
                            uint64_t at, struct error *error)
{
    int r;
    const uint8_t *p;

    if (at == w->end)
        return 1;
    p = peek(w, walk, at, XENTRACE_WINDOW_HEADER_SIZE, &r, error);
    return p ? xentrace_window_plausible(p, false) : r;
}

static uint32_t saturate(uint64_t v)
{
    return (uint32_t)MIN(v, (uint64_t)UINT32_MAX);
}

/* The next window that is not empty. 1; 0 at the end (ret_window->skipped: damaged bytes before it);
 * -EBADMSG where the chain breaks. */
static int walk_next(const struct xentrace_windows *w, struct xentrace_walk *walk,
                     struct xentrace_window *ret_window, struct error *error)
{
    uint64_t skipped = 0;

    for (;;) {
        struct xentrace_window window = {0};
        const uint8_t *p;
        uint64_t size;
        int r;

        if (walk->at >= w->end) {
            *ret_window = (struct xentrace_window){.skipped = saturate(skipped)};
            return 0;
        }
        p = peek(w, walk, walk->at, XENTRACE_WINDOW_HEADER_SIZE, &r, error);
        if (r < 0)
            return r;
        if (!p || !xentrace_window_plausible(p, false)) {
            uint64_t found = 0;
            if (!w->keep_going && !p)
                return error_at(error, -EBADMSG, w->in->path, walk->at,
                                "the file ends within the head of a window of records");
            if (!w->keep_going && walk->at == w->start)
                return error_at(error, -EBADMSG, w->in->path, walk->at,
                                "does not begin with a CPU_CHANGE record as xentrace writes it; "
                                "--keep-going looks for the first one");
            if (!w->keep_going)
                return error_at(error, -EBADMSG, w->in->path, walk->at,
                                "expected a CPU_CHANGE record, not 0x%08" PRIx32
                                "; --keep-going looks for the next one",
                                load_le32(p));
            r = search(w, walk, walk->at + 1, &found, error);
            if (r < 0)
                return r;
            skipped += found - walk->at;
            walk->at = found;
            continue;
        }

        window.cpu = (uint16_t)load_le32(p + 4);
        window.offset = walk->at + XENTRACE_WINDOW_HEADER_SIZE;
        window.skipped = saturate(skipped);
        size = load_le32(p + 8);
        if (size > w->end - window.offset) {
            size = w->end - window.offset;
            window.cut = true;
        }
        if (w->keep_going) {
            /* A window that leads to nowhere has a damaged head: its records give its size. */
            r = window.cut ? 0 : is_window_or_end(w, walk, window.offset + size, error);
            if (r < 0)
                return r;
            if (r == 0) {
                uint64_t end;
                r = follow_records(w, walk, window.offset, &end, error);
                if (r < 0)
                    return r;
                window.cut = window.cut && end + XENTRACE_RECORD_MAX > w->end;
                if (!window.cut)
                    size = end - window.offset;
                if (size == 0) /* only an incomplete head */
                    skipped += XENTRACE_WINDOW_HEADER_SIZE;
            }
        }
        walk->at = window.offset + size;
        if (size == 0 && !window.cut)
            continue;
        window.size = (uint32_t)size;
        p = peek(w, walk, window.offset, 4, &r, error);
        if (r < 0)
            return r;
        window.begins_lost = p && xentrace_event(load_le32(p)) == XEN_LOST_RECORDS;
        *ret_window = window;
        return 1;
    }
}

static int add_segment(struct xentrace_windows *w, uint64_t offset)
{
    if (w->n_segments == w->segments_max) {
        w->n_segments /= 2;
        w->per_segment *= 2;
        for (size_t i = 0; i < w->n_segments; i++)
            w->segments[i] = (struct xentrace_segment){
                .offset = w->segments[2 * i].offset,
                .cpus = w->segments[2 * i].cpus | w->segments[2 * i + 1].cpus,
            };
    } else if (w->n_segments == w->capacity) {
        size_t capacity = w->capacity ? w->capacity * 2 : 64;
        struct xentrace_segment *bigger = realloc(w->segments, capacity * sizeof *bigger);
        if (!bigger)
            return -ENOMEM;
        w->segments = bigger;
        w->capacity = capacity;
    }
    w->segments[w->n_segments++] = (struct xentrace_segment){.offset = offset};
    return 0;
}

/* Remembers WINDOW, if there is room for all windows before it. */
static int remember(struct xentrace_windows *w, const struct xentrace_window *window)
{
    if (w->n_windows != w->n_first || w->n_first == MIN(FIRST_MAX, w->segments_max))
        return 0;
    if (w->n_first == w->first_capacity) {
        size_t capacity = w->first_capacity ? w->first_capacity * 2 : 64;
        struct xentrace_window *bigger = realloc(w->first, capacity * sizeof *bigger);
        if (!bigger)
            return -ENOMEM;
        w->first = bigger;
        w->first_capacity = capacity;
    }
    w->first[w->n_first++] = *window;
    return 0;
}

static int build(struct xentrace_windows *w, struct error *error)
{
    unsigned in_segment = 0;

    w->walk = (struct xentrace_walk){.at = w->start};
    for (;;) {
        struct xentrace_window window;
        uint64_t at = w->walk.at;
        int r = walk_next(w, &w->walk, &window, &w->error);

        if (r == -EBADMSG) {
            w->cut = w->end - w->walk.at < XENTRACE_WINDOW_HEADER_SIZE;
            w->cut_head = w->cut ? (uint32_t)(w->end - w->walk.at) : 0;
            return 0;
        }
        if (r < 0) {
            if (error)
                *error = w->error;
            return r;
        }
        if (r == 0) {
            w->skipped_last = window.skipped;
            return 0;
        }
        /* Halving the segments doubles what one holds, the last one included. */
        if (w->n_segments == 0 || in_segment == w->per_segment) {
            r = add_segment(w, at);
            if (r < 0)
                return error_set(error, r, w->in->path, "out of memory");
            in_segment = 0;
        }
        in_segment++;
        w->segments[w->n_segments - 1].cpus |= UINT64_C(1) << window.cpu % 64;
        r = remember(w, &window);
        if (r < 0)
            return error_set(error, r, w->in->path, "out of memory");
        w->n_windows++;
        w->cpu_present[window.cpu] = true;
        w->cpu_bytes[window.cpu] += window.size;
        if (window.cut) {
            w->cut = true;
            error_at(&w->error, -EBADMSG, w->in->path, w->end,
                     "the file ends within a window of records of cpu %u", window.cpu);
            /* With keep_going the reader of that cpu reports what is missing. */
            if (w->keep_going)
                error_clear(&w->error);
            return 0;
        }
    }
}

/* By what xentrace_recognise() looks at, if the file does not begin with a window. */
static int find_byte_order(struct xentrace_windows *w, struct error *error)
{
    _cleanup_free_ uint8_t *buf = NULL;
    uint8_t head[XENTRACE_WINDOW_HEADER_SIZE];
    int64_t n = input_read_at(w->in, w->start, head, sizeof head, error);

    if (n < (int64_t)sizeof head)
        return (int)MIN(n, (int64_t)0);
    if (xentrace_window_plausible(head, false))
        return 0;
    buf = malloc(SEARCH_BUFFER);
    if (!buf)
        return error_set(error, -ENOMEM, w->in->path, "out of memory");
    n = input_read_at(w->in, w->start, buf, SEARCH_BUFFER, error);
    if (n < 0)
        return (int)n;
    w->big_endian = xentrace_is_big_endian(buf, (size_t)n);
    return 0;
}

int xentrace_windows_open(struct xentrace_windows *w, const struct input *in, uint64_t start,
                          bool keep_going, size_t segments_max, struct error *error)
{
    int r;

    *w = (struct xentrace_windows){
        .in = in,
        .start = start,
        .end = in->size,
        .keep_going = keep_going,
        .segments_max = segments_max ? segments_max : SEGMENTS_MAX,
        .per_segment = PER_SEGMENT,
    };
    for (size_t i = 0; i < XENTRACE_EXPANDED; i++)
        w->expanded[i].segment = SIZE_MAX;
    r = find_byte_order(w, error);
    if (r >= 0)
        r = build(w, error);
    if (r < 0)
        xentrace_windows_done(w);
    return r;
}

void xentrace_windows_borrow(struct xentrace_windows *w, const struct xentrace_windows *from,
                             const struct input *in)
{
    *w = *from;
    w->in = in;
    w->is_borrowed = true;
    for (size_t i = 0; i < XENTRACE_EXPANDED; i++)
        w->expanded[i] = (struct xentrace_expanded){.segment = SIZE_MAX};
}

void xentrace_windows_done(struct xentrace_windows *w)
{
    for (size_t i = 0; i < XENTRACE_EXPANDED; i++) {
        free(w->expanded[i].walked);
        w->expanded[i].walked = NULL;
    }
    if (!w->is_borrowed) {
        free(w->segments);
        free(w->first);
    }
    w->segments = NULL;
    w->n_segments = 0;
    w->first = NULL;
    w->n_first = 0;
}

/* Walks SEGMENT again, into E. */
static int walk_segment(struct xentrace_windows *w, size_t segment, struct xentrace_expanded *e,
                        struct error *error)
{
    if (!e->walked)
        e->walked = malloc(w->per_segment * sizeof *e->walked);
    if (!e->walked)
        return error_set(error, -ENOMEM, w->in->path, "out of memory");
    e->windows = e->walked;
    w->walk.at = w->segments[segment].offset;
    while (e->n < w->per_segment) {
        int r = walk_next(w, &w->walk, &e->walked[e->n], error);
        if (r == -EBADMSG) {
            /* Where the chain breaks is known since the opening. */
            error_clear(error);
            break;
        }
        if (r < 0)
            return r;
        if (r == 0 || e->walked[e->n++].cut)
            break;
    }
    return 0;
}

static int expand(struct xentrace_windows *w, size_t segment,
                  const struct xentrace_expanded **ret_expanded, struct error *error)
{
    struct xentrace_expanded *e = &w->expanded[segment % XENTRACE_EXPANDED];

    if (e->segment != segment) {
        uint64_t first = (uint64_t)segment * w->per_segment;
        uint64_t end = MIN(first + w->per_segment, w->n_windows);
        int r = 0;

        e->segment = SIZE_MAX;
        e->n = 0;
        if (end <= w->n_first) {
            e->windows = w->first + first;
            e->n = (unsigned)(end - first);
        } else {
            r = walk_segment(w, segment, e, error);
        }
        if (r < 0)
            return r;
        memset(e->cpus, 0, sizeof e->cpus);
        for (unsigned i = 0; i < e->n; i++)
            e->cpus[e->windows[i].cpu / 64] |= UINT64_C(1) << e->windows[i].cpu % 64;
        e->segment = segment;
    }
    *ret_expanded = e;
    return 0;
}

/* The same, if windows of CPU are in SEGMENT: 1; 0: none are. */
static int expand_of_cpu(struct xentrace_windows *w, size_t segment, uint16_t cpu,
                         const struct xentrace_expanded **ret_expanded, struct error *error)
{
    int r;

    if (!(w->segments[segment].cpus >> cpu % 64 & 1))
        return 0;
    r = expand(w, segment, ret_expanded, error);
    return r < 0 ? r : (int)((*ret_expanded)->cpus[cpu / 64] >> cpu % 64 & 1);
}

int xentrace_windows_next(struct xentrace_windows *w, struct xentrace_cursor *cursor, uint16_t cpu,
                          struct xentrace_window *ret_window, struct error *error)
{
    for (; cursor->segment < w->n_segments; cursor->segment++, cursor->window = 0) {
        const struct xentrace_expanded *e = NULL;
        int r;

        r = expand_of_cpu(w, cursor->segment, cpu, &e, error);
        if (r < 0)
            return r;
        if (r == 0)
            continue;
        while (cursor->window < e->n) {
            const struct xentrace_window *window = &e->windows[cursor->window++];
            if (window->cpu == cpu) {
                *ret_window = *window;
                return 1;
            }
        }
    }
    return 0;
}

int xentrace_windows_previous(struct xentrace_windows *w, struct xentrace_cursor *cursor,
                              uint16_t cpu, struct xentrace_window *ret_window, struct error *error)
{
    for (;; cursor->window = 0) {
        const struct xentrace_expanded *e = NULL;
        unsigned i;
        int r;

        if (cursor->window == 0 || cursor->segment >= w->n_segments) {
            if (cursor->segment == 0)
                return 0;
            cursor->segment = MIN(cursor->segment, w->n_segments) - 1;
            cursor->window = UINT_MAX;
        }
        r = expand_of_cpu(w, cursor->segment, cpu, &e, error);
        if (r < 0)
            return r;
        if (r == 0)
            continue;
        for (i = MIN(cursor->window, e->n); i > 0; i--)
            if (e->windows[i - 1].cpu == cpu) {
                cursor->window = i - 1;
                *ret_window = e->windows[i - 1];
                return 1;
            }
    }
}
