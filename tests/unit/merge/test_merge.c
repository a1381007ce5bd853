/* SPDX-License-Identifier: MIT */
/* merge/merge.h: the errors that it returns, the clock maps that it finds, the directory that it writes. */
#include "cmocka_all.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "byte_order.h"
#include "merge/merge.h"

static char scratch[64];

/* The path of NAME in the scratch directory; four at a time. */
static char *path_of(const char *name)
{
    static char paths[4][128];
    static unsigned next;

    next = (next + 1) % 4;
    snprintf(paths[next], sizeof paths[next], "%s/%s", scratch, name);
    return paths[next];
}

static void put_file(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* A QEMU log of N events, a second apart from SECOND on, that count up. */
static void put_log(const char *name, unsigned second, unsigned n)
{
    FILE *file = fopen(path_of(name), "w");

    assert_non_null(file);
    for (unsigned i = 0; i < n; i++)
        fprintf(file, "7@%u.000000:marker n %u\n", second + i, i);
    assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
    snprintf(scratch, sizeof scratch, "/tmp/strata-test-XXXXXX");
    if (!mkdtemp(scratch))
        return -1;
    put_file("events", "marker(int n) \"n %d\"\n");
    put_log("a.log", 1000, 10);
    put_log("b.log", 5000, 10);
    return 0;
}

static int tear_down(void **state)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf '%s'", scratch);
    return system(command);
}

struct setup {
    struct merge_config config;
    struct merge merge;
    const char *events[1];
    const char *syncs[1];
    char *operands[2];
};

/* SYNC: the rule, or NULL. */
static void begin(struct setup *setup, const char *sync)
{
    *setup = (struct setup){.events = {path_of("events")}, .syncs = {sync}};
    setup->config.open.events = setup->events;
    setup->config.open.n_events = 1;
    setup->config.syncs = (struct strings){setup->syncs, sync ? 1 : 0};
    setup->operands[0] = path_of("a.log");
    setup->operands[1] = path_of("b.log");
    merge_init(&setup->merge, &setup->config);
}

static int relate(struct setup *setup)
{
    int r = merge_add_traces(&setup->merge, setup->operands, 2);

    if (r >= 0)
        r = merge_scan(&setup->merge);
    return r < 0 ? r : merge_relate(&setup->merge);
}

/* RULE fails, and the error says WHAT. */
static void fails(const char *rule, const char *what)
{
    struct setup setup;

    begin(&setup, rule);
    assert_int_equal(relate(&setup), -EINVAL);
    assert_int_equal(setup.merge.error.code, -EINVAL);
    if (!strstr(setup.merge.error.what, what))
        fail_msg("no '%s' in '%s'", what, setup.merge.error.what);
    merge_done(&setup.merge);
}

static void common_events_relate_two_clocks(void **state)
{
    struct setup setup;
    int64_t error;
    const struct merge_source *b;

    begin(&setup, "a:marker~n (\\d+) = b:marker~n (\\d+)");
    assert_int_equal(relate(&setup), 0);
    assert_int_equal(setup.merge.n_sources, 2);
    assert_int_equal(setup.merge.reference, 0);
    b = &setup.merge.sources[1];
    assert_string_equal(b->name, "b");
    assert_int_equal(b->n_events, 10);
    /* The clock of b is 4000 s ahead. */
    assert_in_range(merge_time(&setup.merge, b, INT64_C(5003000000000), &error),
                    INT64_C(1002999999000), INT64_C(1003000001000));
    assert_non_null(strstr(setup.merge.domains[b->domain].evidence, "10 common events of a"));
    assert_int_equal(setup.merge.n_notes, 0);
    merge_done(&setup.merge);
}

static void what_does_not_fit_is_an_error_in_words(void **state)
{
    fails(NULL,
          "b: its clock (realtime) cannot be related to the clock of a; name events that both "
          "contain, as in --sync='a:EVENT~TEXT = b:EVENT'");
    fails("a:marker", "--sync='a:marker': ");
    fails("a:nothing = b:marker", "--sync='a:nothing = b:marker': no event 'nothing' in a");
    fails("marker = b:marker", "'marker' is in several sources (a, b); name one of them, as in");
    fails("a:marker = a:marker", "both sides are of a");
    fails("guest:marker = b:marker", "--sync: no source of the layer guest");
}

static void names_that_are_not_there_are_errors(void **state)
{
    static const char *nobody[] = {"nobody", "a"};
    struct setup setup;

    begin(&setup, NULL);
    setup.config.reference = "nobody";
    assert_int_equal(relate(&setup), -EINVAL);
    assert_string_equal(setup.merge.error.what, "--reference: no source 'nobody'");
    merge_done(&setup.merge);

    begin(&setup, NULL);
    setup.config.tsc = (struct strings){nobody, 2};
    assert_int_equal(relate(&setup), -EINVAL);
    assert_string_equal(setup.merge.error.what, "--tsc: no source 'nobody'");
    merge_done(&setup.merge);

    begin(&setup, NULL);
    setup.operands[1] = path_of("missing.log");
    assert_int_equal(relate(&setup), -ENOENT);
    assert_non_null(strstr(setup.merge.error.path, "missing.log"));
    merge_done(&setup.merge);
}

/* A simpletrace file of 4 events like those of a.log, the last of which is cut off. */
static void put_cut_simpletrace(const char *name)
{
    static const uint64_t header[] = {UINT64_MAX, UINT64_C(0xf2b177cb0aa429b4), 4};
    static const uint64_t mapping[] = {0, 0};
    static const uint32_t len = 6;
    FILE *file = fopen(path_of(name), "w");

    assert_non_null(file);
    fwrite(header, sizeof header, 1, file);
    fwrite(mapping, sizeof mapping, 1, file);
    fwrite(&len, sizeof len, 1, file);
    fwrite("marker", len, 1, file);
    for (uint64_t i = 0; i < 4; i++) {
        uint64_t record[] = {1, 0, (5 + i) * NANOSECONDS, TWO_U32(32, 7), i};

        fwrite(record, sizeof record - (i == 3 ? 4 : 0), 1, file);
    }
    assert_int_equal(fclose(file), 0);
}

static void a_damaged_trace_is_a_note(void **state)
{
    struct setup setup;

    put_cut_simpletrace("b.trace");
    begin(&setup, "a:marker~n (\\d+) = b:marker~n (\\d+)");
    setup.operands[1] = path_of("b.trace");
    assert_int_equal(relate(&setup), 0);
    assert_true(setup.merge.damaged);
    assert_int_equal(setup.merge.sources[1].n_events, 3);
    assert_int_equal(setup.merge.n_notes, 1);
    assert_non_null(strstr(setup.merge.notes[0], "b.trace: offset "));
    merge_done(&setup.merge);
}

static void one_trace_directory_holds_both(void **state)
{
    struct manifest manifest;
    struct error error = {0};
    struct setup setup;

    begin(&setup, "a:marker = b:marker");
    assert_int_equal(relate(&setup), 0);
    assert_int_equal(merge_write(&setup.merge, path_of("all")), 0);
    assert_int_equal(manifest_read(path_of("all"), &manifest, &error), 0);
    assert_int_equal(manifest.n_sources, 2);
    assert_string_equal(manifest.sources[0].name, "a");
    assert_string_equal(manifest.sources[1].name, "b");
    assert_string_equal(manifest.sources[1].clock.pairs, "b/clock-pairs");
    assert_string_equal(manifest.sources[0].host->boot_id, manifest.sources[1].host->boot_id);
    manifest_done(&manifest);
    /* It is not written over. */
    assert_int_equal(merge_write(&setup.merge, path_of("all")), -EEXIST);
    assert_string_equal(setup.merge.error.what,
                        "directory exists and is not empty; name another directory");
    merge_done(&setup.merge);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(common_events_relate_two_clocks),     TEST(what_does_not_fit_is_an_error_in_words),
        TEST(names_that_are_not_there_are_errors), TEST(a_damaged_trace_is_a_note),
        TEST(one_trace_directory_holds_both),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
