/* SPDX-License-Identifier: MIT */
/* trace/tail_selection.h: the last N events of a trace that grows while it is read. */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/reopen_cache.h"
#include "trace/tail_selection.h"

#define EVENTS 5000u
#define MORE 11u
#define LAST 1000u

struct files {
    char dir[32], trace[48], events[48];
};

static void put_u64(FILE *file, uint64_t v)
{
    fwrite(&v, sizeof v, 1, file);
}

static int64_t time_of(unsigned i)
{
    return 1000000 + (int64_t)i * 10000;
}

/* Adds N events of simpletrace from number I on. */
static void add_events(const struct files *files, unsigned i, unsigned n)
{
    FILE *file = fopen(files->trace, "a");
    const uint32_t sizes[] = {32, 7};

    assert_non_null(file);
    for (unsigned end = i + n; i < end; i++) {
        put_u64(file, 1);
        put_u64(file, 5);
        put_u64(file, (uint64_t)time_of(i));
        fwrite(sizes, sizeof sizes, 1, file);
        put_u64(file, i);
    }
    assert_int_equal(fclose(file), 0);
}

static void make_files(struct files *files)
{
    const uint32_t length = 4;
    FILE *file;

    strcpy(files->dir, "/tmp/test_last.XXXXXX");
    assert_non_null(mkdtemp(files->dir));
    snprintf(files->trace, sizeof files->trace, "%s/trace", files->dir);
    snprintf(files->events, sizeof files->events, "%s/events", files->dir);
    file = fopen(files->events, "w");
    assert_non_null(file);
    fputs("made(uint64_t n) \"n=%\" PRIu64\n", file);
    assert_int_equal(fclose(file), 0);
    file = fopen(files->trace, "w");
    assert_non_null(file);
    put_u64(file, UINT64_MAX);
    put_u64(file, UINT64_C(0xf2b177cb0aa429b4));
    put_u64(file, 4);
    put_u64(file, 0);
    put_u64(file, 5);
    fwrite(&length, sizeof length, 1, file);
    fwrite("made", 4, 1, file);
    assert_int_equal(fclose(file), 0);
}

static void remove_files(const struct files *files)
{
    unlink(files->trace);
    unlink(files->events);
    rmdir(files->dir);
}

struct seen {
    struct sink sink;
    unsigned n;
    int64_t first, last;
};

static int put(struct sink *sink, const struct item *items, unsigned n)
{
    struct seen *seen = container_of(sink, struct seen, sink);

    for (unsigned i = 0; i < n; i++) {
        if (items[i].kind != ITEM_EVENT)
            continue;
        seen->first = seen->n++ == 0 ? items[i].time : seen->first;
        seen->last = items[i].time;
    }
    return 0;
}

/* As strata report does: the trace is opened before its end is looked for, and read after that. */
static void test_growing(void **state)
{
    static const struct sink_ops ops = {.put = put};
    struct select_options select = {0};
    struct seen seen = {.sink.ops = &ops};
    struct selection selection = {0};
    struct tail_sink last;
    const struct item *items;
    struct files files;
    struct trace *trace;
    int n;

    make_files(&files);
    add_events(&files, 0, EVENTS);

    const char *const events[] = {files.events}, *const paths[] = {files.trace};
    const struct trace_options open = {
        .events = events, .n_events = 1, .cache = reopen_cache_new()};
    struct error error = {0};

    assert_non_null(open.cache);
    assert_int_equal(trace_open(paths, 1, &open, &trace, &error), 0);
    add_events(&files, EVENTS, MORE);
    assert_int_equal(tail_find(&open, &select, LAST, paths, 1, &last, &error), 0);
    add_events(&files, EVENTS + MORE, MORE);

    assert_int_equal(selection_init(&selection, &select), 0);
    tail_sink_set_next(&last, &seen.sink);
    tail_sink_set_selection(&last, &selection);
    while ((n = trace_next(trace, &items)) > 0)
        assert_int_equal(sink_put(&last.sink, items, (unsigned)n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(seen.n, LAST);
    assert_int_equal(seen.first, time_of(EVENTS - LAST));
    assert_int_equal(seen.last, time_of(EVENTS - 1));

    selection_done(&selection);
    trace_free(trace);
    reopen_cache_free(open.cache);
    remove_files(&files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
