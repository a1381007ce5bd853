/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/events.h"
#include "runtime/process/log.h"
#include "runtime/ring/ring.h"
#include "runtime/trace_counts.h"
#include "strata/ring.h"

static const struct strata_field one_field[] = {{"value", "int", STRATA_FIELD_SIGNED, 4}};
static const struct strata_field other_field[] = {{"value", "uint64_t", STRATA_FIELD_UNSIGNED, 8}};

/* A group of N events "PREFIX_0" ...; the last one is compiled out. */
struct made {
    struct strata_group group;
    struct strata_event events[8];
    uint8_t states[8];
    char names[8][32];
};

static void make(struct made *made, const char *prefix, uint32_t n,
                 const struct strata_field *fields)
{
    memset(made, 0, sizeof(*made));
    for (uint32_t i = 0; i < n; i++) {
        snprintf(made->names[i], sizeof(made->names[i]), "%s_%u", prefix, i);
        made->events[i] = (struct strata_event){
            .name = made->names[i],
            .format = "value %d",
            .fields = fields,
            .state = &made->states[i],
            .n_fields = 1,
            .compiled_in = i + 1 < n,
        };
    }
    made->group = (struct strata_group){
        .abi = STRATA_TRACE_ABI, .n_events = n, .name = prefix, .events = made->events};
}

static void test_states(void **state)
{
    struct made a;

    make(&a, "states", 4, one_field);
    strata_group_register(&a.group);
    assert_int_not_equal(a.events[0].id, 0);
    assert_int_not_equal(a.events[0].id, a.events[1].id);
    assert_int_equal(strata_event_set_state("states_1", true), 1);
    assert_memory_equal(a.states, "\0\1\0\0", 4);
    assert_int_equal(strata_event_set_state("states_*", true), 3);
    assert_memory_equal(a.states, "\1\1\1\0", 4);
    assert_int_equal(strata_event_set_state("states_?", false), 3);
    assert_memory_equal(a.states, "\0\0\0\0", 4);
    assert_int_equal(strata_event_set_state("states_3", true), -EPERM);
    assert_int_equal(a.states[3], 0);
    assert_int_equal(strata_event_set_state("states_4", true), -ENOENT);
    assert_int_equal(strata_event_set_state("nothing*", true), 0);
    assert_int_equal(strata_event_set_state("", true), -EINVAL);
    assert_ptr_equal(strata_event_find("states_2"), &a.events[2]);
    assert_null(strata_event_find("states_"));
    strata_group_unregister(&a.group);
    assert_null(strata_event_find("states_2"));
}

static void test_later_groups(void **state)
{
    struct made a;

    assert_int_equal(strata_event_set_state("later_*", true), 0);
    assert_int_equal(strata_event_set_state("later_1", false), -ENOENT);
    make(&a, "later", 4, one_field);
    strata_group_register(&a.group);
    assert_memory_equal(a.states, "\1\0\1\0", 4);
    /* What is said later holds, also of what was said before: the list of rules keeps the order. */
    assert_int_equal(strata_event_set_state("later_*", false), 3);
    assert_int_equal(strata_event_set_state("later_0", true), 1);
    strata_group_unregister(&a.group);
    assert_int_equal(strata_event_set_state("*_2", true), 0);
    memset(a.states, 0, sizeof(a.states));
    strata_group_register(&a.group);
    assert_memory_equal(a.states, "\1\0\1\0", 4);
    strata_group_unregister(&a.group);
    strata_event_set_state("*", false);
}

static void test_ids_stay(void **state)
{
    struct made a;
    struct made b;
    struct made c;
    uint32_t ids[3];
    uint32_t count;

    make(&a, "stay", 3, one_field);
    strata_group_register(&a.group);
    for (int i = 0; i < 3; i++)
        ids[i] = a.events[i].id;
    count = class_count();
    strata_group_unregister(&a.group);
    memset(&a, 0xee, sizeof(a)); /* as if its library were gone */

    make(&b, "stay", 3, one_field);
    strata_group_register(&b.group);
    for (int i = 0; i < 3; i++)
        assert_int_equal(b.events[i].id, ids[i]);
    assert_int_equal(class_count(), count);
    assert_string_equal(class_by_id(ids[1])->name, "stay_1");
    assert_string_equal(class_by_id(ids[1])->format, "value %d");
    assert_string_equal(class_by_id(ids[1])->fields[0].name, "value");

    /* Another declaration of the same name is another class, that is switched by the same name. */
    make(&c, "stay", 3, other_field);
    strata_group_register(&c.group);
    assert_int_not_equal(c.events[0].id, b.events[0].id);
    assert_int_equal(strata_event_set_state("stay_0", true), 2);
    assert_int_equal(b.states[0], 1);
    assert_int_equal(c.states[0], 1);
    strata_group_unregister(&b.group);
    assert_ptr_equal(strata_event_find("stay_0"), &c.events[0]);
    strata_group_unregister(&c.group);
    assert_null(class_by_id(0));
    assert_null(class_by_id(class_count() + 1));
}

static void test_same_class_twice(void **state)
{
    struct made a;
    struct made b;

    make(&a, "twice", 2, one_field);
    make(&b, "twice", 2, one_field);
    strata_group_register(&a.group);
    strata_group_register(&b.group);
    assert_int_equal(a.events[0].id, b.events[0].id);
    strata_event_set_state("twice_0", true);
    assert_int_equal(a.states[0], 1);
    assert_int_equal(b.states[0], 1);
    strata_group_unregister(&b.group);
    strata_event_set_state("twice_0", false);
    assert_int_equal(a.states[0], 0);
    assert_ptr_equal(strata_event_find("twice_0"), &a.events[0]);
    strata_group_unregister(&a.group);
    strata_group_unregister(&a.group); /* nothing is there any more */
}

static void test_other_abi(void **state)
{
    struct made a;
    uint64_t refused = registry_refused();

    make(&a, "abi", 3, one_field);
    a.group.abi = STRATA_TRACE_ABI + 1;
    strata_group_register(&a.group);
    assert_null(strata_event_find("abi_0"));
    assert_int_equal(registry_refused(), refused + 3);
    strata_group_unregister(&a.group);
}

/* States that count, and that the program itself changes. */
static void test_own_states(void **state)
{
    const uint64_t one[] = {1}, two[] = {2};
    uint16_t states[3] = {0};
    struct made a;
    uint64_t drops;

    make(&a, "own", 3, one_field);
    for (unsigned i = 0; i < 3; i++) {
        a.events[i].own_state = true;
        a.events[i].state = (uint8_t *)&states[i];
    }
    strata_group_register(&a.group);
    /* Whatever is on without having been switched on here has a description. */
    for (unsigned i = 0; i < 3; i++)
        assert_true(class_by_id(a.events[i].id)->described);
    assert_int_equal(strata_event_set_state("own_0", true), 1);
    assert_int_equal(states[0], 1);
    for (uint32_t count = 0; count < 0x10000; count += 127) {
        states[0] = (uint16_t)count;
        assert_int_equal(strata_event_is_on(&a.events[0]), count != 0);
        assert_int_equal(strata_filter_pass(&a.events[0], one), count != 0);
    }
    states[0] = 256;
    assert_true(strata_event_is_on(&a.events[0]));

    /* The condition is beside the state, and stays when the program switches the event. */
    assert_int_equal(strata_event_set_filter("own_1", "value == 1"), 1);
    assert_int_equal(states[1], 1);
    assert_true(a.events[1].filtered);
    assert_string_equal(strata_event_get_filter(&a.events[1]), "value == 1");
    states[1] = 2;
    assert_true(strata_filter_pass(&a.events[1], one));
    assert_false(strata_filter_pass(&a.events[1], two));
    assert_int_equal(strata_event_set_filter("own_1", NULL), 1);
    assert_int_equal(states[1], 2);
    assert_false(a.events[1].filtered);
    assert_int_equal(strata_event_set_state("own_*", false), 2);
    assert_memory_equal(states, "\0\0\0\0", 4);
    strata_group_unregister(&a.group);

    /* One that could not be registered. */
    strata_ring_drop(0);
    drops = ring_discarded(ring_at(0));
    strata_ring_drop(0);
    assert_int_equal(ring_discarded(ring_at(0)), drops + 1);
}

/* A state of which no condition is known. */
static void test_no_filter(void **state)
{
    const uint64_t one[] = {1};
    struct made a;

    make(&a, "nofilter", 2, one_field);
    strata_group_register(&a.group);
    a.states[0] = STRATA_STATE_FILTERED;
    assert_true(strata_filter_pass(&a.events[0], one));
    strata_group_unregister(&a.group);
}

static int count_until(const struct strata_event *event, void *userdata)
{
    return --*(int *)userdata == 0 ? 7 : 0;
}

static void test_foreach(void **state)
{
    struct made a;
    int n;

    make(&a, "each", 5, one_field);
    strata_group_register(&a.group);
    n = 100;
    assert_int_equal(strata_event_foreach("each_*", count_until, &n), 0);
    assert_int_equal(n, 95);
    n = 2;
    assert_int_equal(strata_event_foreach(NULL, count_until, &n), 7);
    strata_group_unregister(&a.group);
}

static void *churn(void *arg)
{
    struct made *made = arg;

    for (int i = 0; i < 2000; i++) {
        strata_group_register(&made->group);
        strata_event_set_state("churn*", i & 1);
        strata_event_find("churn0_1");
        strata_group_unregister(&made->group);
    }
    return NULL;
}

static void test_threads(void **state)
{
    static struct made made[4];
    pthread_t threads[4];
    uint32_t count;

    for (int i = 0; i < 4; i++) {
        make(&made[i], i & 1 ? "churn1" : "churn0", 4, one_field);
        strata_group_register(&made[i].group);
        strata_group_unregister(&made[i].group);
    }
    count = class_count();
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, &made[i]), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(class_count(), count);
    assert_null(strata_event_find("churn0_1"));
}

static void read_file(const char *path, char *text, size_t size)
{
    FILE *f = fopen(path, "re");
    size_t n;

    assert_non_null(f);
    n = fread(text, 1, size - 1, f);
    text[n] = '\0';
    fclose(f);
}

/* As the log has it: time() may still have the second before. */
static long realtime_seconds(void)
{
    struct timespec now;

    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    return (long)now.tv_sec;
}

static void test_log(void **state)
{
    char path[] = "/tmp/strata-test-XXXXXX";
    char text[3 * STRATA_LOG_MAX];
    char word[2 * STRATA_LOG_MAX];
    unsigned pid;
    long seconds;
    unsigned micros;
    int end = 0;
    int fd = mkstemp(path);
    long now = realtime_seconds();

    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(log_set_file("/nonexistent/file"), -ENOENT);
    assert_int_equal(log_set_file(path), 0);
    errno = 123;
    strata_log("event a %d b %s", 42, "text");
    assert_int_equal(errno, 123);
    read_file(path, text, sizeof(text));
    assert_int_equal(sscanf(text, "%u@%ld.%6u:%n", &pid, &seconds, &micros, &end), 3);
    assert_int_equal(pid, syscall(SYS_gettid));
    assert_true(seconds >= now && seconds <= realtime_seconds());
    assert_string_equal(text + end, "event a 42 b text\n");

    log_set_stamps(false);
    assert_int_equal(truncate(path, 0), 0);
    memset(word, 'x', sizeof(word));
    word[sizeof(word) - 1] = '\0';
    strata_log("long %s", word);
    strata_log("short");
    read_file(path, text, sizeof(text));
    assert_int_equal(strlen(text), STRATA_LOG_MAX + strlen("short\n"));
    assert_memory_equal(text, "long xxx", 8);
    assert_string_equal(text + STRATA_LOG_MAX - 5, "x...\nshort\n");
    /* Exactly as long as a line may be, and one more. */
    assert_int_equal(truncate(path, 0), 0);
    strata_log("%.*s", STRATA_LOG_MAX - STRATA_LOG_TAIL, word);
    read_file(path, text, sizeof(text));
    assert_int_equal(strlen(text), STRATA_LOG_MAX - STRATA_LOG_TAIL + 1);
    assert_null(strstr(text, "..."));
    log_set_stamps(true);

    /* A full disk is counted. */
    assert_int_equal(log_set_file("/dev/full"), 0);
    uint64_t lost = atomic_load(&trace_counts.lines_lost);
    strata_log("lost");
    assert_int_equal(atomic_load(&trace_counts.lines_lost), lost + 1);
    assert_int_equal(log_set_file(NULL), 0);
    unlink(path);
}

static void test_ftrace(void **state)
{
    char dir[] = "/tmp/strata-test-XXXXXX";
    char path[64];
    char text[256];
    uint64_t lost;
    int fd;

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/trace_marker", dir);
    assert_int_equal(ftrace_set_marker(dir), -ENOENT);
    fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    /* By its directory, as tracefs and instances are named, and by itself. */
    assert_int_equal(ftrace_set_marker(dir), 0);
    strata_ftrace("event %d", 1);
    read_file(path, text, sizeof(text));
    assert_string_equal(text, "event 1\n");
    assert_int_equal(ftrace_set_marker("/dev/full"), 0);
    lost = atomic_load(&trace_counts.lines_lost);
    strata_ftrace("event %d", 2);
    assert_int_equal(atomic_load(&trace_counts.lines_lost), lost + 1);
    assert_int_equal(ftrace_set_marker(path), 0);
    unlink(path);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states),    cmocka_unit_test(test_later_groups),
        cmocka_unit_test(test_ids_stay),  cmocka_unit_test(test_same_class_twice),
        cmocka_unit_test(test_other_abi), cmocka_unit_test(test_foreach),
        cmocka_unit_test(test_threads),   cmocka_unit_test(test_log),
        cmocka_unit_test(test_ftrace),    cmocka_unit_test(test_own_states),
        cmocka_unit_test(test_no_filter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
