/* SPDX-License-Identifier: MIT */
/* Two traces of a real kernel, event by event against what trace-cmd makes of them; and the same as
 * trace.dat, where trace-cmd is installed to write one. */
#include "cmocka_all.h"

#include "base/number.h"
#include "event/program.h"
#include "format/ftrace/ftrace.h"
#include "format/trace_dat/trace_dat.h"
#include "ftrace_unpack.h"
#include "timeline/merge.h"

/* An event as trace-cmd report -t shows it. */
static void put_line(const struct item *item, struct text *text)
{
    const char *task = item->origin->task_name(item->origin, item->pid);
    char name[128];

    if (item->kind == ITEM_LOSS) {
        if (item->lost == LOST_UNKNOWN)
            text_printf(text, "CPU:%d [EVENTS DROPPED]", item->cpu);
        else
            text_printf(text, "CPU:%d [%llu EVENTS DROPPED]", item->cpu,
                        (unsigned long long)item->lost);
        return;
    }
    snprintf(name, sizeof name, "%s:", item->class->name);
    text_printf(text, "%16s-%-5d [%03d] %5llu.%09llu: %-21s ", task ? task : "<...>", item->pid,
                item->cpu, (unsigned long long)item->time / 1000000000,
                (unsigned long long)item->time % 1000000000, name);
    item_put_text(item, text);
}

/* trace-cmd groups the operators of timer_start as "(flags & M) | D | P | I". None of the events has one of these flags. */
static void mend_line(char *line)
{
    static const char wrong[] = "flags=D|P|I";
    size_t len = strcspn(line, "\n");

    line[len] = '\0';
    if (strstr(line, " timer_start: ") && len >= strlen(wrong) &&
        strcmp(line + len - strlen(wrong), wrong) == 0)
        line[len - strlen("D|P|I")] = '\0';
}

static unsigned compare(struct source **sources, unsigned n, const char *expected_path)
{
    struct source *merged;
    FILE *expected = fopen(expected_path, "r");
    char *line = NULL;
    size_t capacity = 0;
    const struct item *items;
    unsigned n_events = 0;
    int got;

    assert_non_null(expected);
    assert_true(getline(&line, &capacity, expected) > 0); /* cpus=2 */
    assert_int_equal(merge_open(sources, n, &merged), 0);
    while ((got = source_next(merged, &items)) > 0) {
        for (int i = 0; i < got; i++) {
            struct text text = TEXT_IN_MEMORY;
            ssize_t len = getline(&line, &capacity, expected);

            assert_true(len > 0);
            mend_line(line);
            put_line(&items[i], &text);
            text_put_char(&text, '\0');
            assert_string_equal(text.start, line);
            text_done(&text);
            n_events += items[i].kind == ITEM_EVENT;
        }
    }
    assert_int_equal(got, 0);
    assert_true(getline(&line, &capacity, expected) < 0);
    free(line);
    fclose(expected);
    source_free(merged);
    return n_events;
}

static void compare_dir(const char *name, unsigned n_expected, const char *clock)
{
    struct reader_options options = {0};
    struct catalogue catalogue = {0};
    struct ftrace_files files;
    struct source **sources;
    const struct item *items;
    char path[128], expected[160];
    unsigned n;

    snprintf(path, sizeof path, "%s/%s", unpacked, name);
    snprintf(expected, sizeof expected, "%s/t.txt", path);
    assert_int_equal(ftrace_find(path, NULL, &files, NULL), 0);
    assert_int_equal(files.n_raws, 2);
    assert_int_equal(
        ftrace_open(&files, path, LAYER_GUEST, &catalogue, &options, &sources, &n, NULL), 0);
    assert_int_equal(n, 2);
    assert_int_equal(compare(sources, n, expected), n_expected);
    free(sources);

    assert_int_equal(
        ftrace_open(&files, path, LAYER_GUEST, &catalogue, &options, &sources, &n, NULL), 0);
    assert_true(source_next(sources[0], &items) > 0);
    assert_string_equal(items[0].origin->clock.name, clock);
    assert_string_equal(items[0].origin->path, path);
    assert_int_equal(items[0].origin->n_cpus, 2);
    source_free(sources[0]);
    source_free(sources[1]);
    free(sources);
    ftrace_files_done(&files);
    catalogue_done(&catalogue);
}

static void local_clock(void **state)
{
    compare_dir("guest-local-clock", 14396, "local");
}

static void tsc_clock(void **state)
{
    compare_dir("guest-tsc-clock", 14429, "x86-tsc");
}

static void compare_dat(const char *path, unsigned n_expected)
{
    struct reader_options options = {0};
    struct catalogue catalogue = {0};
    struct source **sources;
    struct input in;
    char expected[160];
    unsigned n;

    snprintf(expected, sizeof expected, "%s/guest-local-clock/t.txt", unpacked);
    assert_int_equal(input_open(&in, path, INPUT_BUFFER_SIZE, NULL), 0);
    assert_int_equal(trace_dat_open(&in, path, LAYER_GUEST, NULL, false, NULL, &catalogue, &options,
                                    &sources, &n, NULL),
                     0);
    assert_int_equal(compare(sources, n, expected), n_expected);
    free(sources);
    catalogue_done(&catalogue);
}

/* Files as trace-cmd writes them: both versions, compressed and not. */
static void trace_dat(void **state)
{
    static const char *const kinds[] = {"6 none", "7 none", "7 zlib", "7 zstd"};
    char path[128];
    unsigned n_made = 0;

    if (sh("command -v trace-cmd >/dev/null") != 0)
        skip();
    assert_int_equal(sh("cd %s/guest-local-clock; trace-cmd restore -c -t guest -k "
                        "guest/proc/kallsyms -o head.dat >/dev/null && trace-cmd restore -i "
                        "head.dat -o all.dat cpu0.raw cpu1.raw >/dev/null",
                        unpacked),
                     0);
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        /* A trace-cmd may be built without one of the compressions. */
        if (sh("cd %s/guest-local-clock; rm -f made.dat; set -- %s; trace-cmd convert -i all.dat "
               "-o "
               "made.dat --file-version $1 --compression $2 >/dev/null 2>&1",
               unpacked, kinds[i]) != 0)
            continue;
        snprintf(path, sizeof path, "%s/guest-local-clock/made.dat", unpacked);
        compare_dat(path, 14396);
        n_made++;
    }
    assert_true(n_made >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(local_clock),
        cmocka_unit_test(tsc_clock),
        cmocka_unit_test(trace_dat),
    };

    return cmocka_run_group_tests(tests, unpack, remove_unpacked);
}
