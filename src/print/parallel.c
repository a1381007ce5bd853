/* SPDX-License-Identifier: MIT */
/* Blocks are numbered from 0 in the order of their items. They are in a ring of jobs. Under the lock:
 *
 *   written <= taken <= filled <= written + n_jobs
 *
 * Blocks from `taken` on are waiting. Blocks from `written` to `taken` are being printed, or are printed and wait for
 * their turn to be written. Threads take blocks in their order, so the thread with block `written` never waits for
 * another thread. */
#include "print/parallel.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/fd.h"
#include "base/printable.h"
#include "base/thread.h"
#include "event/item_block.h"

/* Items that are printed before threads begin. */
#define ITEMS_BEFORE_THREADS 8192u
/* A block's lines beyond this size are written as soon as the lines before them are. */
#define TEXT_MAX ((size_t)1 << 20)
#define ITEMS_AT_ONCE 64u
#define STACK_SIZE ((size_t)1 << 20)

struct job {
    struct item_block block;
    struct text text;
    bool printed;
};

/* What one thread uses to print. */
struct printer {
    struct print_parallel *parallel;
    struct text text;
    struct sink *view; /* writes to `text` */
    pthread_t thread;
};

struct print_parallel {
    struct sink sink;
    view_open *open;
    struct view_options options;
    struct text *out;
    struct sink *view; /* writes to `out` while nothing else does */
    unsigned n_threads;
    uint64_t n_before; /* items printed before threads began */

    bool has_begun; /* the following members are set */
    struct item_copier copier;
    struct printer printers[PRINT_THREADS_MAX]; /* the reading thread has the first */
    unsigned n_printers;
    struct job jobs[2 * PRINT_THREADS_MAX + 2];
    unsigned n_jobs;

    pthread_mutex_t lock; /* guards the following members */
    pthread_cond_t filling, writing;
    uint64_t filled, taken, written;
    bool is_writing; /* a thread is writing blocks from `written` on */
    bool ended;
    int error;       /* the first error except write errors */
    int write_error; /* for out->error */
    uint64_t n_bytes;
};

static struct job *job_of(struct print_parallel *p, uint64_t number)
{
    return &p->jobs[number % p->n_jobs];
}

/* Converts the lines of TEXT to what `out` would write. */
static int filter(const struct text *out, struct text *text)
{
    struct text safe = TEXT_IN_MEMORY;
    size_t len = text_len(text);

    if (!out->filtered || len == 0 || printable_span(text->start, len, out->passes) == len)
        return 0;
    printable_put(&safe, text->start, len, out->passes, true);
    if (safe.error) {
        text_done(&safe);
        return -ENOMEM;
    }
    text_done(text);
    *text = safe;
    return 0;
}

/* Writes and empties TEXT, without the lock, when its block's turn has come. */
static void write_text(struct print_parallel *p, struct text *text, bool failed)
{
    size_t len = text_len(text);
    int r = failed || len == 0 ? 0 : write_all(p->out->fd, text->start, len);

    text->next = text->start;
    pthread_mutex_lock(&p->lock);
    p->n_bytes += len;
    if (r < 0 && !p->write_error)
        p->write_error = r;
    pthread_mutex_unlock(&p->lock);
}

static bool has_failed(const struct print_parallel *p)
{
    return p->error || p->write_error;
}

/* Writes the lines in TEXT of block NUMBER, which has more lines, after the lines of all earlier blocks. */
static void write_part(struct print_parallel *p, struct text *text, uint64_t number)
{
    bool failed;

    pthread_mutex_lock(&p->lock);
    while (p->written != number || p->is_writing)
        pthread_cond_wait(&p->writing, &p->lock);
    failed = has_failed(p);
    pthread_mutex_unlock(&p->lock);
    write_text(p, text, failed);
}

/* Writes all blocks whose turn it is. Call with the lock. */
static void write_printed(struct print_parallel *p)
{
    if (p->is_writing)
        return;
    p->is_writing = true;
    while (p->written < p->taken && job_of(p, p->written)->printed) {
        struct job *job = job_of(p, p->written);
        bool failed = has_failed(p);

        pthread_mutex_unlock(&p->lock);
        write_text(p, &job->text, failed);
        pthread_mutex_lock(&p->lock);
        job->printed = false;
        p->written++;
        pthread_cond_broadcast(&p->writing);
    }
    p->is_writing = false;
    pthread_cond_broadcast(&p->writing);
}

static int make_lines(struct printer *printer, struct job *job, uint64_t number)
{
    struct print_parallel *p = printer->parallel;
    const struct item_block *block = &job->block;

    for (unsigned i = 0; i < block->n; i += ITEMS_AT_ONCE) {
        int r =
            sink_put(printer->view, block->items + i, MIN(block->n - i, (unsigned)ITEMS_AT_ONCE));

        if (r == 0 && printer->text.error)
            r = printer->text.error;
        if (r == 0 && text_len(&printer->text) > TEXT_MAX && i + ITEMS_AT_ONCE < block->n) {
            r = filter(p->out, &printer->text);
            if (r == 0)
                write_part(p, &printer->text, number);
        }
        if (r < 0) {
            text_done(&printer->text); /* which may be scratch space of this thread */
            return r;
        }
    }
    return filter(p->out, &printer->text);
}

/* Prints the next block. Call with the lock. */
static void print_next(struct print_parallel *p, struct printer *printer)
{
    uint64_t number = p->taken++;
    struct job *job = job_of(p, number);
    int r = 0;

    if (!has_failed(p)) {
        struct text empty = job->text;

        pthread_mutex_unlock(&p->lock);
        r = make_lines(printer, job, number);
        job->text = printer->text;
        printer->text = empty;
        pthread_mutex_lock(&p->lock);
    }
    if (r < 0 && !p->error)
        p->error = r;
    job->printed = true;
    write_printed(p);
}

static void *run(void *arg)
{
    struct printer *printer = arg;
    struct print_parallel *p = printer->parallel;

    pthread_mutex_lock(&p->lock);
    while (!p->ended) {
        if (p->taken < p->filled)
            print_next(p, printer);
        else
            pthread_cond_wait(&p->filling, &p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static int open_printer(struct print_parallel *p)
{
    struct printer *printer = &p->printers[p->n_printers];
    struct view_options options = p->options;
    int r;

    *printer = (struct printer){.parallel = p, .text = TEXT_IN_MEMORY};
    if (options.origin_number)
        options.origin_number = item_block_origin_number;
    r = p->open(&options, &printer->text, &printer->view);
    if (r == 0)
        p->n_printers++;
    return r;
}

static void close_printer(struct print_parallel *p)
{
    struct printer *printer = &p->printers[--p->n_printers];

    sink_free(printer->view);
    text_done(&printer->text);
}

static void end(struct print_parallel *p)
{
    pthread_mutex_lock(&p->lock);
    p->ended = true;
    pthread_cond_broadcast(&p->filling);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 1; i < p->n_printers; i++)
        pthread_join(p->printers[i].thread, NULL);
    while (p->n_printers > 0)
        close_printer(p);
    for (unsigned i = 0; i < p->n_jobs; i++) {
        item_block_done(&p->jobs[i].block);
        text_done(&p->jobs[i].text);
    }
    item_copier_done(&p->copier);
    pthread_cond_destroy(&p->filling);
    pthread_cond_destroy(&p->writing);
    pthread_mutex_destroy(&p->lock);
    p->has_begun = false;
}

/* Makes as many threads as memory permits. */
static void begin_threads(struct print_parallel *p)
{
    unsigned wanted = p->n_threads;

    p->n_threads = 1;
    if (pthread_mutex_init(&p->lock, NULL) != 0)
        return;
    pthread_cond_init(&p->filling, NULL);
    pthread_cond_init(&p->writing, NULL);
    p->has_begun = true;
    if (item_copier_init(&p->copier, p->options.origin_number, p->options.origin_arg) == 0 &&
        open_printer(p) == 0) {
        while (p->n_printers < wanted && open_printer(p) == 0)
            if (thread_start(&p->printers[p->n_printers - 1].thread, STACK_SIZE, run,
                             &p->printers[p->n_printers - 1]) < 0) {
                close_printer(p);
                break;
            }
        for (; p->n_printers > 1 && p->n_jobs < 2 * p->n_printers + 2; p->n_jobs++) {
            p->jobs[p->n_jobs].text = TEXT_IN_MEMORY;
            if (item_block_init(&p->jobs[p->n_jobs].block) < 0)
                break;
        }
    }
    p->n_threads = p->n_printers;
    if (p->n_jobs < p->n_printers + 1 || p->n_printers < 2 || text_flush(p->out) < 0) {
        end(p);
        p->n_threads = 1;
    }
}

/* Returns the result of the threads so far. Call with the lock. */
static int check(struct print_parallel *p)
{
    p->out->drained += p->n_bytes;
    p->n_bytes = 0;
    if (p->write_error && !p->out->error)
        p->out->error = p->write_error;
    return p->error;
}

/* Gives the filled block to the threads, and waits for room for another. */
static int give(struct print_parallel *p)
{
    int r;

    pthread_mutex_lock(&p->lock);
    p->filled++;
    pthread_cond_signal(&p->filling);
    while (p->filled - p->written == p->n_jobs) {
        if (p->taken < p->filled)
            print_next(p, &p->printers[0]);
        else
            pthread_cond_wait(&p->writing, &p->lock);
    }
    r = check(p);
    item_block_clear(&job_of(p, p->filled)->block);
    pthread_mutex_unlock(&p->lock);
    return r;
}

static int flush(struct sink *sink)
{
    struct print_parallel *p = container_of(sink, struct print_parallel, sink);
    int r = 0;

    if (!p->has_begun)
        return 0;
    if (job_of(p, p->filled)->block.n > 0)
        r = give(p);
    pthread_mutex_lock(&p->lock);
    while (p->written < p->filled) {
        if (p->taken < p->filled)
            print_next(p, &p->printers[0]);
        else
            pthread_cond_wait(&p->writing, &p->lock);
    }
    r = r < 0 ? r : check(p);
    pthread_mutex_unlock(&p->lock);
    return r;
}

/* Prints an item that does not fit into a block. */
static int put_in_place(struct print_parallel *p, const struct item *item)
{
    int r = flush(&p->sink);

    if (r == 0)
        r = sink_put(p->view, item, 1);
    text_flush(p->out);
    return r;
}

static int put(struct sink *sink, const struct item *items, unsigned n)
{
    struct print_parallel *p = container_of(sink, struct print_parallel, sink);
    int r = 0;

    if (p->n_threads > 1 && !p->has_begun && p->n_before >= ITEMS_BEFORE_THREADS)
        begin_threads(p);
    if (!p->has_begun) {
        p->n_before += n;
        return sink_put(p->view, items, n);
    }
    while (n > 0 && r == 0) {
        struct item_block *block = &job_of(p, p->filled)->block;
        unsigned done = item_block_put(block, &p->copier, items, n);

        if (done == 0 && block->n == 0) {
            r = put_in_place(p, items);
            done = 1;
        } else if (done < n || block->n == ITEM_BLOCK_ITEMS) {
            r = give(p);
        }
        items += done;
        n -= done;
    }
    return r;
}

static void begin(struct sink *sink)
{
    sink_begin(container_of(sink, struct print_parallel, sink)->view);
}

static void parallel_free(struct sink *sink)
{
    struct print_parallel *p = container_of(sink, struct print_parallel, sink);

    if (p->has_begun)
        end(p);
    sink_free(p->view);
    free(p);
}

int print_parallel_open(view_open *open, const struct view_options *options, struct text *out,
                        unsigned n_threads, struct sink **ret_sink)
{
    static const struct sink_ops ops = {
        .begin = begin, .put = put, .flush = flush, .free = parallel_free};
    struct print_parallel *p;
    int r;

    if (n_threads <= 1)
        return open(options, out, ret_sink);
    p = calloc(1, sizeof *p);
    if (!p)
        return -ENOMEM;
    p->sink.ops = &ops;
    p->open = open;
    p->options = *options;
    p->out = out;
    p->n_threads = MIN(n_threads, PRINT_THREADS_MAX);
    r = open(options, out, &p->view);
    if (r < 0) {
        free(p);
        return r;
    }
    *ret_sink = &p->sink;
    return 0;
}
