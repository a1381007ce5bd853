/* SPDX-License-Identifier: MIT */
/* Triggers: which events meet a condition, how often they save snapshots, and the process that watches events. */
#include "cmocka_all.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "record/recording.h"
#include "record/trigger.h"
#include "record/trigger_limits.h"
#include "record/watch_process.h"

#define MINUTE (60 * NSEC_PER_SEC)

/* ---- Conditions ---- */

static bool is_three(const void *condition, int status)
{
    return status == *(const int *)condition;
}

static void test_events(void **state)
{
    const int three = 3, killed = 128 + SIGKILL;
    const struct trigger stop = {.kind = TRIGGER_QMP, .text = "qmp:STOP", .event = "STOP"};
    const struct trigger any = {.kind = TRIGGER_EXIT, .text = "exit"};
    const struct trigger exits = {
        .kind = TRIGGER_EXIT, .text = "exit == 3", .matches = is_three, .condition = &three};
    const struct trigger dies = {
        .kind = TRIGGER_EXIT, .text = "exit == 137", .matches = is_three, .condition = &killed};
    const struct recorder_event stopped = {.kind = RECORDER_EVENT_QMP, .name = "STOP"};
    const struct recorder_event reset = {.kind = RECORDER_EVENT_QMP, .name = "STOPPED"};
    const struct recorder_event end = {.kind = RECORDER_EVENT_END, .status = 3 << 8};
    const struct recorder_event kill = {.kind = RECORDER_EVENT_END, .status = SIGKILL};
    const struct recorder_event unknown = {.kind = RECORDER_EVENT_END, .status = -1};

    (void)state;
    assert_true(trigger_is_met(&stop, &stopped));
    assert_false(trigger_is_met(&stop, &reset));
    assert_false(trigger_is_met(&stop, &end));
    assert_true(trigger_is_met(&any, &end));
    assert_true(trigger_is_met(&any, &unknown));
    assert_false(trigger_is_met(&any, &stopped));
    assert_true(trigger_is_met(&exits, &end));
    assert_false(trigger_is_met(&exits, &kill));
    assert_false(trigger_is_met(&exits, &unknown));
    assert_true(trigger_is_met(&dies, &kill));
}

static void check_slug(const char *text, const char *slug)
{
    const struct trigger trigger = {.text = text};
    char buf[TRIGGER_SLUG_MAX];

    trigger_slug(&trigger, buf);
    assert_string_equal(buf, slug);
}

static void test_slugs(void **state)
{
    (void)state;
    check_slug("qmp:STOP", "qmp-STOP");
    check_slug("latency block > 50ms", "latency-block");
    check_slug("guest:oom_kill_process{pid > 1}", "guest-oom_kill_process");
    check_slug("../../etc/passwd", "etc-passwd");
    check_slug("> 3", "trigger");
    check_slug("\xff\xfe*", "trigger");
    check_slug("a234567890b234567890c234567890d234567890e",
               "a234567890b234567890c234567890d23456789");
}

static time_t at(const char *date)
{
    struct tm tm = {.tm_isdst = -1};

    assert_non_null(strptime(date, "%Y-%m-%d %H:%M:%S", &tm));
    return mktime(&tm);
}

static void test_times(void **state)
{
    const struct trigger trigger = {.kind = TRIGGER_TIME, .second = 2 * 3600 + 30 * 60 + 5};

    (void)state;
    setenv("TZ", "Europe/Berlin", 1);
    tzset();
    assert_int_equal(trigger_next_time(&trigger, at("2026-11-24 02:30:04")),
                     at("2026-11-24 02:30:05"));
    assert_int_equal(trigger_next_time(&trigger, at("2026-11-24 02:30:05")),
                     at("2026-11-25 02:30:05"));
    assert_int_equal(trigger_next_time(&trigger, at("2026-12-31 23:00:00")),
                     at("2027-01-01 02:30:05"));
    /* The night without that time, and the one that has it twice: there is a time, and it is in the future. */
    assert_true(trigger_next_time(&trigger, at("2026-03-29 01:59:59")) > at("2026-03-29 01:59:59"));
    assert_true(trigger_next_time(&trigger, at("2026-03-29 01:59:59")) < at("2026-03-30 02:30:06"));
    assert_true(trigger_next_time(&trigger, at("2026-10-25 01:59:59")) > at("2026-10-25 01:59:59"));
    assert_true(trigger_next_time(&trigger, at("2026-10-25 01:59:59")) < at("2026-10-25 04:00:00"));
    unsetenv("TZ");
    tzset();
}

/* ---- Limits ---- */

static void test_limits(void **state)
{
    struct trigger_limits *limits;
    uint64_t now = 1000;

    (void)state;
    assert_int_equal(trigger_limits_new(3, 6, &limits), 0);
    assert_true(trigger_limits_allow(limits, 0, now));
    trigger_limits_count(limits, now);
    trigger_limits_note(limits, 0, now, true);
    /* The same one again in a sixth of an hour; another one at once. */
    assert_false(trigger_limits_allow(limits, 0, now + 10 * MINUTE - 1));
    assert_true(trigger_limits_allow(limits, 0, now + 10 * MINUTE));
    assert_true(trigger_limits_allow(limits, 1, now));
    /* Six in an hour in all, whichever. */
    for (unsigned i = 1; i < 6; i++)
        trigger_limits_count(limits, now + i * MINUTE);
    assert_false(trigger_limits_allow(limits, 2, now + 60 * MINUTE - 1));
    assert_true(trigger_limits_allow(limits, 2, now + 60 * MINUTE));
    trigger_limits_count(limits, now + 60 * MINUTE);
    assert_false(trigger_limits_allow(limits, 2, now + 61 * MINUTE - 1));
    assert_true(trigger_limits_allow(limits, 2, now + 61 * MINUTE));
    /* One that could not be saved is tried again sooner. */
    trigger_limits_note(limits, 1, now + 70 * MINUTE, false);
    assert_false(trigger_limits_allow(limits, 1, now + 71 * MINUTE - 1));
    assert_true(trigger_limits_allow(limits, 1, now + 71 * MINUTE));
    trigger_limits_free(limits);
}

/* ---- The process that watches ---- */

static char seen[4096];

static void see(const char *format, ...) _printf_(1, 2);
static void see(const char *format, ...)
{
    size_t len = strlen(seen);
    va_list args;

    va_start(args, format);
    vsnprintf(seen + len, sizeof seen - len, format, args);
    va_end(args);
}

static void fired(void *userdata, unsigned index, uint64_t time, const char *text)
{
    assert_ptr_equal(userdata, seen);
    see("fired %u at %" PRIu64 ": %s\n", index, time, text);
}

static void problem(void *userdata, unsigned index, const char *text)
{
    (void)userdata;
    see("problem %d: %s\n", index == UINT_MAX ? -1 : (int)index, text);
}

static void other(void *userdata, const char *line, size_t len)
{
    (void)userdata;
    see("other %.*s", (int)len, line);
}

static void report(void *userdata, const char *text)
{
    (void)userdata;
    see("report: %s\n", text);
}

static const struct watch_process_handler handler = {fired, problem, other, seen};

/* A recorder that is in a recording, for its messages. */
static struct recording *recording;
static struct recorder reporter;

static void free_reporter(struct recorder *recorder)
{
    (void)recorder;
}

static int set_up(void **state)
{
    static const struct recorder_ops ops = {.free = free_reporter};
    static const struct recording_settings settings = {.report = report};

    (void)state;
    reporter = (struct recorder){.ops = &ops, .name = "test"};
    assert_int_equal(recording_new(&settings, &recording, NULL), 0);
    assert_int_equal(recording_add(recording, &reporter), 0);
    seen[0] = '\0';
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    recording_free(recording);
    return 0;
}

/* Steps until it has ended, or N lines were seen; what is due in ten minutes is due. */
static void run_until(struct watch_process *watch, unsigned n)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    struct recorder_wait wait = {.until = UINT64_MAX};
    unsigned lines = 0;

    while (lines < n && !watch_process_has_ended(watch)) {
        wait.n = 0;
        watch_process_poll(watch, &wait);
        assert_int_equal(wait.n, 1);
        if (wait.fds[0].fd >= 0)
            (void)poll(wait.fds, 1, -1);
        now += 10 * MINUTE;
        watch_process_step(watch, now);
        lines = 0;
        for (const char *s = seen; (s = strchr(s, '\n')); s++)
            lines++;
    }
    free(wait.fds);
}

static int write_lines(void *userdata, uint64_t since, int out, int stop)
{
    const char *text = userdata;
    char byte;

    (void)since;
    (void)!write(out, text, strlen(text));
    (void)!read(stop, &byte, 1); /* until it hangs up */
    return (int)write(out, "fired 0 9 last\n", 15) < 0;
}

static void test_lines(void **state)
{
    static char text[] = "fired 1 1234 a b\x1b[2J c\n"
                         "fired 2 1 no such condition\nfired x 1 y\nfired 1\nfired\nfired 1 -3 z\n"
                         "problem 0 what\nproblem -\nproblem 7 none\n"
                         "metric\t1\n"
                         "fired 0 5\n";
    struct watch_process *watch;

    (void)state;
    assert_int_equal(watch_process_start(write_lines, text, 2, &handler, &reporter, &watch, NULL),
                     0);
    run_until(watch, 6);
    watch_process_stop(watch);
    run_until(watch, UINT_MAX);
    assert_string_equal(seen, "fired 1 at 1234: a b?[2J c\n"
                              "other fired\n"
                              "problem 0: what\nproblem -1: \n"
                              "other metric\t1\n"
                              "fired 0 at 5: \n"
                              "fired 0 at 9: last\n");
    watch_process_free(watch);
}

/* A line that does not end, and is longer than any. */
static int write_long(void *userdata, uint64_t since, int out, int stop)
{
    (void)since, (void)stop;
    for (unsigned i = 0; i < 20000; i++)
        (void)!write(out, userdata, 1);
    (void)!write(out, "\nfired 0 1 short\n", 17);
    return 0;
}

static void test_long_line(void **state)
{
    static char letter[] = "f";
    struct watch_process *watch;

    (void)state;
    assert_int_equal(watch_process_start(write_long, letter, 1, &handler, &reporter, &watch, NULL),
                     0);
    watch_process_stop(watch);
    run_until(watch, UINT_MAX);
    assert_string_equal(seen, "fired 0 at 1: short\n");
    watch_process_free(watch);
}

/* After it was asked to end, as one that gets no CPU before. */
static int write_since(void *userdata, uint64_t since, int out, int stop)
{
    char byte;

    (void)userdata;
    (void)!read(stop, &byte, 1);
    dprintf(out, "fired 0 %" PRIu64 " since\n", since);
    return 0;
}

static void test_since(void **state)
{
    uint64_t before = clock_ns(CLOCK_MONOTONIC), after, since;
    struct watch_process *watch;

    (void)state;
    assert_int_equal(watch_process_start(write_since, NULL, 1, &handler, &reporter, &watch, NULL),
                     0);
    after = clock_ns(CLOCK_MONOTONIC);
    watch_process_stop(watch);
    run_until(watch, UINT_MAX);
    assert_int_equal(sscanf(seen, "fired 0 at %" SCNu64 ": since\n", &since), 1);
    assert_in_range(since, before, after);
    watch_process_free(watch);
}

static int die(void *userdata, uint64_t since, int out, int stop)
{
    (void)userdata, (void)since, (void)out, (void)stop;
    return raise(SIGKILL);
}

static void test_death(void **state)
{
    struct watch_process *watch;

    (void)state;
    assert_int_equal(watch_process_start(die, NULL, 1, &handler, &reporter, &watch, NULL), 0);
    /* It is started again, until it is given up. */
    run_until(watch, UINT_MAX);
    assert_true(watch_process_has_ended(watch));
    assert_string_equal(seen, "report: the process that watches events for --on ended: killed by "
                              "signal 9 (Killed); it is started again\n"
                              "problem -1: the process that watches events died again and again; "
                              "conditions over events save no more snapshots\n");
    watch_process_free(watch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_slugs),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_limits),
        cmocka_unit_test_setup_teardown(test_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_since, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_death, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
