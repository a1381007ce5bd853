/* SPDX-License-Identifier: MIT */
/* watch/condition.h: the grammar of --on. */
#include "cmocka_all.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "watch/condition.h"

static struct arena arena;

static struct watch_condition parse(const char *text)
{
    struct watch_condition condition = {0};
    struct error error = {0};

    if (watch_condition_parse(text, &arena, &condition, &error) < 0)
        fail_msg("'%s': %s", text, error.what);
    return condition;
}

static void refuses(const char *text, const char *what)
{
    struct watch_condition condition = {.kind = WATCH_AT, .text = "untouched"};
    struct error error = {0};

    assert_int_equal(watch_condition_parse(text, &arena, &condition, &error), -EINVAL);
    if (!strstr(error.what, what))
        fail_msg("'%s': '%s' is not in '%s'", text, what, error.what);
    assert_string_equal(condition.text, "untouched");
}

static void events(void **state)
{
    struct watch_condition c = parse("  vmm:guest_panicked ");

    assert_int_equal(c.kind, WATCH_EVENT);
    assert_string_equal(c.text, "vmm:guest_panicked");
    assert_string_equal(c.event.pattern, "vmm:guest_panicked");
    assert_null(c.event.condition);
    assert_true(watch_condition_needs_events(&c));
    c = parse("guest:oom:*_victim");
    assert_string_equal(c.event.pattern, "guest:oom:*_victim");
    c = parse("sched_switch {prev_state == 2 && next_comm == \"a } b\"}");
    assert_string_equal(c.event.pattern, "sched_switch");
    assert_string_equal(c.event.condition, "prev_state == 2 && next_comm == \"a } b\"");
    /* Events that are called like words. */
    assert_int_equal(parse("*:exit").kind, WATCH_EVENT);
    assert_int_equal(parse("exit{code == 1}").kind, WATCH_EVENT);
    assert_int_equal(parse("exits_of").kind, WATCH_EVENT);
    assert_int_equal(parse("latency:x").kind, WATCH_EVENT);
    refuses("", "empty");
    refuses(" \t", "empty");
    refuses("a:", "[LAYER:][GROUP:]EVENT");
    refuses("::a", "[LAYER:][GROUP:]EVENT");
    refuses("a b", "invalid condition 'a b': not an event");
    refuses("a{", "'}' of the event's condition is missing");
    refuses("a{b ==}", "invalid condition 'a{b ==}': ");
    refuses("a{b == 1} c", "unexpected 'c'");
    refuses("latncy block > 1ms", "unknown word 'latncy'; did you mean 'latency'?");
    refuses("wibble > 3", "not an event or one of");
    /* Words alone, which could be events: not if they are similar to those that are known. */
    refuses("exti",
            "unknown word 'exti'; did you mean 'exit'? An event of this name is LAYER:exti");
    refuses("latncy", "did you mean 'latency'?");
    refuses("qpm:STOP", "unknown 'qpm:'; did you mean 'qmp:'?");
    refuses("gest:oom:kill", "unknown 'gest:'; did you mean 'guest:'? An event of a group of this "
                             "name is LAYER:gest:oom:kill");
    assert_int_equal(parse("program:exti").kind, WATCH_EVENT);
    assert_int_equal(parse("exti*").kind, WATCH_EVENT);
    assert_int_equal(parse("exti{a == 1}").kind, WATCH_EVENT);
    assert_int_equal(parse("host:gest:kill").kind, WATCH_EVENT);
    assert_int_equal(parse("kvm:kvm_exit").kind, WATCH_EVENT);
}

static void latencies(void **state)
{
    struct watch_condition c = parse("latency block > 50ms");

    assert_int_equal(c.kind, WATCH_LATENCY);
    assert_int_equal(c.latency.n_rules, 1);
    assert_string_equal(c.latency.rules[0].name, "block");
    assert_int_equal(c.latency.ns, 50000000);
    assert_int_equal(c.latency.permille, 0);
    /* KVM's and Xen's. */
    c = parse("latency p99.9 exit>1.5us");
    assert_int_equal(c.latency.n_rules, 2);
    assert_int_equal(c.latency.ns, 1500);
    assert_int_equal(c.latency.permille, 999);
    c = parse("latency a(x>>4){y > 3 && z == \"> 4ms\"} -> b(x>>4) by cpu > 2s");
    assert_int_equal(c.latency.n_rules, 1);
    assert_string_equal(c.latency.rules[0].name, "a -> b");
    assert_string_equal(c.latency.rules[0].steps[0].condition, "y > 3 && z == \"> 4ms\"");
    assert_int_equal(c.latency.rules[0].place, SPAN_ON_CPU);
    assert_int_equal(c.latency.ns, 2000000000);
    refuses("latency block", "'> TIME' is missing");
    refuses("latency a -> b", "'> TIME' is missing");
    refuses("latency blok > 5ms", "did you mean 'block'?");
    refuses("latency wibble > 5ms", "no built-in rule is called 'wibble'; 'strata latency --list'");
    refuses("latency block > 5", "invalid time '5' (examples: 50ms, 1.5s)");
    refuses("latency block > 5 minutes", "invalid time");
    refuses("latency block > 0ms", "not between");
    refuses("latency block > 11m", "not between");
    refuses("latency block > 5ms for 1s", "unexpected 'for 1s'");
    refuses("latency p0 block > 5ms", "a percentile is");
    refuses("latency p99block > 5ms", "a percentile is");
    refuses("latency a -> > 5ms", "should stand here");
}

static void rates_and_shares(void **state)
{
    struct watch_condition c = parse("exits > 2x");

    assert_int_equal(c.kind, WATCH_EXITS);
    assert_true(c.exits.factor == 2 && c.exits.rate == 0);
    c = parse("exits > 50000/s");
    assert_true(c.exits.factor == 0 && c.exits.rate == 50000);
    c = parse("stolen vcpu > 20% for 1s");
    assert_int_equal(c.kind, WATCH_STOLEN);
    assert_null(c.share.task);
    assert_int_equal(c.share.permille, 200);
    assert_int_equal(c.share.ns, 1000000000);
    c = parse("stolen > 0.5% for 500ms");
    assert_int_equal(c.share.permille, 5);
    assert_int_equal(c.share.ns, 500000000);
    c = parse("runnable > 20%");
    assert_int_equal(c.kind, WATCH_RUNNABLE);
    assert_string_equal(c.share.task, "*");
    assert_int_equal(c.share.ns, 1000000000);
    c = parse("runnable qemu* > 99.9% for 60s");
    assert_string_equal(c.share.task, "qemu*");
    assert_null(parse("runnable vcpu > 20%").share.task);
    c = parse("lost > 1000");
    assert_int_equal(c.kind, WATCH_LOST);
    assert_int_equal(c.lost.more_than, 1000);
    assert_int_equal(parse("lost").lost.more_than, 0);
    refuses("exits", "'> Nx' or '> N/s' is missing");
    refuses("exits > 2", "followed by 'x' or '/s'");
    refuses("exits > 1x", "more than 1x");
    refuses("exits > 0/s", "at least 1/s");
    refuses("stolen dom0 > 20%", "not from 'dom0'");
    refuses("stolen > 20", "'> N%' is missing");
    refuses("stolen > 100%", "'> N%' is missing");
    refuses("stolen > 20% for 1ms", "10ms at least");
    refuses("stolen > 20% for 61s", "not between");
    refuses("lost > many", "a number of events is missing");
    refuses("lost 5", "unexpected '5'");
}

static void without_events(void **state)
{
    struct watch_condition c = parse("qmp:GUEST_PANICKED");

    assert_int_equal(c.kind, WATCH_QMP);
    assert_string_equal(c.qmp.event, "GUEST_PANICKED");
    assert_false(watch_condition_needs_events(&c));
    c = parse("exit");
    assert_int_equal(c.kind, WATCH_EXIT);
    assert_true(watch_exit_matches(&c, 0) && watch_exit_matches(&c, 1));
    c = parse("exit != 0");
    assert_false(watch_exit_matches(&c, 0));
    assert_true(watch_exit_matches(&c, 139));
    c = parse("exit>=128");
    assert_false(watch_exit_matches(&c, 127));
    assert_true(watch_exit_matches(&c, 128));
    c = parse("exit < 2");
    assert_true(watch_exit_matches(&c, 1) && !watch_exit_matches(&c, 2));
    c = parse("exit <= 2");
    assert_true(watch_exit_matches(&c, 2) && !watch_exit_matches(&c, 3));
    c = parse("exit > 2");
    assert_true(watch_exit_matches(&c, 3) && !watch_exit_matches(&c, 2));
    c = parse("exit == 2");
    assert_true(watch_exit_matches(&c, 2) && !watch_exit_matches(&c, 3));
    assert_int_equal(parse("signal USR1").signal, SIGUSR1);
    assert_int_equal(parse("signal SIGUSR2").signal, SIGUSR2);
    c = parse("at 03:12");
    assert_int_equal(c.kind, WATCH_AT);
    assert_true(c.at.hour == 3 && c.at.minute == 12 && c.at.second == 0);
    c = parse("at 23:59:58");
    assert_true(c.at.hour == 23 && c.at.minute == 59 && c.at.second == 58);
    refuses("qmp:", "capital letters");
    refuses("qmp:stop", "capital letters");
    refuses("qmp:STOP now", "unexpected 'now'");
    refuses("exit != 256", "between 0 and 255");
    refuses("exit = 1", "followed by");
    refuses("exit != 1.5", "between 0 and 255");
    refuses("signal KILL", "the signals are USR1 and USR2");
    refuses("at 24:00", "HH:MM");
    refuses("at 3:12", "HH:MM");
    refuses("at 03:12:", "HH:MM");
    refuses("at 03", "HH:MM");
    refuses("at", "HH:MM");
}

static void long_texts(void **state)
{
    char text[8192];

    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    refuses(text, "longer than 4096 bytes");
}

static int tear_down(void **state)
{
    arena_done(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events),           cmocka_unit_test(latencies),
        cmocka_unit_test(rates_and_shares), cmocka_unit_test(without_events),
        cmocka_unit_test(long_texts),
    };

    return cmocka_run_group_tests(tests, NULL, tear_down);
}
