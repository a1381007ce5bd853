/* SPDX-License-Identifier: MIT */
/* Blocks have numbers from 0 and are in a ring. Under the lock: taken <= filled <= taken + N_BLOCKS. Blocks from
 * `taken` on wait to be returned, the block before is borrowed, and the thread fills block `filled` once it is not one
 * of these.
 *
 * The catalogue grows while items are read, and a borrower's use of an item may depend on the existing classes. So each
 * block has the number of classes at the time when its items were read, and ends before this number changes. */
#include "timeline/read_ahead.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/macro.h"
#include "base/thread.h"
#include "event/item_block.h"

#define N_BLOCKS 6u
/* The thread goes on when so many blocks are empty: it is woken less often. */
#define EMPTY_ENOUGH 3u
/* Readers have buffers on their stacks. */
#define STACK_SIZE ((size_t)8 << 20)

/* One run of so many is timed, and a decision is made of the times of so many items. */
#define TIMED_RUNS 8u
#define TIMED_ITEMS 4096u
/* What it costs to copy an item, and its share of waking the other thread. */
#define COPY_NS 10u

struct ahead_block {
    struct item_block copies;
    uint16_t run_ends[ITEM_BLOCK_ITEMS]; /* in `copies` */
    unsigned n_runs;
    const struct item *in_place; /* a run that is lent as it is; NULL: the copies are */
    unsigned n_in_place;
    unsigned n_classes;
    uint64_t done, total; /* progress */
};

struct read_ahead {
    struct source source;
    struct source *inner;
    struct read_ahead_options options;
    const struct selection *selection; /* NULL: all is */
    struct catalogue classes;          /* as the borrower sees it; no arena */
    unsigned classes_capacity;
    uint64_t n_before; /* items that were lent before the thread was made */
    bool may_start;

    /* CPU time of the reader and the borrower for some of the items. */
    unsigned n_runs, n_timed;
    int64_t read_ns, work_ns;
    int64_t lent_at; /* when the borrower got a run that is timed; 0: it did not */

    bool is_running; /* the members below are set */
    pthread_t thread;
    struct ahead_block blocks[N_BLOCKS];
    struct selection_end end;
    const struct ahead_block *lent;
    unsigned next_run;
    uint64_t done, total; /* progress, as of the block that is lent */

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t filling, emptying;
    uint64_t filled, taken;
    bool is_lent;    /* the block before `taken` is */
    bool has_ended;  /* no block is filled any more */
    bool is_stopped; /* no block is needed any more */
    bool is_sought;  /* to `seek_time`, before more is read */
    int64_t seek_time;
    const struct event_class **new_classes; /* the catalogue's, from `first_new` on */
    unsigned first_new, n_new, new_capacity;
    int error; /* of the thread itself */
};

static struct read_ahead *to_ahead(const struct source *source)
{
    return container_of((struct source *)(uintptr_t)source, struct read_ahead, source);
}

/* ---- Classes as the borrower sees them ---- */

/* Makes room for N pointers in ARRAY, which has room for *CAPACITY. NULL: memory is out, and it stays as it was. */
static void *make_room(void *array, unsigned n, unsigned *capacity)
{
    unsigned larger = MAX(n, MAX(*capacity * 2, 256u));

    if (likely(n <= *capacity))
        return array;
    array = realloc(array, larger * sizeof(void *));
    if (array)
        *capacity = larger;
    return array;
}

static int see_classes(struct read_ahead *a, const void *from, unsigned n)
{
    struct catalogue *seen = &a->classes;
    void *classes;

    classes = make_room(seen->classes, seen->n_classes + n, &a->classes_capacity);
    if (!classes)
        return error_set(&a->source.error, -ENOMEM, NULL, "out of memory");
    seen->classes = classes;
    memcpy(seen->classes + seen->n_classes, from, n * sizeof(void *));
    seen->n_classes += n;
    return 0;
}

/* All that there are; without the thread. */
static int see_all_classes(struct read_ahead *a)
{
    const struct catalogue *all = a->options.catalogue;
    unsigned n = a->classes.n_classes;

    a->classes.origins = all->origins;
    a->classes.n_origins = all->n_origins;
    if (likely(all->n_classes == n))
        return 0;
    return see_classes(a, all->classes + n, all->n_classes - n);
}

const struct catalogue *read_ahead_classes(const struct source *source)
{
    return &to_ahead(source)->classes;
}

/* ---- The thread ---- */

static unsigned n_full(const struct read_ahead *a)
{
    return (unsigned)(a->filled - a->taken) + a->is_lent;
}

static struct ahead_block *block_to_fill(struct read_ahead *a)
{
    return &a->blocks[a->filled % N_BLOCKS];
}

/* Keeps the classes that were added, for the borrower. With the lock. */
static bool announce_classes(struct read_ahead *a)
{
    const struct catalogue *all = a->options.catalogue;
    unsigned n = all->n_classes - a->first_new;
    void *classes = make_room(a->new_classes, n, &a->new_capacity);

    if (!classes && n > 0)
        return false;
    a->new_classes = classes;
    for (; a->n_new < n; a->n_new++)
        a->new_classes[a->n_new] = all->classes[a->first_new + a->n_new];
    return true;
}

/* Hands the block over, and waits for another one, or, if its run is lent in place, until that is needed no more.
 * False: nothing more is needed. */
static bool give(struct read_ahead *a)
{
    struct ahead_block *block = block_to_fill(a);
    bool is_in_place = block->in_place;
    bool goes_on;

    if (a->options.progress)
        a->options.progress(a->options.progress_arg, &block->done, &block->total);
    pthread_mutex_lock(&a->lock);
    if (announce_classes(a)) {
        a->filled++;
        pthread_cond_signal(&a->filling);
    } else {
        a->error = -ENOMEM;
        a->is_stopped = true;
    }
    if (is_in_place || n_full(a) == N_BLOCKS)
        while (!a->is_stopped && n_full(a) > (is_in_place ? 0 : N_BLOCKS - EMPTY_ENOUGH))
            pthread_cond_wait(&a->emptying, &a->lock);
    goes_on = !a->is_stopped;
    pthread_mutex_unlock(&a->lock);
    if (goes_on) {
        block = block_to_fill(a);
        item_block_clear(&block->copies);
        block->n_runs = 0;
        block->in_place = NULL;
    }
    return goes_on;
}

/* Appends a run to the block, or nothing if it has no room for all of it. */
static bool append_run(struct ahead_block *block, const struct item *items, unsigned n)
{
    struct item_block *copies = &block->copies;
    size_t payload_bytes = copies->payload_bytes;
    unsigned n_items = copies->n;

    if (n > ITEM_BLOCK_ITEMS - n_items || item_block_put(copies, NULL, items, n) < n) {
        copies->n = n_items;
        copies->payload_bytes = payload_bytes;
        return false;
    }
    block->run_ends[block->n_runs++] = (uint16_t)copies->n;
    return true;
}

/* Puts a run into a block. False: nothing more is needed. */
static bool put_run(struct read_ahead *a, const struct item *items, unsigned n)
{
    unsigned n_classes = a->options.catalogue->n_classes;
    struct ahead_block *block = block_to_fill(a);

    if (block->n_runs > 0 && (block->n_classes != n_classes || !append_run(block, items, n))) {
        if (!give(a))
            return false;
        block = block_to_fill(a);
    } else if (block->n_runs > 0) {
        return true;
    }
    block->n_classes = n_classes;
    if (append_run(block, items, n))
        return true;
    block->in_place = items;
    block->n_in_place = n;
    return give(a);
}

/* Seeks where the borrower wants it. False: nothing more is needed. */
static bool goes_on(struct read_ahead *a)
{
    bool is_sought, is_stopped;
    int64_t time;

    pthread_mutex_lock(&a->lock);
    is_stopped = a->is_stopped;
    is_sought = a->is_sought;
    time = a->seek_time;
    a->is_sought = false;
    pthread_mutex_unlock(&a->lock);
    if (is_sought)
        source_seek(a->inner, time);
    return !is_stopped;
}

static void *run(void *arg)
{
    struct read_ahead *a = arg;
    bool is_needed = true, is_over = false;

    while (is_needed && !is_over && goes_on(a)) {
        const struct item *items;
        int n = source_next(a->inner, &items);

        if (n <= 0)
            break;
        is_over = selection_end_pass(&a->end, items, (unsigned)n);
        is_needed = put_run(a, items, (unsigned)n);
    }
    if (is_needed && block_to_fill(a)->n_runs > 0)
        (void)give(a);
    pthread_mutex_lock(&a->lock);
    a->has_ended = true;
    pthread_cond_signal(&a->filling);
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

static void free_blocks(struct read_ahead *a)
{
    for (unsigned i = 0; i < N_BLOCKS; i++)
        item_block_done(&a->blocks[i].copies);
}

/* Makes the thread, if there is memory for it. */
static void start(struct read_ahead *a)
{
    a->may_start = false;
    a->end = (struct selection_end){0};
    if (a->selection)
        selection_get_end(a->selection, &a->end);
    for (unsigned i = 0; i < N_BLOCKS; i++) {
        a->blocks[i].n_runs = 0;
        a->blocks[i].in_place = NULL;
        if (item_block_init(&a->blocks[i].copies) < 0) {
            free_blocks(a);
            return;
        }
    }
    if (pthread_mutex_init(&a->lock, NULL) != 0) {
        free_blocks(a);
        return;
    }
    pthread_cond_init(&a->filling, NULL);
    pthread_cond_init(&a->emptying, NULL);
    a->lent = NULL;
    a->filled = a->taken = 0;
    a->is_lent = a->has_ended = a->is_stopped = a->is_sought = false;
    a->first_new = a->classes.n_classes;
    a->is_running = true;
    if (thread_start(&a->thread, STACK_SIZE, run, a) < 0) {
        pthread_cond_destroy(&a->filling);
        pthread_cond_destroy(&a->emptying);
        pthread_mutex_destroy(&a->lock);
        free_blocks(a);
        a->is_running = false;
    }
}

/* Waits for the end of the thread. */
static void end(struct read_ahead *a)
{
    pthread_join(a->thread, NULL);
    pthread_cond_destroy(&a->filling);
    pthread_cond_destroy(&a->emptying);
    pthread_mutex_destroy(&a->lock);
    free(a->new_classes);
    a->new_classes = NULL;
    a->n_new = a->new_capacity = 0;
    free_blocks(a);
    a->is_running = false;
}

/* ---- The borrower's thread ---- */

static int64_t cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Whether the thread gains more than it costs. With it, an item takes as long as the slower one of the two takes for it. */
static bool is_worthwhile(struct read_ahead *a)
{
    int64_t copy_ns = (int64_t)a->n_timed * COPY_NS;
    bool gains = a->work_ns > copy_ns + (a->read_ns + copy_ns) / 4;

    if (a->options.always)
        return true;
    if (a->n_timed < TIMED_ITEMS)
        return false;
    a->n_timed = 0;
    a->read_ns = a->work_ns = 0;
    return gains;
}

/* Reads a run without the thread. */
static int next_alone(struct read_ahead *a, const struct item **ret_items)
{
    bool is_timed = a->may_start && !a->options.always && a->n_runs++ % TIMED_RUNS == 0;
    int64_t begin = is_timed ? cpu_ns() : 0;
    int n = source_next(a->inner, ret_items);

    if (is_timed) {
        a->lent_at = cpu_ns();
        a->read_ns += a->lent_at - begin;
        a->n_timed += (unsigned)MAX(n, 0);
    }
    if (n < 0)
        a->source.error = a->inner->error;
    else if (see_all_classes(a) < 0)
        return -ENOMEM;
    a->n_before += (unsigned)MAX(n, 0);
    return n;
}

/* Lends the next run of the block that is lent. */
static int lend_run(struct read_ahead *a, const struct item **ret_items)
{
    const struct ahead_block *block = a->lent;
    unsigned begin = a->next_run ? block->run_ends[a->next_run - 1] : 0;

    if (block->in_place) {
        *ret_items = block->in_place;
        return (int)block->n_in_place;
    }
    *ret_items = block->copies.items + begin;
    return block->run_ends[a->next_run++] - (int)begin;
}

/* Gives the block that is lent back, and gets the next one; 0: there is none any more. */
static int take_block(struct read_ahead *a)
{
    int r;

    a->lent = NULL;
    pthread_mutex_lock(&a->lock);
    a->is_lent = false;
    if (n_full(a) <= N_BLOCKS - EMPTY_ENOUGH)
        pthread_cond_signal(&a->emptying);
    while (a->taken == a->filled && !a->has_ended)
        pthread_cond_wait(&a->filling, &a->lock);
    r = a->error;
    if (a->taken < a->filled) {
        unsigned seen = a->classes.n_classes;

        a->lent = &a->blocks[a->taken++ % N_BLOCKS];
        a->next_run = 0;
        a->is_lent = true;
        r = 0;
        if (unlikely(a->lent->n_classes > seen))
            r = see_classes(a, a->new_classes + (seen - a->first_new), a->lent->n_classes - seen);
        a->error = r < 0 ? r : a->error;
    }
    pthread_mutex_unlock(&a->lock);
    if (r < 0)
        return error_set(&a->source.error, r, NULL, "out of memory");
    if (!a->lent)
        return 0;
    a->done = a->lent->done;
    a->total = a->lent->total;
    return 1;
}

/* 0: the thread reads no more. */
static int take(struct read_ahead *a, const struct item **ret_items)
{
    int r = a->lent && a->next_run < a->lent->n_runs ? 1 : take_block(a);

    return r > 0 ? lend_run(a, ret_items) : r;
}

static int ahead_next(struct source *source, const struct item **ret_items)
{
    struct read_ahead *a = to_ahead(source);
    int r;

    if (a->lent_at) {
        a->work_ns += cpu_ns() - a->lent_at;
        a->lent_at = 0;
    }
    if (a->may_start && a->n_before >= READ_AHEAD_ITEMS_BEFORE && is_worthwhile(a))
        start(a);
    if (a->is_running) {
        r = take(a, ret_items);
        if (r != 0)
            return r;
        end(a);
    }
    /* The end, the error, or what follows the end of a selection. */
    return next_alone(a, ret_items);
}

void read_ahead_stop(struct source *source)
{
    struct read_ahead *a = to_ahead(source);

    a->may_start = false;
    a->lent_at = 0;
    a->selection = NULL;
    if (a->is_running) {
        pthread_mutex_lock(&a->lock);
        a->is_stopped = true;
        pthread_cond_signal(&a->emptying);
        pthread_mutex_unlock(&a->lock);
        end(a);
    }
}

static void ahead_free(struct source *source)
{
    struct read_ahead *a = to_ahead(source);

    read_ahead_stop(source);
    source_free(a->inner);
    free(a->classes.classes);
    free(a);
}

static void ahead_facts(const struct source *source,
                        void (*put)(void *arg, const char *key, const char *value), void *arg)
{
    const struct read_ahead *a = to_ahead(source);

    if (!a->is_running && a->inner->ops->facts)
        a->inner->ops->facts(a->inner, put, arg);
}

static const char *ahead_hint(const struct source *source)
{
    const struct read_ahead *a = to_ahead(source);

    return !a->is_running && a->inner->ops->hint ? a->inner->ops->hint(a->inner) : NULL;
}

static void ahead_progress(const struct source *source, uint64_t *ret_done, uint64_t *ret_total)
{
    const struct read_ahead *a = to_ahead(source);

    *ret_done = *ret_total = 0;
    if (a->is_running) {
        *ret_done = a->done;
        *ret_total = a->total;
    } else if (a->options.progress) {
        a->options.progress(a->options.progress_arg, ret_done, ret_total);
    }
}

static void ahead_seek(struct source *source, int64_t time)
{
    struct read_ahead *a = to_ahead(source);

    if (!a->is_running) {
        source_seek(a->inner, time);
        return;
    }
    pthread_mutex_lock(&a->lock);
    a->is_sought = true;
    a->seek_time = time;
    pthread_mutex_unlock(&a->lock);
}

void read_ahead_select(struct source *source, const struct selection *selection)
{
    struct read_ahead *a = to_ahead(source);

    a->selection = selection;
    a->may_start = a->may_start && !selection->options->limited;
}

bool read_ahead_is_running(const struct source *source)
{
    return to_ahead(source)->is_running;
}

int read_ahead_open(struct source *inner, const struct read_ahead_options *options,
                    struct source **ret_source)
{
    static const struct source_ops ops = {
        .next = ahead_next,
        .free = ahead_free,
        .facts = ahead_facts,
        .progress = ahead_progress,
        .seek = ahead_seek,
        .hint = ahead_hint,
    };
    struct read_ahead *a = calloc(1, sizeof *a);

    if (!a)
        return -ENOMEM;
    a->source.ops = &ops;
    a->source.ordered = inner->ordered;
    a->source.one_buffer = inner->one_buffer;
    a->inner = inner;
    a->options = *options;
    a->may_start = true;
    if (see_all_classes(a) < 0) {
        free(a->classes.classes);
        free(a);
        return -ENOMEM;
    }
    *ret_source = &a->source;
    return 0;
}
