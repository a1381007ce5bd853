/* SPDX-License-Identifier: MIT */
/* Puts a source's items in order if their times step backwards a little.
 *
 * The last WINDOW items are held back; everything before them is lent. Held items must be copied with
 * their payloads before the input's next run is requested (S2); the rest of a run is lent where it is.
 * So an ordered file costs one comparison per item and a copy of WINDOW items per run of the input.
 *
 * Invariants between two calls: R1  held[0 … n_held) is sorted by time, stable, and its payloads are in
 * payloads[current]. R2  ready is what the next calls lend first; it is in the input's last run. R3
 * tail becomes `held` before the input's next run is requested; it is in the input's last run or in
 *      `sorted`. Every item seen so far was lent, or is in ready, rest or tail; or in held while tail is empty.
 *
 * Where the input's clock starts again, all that was read before is lent, and ordering begins anew. An item that is earlier
 * than one before it is late if later times follow soon, as when an interrupt has events of its own while one is written. */
#include "timeline/reorder.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"

struct run {
    const struct item *items;
    unsigned n;
};

struct reorder {
    struct source source;
    struct source *input;
    unsigned window;
    int result;     /* the input's last answer */
    int live_fd;    /* or -1 */
    bool is_late;   /* an item was lent after a later one */
    unsigned moved; /* at most, by an item of the run that was sorted last */
    bool uncertain; /* see reorder_is_certain() */
    int64_t newest_lent;
    /* The newest times: of items after which more than WINDOW were read, of at least WINDOW items after these, of the rest. */
    int64_t newest_before, newest, newest_of_few;
    unsigned few; /* of the rest */

    /* Of an input whose clock may start again. */
    int64_t newest_of_clock; /* of what was read since it started */
    uint64_t n_restarts;
    uint64_t n_moved_up; /* items that were earlier than the one before, and were put in order */
    int64_t restarted_after; /* the first time, after what */
    const struct origin *origin;
    struct text hint;

    struct run rest; /* what follows a restart; it is in the input's last run */
    struct run ready;
    struct run tail;
    bool tail_of_run; /* tail is in the input's last run, not in `sorted` */

    struct item *held; /* `window` of them */
    unsigned n_held;
    uint8_t *payloads[2]; /* one holds those of `held`, the other is filled next */
    size_t payload_size[2];
    unsigned current;

    struct item *sorted;  /* where held items and a run are sorted together */
    struct item *scratch; /* as large, for the sort */
    unsigned capacity;
};

/* The end of the ascending stretch that begins at FROM. */
static unsigned stretch_end(const struct item *items, unsigned from, unsigned n)
{
    unsigned i = from + 1;

    while (i < n && items[i - 1].time <= items[i].time)
        i++;
    return i;
}

/* Merges a[0 … n_a) and b[0 … n_b) into OUT; of equal times, a's go first. */
static void merge_stretches(const struct item *a, unsigned n_a, const struct item *b, unsigned n_b,
                            struct item *out)
{
    while (n_a && n_b) {
        if (a->time <= b->time) {
            *out++ = *a++;
            n_a--;
        } else {
            *out++ = *b++;
            n_b--;
        }
    }
    memcpy(out, a, n_a * sizeof *out);
    memcpy(out + n_a, b, n_b * sizeof *out);
}

/* Stable natural merge sort: linear for sorted input, n log n at worst. The result is in *ITEMS, which
 * may be swapped with *SCRATCH. */
static void sort_items(struct item **items, struct item **scratch, unsigned n)
{
    for (;;) {
        unsigned at = 0;
        bool merged = false;
        struct item *swap;

        while (at < n) {
            unsigned middle = stretch_end(*items, at, n);
            unsigned end = middle < n ? stretch_end(*items, middle, n) : n;

            if (at == 0 && middle == n)
                return;
            merge_stretches(*items + at, middle - at, *items + middle, end - middle, *scratch + at);
            merged = true;
            at = end;
        }
        if (!merged)
            return;
        swap = *items;
        *items = *scratch;
        *scratch = swap;
    }
}

static int reserve(struct reorder *r, unsigned n)
{
    struct item *sorted;
    struct item *scratch;

    if (n <= r->capacity)
        return 0;
    sorted = realloc(r->sorted, n * sizeof *sorted);
    if (!sorted)
        return -ENOMEM;
    r->sorted = sorted;
    scratch = realloc(r->scratch, n * sizeof *scratch);
    if (!scratch)
        return -ENOMEM;
    r->scratch = scratch;
    r->capacity = n;
    return 0;
}

static bool has_payload(const struct item *item)
{
    return item->kind == ITEM_EVENT && item->size != 0;
}

/* Makes `tail` the held items, with payloads in our own memory. If a run's payloads are in one buffer
 * (S7), copies it as a whole and adjusts the pointers. */
static int hold_tail(struct reorder *r)
{
    unsigned other = !r->current;
    uintptr_t low = UINTPTR_MAX;
    uintptr_t high = 0;
    size_t sum = 0;
    size_t size;
    bool together;
    uint8_t *p;

    if (r->tail.n == 0)
        return 0;
    memcpy(r->held, r->tail.items, r->tail.n * sizeof *r->held);
    r->n_held = r->tail.n;
    r->tail.n = 0;

    for (unsigned i = 0; i < r->n_held; i++) {
        const struct item *item = &r->held[i];
        if (has_payload(item)) {
            low = MIN(low, (uintptr_t)item->payload);
            high = MAX(high, (uintptr_t)item->payload + item->size);
            sum += item->size;
        }
    }
    if (sum == 0)
        return 0;
    together = r->tail_of_run && r->input->one_buffer;
    size = together ? high - low : sum;

    if (size > r->payload_size[other]) {
        p = realloc(r->payloads[other], size);
        if (!p)
            return -ENOMEM;
        r->payloads[other] = p;
        r->payload_size[other] = size;
    }
    p = r->payloads[other];
    r->current = other;

    if (together)
        memcpy(p, (const void *)low, size);
    for (unsigned i = 0; i < r->n_held; i++) {
        struct item *item = &r->held[i];
        if (!has_payload(item))
            continue;
        if (together) {
            item->payload = p + ((uintptr_t)item->payload - low);
        } else {
            memcpy(p, item->payload, item->size);
            item->payload = p;
            p += item->size;
        }
    }
    return 0;
}

static int lend(struct reorder *r, const struct item *items, unsigned n,
                const struct item **ret_items)
{
    for (unsigned i = 0; i < n && unlikely(items[i].time < r->newest_lent); i++)
        r->is_late |= items[i].time != TIME_UNKNOWN;
    r->newest_lent = MAX(r->newest_lent, items[n - 1].time);
    *ret_items = items;
    return (int)n;
}

/* Sorts nearly ordered items in place: each late item moves up. False: they are too disordered for
 * this; some are then sorted. */
static bool sort_in_place(struct item *items, unsigned n, unsigned *ret_moved)
{
    unsigned budget = 4 * n; /* of items to move */

    *ret_moved = 0;

    for (unsigned i = 1; i < n; i++) {
        struct item late;
        unsigned at = i;

        if (likely(items[i].time >= items[i - 1].time))
            continue;
        late = items[i];
        for (; at > 0 && items[at - 1].time > late.time; at--) {
            if (budget-- == 0) {
                items[at] = late;
                return false;
            }
            items[at] = items[at - 1];
        }
        items[at] = late;
        *ret_moved = MAX(*ret_moved, i - at);
    }
    return true;
}

/* Items of a sorted run moved by at most `moved`, and go before some of those held. */
static void note_moves(struct reorder *r, const struct item *run)
{
    unsigned n = r->moved;

    for (unsigned i = r->n_held; i > 0 && r->held[i - 1].time > run[0].time; i--)
        n++;
    r->uncertain |= n > r->window;
}

/* The same of items that are not sorted yet: whether more than WINDOW may go after one that comes after them. */
static void note_disorder(struct reorder *r, const struct item *items, unsigned n)
{
    int64_t newest = INT64_MIN;

    for (unsigned i = r->window; i < n; i++) {
        newest = MAX(newest, items[i - r->window].time);
        r->uncertain |= i + 1 < n && items[i + 1].time < newest;
    }
}

/* The same of a run and all that was read before it. */
static void note_times(struct reorder *r, int64_t oldest, int64_t newest, unsigned n)
{
    r->uncertain |= oldest < r->newest_before;
    r->newest_of_few = MAX(r->newest_of_few, newest);
    r->few += n;
    if (r->few >= r->window) {
        r->newest_before = MAX(r->newest_before, r->newest);
        r->newest = r->newest_of_few;
        r->newest_of_few = INT64_MIN;
        r->few = 0;
    }
}

/* A long run in order: only its first items, as far as they belong between those held, are copied. */
static int pass_on(struct reorder *r, const struct item *run, unsigned n,
                   const struct item **ret_items)
{
    unsigned n_held = r->n_held;
    unsigned n_between = 0;
    int error;

    note_moves(r, run);
    note_times(r, run[0].time, run[n - 1].time, n);
    r->n_held = 0;
    r->tail = (struct run){run + n - r->window, r->window};
    r->tail_of_run = true;
    n -= r->window;
    if (n_held == 0)
        return lend(r, run, n, ret_items);

    while (n_between < n && run[n_between].time < r->held[n_held - 1].time)
        n_between++;
    /* It goes before some that are held now. */
    r->uncertain |= r->held[n_held - 1].time > run[n].time;
    r->ready = (struct run){run + n_between, n - n_between};
    if (n_between == 0)
        return lend(r, r->held, n_held, ret_items);

    error = reserve(r, n_held + n_between);
    if (error < 0)
        return error;
    merge_stretches(r->held, n_held, run, n_between, r->sorted);
    return lend(r, r->sorted, n_held + n_between, ret_items);
}

/* Sorts what is held and the input's run together. 0: all of it is held now. */
static int sort_in(struct reorder *r, const struct item *run, unsigned n,
                   const struct item **ret_items)
{
    unsigned total = r->n_held + n;
    unsigned n_tail = MIN(total, r->window);
    int error = reserve(r, total);
    int64_t oldest = INT64_MAX, newest = INT64_MIN;

    if (error < 0)
        return error;
    for (unsigned i = 0; i < n; i++) {
        oldest = run[i].time == TIME_UNKNOWN ? oldest : MIN(oldest, run[i].time);
        newest = MAX(newest, run[i].time);
    }
    note_times(r, oldest, newest, n);
    memcpy(r->sorted, r->held, r->n_held * sizeof *run);
    memcpy(r->sorted + r->n_held, run, n * sizeof *run);
    if (total > r->window && stretch_end(r->sorted, 0, total) < total)
        note_disorder(r, r->sorted, total);
    sort_items(&r->sorted, &r->scratch, total);
    r->n_held = 0;
    r->tail = (struct run){r->sorted + total - n_tail, n_tail};
    r->tail_of_run = false;
    if (total == n_tail)
        return 0;
    return lend(r, r->sorted, total - n_tail, ret_items);
}

static int fail(struct reorder *r, int err)
{
    r->result = err;
    return error_set(&r->source.error, err, "", "out of memory");
}

/* Whether the input's writer is quiet. */
static bool is_quiet(const struct reorder *r)
{
    struct pollfd pollfd = {.fd = r->live_fd, .events = POLLIN};

    return r->live_fd >= 0 && poll(&pollfd, 1, REORDER_TIMEOUT_MS) == 0;
}

static int lend_held(struct reorder *r, const struct item **ret_items)
{
    unsigned n = r->n_held;

    r->n_held = 0;
    return lend(r, r->held, n, ret_items);
}

/* How many items are looked at to tell a clock that started again from one late item. */
#define RESTART_ITEMS 3

/* The number of the item at which the clock starts again; N: it does not. */
static unsigned find_restart(struct reorder *r, const struct item *run, unsigned n)
{
    int64_t before = r->newest_of_clock;

    for (unsigned i = 0; i < n; i++) {
        int64_t time = run[i].time;
        bool is_late = false;

        if (time == TIME_UNKNOWN)
            continue;
        if (likely(time >= r->newest_of_clock)) {
            r->newest_of_clock = before = time;
            continue;
        }
        for (unsigned j = i + 1; j < n && j < i + RESTART_ITEMS; j++)
            is_late = is_late || run[j].time >= r->newest_of_clock;
        if (time < before && !is_late) {
            if (r->n_restarts++ == 0)
                r->restarted_after = r->newest_of_clock;
            r->origin = run[i].origin;
            r->newest_of_clock = time;
            return i;
        }
        if (time < before) {
            r->n_moved_up++;
            r->origin = run[i].origin;
        }
        before = time;
    }
    return n;
}

/* Lends all before a restart: what is held, and N items of RUN. */
static int lend_before_restart(struct reorder *r, const struct item *run, unsigned n,
                               const struct item **ret_items)
{
    unsigned total = r->n_held + n;
    int lent = reserve(r, total);

    if (lent < 0 || total == 0)
        return lent;
    memcpy(r->sorted, r->held, r->n_held * sizeof *run);
    memcpy(r->sorted + r->n_held, run, n * sizeof *run);
    sort_items(&r->sorted, &r->scratch, total);
    r->n_held = 0;
    lent = lend(r, r->sorted, total, ret_items);
    r->newest_lent = INT64_MIN;
    r->uncertain = true;
    return lent;
}

/* The next items of the input. As source_next(). */
static int next_run(struct reorder *r, const struct item **ret_run)
{
    int n;

    if (r->rest.n == 0)
        return source_next(r->input, ret_run);
    *ret_run = r->rest.items;
    n = (int)r->rest.n;
    r->rest.n = 0;
    return n;
}

/* Whether N items of RUN are in order, and after all that was read. */
static bool is_in_order(struct reorder *r, const struct item *run, unsigned n)
{
    if (run[0].time < r->newest_of_clock || stretch_end(run, 0, n) < n)
        return false;
    r->newest_of_clock = run[n - 1].time;
    return true;
}

static int reorder_next(struct source *source, const struct item **ret_items)
{
    struct reorder *r = container_of(source, struct reorder, source);
    unsigned n;

    if (r->ready.n) {
        n = r->ready.n;
        r->ready.n = 0;
        return lend(r, r->ready.items, n, ret_items);
    }

    while (r->result > 0) {
        const struct item *run;
        bool in_order;
        int lent = hold_tail(r);

        if (lent < 0)
            return fail(r, lent);
        if (r->n_held && r->rest.n == 0 && is_quiet(r))
            return lend_held(r, ret_items);
        r->result = next_run(r, &run);
        if (r->result <= 0)
            break;
        n = (unsigned)r->result;
        in_order = r->input->may_restart && is_in_order(r, run, n);
        if (in_order)
            r->moved = 0;
        else if (r->input->may_restart)
            n = find_restart(r, run, n);
        if (n < (unsigned)r->result) {
            r->rest = (struct run){run + n, (unsigned)r->result - n};
            lent = lend_before_restart(r, run, n, ret_items);
            /* S6 lets us change the order of what was lent. */
        } else if (n > 2 * r->window &&
                   (in_order || sort_in_place((struct item *)run, n, &r->moved))) {
            lent = pass_on(r, run, n, ret_items);
        } else {
            lent = sort_in(r, run, n, ret_items);
        }
        if (lent < 0)
            return fail(r, lent);
        if (lent > 0)
            return lent;
    }

    if (r->n_held)
        return lend_held(r, ret_items);
    if (r->result < 0)
        r->source.error = r->source.error.code ? r->source.error : r->input->error;
    return r->result;
}

static void reorder_seek(struct source *source, int64_t time)
{
    source_seek(container_of(source, struct reorder, source)->input, time);
}

static void reorder_free(struct source *source)
{
    struct reorder *r = container_of(source, struct reorder, source);

    source_free(r->input);
    free(r->held);
    free(r->payloads[0]);
    free(r->payloads[1]);
    free(r->sorted);
    free(r->scratch);
    text_done(&r->hint);
    free(r);
}

static void reorder_facts(const struct source *source,
                          void (*put)(void *arg, const char *key, const char *value), void *arg)
{
    const struct reorder *r = container_of(source, struct reorder, source);

    if (r->input->ops->facts)
        r->input->ops->facts(r->input, put, arg);
}

static void reorder_progress(const struct source *source, uint64_t *ret_done, uint64_t *ret_total)
{
    const struct reorder *r = container_of(source, struct reorder, source);

    *ret_done = *ret_total = 0;
    if (r->input->ops->progress)
        r->input->ops->progress(r->input, ret_done, ret_total);
}

static const struct source_ops reorder_ops = {
    .next = reorder_next,
    .free = reorder_free,
    .facts = reorder_facts,
    .progress = reorder_progress,
    .seek = reorder_seek,
};

int reorder_open(struct source *input, unsigned window, struct source **ret_source)
{
    struct reorder *r = calloc(1, sizeof *r);

    if (r)
        r->held = calloc(window, sizeof *r->held);
    if (!r || !r->held) {
        free(r);
        source_free(input);
        return -ENOMEM;
    }
    r->source = (struct source){.ops = &reorder_ops, .ordered = true};
    r->input = input;
    r->window = window;
    r->result = 1;
    r->live_fd = -1;
    r->hint = TEXT_IN_MEMORY;
    r->newest_of_clock = r->newest_lent = r->newest_before = r->newest = r->newest_of_few =
        INT64_MIN;
    *ret_source = &r->source;
    return 0;
}

void reorder_set_live(struct source *source, int fd)
{
    container_of(source, struct reorder, source)->live_fd = fd;
}

const char *reorder_hint(struct source *source, const char **ret_path)
{
    struct reorder *r = container_of(source, struct reorder, source);

    if (r->n_restarts + r->n_moved_up == 0)
        return NULL;
    *ret_path = r->origin->path;
    text_done(&r->hint);
    r->hint = TEXT_IN_MEMORY;
    if (r->n_restarts) {
        text_put_literal(&r->hint, "the clock of a stream starts again after ");
        clock_put_time(&r->origin->clock, r->restarted_after, &r->hint);
        if (r->n_restarts > 1)
            text_printf(&r->hint, ", and %" PRIu64 " times later", r->n_restarts - 1);
        text_put_literal(&r->hint, ": its events are in the order of the file");
    } else if (r->n_moved_up == 1) {
        text_put_literal(
            &r->hint,
            "an event of a stream is earlier than the event before it, and was put in order");
    } else {
        text_printf(
            &r->hint,
            "%" PRIu64
            " events of a stream are earlier than the event before them, and were put in order",
            r->n_moved_up);
    }
    text_put_char(&r->hint, '\0');
    return r->hint.error ? "the times of a stream step back" : r->hint.start;
}

int64_t reorder_newest(const struct source *source)
{
    const struct reorder *r = container_of(source, struct reorder, source);

    return MAX(MAX(r->newest_before, r->newest), r->newest_of_few);
}

bool reorder_is_certain(const struct source *source)
{
    const struct reorder *r = container_of(source, struct reorder, source);

    return !r->is_late && !r->uncertain;
}
