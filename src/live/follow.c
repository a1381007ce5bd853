/* SPDX-License-Identifier: MIT */
#include "live/follow.h"

#include <string.h>

#include "base/clock_ns.h"
#include "base/hash.h"
#include "base/map.h"
#include "event/select_put.h"
#include "live/reader.h"
#include "tracedir/manifest.h"

/* Follows with at most a quarter of a CPU. */
#define REST 3u
/* The time of an event may change by so much from one window to the next, because later clock readings make it more
 * exact. Items this close to the end of a window are remembered after printing. */
#define BOUNDARY_NS UINT64_C(1000000)

struct follower {
    const struct follow *follow;
    struct trace_options trace_options;
    int64_t from; /* only later items are printed */
    struct live_reader *reader;
    const struct live_window *window; /* the present window */
    bool has_read;                    /* it has read a window before */
    /* Items printed near the begin of the window, and near the end of this window: a hash, and how often it was printed
     * plus one. */
    struct map printed, printing;
    struct tail_sink last;
    bool is_begun;
    struct error error;
    unsigned n_notes_reported;   /* except the note that it has not ended */
    uint64_t not_ended_reported; /* hash of that note as it was reported; 0 if it was not */
    /* For the present window. */
    struct sink sink;
    struct sink *view;
    struct selection selection;
};

/* Equal for the same item in another opening of the trace. */
static uint64_t hash_item(const struct item *item)
{
    bool is_event = item->kind == ITEM_EVENT;
    const char *name = is_event ? item->class->name : "";
    uint64_t hash = hash_bytes(item->origin->path, strlen(item->origin->path));

    hash = hash_mix(hash, hash_bytes(name, strlen(name)));
    hash = hash_mix(hash, (uint64_t)item->origin->layer << 32 | (uint32_t)item->cpu);
    hash = hash_mix(hash, (uint64_t)item->kind << 32 | (uint32_t)item->pid);
    return hash_mix(hash,
                    is_event ? hash_bytes((const char *)item->payload, item->size) : item->lost);
}

/* Adds CHANGE to the count of HASH in MAP. *RET_N: its count before. -ENOMEM. */
static int count_item(struct map *map, uint64_t hash, int change, uintptr_t *ret_n)
{
    uintptr_t n = (uintptr_t)map_get(map, hash);

    *ret_n = n > 0 ? n - 1 : 0;
    if (change < 0 && *ret_n == 0)
        return 0;
    return map_put(map, hash, (void *)(*ret_n + (uintptr_t)(1 + change)));
}

/* Returns 1 if the item is to be printed, 0 if it was printed or is too early. -ENOMEM. */
static int is_new(struct follower *f, const struct item *item)
{
    const struct live_window *window = f->window;
    bool is_late = item->time <= window->from;
    bool is_near_from = is_late || (uint64_t)item->time - (uint64_t)window->from <= BOUNDARY_NS;
    bool is_near_to = (uint64_t)window->to - (uint64_t)item->time <= BOUNDARY_NS;
    uintptr_t n;
    uint64_t hash;
    int r = 0;

    if (likely(!is_near_to && !is_near_from))
        return 1;
    hash = hash_item(item);
    if (is_near_to)
        r = count_item(&f->printing, hash, 1, &n);
    if (r < 0 || !is_near_from || !f->has_read)
        return r < 0 ? r : f->has_read || !is_late;
    r = count_item(&f->printed, hash, -1, &n);
    return r < 0 ? r : n == 0;
}

static int put_selected(struct follower *f, const struct item *items, unsigned n)
{
    return select_put(&f->selection, items, n, &f->last.sink, &f->sink.error);
}

static int put(struct sink *base, const struct item *items, unsigned n)
{
    struct follower *f = container_of(base, struct follower, sink);
    unsigned begin = 0;
    int r = 0;

    for (unsigned i = 0; i < n && r >= 0; i++) {
        /* A loss is printed where it ends. */
        r = item_is_part_of_loss(&items[i]) ? 0 : is_new(f, &items[i]);
        if (r != 0)
            continue;
        r = put_selected(f, items + begin, i - begin);
        begin = i + 1;
    }
    return r < 0 ? r : put_selected(f, items + begin, n - begin);
}

static void note(const struct follower *f, const char *text)
{
    f->follow->note(f->follow->hook_arg, text);
}

static void report_notes(struct follower *f, const struct trace *trace)
{
    unsigned n = 0;

    for (unsigned i = 0; i < trace->n_notes; i++) {
        const char *text = trace->notes[i];
        bool is_reported;

        if (text == trace->not_ended) {
            uint64_t hash = hash_bytes(text, strlen(text));

            is_reported = f->not_ended_reported == hash;
            f->not_ended_reported = hash;
        } else {
            is_reported = n++ < f->n_notes_reported;
        }
        if (!is_reported)
            note(f, text);
    }
    f->n_notes_reported = MAX(f->n_notes_reported, n);
}

/* ---- A window ---- */

static int64_t look_back(void *arg, const char *late)
{
    (void)arg;
    (void)late;
    return BOUNDARY_NS;
}

static int begin_window(void *arg, const struct live_window *window, struct sink **sinks,
                        unsigned n_max)
{
    static const struct sink_ops ops = {.put = put};
    struct follower *f = arg;
    int r;

    (void)n_max;
    report_notes(f, window->trace);
    f->window = window;
    f->view = NULL;
    r = selection_init(&f->selection, f->follow->select);
    if (r >= 0)
        r = f->follow->open_view(f->follow->arg, window->trace, f->follow->out, &f->view);
    if (r < 0) {
        selection_done(&f->selection);
        return r;
    }
    tail_sink_set_selection(&f->last, &f->selection);
    f->sink = (struct sink){.ops = &ops};
    f->follow->losses->next = f->view;
    if (!f->is_begun)
        sink_begin(f->view);
    f->is_begun = true;
    sinks[0] = &f->sink;
    return 1;
}

static int end_window(void *arg, const struct live_window *window, int r)
{
    struct follower *f = arg;

    (void)window;
    f->last.selection = NULL;
    f->follow->losses->next = NULL;
    if (r < 0)
        f->error = f->sink.error;
    sink_free(f->view);
    selection_done(&f->selection);
    f->has_read = true;
    map_done(&f->printed);
    f->printed = f->printing;
    f->printing = (struct map){0};
    return r;
}

static void idle(void *arg, int64_t from, int64_t to)
{
    (void)arg;
    (void)from;
    (void)to;
}

static void put_note(void *arg, const char *text)
{
    note(arg, text);
}

/* ---- All windows ---- */

static bool is_recorded(void *arg)
{
    const struct follower *f = arg;

    return trace_is_live(&f->follow->dir, 1, f->trace_options.runtime_dir);
}

/* Finds where to begin: now, or with the last events. */
static int find_begin(struct follower *f)
{
    const struct follow *follow = f->follow;

    f->last = (struct tail_sink){
        .from = INT64_MIN, .has_begun = true, .left = tail_limit(follow->select)};
    f->from = (int64_t)clock_ns(CLOCK_MONOTONIC);
    if (follow->has_last && follow->n_last > 0) {
        int r = tail_find(&f->trace_options, follow->select, follow->n_last, &follow->dir, 1,
                          &f->last, &f->error);

        if (r < 0)
            return r;
        f->from = f->last.from - (f->last.from > INT64_MIN);
    }
    tail_sink_set_next(&f->last, &follow->losses->sink);
    return 0;
}

static int follow_all(struct follower *f)
{
    const struct follow *follow = f->follow;
    bool is_stopped = false;

    while (!is_stopped && !follow->out->error && f->last.left > 0) {
        int r = live_reader_step(f->reader);

        if (r < 0)
            return r;
        text_flush(follow->out);
        if (live_reader_has_ended(f->reader))
            break;
        is_stopped =
            follow->wait(follow->hook_arg, live_reader_fd(f->reader), live_reader_due(f->reader));
    }
    if (live_reader_has_ended(f->reader) && !manifest_probe(follow->dir))
        return error_set(&f->error, -ENOENT, follow->dir,
                         "the trace was moved or deleted while it was followed");
    return live_reader_has_failed(f->reader) ? -EIO : 0;
}

static int open_reader(struct follower *f, const struct live_consumer *consumer)
{
    const struct live_settings settings = {
        .dir = f->follow->dir,
        .options = &f->trace_options,
        .consumer = consumer,
        .from = f->from,
        .period_ns = FOLLOW_PERIOD_MS * NSEC_PER_MSEC,
        .rest = REST,
        .is_recorded = is_recorded,
        .is_recorded_arg = f,
    };

    return live_reader_new(&settings, &f->reader);
}

int follow_run(const struct follow *follow, struct error *error)
{
    struct follower f = {.follow = follow, .trace_options = *follow->open};
    const struct live_consumer consumer = {.arg = &f,
                                           .look_back = look_back,
                                           .begin = begin_window,
                                           .end = end_window,
                                           .idle = idle,
                                           .note = put_note};
    int r;

    f.trace_options.host_time = f.trace_options.leave_out_unrelated = true;
    f.trace_options.reader.keep_going = true;
    r = find_begin(&f);
    if (r >= 0) {
        r = open_reader(&f, &consumer);
        if (r < 0)
            error_set(&f.error, r, NULL, "%s", error_text(r));
    }
    if (r >= 0)
        r = follow_all(&f);
    map_done(&f.printed);
    map_done(&f.printing);
    live_reader_free(f.reader);
    *error = f.error;
    return r;
}
