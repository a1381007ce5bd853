/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/ring_emit.h"
#include "qemu_user.h"
#include "strata/qemu_compat.h"

/* A program with one event of the backend `simple`, whose trace file is switched and moved. */

static uint8_t state;
static const struct strata_field fields[] = {{"value", "uint64_t", STRATA_FIELD_UNSIGNED, 8}};
static struct strata_event event = {
    .name = "filed",
    .format = "value %" PRIu64,
    .fields = fields,
    .state = &state,
    .n_fields = 1,
    .compiled_in = true,
};
static struct strata_group group = {STRATA_TRACE_ABI, 1, "filed", &event, NULL};

static void emit(uint64_t value)
{
    struct strata_slot slot;
    uint8_t *at = state ? ring_open(&slot, event.id, 8 + sizeof(value)) : NULL;

    if (!at)
        return;
    strata_ring_put(at, &value, sizeof(value));
    strata_ring_end(&slot);
}

/* The values in a simpletrace file, as text: "1 2 3 ". */
static char *values_in(const char *path)
{
    static char text[4096];
    FILE *f = fopen(path, "re");
    uint64_t header[3], word, id, body[2];
    uint32_t length, rest[2];
    char name[64];
    size_t at = 0;

    text[0] = '\0';
    if (!f)
        return strcpy(text, "none");
    assert_int_equal(fread(header, sizeof(header), 1, f), 1);
    assert_int_equal(header[2], 4);
    while (fread(&word, sizeof(word), 1, f) == 1) {
        assert_int_equal(fread(&id, sizeof(id), 1, f), 1);
        if (word == 0) {
            assert_int_equal(fread(&length, sizeof(length), 1, f), 1);
            assert_in_range(length, 1, sizeof(name) - 1);
            assert_int_equal(fread(name, length, 1, f), 1);
            continue;
        }
        assert_int_equal(fread(body, sizeof(uint64_t), 1, f), 1);
        assert_int_equal(fread(rest, sizeof(rest), 1, f), 1);
        assert_int_equal(rest[0], 32);
        assert_int_equal(fread(&body[1], sizeof(uint64_t), 1, f), 1);
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%" PRIu64 " ",
                               id == UINT64_MAX - 1 ? "dropped:" : "", body[1]);
    }
    fclose(f);
    return text;
}

static char dir[64], a[128], b[128];

static void flush_all(void)
{
    assert_int_equal(strata_trace_flush(), 0);
}

static void assert_file(const char *path, bool on)
{
    char *now = NULL;
    bool is_on = !on;

    assert_int_equal(strata_trace_file_get(&now, &is_on), 0);
    assert_string_equal(now, path);
    assert_int_equal(is_on, on);
    free(now);
}

static void test_no_file(void **unused)
{
    bool on;

    /* Nothing is registered yet: no records, no file. */
    assert_int_equal(strata_trace_file_set_enabled(true), -EOPNOTSUPP);
    assert_int_equal(strata_trace_file_set_enabled(false), -EOPNOTSUPP);
    assert_int_equal(strata_trace_file_set(a), -EOPNOTSUPP);
    assert_int_equal(strata_trace_file_get(NULL, &on), -EOPNOTSUPP);
    assert_false(st_change_trace_event_state("filed", true));
    strata_backend_register(STRATA_BACKEND_SIMPLE);
    strata_group_register(&group);
    assert_int_equal(strata_trace_file_set(NULL), -EINVAL);
    assert_int_equal(strata_trace_file_set(""), -EINVAL);
}

static void test_by_default(void **unused)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/trace-%ld", dir, (long)getpid());
    assert_file(path, false);
    /* Off beforehand: what is asked for later is not written by default, and makes no file. */
    assert_int_equal(strata_trace_file_set_enabled(false), 0);
    assert_int_equal(strata_trace_opt_parse("filed"), 0);
    assert_true(st_change_trace_event_state("filed", true));
    emit(1);
    flush_all();
    assert_file(path, false);
    assert_string_equal(values_in(path), "none");

    assert_int_equal(strata_trace_file_set_enabled(true), 0);
    assert_file(path, true);
    emit(2);
    flush_all();
    assert_string_equal(values_in(path), "2 ");
}

static void test_off_and_on(void **unused)
{
    struct strata_trace_stats stats;

    assert_int_equal(strata_trace_file_set(a), 0);
    assert_file(a, true);
    emit(10);
    assert_int_equal(strata_trace_file_set_enabled(false), 0);
    /* What was emitted before is in the file already. */
    assert_string_equal(values_in(a), "10 ");
    emit(11);
    assert_int_equal(strata_trace_file_set_enabled(false), 0);
    flush_all();
    emit(12);
    assert_file(a, false);
    assert_int_equal(strata_trace_file_set_enabled(true), 0);
    emit(13);
    flush_all();
    assert_string_equal(values_in(a), "10 13 ");
    assert_int_equal(strata_trace_file_set_enabled(true), 0);
    assert_string_equal(values_in(a), "10 13 ");
    strata_trace_get_stats(&stats, sizeof(stats));
    assert_int_equal(stats.unwritten, 0);
    assert_int_equal(stats.dropped, 0);
}

static void test_set(void **unused)
{
    emit(20);
    assert_int_equal(strata_trace_file_set(b), 0);
    emit(21);
    assert_string_equal(values_in(a), "10 13 20 ");
    flush_all();
    assert_string_equal(values_in(b), "21 ");

    /* The same file once more begins anew. */
    assert_int_equal(strata_trace_file_set(b), 0);
    emit(22);
    flush_all();
    assert_string_equal(values_in(b), "22 ");

    /* While off: the file is made when it is on. */
    assert_int_equal(strata_trace_file_set_enabled(false), 0);
    unlink(a);
    assert_int_equal(strata_trace_file_set(a), 0);
    emit(23);
    flush_all();
    assert_file(a, false);
    assert_string_equal(values_in(a), "none");
    assert_int_equal(strata_trace_file_set_enabled(true), 0);
    emit(24);
    flush_all();
    assert_string_equal(values_in(a), "24 ");
}

static void test_unwritable(void **unused)
{
    struct strata_trace_stats stats;

    assert_int_equal(strata_trace_file_set("/nonexistent/file"), -ENOENT);
    assert_file("/nonexistent/file", false);
    emit(30);
    flush_all(); /* it is off: nothing is lost */
    assert_int_equal(strata_trace_file_set_enabled(true), -ENOENT);
    assert_file("/nonexistent/file", false);
    strata_trace_get_stats(&stats, sizeof(stats));
    assert_int_equal(stats.unwritten, 0);
    assert_int_equal(strata_trace_file_set(b), 0);
    assert_file(b, false);
    assert_int_equal(strata_trace_file_set_enabled(true), 0);
    emit(31);
    flush_all();
    assert_string_equal(values_in(b), "31 ");
}

static void test_child(void **unused)
{
    int status;
    pid_t child;

    SKIP_BY_QEMU_USER("may end by an assertion of its own where a program with threads forks");
    child = fork();
    if (child == 0) {
        char path[256];
        char *now = NULL;
        bool on = false;

        snprintf(path, sizeof(path), "%s.%ld", b, (long)getpid());
        emit(40);
        if (strata_trace_flush() < 0 || strata_trace_file_get(&now, &on) < 0)
            _exit(1);
        if (!on || strcmp(now, path) != 0)
            _exit(2);
        _exit(strcmp(values_in(path), "40 ") == 0 ? 0 : 3);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_string_equal(values_in(b), "31 ");
}

/* The number goes behind a file's name; a device's is the child's as well. */
static void test_child_of_device(void **unused)
{
    char device[96];
    int status, fd = -1;
    pid_t child;

    SKIP_BY_QEMU_USER("may end by an assertion of its own where a program with threads forks");
    /* A device of its own, beside which a file would be seen. */
    snprintf(device, sizeof(device), "%s/null", dir);
    if (mknod(device, S_IFCHR | 0600, makedev(1, 3)) < 0 || (fd = open(device, O_WRONLY)) < 0)
        skip();
    close(fd);
    assert_int_equal(strata_trace_file_set(device), 0);
    child = fork();
    if (child == 0) {
        struct strata_trace_stats stats;
        char beside[128];
        char *now = NULL;
        bool on = false;

        snprintf(beside, sizeof(beside), "%s.%ld", device, (long)getpid());
        emit(50);
        if (strata_trace_flush() < 0 || strata_trace_file_get(&now, &on) < 0)
            _exit(1);
        if (!on || strcmp(now, device) != 0)
            _exit(2);
        strata_trace_get_stats(&stats, sizeof(stats));
        if (stats.dropped || stats.unwritten)
            _exit(3);
        _exit(access(beside, F_OK) < 0 ? 0 : 4);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* In a thread of its own, which gets a ring of the new mode. */
static void *switch_flight_recorder(void *path)
{
    static char values[2][64];

    emit(50);
    assert_int_equal(strata_trace_file_set_enabled(false), 0);
    emit(51);
    flush_all();
    emit(52);
    strncpy(values[0], values_in(path), sizeof(values[0]) - 1);
    assert_int_equal(strata_trace_file_set_enabled(true), 0);
    emit(53);
    flush_all();
    strncpy(values[1], values_in(path), sizeof(values[1]) - 1);
    return values;
}

static void test_flight_recorder(void **unused)
{
    char path[256];
    pthread_t thread;
    void *values;

    snprintf(path, sizeof(path), "%s/flight", dir);
    assert_int_equal(strata_trace_opt_parse("mode=overwrite"), 0);
    assert_int_equal(strata_trace_file_set(path), 0);
    assert_int_equal(pthread_create(&thread, NULL, switch_flight_recorder, path), 0);
    assert_int_equal(pthread_join(thread, &values), 0);
    assert_string_equal(((char(*)[64])values)[0], "50 ");
    assert_string_equal(((char(*)[64])values)[1], "50 53 ");
    assert_int_equal(strata_trace_opt_parse("mode=discard"), 0);
}

/* A flush reports what was lost since the flush before it, also when the writer's thread has lost it. */
static void test_flush_reports_loss(void **unused)
{
    struct strata_trace_stats before, stats;

    (void)strata_trace_flush();
    strata_trace_get_stats(&before, sizeof(before));
    assert_int_equal(strata_trace_opt_parse("log=/dev/full"), 0);
    emit(70);
    do { /* the thread loses it, or that of a flush would */
        usleep(1000);
        strata_trace_get_stats(&stats, sizeof(stats));
    } while (stats.unwritten == before.unwritten);
    assert_int_equal(strata_trace_flush(), -EIO);
    assert_int_equal(strata_trace_flush(), 0);
}

static int setup(void **unused)
{
    strcpy(dir, "/tmp/strata-trace-file-XXXXXX");
    if (!mkdtemp(dir) || chdir(dir) < 0)
        return -1;
    snprintf(a, sizeof(a), "%s/a", dir);
    snprintf(b, sizeof(b), "%s/b", dir);
    return 0;
}

static int teardown(void **unused)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf %s", dir);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_file),
        cmocka_unit_test(test_by_default),
        cmocka_unit_test(test_off_and_on),
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_unwritable),
        cmocka_unit_test(test_child),
        cmocka_unit_test(test_child_of_device),
        cmocka_unit_test(test_flight_recorder),
        cmocka_unit_test(test_flush_reports_loss),
    };

    unsetenv("STRATA_TRACE");
    return cmocka_run_group_tests(tests, setup, teardown);
}
