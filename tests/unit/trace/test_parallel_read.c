/* SPDX-License-Identifier: MIT */
/* trace/parallel_read.h: the parts of a made file are all of it, in order; what is damaged or out of order is refused. */
#include "cmocka_all.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "trace/parallel_read.h"

#define EVENTS 400000u
#define ALONE 8192u /* items of the first part until others must have begun */

/* Sees the times of its items. */
struct seen {
    struct sink sink;
    bool is_first;
    uint64_t n, sum;
    int64_t first, last;
    bool steps_back;
};

/* All that a reading has asked for. */
static struct {
    struct seen seen[64];
    unsigned n;
    bool waits; /* the first part, for another one */
    pthread_mutex_t lock;
    pthread_cond_t begun;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .begun = PTHREAD_COND_INITIALIZER};

static int put(struct sink *sink, const struct item *items, unsigned n)
{
    struct seen *seen = container_of(sink, struct seen, sink);

    for (unsigned i = 0; i < n; i++) {
        seen->first = seen->n == 0 ? items[i].time : seen->first;
        seen->steps_back |= seen->n > 0 && items[i].time < seen->last;
        seen->last = items[i].time;
        seen->sum += (uint64_t)items[i].time;
        seen->n++;
    }
    pthread_mutex_lock(&all.lock);
    while (all.waits && seen->is_first && seen->n > ALONE && all.n < 2)
        pthread_cond_wait(&all.begun, &all.lock);
    pthread_mutex_unlock(&all.lock);
    return 0;
}

static struct sink *begin(void *arg, bool first)
{
    static const struct sink_ops ops = {.put = put};
    struct sink *sink;

    pthread_mutex_lock(&all.lock);
    all.seen[all.n] = (struct seen){.sink.ops = &ops, .is_first = first};
    sink = &all.seen[all.n++].sink;
    pthread_cond_broadcast(&all.begun);
    pthread_mutex_unlock(&all.lock);
    return sink;
}

static bool is_damaged(const struct sink *sink)
{
    return false;
}

static void put_u64(FILE *file, uint64_t v)
{
    fwrite(&v, sizeof v, 1, file);
}

static int64_t time_of(unsigned i)
{
    return 1000000 + (int64_t)i * 10000;
}

/* Event LATE, if there is one, has the time of an event 600 places before. Before event DAMAGED there are bytes of no record. */
static void write_trace(const char *path, unsigned late, unsigned damaged)
{
    FILE *file = fopen(path, "w");
    const uint32_t sizes[] = {32, 7}, length = 4;

    assert_non_null(file);
    put_u64(file, UINT64_MAX);
    put_u64(file, UINT64_C(0xf2b177cb0aa429b4));
    put_u64(file, 4);
    put_u64(file, 0);
    put_u64(file, 5);
    fwrite(&length, sizeof length, 1, file);
    fwrite("made", 4, 1, file);
    for (unsigned i = 0; i < EVENTS; i++) {
        if (i == damaged)
            fwrite("damaged, and no record of any event", 35, 1, file);
        put_u64(file, 1);
        put_u64(file, 5);
        put_u64(file, (uint64_t)time_of(i == late ? i - 600 : i));
        fwrite(sizes, sizeof sizes, 1, file);
        put_u64(file, i);
    }
    assert_int_equal(fclose(file), 0);
}

struct files {
    char dir[32], trace[48], events[48];
};

static void make_files(struct files *files)
{
    FILE *file;

    strcpy(files->dir, "/tmp/test_split.XXXXXX");
    assert_non_null(mkdtemp(files->dir));
    snprintf(files->trace, sizeof files->trace, "%s/trace", files->dir);
    snprintf(files->events, sizeof files->events, "%s/events", files->dir);
    file = fopen(files->events, "w");
    assert_non_null(file);
    fputs("made(uint64_t n) \"n=%\" PRIu64\n", file);
    assert_int_equal(fclose(file), 0);
}

static void remove_files(const struct files *files)
{
    unlink(files->trace);
    unlink(files->events);
    rmdir(files->dir);
}

/* What parallel_read_run() returns. *RET_PARTS: how many parts there were. */
static int run(const struct files *files, const struct select_options *select, unsigned *ret_parts)
{
    const char *const events[] = {files->events}, *const paths[] = {files->trace};
    const struct trace_options open = {.events = events, .n_events = 1};
    const struct parallel_options options = {.open = &open,
                                             .select = select,
                                             .paths = paths,
                                             .n_paths = 1,
                                             .n_threads = 3,
                                             .eager = true,
                                             .begin = begin,
                                             .is_damaged = is_damaged};
    struct error error = {0};
    struct trace *trace;
    unsigned n = 0, place = 0;
    struct parallel_read read;
    int r;

    assert_int_equal(trace_open(paths, 1, &open, &trace, &error), 0);
    assert_true(parallel_read_is_possible(trace, &options));
    all.n = 0;
    r = parallel_read_run(&read, trace, &options);
    for (const struct parallel_part *part = read.parts; part; part = part->next)
        n++;
    assert_int_equal(n, all.n);
    /* In the order of time, whichever thread was first. */
    for (const struct parallel_part *part = read.parts; part; part = part->next, place++) {
        struct seen *seen = container_of(part->sink, struct seen, sink), swap = all.seen[place];

        if (r == 0 && seen != &all.seen[place]) {
            all.seen[place] = *seen;
            *seen = swap;
            for (struct parallel_part *p = part->next; p; p = p->next)
                if (p->sink == &all.seen[place].sink)
                    p->sink = &seen->sink;
        }
    }
    parallel_read_done(&read);
    trace_free(trace);
    *ret_parts = n;
    return r;
}

static void assert_all(unsigned parts, unsigned from, unsigned to)
{
    uint64_t n = 0, sum = 0, expected = 0;
    int64_t last = INT64_MIN;

    for (unsigned i = from; i < to; i++)
        expected += (uint64_t)time_of(i);
    for (unsigned i = 0; i < parts; i++) {
        const struct seen *seen = &all.seen[i];

        n += seen->n;
        sum += seen->sum;
        assert_false(seen->steps_back);
        assert_true(seen->n == 0 || seen->first > last);
        last = seen->n ? seen->last : last;
    }
    assert_int_equal(n, to - from);
    assert_int_equal(sum, expected);
}

static void test_parts(void **state)
{
    struct select_options select = {0};
    struct error error = {0};
    struct files files;
    unsigned parts;

    make_files(&files);
    write_trace(files.trace, EVENTS, EVENTS);
    all.waits = true;
    for (unsigned round = 0; round < 5; round++) {
        assert_int_equal(run(&files, &select, &parts), 0);
        assert_true(parts >= 2);
        assert_all(parts, 0, EVENTS);
    }
    /* From 1.001 s on by the trace's clock. */
    assert_int_equal(select_parse_time(&select.from, "1.001", &error), 0);
    assert_int_equal(run(&files, &select, &parts), 0);
    assert_true(parts >= 2);
    assert_all(parts, 100000, EVENTS);
    remove_files(&files);
}

static void test_refused(void **state)
{
    const struct select_options select = {0};
    struct files files;
    unsigned parts;

    make_files(&files);
    for (unsigned i = 1; i < 8; i++) {
        const unsigned place = i * (EVENTS / 8);

        all.waits = false;
        write_trace(files.trace, place, EVENTS);
        assert_true(run(&files, &select, &parts) < 0);
        write_trace(files.trace, EVENTS, place);
        assert_true(run(&files, &select, &parts) < 0);
    }
    remove_files(&files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
