/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <string.h>

#include "analysis/result/result.h"
#include "base/macro.h"

static const struct clock ns = {.hz = NANOSECONDS};
static const struct origin two_cpus = {.layer = LAYER_GUEST, .n_cpus = 2};
static const struct origin other = {.layer = LAYER_VMM};

static void put_event(struct coverage *coverage, const struct origin *origin, int32_t cpu,
                      int64_t time)
{
    const struct item item = {.kind = ITEM_EVENT, .origin = origin, .cpu = cpu, .time = time};

    assert_int_equal(coverage_put(coverage, &item, 1), 0);
}

static void put_loss(struct coverage *coverage, const struct origin *origin, int32_t cpu,
                     int64_t since, int64_t time)
{
    const struct item item = {
        .kind = ITEM_LOSS, .origin = origin, .cpu = cpu, .time = time, .since = since, .lost = 5};

    assert_int_equal(coverage_put(coverage, &item, 1), 0);
}

static struct result_row *add_row_of(struct result *result, const struct origin *origin,
                                     const char *cpu)
{
    struct result_row *row = result_add_row(result);

    assert_non_null(row);
    row->origin = origin;
    assert_int_equal(result_set_key(result, row, 0, cpu), 0);
    return row;
}

/* CPU 0 of one machine and of another are two rows, and one can tell which is which. */
static void rows_of_sources(void **state)
{
    static const struct origin first = {.layer = LAYER_HOST, .path = "a/host"};
    static const struct origin second = {.layer = LAYER_HOST, .path = "b/host"};
    struct coverage coverage;
    struct result result;

    (void)state;
    coverage_init(&coverage);
    result_init(&result, "test", &ns, &coverage);
    result_add_key(&result, "cpu", "CPU", true);
    (void)add_row_of(&result, &first, "0");
    (void)add_row_of(&result, &first, "1");
    assert_int_equal(result_add_source_key(&result), 0);
    assert_int_equal(result.n_keys, 1);
    (void)add_row_of(&result, &second, "1");
    assert_int_equal(result_add_source_key(&result), 0);
    assert_int_equal(result_note_sources(&result), 0);
    assert_int_equal(result.n_keys, 2);
    assert_string_equal(result.keys[1].name, "source");
    assert_string_equal(result.rows[0]->keys[1], "a/host");
    assert_string_equal(result.rows[2]->keys[1], "b/host");
    assert_int_equal(result.n_notes, 0);
    result_done(&result);

    result_init(&result, "test", &ns, &coverage);
    result_add_key(&result, "cpu", "CPU", true);
    add_row_of(&result, NULL, "0")->adds_up = true;
    assert_int_equal(result_note_sources(&result), 0);
    assert_int_equal(result.n_notes, 1);
    assert_string_equal(result.notes[0],
                        "rows by cpu add up several sources; --by=source,cpu separates them");
    result_done(&result);

    result_init(&result, "test", &ns, &coverage);
    result_add_key(&result, "name", "NAME", true);
    add_row_of(&result, NULL, "TIMER")->adds_up = true;
    assert_int_equal(result_note_sources(&result), 0);
    assert_int_equal(result.n_notes, 1);
    assert_string_equal(result.notes[0], "rows add up several sources; --by=source separates them");
    result_done(&result);
    coverage_done(&coverage);
}

/* A user writes a column as it is printed. */
static void column_as_printed(void **state)
{
    struct coverage coverage;
    struct result result;

    (void)state;
    coverage_init(&coverage);
    result_init(&result, "test", &ns, &coverage);
    result_add_column(&result, "rate", "N/s", RESULT_RATE);
    result_add_column(&result, "p99", "P99", RESULT_DURATION);
    result_add_column(&result, "delay_p99", "P99", RESULT_DURATION);
    result_add_column(&result, "delay_max", "MAX", RESULT_DURATION);
    result_add_column(&result, "wake_max", "MAX", RESULT_DURATION);
    result_add_column(&result, "max_at", NULL, RESULT_TIME);
    assert_int_equal(result_match_column(&result, "rate"), 0);
    assert_int_equal(result_match_column(&result, "N/s"), 0);
    assert_int_equal(result_match_column(&result, "n/S"), 0);
    assert_int_equal(result_match_column(&result, "P99"), 1); /* a name before titles */
    assert_int_equal(result_match_column(&result, "Delay_P99"), 2);
    assert_int_equal(result_match_column(&result, "MAX"), -1); /* of two columns */
    assert_int_equal(result_match_column(&result, "MAX_AT"), 5);
    assert_int_equal(result_match_column(&result, ""), -1);
    result_done(&result);
    coverage_done(&coverage);
}

/* A loss of one of two CPUs takes half of its time; of an unknown CPU, all of it. */
static void covered_time(void **state)
{
    struct coverage coverage;

    (void)state;
    coverage_init(&coverage);
    assert_int_equal(coverage_duration(&coverage), 0);
    put_event(&coverage, &two_cpus, 0, 1000);
    put_event(&coverage, &two_cpus, 1, 1100);
    put_event(&coverage, &other, CPU_UNKNOWN, 1200);
    put_loss(&coverage, &two_cpus, 0, TIME_UNKNOWN, 1400); /* since 1000, the last event */
    put_event(&coverage, &two_cpus, 1, 2000);
    put_loss(&coverage, &two_cpus, 1, 1900, 2100); /* since 2000, the last event */
    put_loss(&coverage, &other, CPU_UNKNOWN, 1300, 2200);
    put_loss(&coverage, &other, CPU_UNKNOWN, 2100, 2300); /* 100 of it once more */
    put_event(&coverage, &two_cpus, 0, 3000);
    assert_int_equal(coverage.n_events, 5);
    assert_int_equal(coverage_duration(&coverage), 2000);
    assert_int_equal(coverage_covered(&coverage, &two_cpus), 2000 - 200 - 50);
    assert_int_equal(coverage_lost(&coverage, &two_cpus), 250);
    assert_int_equal(coverage_recorded(&coverage, &other), 2300 - 1200); /* a loss is its last */
    assert_int_equal(coverage_covered(&coverage, &other), 100);
    assert_int_equal(coverage_lost(&coverage, NULL), 1000);
    assert_int_equal(coverage.losses.n, 4);
    assert_int_equal(coverage.layers.losses[LAYER_VMM].n, 2);
    assert_true(coverage_has_loss(&coverage, 1350, 1360));
    assert_true(coverage_has_loss(&coverage, 2250, 2900));
    assert_false(coverage_has_loss(&coverage, 2350, 2900));
    coverage_done(&coverage);
}

/* Events count that came while some were lost, and so does their time. */
static void events_in_a_loss(void **state)
{
    struct coverage coverage;

    (void)state;
    coverage_init(&coverage);
    put_event(&coverage, &two_cpus, 0, 1000);
    put_event(&coverage, &two_cpus, 1, 1000);
    put_event(&coverage, &two_cpus, 0, 1800);
    put_event(&coverage, &two_cpus, 1, 1900);
    put_loss(&coverage, &two_cpus, 0, 1000, 2000); /* in the packet of 1800 */
    put_event(&coverage, &two_cpus, 1, 3000);
    assert_int_equal(coverage_covered(&coverage, &two_cpus), 2000 - 200 / 2);
    /* When in the packet is not known. */
    assert_true(coverage_has_loss(&coverage, 1100, 1200));
    coverage_done(&coverage);
}

/* A CPU of which nothing but a loss is there is one of the source's. */
static void cpu_of_losses(void **state)
{
    const struct origin text = {.layer = LAYER_HOST};
    struct coverage coverage;

    (void)state;
    coverage_init(&coverage);
    put_event(&coverage, &text, 0, 1000);
    put_loss(&coverage, &text, 1, 1000, 3000);
    put_event(&coverage, &text, 0, 3000);
    assert_int_equal(coverage_covered(&coverage, &text), 2000 - 2000 / 2);
    coverage_done(&coverage);
}

/* What is lost after the last event is not in the trace's time, nor in what is covered of it. */
static void loss_at_end(void **state)
{
    const struct origin four_cpus = {.layer = LAYER_VMM, .n_cpus = 4};
    struct coverage coverage;

    (void)state;
    coverage_init(&coverage);
    put_event(&coverage, &two_cpus, 0, 1);
    put_event(&coverage, &two_cpus, 0, 4);
    put_loss(&coverage, &two_cpus, 0, TIME_UNKNOWN, 10);
    put_loss(&coverage, &two_cpus, 0, 10, 20);
    assert_int_equal(coverage_duration(&coverage), 3);
    assert_int_equal(coverage_recorded(&coverage, &two_cpus), 3);
    assert_int_equal(coverage_lost(&coverage, NULL), 0);
    assert_int_equal(coverage_covered(&coverage, &two_cpus), 3);
    assert_int_equal(coverage_covered(&coverage, NULL), 3);
    assert_true(coverage_lost_share(&coverage, NULL) == 0);
    /* Once an event follows, it is. */
    put_event(&coverage, &other, 0, 24);
    assert_int_equal(coverage_duration(&coverage), 23);
    assert_int_equal(coverage_recorded(&coverage, &two_cpus), 19);
    assert_int_equal(coverage_lost(&coverage, &two_cpus), 16 / 2);
    assert_int_equal(coverage_covered(&coverage, NULL), 23 - 8);
    coverage_done(&coverage);
    coverage_init(&coverage);
    for (int32_t cpu = 0; cpu < 4; cpu++)
        put_event(&coverage, &four_cpus, cpu, 2);
    put_loss(&coverage, &four_cpus, 0, TIME_UNKNOWN, 10);
    put_event(&coverage, &other, 0, 12);
    for (int32_t cpu = 0; cpu < 4; cpu++)
        put_loss(&coverage, &four_cpus, cpu, 8, 20);
    /* CPU 0: all of it; the others since 8. */
    assert_int_equal(coverage_duration(&coverage), 10);
    assert_int_equal(coverage_lost(&coverage, NULL), (10 + 3 * 4) / 4);
    assert_int_equal(coverage_covered(&coverage, &four_cpus), 5);
    assert_int_equal(coverage_covered(&coverage, NULL), 5);
    coverage_done(&coverage);
}

/* Of an unknown CPU, since an unknown time: since the last event of the CPU that is silent for longest. */
static void loss_without_start(void **state)
{
    struct coverage coverage;

    (void)state;
    coverage_init(&coverage);
    put_event(&coverage, &two_cpus, 0, 1000);
    put_event(&coverage, &two_cpus, 1, 2000);
    put_event(&coverage, &two_cpus, 0, 2500);
    put_event(&coverage, &two_cpus, 1, 2900);
    put_loss(&coverage, &two_cpus, CPU_UNKNOWN, TIME_UNKNOWN, 3000);
    assert_int_equal(coverage_recorded(&coverage, &two_cpus), 1900);
    assert_int_equal(coverage_covered(&coverage, &two_cpus), 1500);
    assert_int_equal(coverage_lost(&coverage, NULL), 400);
    put_event(&coverage, &two_cpus, 1, 3000);
    assert_int_equal(coverage_lost(&coverage, NULL), 500);
    assert_int_equal(coverage_covered(&coverage, &two_cpus), 2000 - 500);
    assert_false(coverage_has_loss(&coverage, 1000, 2499));
    coverage_done(&coverage);
}

/* Many losses are kept as fewer, longer ones; the covered time stays exact. */
static void many_losses(void **state)
{
    struct coverage coverage;

    (void)state;
    coverage_init(&coverage);
    put_event(&coverage, &two_cpus, 0, 0);
    for (int64_t i = 0; i < 100000; i++)
        put_loss(&coverage, &two_cpus, 0, i * 10, i * 10 + 4);
    put_event(&coverage, &two_cpus, 0, 1000000);
    assert_int_equal(coverage_covered(&coverage, &two_cpus), 1000000 - 100000 * 4 / 2);
    assert_true(coverage_has_loss(&coverage, 0, 1));
    assert_true(coverage_has_loss(&coverage, 999991, 1000000));
    coverage_done(&coverage);
    /* One that ends later may begin before others; answers hold for what was put before them. */
    coverage_init(&coverage);
    put_event(&coverage, &two_cpus, 0, 0);
    put_event(&coverage, &two_cpus, 1, 100);
    put_loss(&coverage, &two_cpus, 0, 110, 120);
    assert_false(coverage_has_loss(&coverage, 50, 60));
    assert_false(coverage_has_loss(&coverage, 121, 200));
    put_loss(&coverage, &two_cpus, 1, 130, 140);
    put_loss(&coverage, &two_cpus, CPU_UNKNOWN, 40, 150);
    assert_true(coverage_has_loss(&coverage, 50, 60));
    assert_false(coverage_has_loss(&coverage, 30, 39));
    assert_true(coverage_has_loss(&coverage, 145, 200));
    assert_false(coverage_has_loss(&coverage, 151, 200));
    put_loss(&coverage, &two_cpus, 65535, 160, 170);
    assert_true(coverage_has_loss(&coverage, 151, 200));
    coverage_done(&coverage);
}

/* The boot of a guest is not time of its events, nor is what follows them, whatever else is in the trace. */
static void source_of_its_own(void **state)
{
    const struct origin vmm = {.layer = LAYER_VMM};
    struct coverage alone, both;

    (void)state;
    coverage_init(&alone);
    coverage_init(&both);
    put_event(&both, &vmm, CPU_UNKNOWN, 0);
    for (int64_t time = 8000; time <= 9000; time += 100) {
        put_event(&alone, &two_cpus, 0, time);
        put_event(&both, &two_cpus, 0, time);
        if (time == 8500) {
            put_loss(&alone, &two_cpus, 1, TIME_UNKNOWN, 8510); /* since its begin */
            put_loss(&both, &two_cpus, 1, TIME_UNKNOWN, 8510);
        }
    }
    put_event(&both, &vmm, CPU_UNKNOWN, 20000);
    assert_int_equal(coverage_covered(&alone, &two_cpus), 1000 - 510 / 2);
    assert_int_equal(coverage_recorded(&both, &two_cpus), 1000);
    assert_int_equal(coverage_covered(&both, &two_cpus), 1000 - 510 / 2);
    assert_int_equal(coverage_recorded(&both, &vmm), 20000);
    assert_true(coverage_lost_share(&both, &two_cpus) == 0.255);
    assert_true(coverage_lost_share(&both, NULL) == 0.255);
    coverage_done(&alone);
    coverage_done(&both);
}

/* One that is known to be recorded is, before its first event and after its last. */
static void known_to_be_recorded(void **state)
{
    const struct origin silent = {.layer = LAYER_VMM, .known_from = 500, .known_until = 8000};
    const struct origin early = {.layer = LAYER_VMM, .known_from = 1, .known_until = 100000};
    struct coverage coverage;

    (void)state;
    coverage_init(&coverage);
    put_event(&coverage, &two_cpus, 0, 100);
    put_event(&coverage, &silent, CPU_UNKNOWN, 5000);
    put_event(&coverage, &early, CPU_UNKNOWN, 5000);
    put_event(&coverage, &silent, CPU_UNKNOWN, 5001);
    put_event(&coverage, &two_cpus, 0, 9000);
    assert_int_equal(coverage_recorded(&coverage, &silent), 7500);
    assert_int_equal(coverage_recorded(&coverage, &early), 8900);
    coverage_done(&coverage);
}

/* A loss before the first event is in the trace's time, and in its source's; not what is before the times that are selected, nor
 * where a loss without an end is told. */
static void loss_before_first(void **state)
{
    struct item open = {
        .kind = ITEM_LOSS, .origin = &two_cpus, .time = 10, .since = TIME_UNKNOWN, .is_open = true};
    struct coverage coverage;

    (void)state;
    coverage_init(&coverage);
    put_loss(&coverage, &two_cpus, 0, TIME_UNKNOWN, 1000);
    put_event(&coverage, &two_cpus, 0, 5000);
    put_event(&coverage, &other, CPU_UNKNOWN, 6000);
    put_event(&coverage, &two_cpus, 1, 7000);
    assert_int_equal(coverage.first, 1000);
    assert_int_equal(coverage_duration(&coverage), 6000);
    assert_int_equal(coverage_recorded(&coverage, &two_cpus), 6000);
    assert_int_equal(coverage_lost(&coverage, &two_cpus), 0);
    coverage_done(&coverage);

    coverage_init(&coverage);
    put_loss(&coverage, &two_cpus, CPU_UNKNOWN, 600, 1000);
    put_event(&coverage, &two_cpus, 0, 5000);
    assert_int_equal(coverage_duration(&coverage), 4400);
    assert_int_equal(coverage_lost(&coverage, &two_cpus), 400);
    coverage_done(&coverage);

    coverage_init(&coverage);
    coverage.from = 800;
    put_loss(&coverage, &two_cpus, CPU_UNKNOWN, 600, 1000);
    put_event(&coverage, &two_cpus, 0, 5000);
    assert_int_equal(coverage_duration(&coverage), 4200);
    assert_int_equal(coverage_lost(&coverage, &two_cpus), 200);
    coverage_done(&coverage);

    coverage_init(&coverage);
    assert_int_equal(coverage_put(&coverage, &open, 1), 0);
    put_event(&coverage, &two_cpus, 0, 5000);
    assert_int_equal(coverage.first, 5000);
    coverage_done(&coverage);
}

/* A source that was cut would go on as others do. */
static void cut_source(void **state)
{
    struct item cut = {.kind = ITEM_LOSS,
                       .origin = &two_cpus,
                       .cpu = 0,
                       .time = 2000,
                       .since = 2000,
                       .is_open = true,
                       .lost = LOST_UNKNOWN};
    struct coverage coverage;

    (void)state;
    coverage_init(&coverage);
    put_event(&coverage, &two_cpus, 0, 1000);
    put_event(&coverage, &two_cpus, 0, 2000);
    assert_int_equal(coverage_put(&coverage, &cut, 1), 0);
    put_event(&coverage, &other, 0, 5000);
    assert_int_equal(coverage_recorded(&coverage, &two_cpus), 4000);
    assert_int_equal(coverage_lost(&coverage, &two_cpus), 3000 / 2);
    coverage_done(&coverage);
    /* Of several streams of one without CPUs, others go on. */
    cut.origin = &other;
    cut.cpu = CPU_UNKNOWN;
    coverage_init(&coverage);
    put_event(&coverage, &other, CPU_UNKNOWN, 1000);
    assert_int_equal(coverage_put(&coverage, &cut, 1), 0);
    put_event(&coverage, &other, CPU_UNKNOWN, 3000);
    put_event(&coverage, &two_cpus, 0, 5000);
    assert_int_equal(coverage_recorded(&coverage, &other), 4000);
    assert_int_equal(coverage_lost(&coverage, &other), 2000);
    assert_true(coverage_has_loss(&coverage, 2500, 2600));
    coverage_done(&coverage);
}

/* Of two CPUs, one begins later: of the last seconds that are kept, not of a CPU that is idle. */
static void covered_of_late_cpu(void **state)
{
    struct origin origin = {.layer = LAYER_GUEST, .n_cpus = 2};
    struct coverage coverage;

    (void)state;
    for (int is_late = 0; is_late < 2; is_late++) {
        origin.complete_from = is_late ? 5000 : 0;
        coverage_init(&coverage);
        put_event(&coverage, &origin, 0, 1000);
        put_event(&coverage, &origin, 1, 4000);
        put_event(&coverage, &origin, 0, 11000);
        assert_int_equal(coverage_covered(&coverage, &origin), is_late ? 10000 - 3000 / 2 : 10000);
        coverage_done(&coverage);
    }
}

/* What spans of several sources are of: the time in which some source, or both of two, is recorded. */
static void covered_by_pairs(void **state)
{
    const struct origin host = {.layer = LAYER_HOST}, first = {.layer = LAYER_GUEST},
                        second = {.layer = LAYER_GUEST};
    const struct coverage_pair boots[] = {{&first, &first}, {&second, &second}},
                               across[] = {{&host, &first}},
                               mixed[] = {{&first, &first}, {&host, &host}},
                               never[] = {{&first, &second}};
    struct coverage coverage;

    (void)state;
    coverage_init(&coverage);
    put_event(&coverage, &host, 0, 0);
    put_event(&coverage, &first, 0, 1000);
    put_event(&coverage, &first, 0, 2000);
    put_event(&coverage, &second, 0, 5000);
    put_event(&coverage, &second, 0, 5500);
    put_event(&coverage, &host, 0, 10000);
    assert_int_equal(coverage_covered_pairs(&coverage, boots, 2), 1500);
    assert_int_equal(coverage_covered_pairs(&coverage, across, 1), 1000);
    assert_int_equal(coverage_covered_pairs(&coverage, mixed, 2), 10000);
    assert_int_equal(coverage_covered_pairs(&coverage, never, 1), 0);
    put_loss(&coverage, &host, CPU_UNKNOWN, 10000, 12000);
    put_event(&coverage, &host, 0, 12000);
    assert_int_equal(coverage_covered_pairs(&coverage, mixed, 2), 12000);
    coverage_done(&coverage);
}

static void sorted_rows(void **state)
{
    static const char *const names[] = {"b", "c", "a", "unknown"};
    static const int64_t values[] = {1, 7, 1};
    struct coverage coverage;
    struct result result;
    struct result_slow slow = {.cpu = CPU_UNKNOWN, .pid = PID_UNKNOWN, .vcpu = VCPU_UNKNOWN};
    unsigned key, column;

    (void)state;
    coverage_init(&coverage);
    result_init(&result, "test", &ns, &coverage);
    key = result_add_key(&result, "name", "NAME", false);
    result_add_column(&result, "other", NULL, RESULT_TEXT);
    column = result_add_column(&result, "v", "V", RESULT_DURATION);
    for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
        struct result_row *row = result_add_row(&result);

        assert_non_null(row);
        assert_int_equal(result_set_key(&result, row, key, names[i]), 0);
        if (i < ARRAY_SIZE(values))
            result_set_number(row, column, values[i]);
        slow.end = 100 * (i % 3);
        slow.row = row;
        assert_int_equal(result_add_slow(&result, &slow), 0);
    }
    assert_int_equal(result_find_column(&result, "v"), 1);
    assert_int_equal(result_find_column(&result, "w"), -1);
    result_sort(&result, column);
    for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
        assert_string_equal(result.rows[i]->keys[key],
                            ((const char *[]){"c", "a", "b", "unknown"})[i]);
    assert_false(result_has(result.rows[3], column));
    assert_string_equal(result.slowest[0].row->keys[key], "a");
    result_done(&result);
    coverage_done(&coverage);
}

/* What is given is copied, with all that it points to. */
static void copied_stages(void **state)
{
    char name[] = "step", sentence[] = "because";
    const char *const why[] = {sentence, NULL};
    const struct result_stage stage = {.name = name, .begin = 1, .end = 2, .why = why};
    const struct result_slow slow = {
        .begin = 1, .end = 2, .stages = &stage, .n_stages = 1, .why = why};
    struct coverage coverage;
    struct result result;

    (void)state;
    coverage_init(&coverage);
    result_init(&result, "test", &ns, &coverage);
    assert_int_equal(result_add_slow(&result, &slow), 0);
    assert_int_equal(result_add_note(&result, "%d of %s", 3, "these"), 0);
    name[0] = sentence[0] = 'X';
    assert_string_equal(result.slowest[0].stages[0].name, "step");
    assert_string_equal(result.slowest[0].stages[0].why[0], "because");
    assert_string_equal(result.slowest[0].why[0], "because");
    assert_null(result.slowest[0].why[1]);
    assert_string_equal(result.notes[0], "3 of these");
    result_done(&result);
}

/* Threads of a program, of which one loses events: those of the others are there, and their time counts. */
static void losses_of_a_thread(void **state)
{
    static const struct origin program = {.clock = {"ns", NANOSECONDS}};
    struct coverage coverage;

    coverage_init(&coverage);
    for (int64_t time = 1000; time <= 3000; time += 10) {
        put_event(&coverage, &program, CPU_UNKNOWN, time);
        if (time == 2900)
            put_loss(&coverage, &program, CPU_UNKNOWN, 1005, 2905);
    }
    assert_int_equal(coverage_covered(&coverage, &program), 2000 - 5);
    assert_true(coverage_lacks_cpu(&coverage, &program)); /* … and how many are not is unknown */
    coverage_done(&coverage);
    /* Where nothing is, nothing is covered. */
    coverage_init(&coverage);
    put_event(&coverage, &program, CPU_UNKNOWN, 1000);
    put_loss(&coverage, &program, CPU_UNKNOWN, 1000, 2900);
    put_event(&coverage, &program, CPU_UNKNOWN, 3000);
    assert_int_equal(coverage_covered(&coverage, &program), 100);
    coverage_done(&coverage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(column_as_printed),   cmocka_unit_test(covered_time),
        cmocka_unit_test(events_in_a_loss),    cmocka_unit_test(cpu_of_losses),
        cmocka_unit_test(loss_at_end),         cmocka_unit_test(loss_without_start),
        cmocka_unit_test(many_losses),         cmocka_unit_test(source_of_its_own),
        cmocka_unit_test(rows_of_sources),     cmocka_unit_test(known_to_be_recorded),
        cmocka_unit_test(loss_before_first),   cmocka_unit_test(cut_source),
        cmocka_unit_test(covered_of_late_cpu), cmocka_unit_test(covered_by_pairs),
        cmocka_unit_test(sorted_rows),         cmocka_unit_test(copied_stages),
        cmocka_unit_test(losses_of_a_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
