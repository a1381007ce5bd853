/* SPDX-License-Identifier: MIT */
#include "trace/parallel_read.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/hash.h"
#include "base/thread.h"
#include "event/select_put.h"
#include "tracedir/manifest.h"

/* Items of the first part before threads begin: some 6 ms of reading. */
#define ITEMS_BEFORE_THREADS 262144u
#define ITEMS_BEFORE_EAGER 4096u
/* One thread is enough for smaller files. */
#define BYTES_MIN ((uint64_t)8 << 20)
/* The estimated time of reading an item, to judge whether the rest of a part is worth an opening, and the least time
 * that the rest must take in addition to the opening. */
#define ITEM_NS 20.0
#define LEFT_MIN_NS 30e6
/* Bounds the memory for results. */
#define PARTS_MAX 64u
#define STACK_SIZE ((size_t)2 << 20)

struct run {
    struct parallel_read *read;
    const struct parallel_options *options;
    struct trace *trace;
    struct parallel_opening *given; /* of `trace` */
    pthread_t threads[PARALLEL_THREADS_MAX];
    unsigned n_threads; /* that were started */
    bool has_threads;   /* starting them was tried */

    /* Guards the following members, read->parts, and begin, end, position, n_items and is_running of each part. */
    pthread_mutex_t lock;
    pthread_cond_t found;
    bool finder_left; /* the thread that searches for the end of the trace has finished */
    bool has_last;
    int64_t last;  /* as far as was found, no selected item is later */
    int64_t first; /* time of the first run */
    uint64_t n_items;
    unsigned n_parts;
    int error;
};

/* ---- Openings ---- */

static void free_opening(struct parallel_opening *opening)
{
    selection_done(&opening->selection);
    if (!opening->is_given)
        trace_free(opening->trace);
    free(opening);
}

/* Reads only the first run, because selected times may be relative to it. */
static int start_selection(struct parallel_opening *opening)
{
    struct error error = {0};
    int r = trace_next(opening->trace, &opening->items);
    unsigned at = 0;

    if (r <= 0)
        return r < 0 ? r : -ENODATA;
    opening->n = (unsigned)r;
    while (at < opening->n) {
        r = selection_next_run(&opening->selection, opening->items, opening->n, &at, &error);
        if (r < 0)
            return r;
        if (r == 0)
            break;
        at += (unsigned)r;
    }
    return opening->selection.started || opening->selection.all ? 0 : -ENODATA;
}

/* Opens the trace again. NULL if that fails. Prints nothing. */
static struct parallel_opening *open_again(const struct parallel_options *options)
{
    struct parallel_opening *opening = calloc(1, sizeof *opening);
    uint64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    struct error error = {0};

    if (!opening)
        return NULL;
    opening->until = INT64_MIN;
    if (selection_init(&opening->selection, options->select) < 0 ||
        trace_open(options->paths, options->n_paths, options->open, &opening->trace, &error) < 0) {
        free_opening(opening);
        return NULL;
    }
    opening->n_classes = opening->trace->catalogue.n_classes;
    if (start_selection(opening) < 0) {
        free_opening(opening);
        return NULL;
    }
    opening->cost_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
    return opening;
}

static void note_hint(void *arg, const char *path, const char *hint)
{
    (void)path;
    (void)hint;
    *(bool *)arg = true;
}

/* True if one thread would report something, or would have read the items in another order. */
static bool is_special(const struct trace *trace)
{
    bool has_hint = false;

    trace_hints(trace, note_hint, &has_hint);
    return has_hint || !trace_order_is_certain(trace);
}

/* Reads the next run, as trace_next(). */
static int next_run(struct parallel_opening *opening)
{
    int r = trace_next(opening->trace, &opening->items);

    opening->i = 0;
    opening->n = r > 0 ? (unsigned)r : 0;
    opening->ended = r == 0;
    return r;
}

/* Skips to the first item not before TIME, which is not before `until`. Returns 0 also at the end. */
static int go_to(struct parallel_opening *opening, int64_t time)
{
    bool has_sought = false;

    for (;;) {
        int r;

        for (; opening->i < opening->n; opening->i++)
            if (opening->items[opening->i].time >= time)
                return 0;
        if (opening->ended)
            return 0;
        if (!has_sought)
            trace_seek(opening->trace, time);
        has_sought = true;
        r = next_run(opening);
        if (r < 0)
            return r;
    }
}

/* ---- Parts ---- */

static uint64_t hash_item(const struct item *item)
{
    uint64_t hash = hash_mix((uint64_t)item->time, (uint64_t)item->cpu << 32 | (uint32_t)item->pid);

    hash = hash_mix(hash, (uint64_t)item->vcpu << 8 | item->kind);
    if (item->kind != ITEM_EVENT)
        return hash_mix(hash_mix(hash, item->lost), (uint64_t)item->since);
    hash = hash_mix(hash, hash_bytes(item->class->name, strlen(item->class->name)));
    return hash_mix(hash, item->size ? hash_bytes((const char *)item->payload, item->size) : 0);
}

static void hash_items(const struct parallel_opening *opening, struct parallel_seam *seam)
{
    for (unsigned i = opening->i; i < opening->n && seam->n < PARALLEL_SEAM; i++, seam->n++)
        seam->hash = hash_mix(seam->hash, hash_item(&opening->items[i]));
}

static void fail(struct run *run, int error)
{
    pthread_mutex_lock(&run->lock);
    run->error = run->error ? run->error : error;
    pthread_cond_broadcast(&run->found);
    pthread_mutex_unlock(&run->lock);
}

/* Records the progress of PART, so that no other thread takes over items in its current run. *RET_STOP: the index in
 * the run where PART ends. Returns the error of any thread. */
static int claim_run(struct run *run, struct parallel_part *part, unsigned *ret_stop)
{
    const struct parallel_opening *opening = part->opening;
    int64_t last = opening->items[opening->n - 1].time, end;
    unsigned stop = opening->n;
    int error;

    pthread_mutex_lock(&run->lock);
    part->position = MAX(part->position, last);
    part->n_items += opening->n - opening->i;
    run->n_items += opening->n - opening->i;
    end = part->end;
    error = run->error;
    pthread_mutex_unlock(&run->lock);
    if (last >= end)
        for (stop = opening->i; opening->items[stop].time < end;)
            stop++;
    *ret_stop = stop;
    return error;
}

/* Puts the selected items of the run up to index STOP. */
static int put_selected(const struct parallel_part *part, unsigned stop)
{
    struct parallel_opening *opening = part->opening;
    struct error error = {0};
    int r = select_put(&opening->selection, opening->items + opening->i, stop - opening->i,
                       part->sink, &error);

    opening->i = stop;
    return r;
}

static void begin_threads(struct run *run);

/* What the thread of the given trace does between runs. -EAGAIN if reading in parts would fail anyway. */
static int between_runs(struct run *run, const struct parallel_part *part)
{
    const struct parallel_options *options = run->options;

    if (options->progress)
        options->progress(options->progress_arg, run->trace);
    if (!run->has_threads &&
        part->n_items >= (options->eager ? ITEMS_BEFORE_EAGER : ITEMS_BEFORE_THREADS) &&
        (!options->is_ready || options->is_ready(options->arg))) {
        if (is_special(run->trace))
            return -EAGAIN;
        begin_threads(run);
    }
    return 0;
}

/* Seeks to --from once its time is known. */
static void pass_over(struct parallel_opening *opening)
{
    int64_t from;

    if (!opening->has_passed && selection_start(&opening->selection, &from)) {
        opening->has_passed = true;
        trace_seek(opening->trace, from);
    }
}

/* Reads the items that are compared with other parts. IS_WHOLE: the part was read up to its end. */
static int read_seams(struct parallel_part *part, bool is_whole)
{
    struct parallel_opening *opening = part->opening;
    int r = 1;

    if (is_whole)
        hash_items(opening, &part->after);
    while (r > 0 &&
           (part->first.n < PARALLEL_SEAM || (is_whole && part->after.n < PARALLEL_SEAM))) {
        for (unsigned i = 0; i < opening->n; i++)
            opening->until = MAX(opening->until, opening->items[i].time);
        r = next_run(opening);
        hash_items(opening, &part->first);
        if (is_whole)
            hash_items(opening, &part->after);
    }
    return MIN(r, 0);
}

static int read_part(struct run *run, struct parallel_part *part)
{
    struct parallel_opening *opening = part->opening;
    int r = go_to(opening, part->begin);

    while (r >= 0) {
        unsigned stop;

        if (opening->i == opening->n)
            r = opening->ended ? 0 : next_run(opening);
        if (opening->ended || r < 0)
            break;
        r = claim_run(run, part, &stop);
        if (r < 0)
            break;
        hash_items(opening, &part->first);
        r = put_selected(part, stop);
        if (r == 0 && run->options->is_damaged(part->sink))
            r = -EAGAIN;
        if (r < 0)
            break;
        if (stop < opening->n) {
            r = read_seams(part, true);
            break;
        }
        if (selection_is_over(&opening->selection)) {
            r = read_seams(part, false);
            opening->ended = true;
            break;
        }
        if (opening == run->given) {
            pass_over(opening);
            r = between_runs(run, part);
        }
    }
    return r >= 0 && is_special(opening->trace) ? -EAGAIN : r;
}

/* Reads PART, and finishes it. */
static int do_part(struct run *run, struct parallel_part *part)
{
    struct parallel_opening *opening = part->opening;
    int r = read_part(run, part);

    if (r < 0)
        fail(run, r);
    pthread_mutex_lock(&run->lock);
    opening->until = opening->ended ? INT64_MAX : MAX(opening->until + 1, part->end);
    part->is_running = false;
    pthread_mutex_unlock(&run->lock);
    return r < 0 ? r : 0;
}

/* Adds a part after AFTER, or the first part if AFTER is NULL. Call with the lock. NULL if out of memory. */
static struct parallel_part *add_part(struct run *run, struct parallel_part *after,
                                      struct parallel_opening *opening, int64_t begin, int64_t end)
{
    struct parallel_part *part = calloc(1, sizeof *part);

    if (!part)
        return NULL;
    part->sink = run->options->begin(run->options->arg, !after);
    if (!part->sink) {
        free(part);
        return NULL;
    }
    part->opening = opening;
    part->begin = part->position = begin;
    part->end = end;
    part->is_running = true;
    part->next = after ? after->next : NULL;
    *(after ? &after->next : &run->read->parts) = part;
    run->n_parts++;
    return part;
}

/* Returns how many ticks of PART are left. */
static uint64_t left_of(const struct run *run, const struct parallel_part *part)
{
    int64_t end = MIN(part->end, run->last);

    return part->is_running && end > part->position ? (uint64_t)end - (uint64_t)part->position : 0;
}

/* True if a part with LEFT ticks left is worth sharing with OPENING. */
static bool is_worth(const struct run *run, const struct parallel_opening *opening, uint64_t left)
{
    uint64_t passed = 0;
    double ns;

    if (left < 2)
        return false;
    if (run->options->eager && opening->until == INT64_MIN)
        return true;
    for (const struct parallel_part *part = run->read->parts; part; part = part->next)
        passed += (uint64_t)part->position -
                  (uint64_t)(part == run->read->parts ? run->first : part->begin);
    ns = (double)run->n_items * ITEM_NS * ((double)left / ((double)passed + 1));
    return ns > LEFT_MIN_NS + 2.0 * (double)opening->cost_ns;
}

/* Takes the later half of the largest rest of a part for OPENING. NULL if no rest is worth it. */
static struct parallel_part *take_half(struct run *run, struct parallel_opening *opening)
{
    struct parallel_part *most = NULL, *part = NULL;
    uint64_t left = 0;

    pthread_mutex_lock(&run->lock);
    while (!run->finder_left && !run->error)
        pthread_cond_wait(&run->found, &run->lock);
    for (struct parallel_part *p = run->read->parts; p; p = p->next)
        if (left_of(run, p) > left) {
            left = left_of(run, p);
            most = p;
        }
    if (most && run->has_last && !run->error && run->n_parts < PARTS_MAX &&
        is_worth(run, opening, left)) {
        int64_t middle = (int64_t)((uint64_t)most->position + left / 2 + 1);

        part = add_part(run, most, opening, middle, most->end);
        if (part)
            most->end = middle;
        else
            run->error = -ENOMEM;
    }
    pthread_mutex_unlock(&run->lock);
    return part;
}

/* Reads parts in one thread, the first ones by OPENING, later ones by new openings if necessary. */
static void do_parts(struct run *run, struct parallel_opening *opening)
{
    struct parallel_part *part;

    while ((part = take_half(run, opening))) {
        if (part->begin < opening->until) {
            opening = open_again(run->options);
            if (!opening) {
                fail(run, -EAGAIN);
                return;
            }
            pthread_mutex_lock(&run->lock);
            opening->next = run->read->openings;
            run->read->openings = opening;
            part->opening = opening;
            pthread_mutex_unlock(&run->lock);
        }
        if (do_part(run, part) < 0)
            return;
    }
}

/* ---- Threads ---- */

/* Finds the time of the last item that may be selected. */
static int find_last(const struct parallel_options *options, int64_t *ret_time)
{
    struct parallel_opening *opening = open_again(options);
    int64_t last = INT64_MIN;
    int r;

    if (!opening)
        return -EAGAIN;
    trace_seek(opening->trace, INT64_MAX);
    do {
        for (unsigned i = 0; i < opening->n; i++)
            last = MAX(last, opening->items[i].time);
        r = next_run(opening);
    } while (r > 0);
    free_opening(opening);
    *ret_time = last;
    return r;
}

static void *finder(void *arg)
{
    struct run *run = arg;
    int64_t last = 0;
    int r = find_last(run->options, &last);

    pthread_mutex_lock(&run->lock);
    run->finder_left = true;
    run->has_last = r == 0;
    run->last = last;
    if (r < 0 && !run->error)
        run->error = r;
    pthread_cond_broadcast(&run->found);
    pthread_mutex_unlock(&run->lock);
    return NULL;
}

static void *work(void *arg)
{
    struct run *run = arg;
    struct parallel_opening *opening = open_again(run->options);

    if (!opening) /* the other threads read all */
        return NULL;
    pthread_mutex_lock(&run->lock);
    opening->next = run->read->openings;
    run->read->openings = opening;
    pthread_mutex_unlock(&run->lock);
    do_parts(run, opening);
    return NULL;
}

static void *find_and_work(void *arg)
{
    finder(arg);
    return work(arg);
}

static void begin_threads(struct run *run)
{
    const unsigned wanted = MIN(run->options->n_threads, PARALLEL_THREADS_MAX) - 1;

    run->has_threads = true;
    while (run->n_threads < wanted &&
           thread_start(&run->threads[run->n_threads], STACK_SIZE,
                        run->n_threads == 0 ? find_and_work : work, run) == 0)
        run->n_threads++;
    if (run->n_threads == 0) {
        pthread_mutex_lock(&run->lock);
        run->finder_left = true;
        pthread_mutex_unlock(&run->lock);
    }
}

/* ---- Reading all parts ---- */

/* True if neighbouring parts read the same items at their seams. */
static bool check_seams(const struct parallel_read *read)
{
    for (const struct parallel_part *part = read->parts; part && part->next; part = part->next) {
        const struct parallel_part *next = part->next;

        if (part->after.n != next->first.n || part->after.hash != next->first.hash)
            return false;
    }
    return true;
}

/* True if a reader has met an item that is later than all that were put. Its time is wrong: the part that should have
 * put it passed over it. */
static bool has_left_out(const struct parallel_read *read)
{
    int64_t newest = INT64_MIN;

    for (const struct parallel_part *part = read->parts; part; part = part->next)
        newest = MAX(newest, part->position);
    for (const struct parallel_opening *opening = read->openings; opening; opening = opening->next)
        if (trace_newest(opening->trace) > newest)
            return true;
    return false;
}

bool parallel_read_is_possible(const struct trace *trace, const struct parallel_options *options)
{
    uint64_t done, total;

    trace_progress(trace, &done, &total);
    if (options->n_threads < 2 || trace->n_pipes > 0 || options->select->limited ||
        options->select->to.given || /* a loss may reach beyond it: open_losses.h */
        (trace->n_inputs > 1 && !trace->host_time) || (!options->eager && total < BYTES_MIN))
        return false;
    for (unsigned i = 0; i < options->n_paths; i++) {
        struct stat st;

        if (strcmp(options->paths[i], "-") == 0 || stat(options->paths[i], &st) < 0 ||
            !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
            return false;
    }
    for (unsigned i = 0; i < trace->n_inputs; i++) {
        const struct trace_input *input = &trace->inputs[i];

        if (input->recorded && !manifest_source_has_ended(input->recorded))
            return false;
        for (unsigned j = 0; j < input->n_sources; j++)
            if (!input->sources[j]->skips)
                return false;
    }
    return trace->n_inputs > 0;
}

/* Reads the given trace, from its first run on. */
static int read_given(struct run *run)
{
    struct parallel_opening *opening = calloc(1, sizeof *opening);
    struct parallel_part *part;
    int r;

    if (!opening)
        return -ENOMEM;
    *opening = (struct parallel_opening){.trace = run->trace,
                                         .is_given = true,
                                         .n_classes = run->trace->catalogue.n_classes,
                                         .until = INT64_MIN,
                                         .next = run->read->openings};
    run->read->openings = run->given = opening;
    r = selection_init(&opening->selection, run->options->select);
    if (r < 0)
        return r;
    part = add_part(run, NULL, opening, INT64_MIN, INT64_MAX);
    if (!part)
        return -ENOMEM;
    r = next_run(opening);
    if (r > 0)
        run->first = opening->items[opening->n - 1].time;
    r = r < 0 ? r : do_part(run, part);
    if (r >= 0 && run->has_threads)
        do_parts(run, opening);
    return r;
}

int parallel_read_run(struct parallel_read *read, struct trace *trace,
                      const struct parallel_options *options)
{
    struct run run = {.read = read, .options = options, .trace = trace};
    int r;

    *read = (struct parallel_read){.options = options};
    if (pthread_mutex_init(&run.lock, NULL) != 0)
        return -EAGAIN;
    pthread_cond_init(&run.found, NULL);
    r = read_given(&run);
    if (r < 0)
        fail(&run, r);
    while (run.n_threads > 0)
        pthread_join(run.threads[--run.n_threads], NULL);
    pthread_cond_destroy(&run.found);
    pthread_mutex_destroy(&run.lock);
    if (run.error)
        return run.error;
    return check_seams(read) && !has_left_out(read) ? 0 : -EAGAIN;
}

void parallel_read_done(struct parallel_read *read)
{
    while (read->parts) {
        struct parallel_part *part = read->parts;

        read->parts = part->next;
        free(part);
    }
    while (read->openings) {
        struct parallel_opening *opening = read->openings;

        read->openings = opening->next;
        free_opening(opening);
    }
}
