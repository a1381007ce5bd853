/* SPDX-License-Identifier: MIT */
#include "live/follow.h"

#include <malloc.h>
#include <string.h>

#include "base/clock_ns.h"
#include "base/hash.h"
#include "base/map.h"
#include "event/select_put.h"
#include "live/growth.h"
#include "live/window.h"
#include "tracedir/ask.h"
#include "tracedir/manifest.h"

/* After a window, for this many times as long as it took of a CPU nothing is read. */
#define IDLE_SHARE 3u
/* By so much the time of an event may change from one window to the next, because later clock readings make it more exact:
 * this near to where a window ends, what was printed is remembered. */
#define BOUNDARY_NS UINT64_C(1000000)

struct follower {
    const struct follow *follow;
    struct trace_options trace_options;
    struct watch_growth *growth;
    int64_t from;  /* what is not later was printed, but for what had another time */
    int64_t to;    /* the present window's end */
    bool has_read; /* a window before */
    /* How often what was printed near `from`, and in this window near `to`, and one; by hash. */
    struct map printed, printing;
    struct tail_sink last;
    bool is_begun, is_stopped;
    bool is_late_reported, is_unread_reported;
    struct error error;
    unsigned n_notes_reported;   /* but for that it has not ended */
    uint64_t not_ended_reported; /* the hash of what was reported of that; 0: nothing */
    /* The present window's. */
    struct sink sink;
    struct selection selection;
};

/* The same for the same item in another opening of the trace. */
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

/* Adds CHANGE to how often the item HASH is in MAP; *RET_N: how often it was. -ENOMEM. */
static int count_item(struct map *map, uint64_t hash, int change, uintptr_t *ret_n)
{
    uintptr_t n = (uintptr_t)map_get(map, hash);

    *ret_n = n > 0 ? n - 1 : 0;
    if (change < 0 && *ret_n == 0)
        return 0;
    return map_put(map, hash, (void *)(*ret_n + (uintptr_t)(1 + change)));
}

/* 1: the item is to be printed; 0: it was, or is before all that is. -ENOMEM. */
static int is_new(struct follower *f, const struct item *item)
{
    bool is_late = item->time <= f->from;
    bool is_near_from = is_late || (uint64_t)item->time - (uint64_t)f->from <= BOUNDARY_NS;
    bool is_near_to = (uint64_t)f->to - (uint64_t)item->time <= BOUNDARY_NS;
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

static void report_unread(struct follower *f, const struct error *error)
{
    char text[1200];

    if (!f->is_unread_reported && error->code < 0) {
        error_print(error, text, sizeof text);
        note(f, text);
    }
    f->is_unread_reported |= error->code < 0;
}

/* Reads an open window and prints what is selected of it. */
static int print_window(struct follower *f, struct watch_pass *pass)
{
    static const struct sink_ops ops = {.put = put};
    struct sink *view = NULL, *sinks[] = {&f->sink};
    int r = selection_init(&f->selection, f->follow->select);

    if (r >= 0)
        r = f->follow->open_view(f->follow->arg, pass->trace, f->follow->out, &view);
    if (r >= 0) {
        tail_sink_set_selection(&f->last, &f->selection);
        f->sink = (struct sink){.ops = &ops};
        f->follow->losses->next = view;
        if (!f->is_begun)
            sink_begin(view);
        f->is_begun = true;
        r = watch_window_put(pass, sinks, 1);
        f->last.selection = NULL;
        f->follow->losses->next = NULL;
    }
    if (r < 0)
        f->error = f->sink.error;
    report_unread(f, &pass->error);
    sink_free(view);
    selection_done(&f->selection);
    return r;
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

/* Prints what is later than what was printed, up to TO. */
static int read_window(struct follower *f, int64_t to)
{
    const struct watch_window window = {.dir = f->follow->dir,
                                        .from = f->from,
                                        .to = to,
                                        .look_back = f->from > INT64_MIN ? (int64_t)BOUNDARY_NS : 0,
                                        .options = &f->trace_options};
    struct watch_pass pass;
    int r;

    if (to <= f->from)
        return 0;
    /* At the end there is also to say how it ended. */
    if (!watch_growth_check(f->growth) && to < INT64_MAX)
        return 0;
    f->to = to;
    r = watch_window_open(&window, &pass);
    if (r >= 0 || (pass.trace && to == INT64_MAX))
        report_notes(f, pass.trace);
    if (r >= 0) {
        r = print_window(f, &pass);
        f->from = to;
        f->has_read = true;
        map_done(&f->printed);
        f->printed = f->printing;
        f->printing = (struct map){0};
    } else if (r == -EAGAIN || r == -ENOENT) {
        r = 0; /* sources that have just begun are read by the next window */
    } else if (r != -ENOMEM) {
        report_unread(f, &pass.error);
        r = 0;
    }
    watch_window_done(&pass);
    return r;
}

static void wait_until(struct follower *f, uint64_t until)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);

    if (!f->is_stopped && now < until)
        f->is_stopped = f->follow->sleep(f->follow->hook_arg, until - now);
}

/* Has all brought to the files. 1: up to *RET_NS; 0: it is not recorded any more; -EAGAIN: not now. */
static int flush(struct follower *f, int64_t *ret_ns)
{
    const char *dir = f->follow->dir;
    _cleanup_free_ char *late = NULL;
    uint64_t now;
    int r = tracedir_flush(dir, &now, &late, NULL);

    if (r < 0)
        return r == -EAGAIN || trace_is_live(&dir, 1, f->trace_options.runtime_dir) ? -EAGAIN : 0;
    if (late && !f->is_late_reported) {
        _cleanup_(text_done) struct text text = TEXT_IN_MEMORY;

        text_printf(&text, "%s: %s did not send its events in time; some of them may not be shown",
                    dir, late);
        text_put_char(&text, '\0');
        if (!text.error)
            note(f, text.start);
    }
    f->is_late_reported |= late != NULL;
    *ret_ns = (int64_t)now;
    return 1;
}

/* Where to begin: now, or with the last events. */
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
    uint64_t next = clock_ns(CLOCK_MONOTONIC);
    int r = 1;

    while (r != 0 && !f->is_stopped && !f->follow->out->error && f->last.left > 0) {
        uint64_t used = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        int64_t to = INT64_MAX;
        int written;

        r = flush(f, &to);
        written = r == -EAGAIN ? 0 : read_window(f, to);
        if (written < 0)
            return written;
        text_flush(f->follow->out);
        malloc_trim(0);
        used = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - used;
        next = MAX(next + FOLLOW_PERIOD_MS * NSEC_PER_MSEC,
                   clock_ns(CLOCK_MONOTONIC) + IDLE_SHARE * used);
        if (r != 0)
            wait_until(f, next);
    }
    if (r == 0 && !manifest_probe(f->follow->dir))
        return error_set(&f->error, -ENOENT, f->follow->dir,
                         "the trace was moved or deleted while it was followed");
    return f->is_unread_reported ? -EIO : 0;
}

int follow_run(const struct follow *follow, struct error *error)
{
    struct follower f = {.follow = follow, .trace_options = *follow->open};
    int r = watch_growth_new(follow->dir, &f.growth);

    f.trace_options.host_time = f.trace_options.leave_out_unrelated = true;
    f.trace_options.reader.keep_going = true;
    if (r < 0)
        error_set(&f.error, r, NULL, "%s", error_text(r));
    if (r >= 0)
        r = find_begin(&f);
    if (r >= 0)
        r = follow_all(&f);
    map_done(&f.printed);
    map_done(&f.printing);
    watch_growth_free(f.growth);
    *error = f.error;
    return r;
}
