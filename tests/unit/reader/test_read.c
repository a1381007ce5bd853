/* SPDX-License-Identifier: MIT */

/* The public reading library, linked as a program would link it. The trace is made here: a
 * simpletrace file, version 4, of two events and a loss, and the declarations that it needs. */

#include "cmocka_all.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strata/read.h"

static char dir[] = "/tmp/strata-read-XXXXXX";
static char capture[64], declarations[64], damaged[64];

static void put_u32(FILE *f, uint32_t v)
{
    fwrite(&v, sizeof v, 1, f);
}

static void put_u64(FILE *f, uint64_t v)
{
    fwrite(&v, sizeof v, 1, f);
}

static void put_name(FILE *f, uint64_t id, const char *name)
{
    put_u64(f, 0);
    put_u64(f, id);
    put_u32(f, (uint32_t)strlen(name));
    fputs(name, f);
}

static void put_event(FILE *f, uint64_t id, uint64_t time, const void *payload, uint32_t size)
{
    put_u64(f, 1);
    put_u64(f, id);
    put_u64(f, time);
    put_u32(f, 24 + size);
    put_u32(f, 4711);
    fwrite(payload, 1, size, f);
}

static void write_capture(const char *path)
{
    static const struct {
        uint32_t len;
        char text[5];
    } who = {5, {'d', 'i', 's', 'k', '\n'}};
    static const struct {
        uint64_t address, n, flag;
    } numbers = {0xdeadbeef, (uint64_t)-3, 1};
    uint64_t lost = 7;
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    put_u64(f, UINT64_MAX);
    put_u64(f, 0xf2b177cb0aa429b4);
    put_u64(f, 4);
    put_name(f, 10, "numbers_seen");
    put_name(f, 11, "who_is_it");
    put_event(f, 10, 1000, &numbers, sizeof numbers);
    put_event(f, UINT64_MAX - 1, 1500, &lost, sizeof lost);
    put_event(f, 11, 2000, &who, sizeof who.len + sizeof who.text);
    assert_int_equal(fclose(f), 0);
}

static int set_up(void **state)
{
    FILE *f;

    assert_non_null(mkdtemp(dir));
    snprintf(capture, sizeof capture, "%s/capture", dir);
    snprintf(damaged, sizeof damaged, "%s/damaged", dir);
    snprintf(declarations, sizeof declarations, "%s/trace-events", dir);

    write_capture(capture);
    write_capture(damaged);
    f = fopen(damaged, "ab");
    put_u64(f, 0x1234); /* no kind of record */
    fclose(f);
    f = fopen(declarations, "w");
    fputs("numbers_seen(void *address, int n, bool flag) \"at %p n %d flag %d\"\n"
          "who_is_it(const char *name) \"name %s\"\n",
          f);
    fclose(f);
    return 0;
}

static int tear_down(void **state)
{
    unlink(capture);
    unlink(damaged);
    unlink(declarations);
    return rmdir(dir);
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static struct strata_reader *open_reader(const char *path)
{
    struct strata_reader *reader = strata_reader_new();

    assert_non_null(reader);
    assert_int_equal(strata_reader_add(reader, path), 0);
    assert_int_equal(strata_reader_add_events(reader, declarations), 0);
    return reader;
}

static void test_items(void **state)
{
    struct strata_reader *reader = open_reader(capture);
    struct strata_value value;
    char text[64];

    assert_int_equal(strata_reader_next(reader), STRATA_READER_EVENT);
    assert_int_equal(strata_reader_item(reader)->time, 1000);
    assert_int_equal(strata_reader_item(reader)->source->clock_hz, 1000000000);
    assert_string_not_equal(strata_reader_item(reader)->source->clock, "");
    assert_string_equal(strata_reader_item(reader)->source->layer, "vmm");
    assert_string_equal(strata_reader_item(reader)->source->format, "simpletrace");
    assert_string_equal(strata_reader_item(reader)->source->path, capture);
    assert_int_equal(strata_reader_item(reader)->pid, 4711);
    assert_int_equal(strata_reader_item(reader)->cpu, -1);
    assert_int_equal(strata_reader_item(reader)->vcpu, -1);
    assert_int_equal(strata_reader_item(reader)->time_error_ns, 0);
    assert_string_equal(strata_reader_item(reader)->event_class->name, "numbers_seen");
    assert_int_equal(strata_reader_item(reader)->lost, 0);

    assert_int_equal(strata_reader_item(reader)->event_class->n_fields, 3);
    assert_string_equal(strata_reader_item(reader)->event_class->fields[1].name, "n");
    assert_string_equal(strata_reader_item(reader)->event_class->fields[1].type, "int");
    assert_int_equal(strata_reader_item(reader)->event_class->fields[1].value_type,
                     STRATA_VALUE_INT);
    value = strata_reader_field(reader, 0);
    assert_int_equal(value.type, STRATA_VALUE_POINTER);
    assert_int_equal(value.u, 0xdeadbeef);
    value = strata_reader_field_named(reader, "n");
    assert_int_equal(value.type, STRATA_VALUE_INT);
    assert_int_equal(value.i, -3);
    value = strata_reader_field(reader, 2);
    assert_int_equal(value.type, STRATA_VALUE_BOOL);
    assert_int_equal(value.u, 1);
    assert_int_equal(strata_reader_field(reader, 3).type, STRATA_VALUE_ABSENT);
    assert_int_equal(strata_reader_field_named(reader, "m").type, STRATA_VALUE_ABSENT);

    assert_int_equal(strata_reader_text(reader, text, sizeof text), 25);
    assert_string_equal(text, "at 0xdeadbeef n -3 flag 1");

    assert_int_equal(strata_reader_next(reader), STRATA_READER_LOSS);
    assert_int_equal(strata_reader_item(reader)->kind, STRATA_READER_LOSS);
    assert_int_equal(strata_reader_item(reader)->lost, 7);
    assert_int_equal(strata_reader_item(reader)->time, 1500);
    assert_int_equal(strata_reader_item(reader)->skipped, 0);
    assert_null(strata_reader_item(reader)->event_class);
    assert_int_equal(strata_reader_field(reader, 0).type, STRATA_VALUE_ABSENT);
    assert_int_equal(strata_reader_text(reader, text, sizeof text), 0);
    assert_string_equal(text, "");

    assert_int_equal(strata_reader_next(reader), STRATA_READER_EVENT);
    assert_string_equal(strata_reader_item(reader)->event_class->name, "who_is_it");
    value = strata_reader_field_named(reader, "name");
    assert_int_equal(value.type, STRATA_VALUE_STRING);
    assert_int_equal(value.size, 5);
    assert_memory_equal(value.data, "disk\n", 5);

    /* Cut like snprintf() cuts; a length of 0 writes nothing; and control characters come safe. */
    memset(text, 'x', sizeof text);
    assert_int_equal(strata_reader_text(reader, text, 6), 13);
    assert_string_equal(text, "name ");
    assert_int_equal(text[6], 'x');
    assert_int_equal(strata_reader_text(reader, NULL, 0), 13);
    assert_int_equal(strata_reader_text(reader, text, sizeof text), 13);
    assert_string_equal(text, "name disk\\x0a");

    assert_int_equal(strata_reader_next(reader), STRATA_READER_END);
    assert_int_equal(strata_reader_next(reader), STRATA_READER_END);
    assert_string_equal(strata_reader_error(reader), "");
    assert_null(strata_reader_item(reader));
    strata_reader_free(reader);
}

static void test_before_the_first_item(void **state)
{
    struct strata_reader *reader = open_reader(capture);
    char text[4] = "abc";

    assert_null(strata_reader_item(reader));
    assert_null(strata_reader_source(reader, 0));
    assert_null(strata_reader_class(reader, 0));
    assert_null(strata_reader_unmatched(reader, 0));
    assert_int_equal(strata_reader_field(reader, 0).type, STRATA_VALUE_ABSENT);
    assert_int_equal(strata_reader_text(reader, text, sizeof text), 0);
    assert_string_equal(text, "");
    strata_reader_free(reader);
    strata_reader_free(NULL);
}

static void test_damage(void **state)
{
    struct strata_reader *reader = open_reader(damaged);
    unsigned n = 0;
    int r;

    while ((r = strata_reader_next(reader)) > 0)
        n++;
    assert_int_equal(n, 3);
    assert_true(r < 0);
    assert_int_equal(strata_reader_next(reader), r);
    /* Where it is and what: "PATH: offset N: …". */
    assert_ptr_equal(strstr(strata_reader_error(reader), damaged), strata_reader_error(reader));
    assert_non_null(strstr(strata_reader_error(reader), ": offset "));
    strata_reader_free(reader);

    reader = open_reader(damaged);
    assert_int_equal(strata_reader_set_keep_going(reader, 1), 0);
    for (n = 0; n < 3; n++)
        assert_true(strata_reader_next(reader) > 0);
    assert_int_equal(strata_reader_next(reader), STRATA_READER_LOSS);
    assert_int_equal(strata_reader_item(reader)->skipped, 8);
    assert_int_equal(strata_reader_item(reader)->lost, STRATA_READER_LOST_UNKNOWN);
    assert_int_equal(strata_reader_next(reader), STRATA_READER_END);
    strata_reader_free(reader);
}

/* With its names ignored, the trace's events 10 and 11 are ones that nobody declares. */
static void test_no_header(void **state)
{
    struct strata_reader *reader = open_reader(capture);

    assert_int_equal(strata_reader_set_no_header(reader, 1), 0);
    while (strata_reader_next(reader) > 0) {
        const struct strata_reader_class *class = strata_reader_item(reader)->event_class;

        assert_true(!class || strcmp(class->name, "numbers_seen") != 0);
        assert_true(!class || strcmp(class->name, "who_is_it") != 0);
    }
    assert_string_not_equal(strata_reader_error(reader), "");
    strata_reader_free(reader);
}

static void test_misuse(void **state)
{
    struct strata_reader *reader = strata_reader_new();

    assert_int_equal(strata_reader_next(reader), -EINVAL);
    assert_string_not_equal(strata_reader_error(reader), "");
    strata_reader_free(reader);

    reader = open_reader("/nonexistent/capture");
    assert_int_equal(strata_reader_next(reader), -ENOENT);
    assert_non_null(strstr(strata_reader_error(reader), "/nonexistent/capture"));
    assert_int_equal(strata_reader_next(reader), -ENOENT);
    assert_int_equal(strata_reader_add(reader, capture), -EBUSY);
    strata_reader_free(reader);

    /* A kind of file that is no trace. */
    reader = open_reader(declarations);
    assert_int_equal(strata_reader_next(reader), -EINVAL);
    assert_non_null(strstr(strata_reader_error(reader), declarations));
    strata_reader_free(reader);

    reader = open_reader(capture);
    assert_int_equal(strata_reader_next(reader), STRATA_READER_EVENT);
    assert_int_equal(strata_reader_add(reader, capture), -EBUSY);
    assert_int_equal(strata_reader_add_events(reader, declarations), -EBUSY);
    assert_int_equal(strata_reader_set_keep_going(reader, 1), -EBUSY);
    assert_int_equal(strata_reader_set_cpu_hz(reader, 1), -EBUSY);
    assert_int_equal(strata_reader_set_xen_version(reader, "4.17"), -EBUSY);
    assert_int_equal(strata_reader_set_cpu_vendor(reader, "amd"), -EBUSY);
    assert_int_equal(strata_reader_set_tracefs(reader, dir), -EBUSY);
    assert_int_equal(strata_reader_set_kallsyms(reader, dir), -EBUSY);
    assert_int_equal(strata_reader_set_no_header(reader, 1), -EBUSY);
    assert_int_equal(strata_reader_next(reader), STRATA_READER_LOSS);
    strata_reader_free(reader);
}

static void test_merge(void **state)
{
    struct strata_reader *reader = open_reader(capture);
    int64_t last = 0;
    unsigned n = 0;

    assert_int_equal(strata_reader_add(reader, capture), 0);
    while (strata_reader_next(reader) > 0) {
        assert_true(strata_reader_item(reader)->time >= last);
        last = strata_reader_item(reader)->time;
        n++;
    }
    assert_int_equal(n, 6);
    assert_string_equal(strata_reader_error(reader), "");
    strata_reader_free(reader);
}

/* All of a trace as a number that depends on every text, in order. */
static void *digest(void *path)
{
    struct strata_reader *reader = strata_reader_new();
    uintptr_t sum = 5381;
    char text[256];
    int r = strata_reader_add(reader, path);

    while (r >= 0 && (r = strata_reader_next(reader)) > 0) {
        strata_reader_text(reader, text, sizeof text);
        for (const char *p = text; *p; p++)
            sum = sum * 33 + (unsigned char)*p;
        sum += (uintptr_t)strata_reader_item(reader)->time;
    }
    strata_reader_free(reader);
    return (void *)(r < 0 ? 0 : sum);
}

static void test_threads(void **state)
{
    char path[] = TEST_DATA "/ftrace/made/v7.dat";
    void *expected = digest(path);

    assert_non_null(expected);
    for (int round = 0; round < 20; round++) {
        pthread_t threads[4];

        for (size_t i = 0; i < 4; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, digest, path), 0);
        for (size_t i = 0; i < 4; i++) {
            void *got;

            assert_int_equal(pthread_join(threads[i], &got), 0);
            assert_ptr_equal(got, expected);
        }
    }
}

/* What is called before the first item, and all that a trace has. */
static void test_enumeration(void **state)
{
    struct strata_reader *reader = open_reader(capture);
    const struct strata_reader_source *source;
    const struct strata_reader_class *found = NULL;

    assert_int_equal(strata_reader_open(reader), 0);
    assert_int_equal(strata_reader_open(reader), 0);
    source = strata_reader_source(reader, 0);
    assert_string_equal(source->path, capture);
    assert_string_equal(source->layer, "vmm");
    assert_string_equal(source->format, "simpletrace");
    assert_null(strata_reader_source(reader, 1));
    assert_null(strata_reader_note(reader, 0));

    while (strata_reader_next(reader) > 0)
        assert_ptr_equal(strata_reader_item(reader)->source, source);
    for (unsigned i = 0; strata_reader_class(reader, i); i++) {
        assert_int_equal(strata_reader_class(reader, i)->index, i);
        if (strcmp(strata_reader_class(reader, i)->name, "numbers_seen") == 0)
            found = strata_reader_class(reader, i);
    }
    if (!found) {
        fail_msg("numbers_seen is not listed");
        return;
    }
    assert_ptr_equal(found->source, source);
    assert_int_equal(found->n_fields, 3);
    assert_string_equal(found->fields[0].type, "void *");
    assert_int_equal(found->fields[0].value_type, STRATA_VALUE_POINTER);
    strata_reader_free(reader);
}

/* How many events and losses READER, which is then freed, returns. */
static void count(struct strata_reader *reader, unsigned *ret_events, unsigned *ret_losses)
{
    int r;

    *ret_events = *ret_losses = 0;
    while ((r = strata_reader_next(reader)) > 0)
        ++*(r == STRATA_READER_EVENT ? ret_events : ret_losses);
    assert_int_equal(r, STRATA_READER_END);
    strata_reader_free(reader);
}

static void test_filter(void **state)
{
    struct strata_reader *reader = open_reader(capture);
    unsigned events, losses;

    assert_int_equal(strata_reader_add_filter(reader, "vmm:who_*,absent"), 0);
    assert_int_equal(strata_reader_next(reader), STRATA_READER_LOSS);
    assert_int_equal(strata_reader_next(reader), STRATA_READER_EVENT);
    assert_string_equal(strata_reader_item(reader)->event_class->name, "who_is_it");
    assert_int_equal(strata_reader_next(reader), STRATA_READER_END);
    assert_string_equal(strata_reader_unmatched(reader, 0), "absent");
    assert_null(strata_reader_unmatched(reader, 1));
    assert_int_equal(strata_reader_add_filter(reader, "*"), -EBUSY);
    strata_reader_free(reader);

    reader = open_reader(capture);
    assert_int_equal(strata_reader_add_filter(reader, "-who_*"), 0);
    count(reader, &events, &losses);
    assert_int_equal(events, 1);

    /* 1,000, 1,500 (the loss) and 2,000 ns. */
    reader = open_reader(capture);
    assert_int_equal(strata_reader_set_from(reader, "0.0000015"), 0);
    assert_int_equal(strata_reader_set_until(reader, "+0.0000009"), 0);
    count(reader, &events, &losses);
    assert_int_equal(events, 0);
    assert_int_equal(losses, 1);

    reader = open_reader(capture);
    assert_int_equal(strata_reader_set_pids(reader, "4000-4710,4712"), 0);
    count(reader, &events, &losses);
    assert_int_equal(events, 0);

    reader = open_reader(capture);
    assert_int_equal(strata_reader_set_layers(reader, "guest,hypervisor"), 0);
    count(reader, &events, &losses);
    assert_int_equal(events + losses, 0);

    reader = open_reader(capture);
    assert_int_equal(strata_reader_set_cpus(reader, "0"), 0);
    assert_int_equal(strata_reader_set_vcpus(reader, "0-3"), 0);
    count(reader, &events, &losses);
    assert_int_equal(events, 0);

    reader = open_reader(capture);
    assert_int_equal(strata_reader_set_limit(reader, 1), 0);
    count(reader, &events, &losses);
    assert_int_equal(events, 1);

    /* What cannot be parsed, with the value in the message. */
    reader = open_reader(capture);
    assert_int_equal(strata_reader_add_filter(reader, "a,,b"), -EINVAL);
    assert_non_null(strstr(strata_reader_error(reader), "'a,,b'"));
    assert_int_equal(strata_reader_set_from(reader, "noon"), -EINVAL);
    assert_non_null(strstr(strata_reader_error(reader), "'noon'"));
    assert_int_equal(strata_reader_set_cpus(reader, "1-"), -EINVAL);
    assert_int_equal(strata_reader_set_layers(reader, "kernel"), -EINVAL);
    strata_reader_free(reader);
}

/* The library goes by what it is called with: declarations that the environment names are not used. */
static void test_environment(void **state)
{
    struct strata_reader *reader = strata_reader_new();

    assert_int_equal(setenv("STRATA_EVENTS", declarations, 1), 0);
    assert_int_equal(strata_reader_add(reader, capture), 0);
    while (strata_reader_next(reader) > 0) {
        const struct strata_reader_class *class = strata_reader_item(reader)->event_class;

        assert_true(!class || strcmp(class->fields[0].name, "address") != 0);
    }
    strata_reader_free(reader);
    unsetenv("STRATA_EVENTS");
}

/* A recorded directory: its clock is related to the host's, and the thread runs a vCPU. */
static void test_host_time(void **state)
{
    char pairs[80], manifest[80];
    struct strata_reader *reader;

    snprintf(pairs, sizeof pairs, "%s/pairs", dir);
    snprintf(manifest, sizeof manifest, "%s/trace.json", dir);
    write_text(pairs, "50000000000 0 900\n60000000000 10000000000 900\n");
    write_text(
        manifest,
        "{\"format\": \"strata-trace\", \"version\": 1, \"sources\": [{\"name\": \"qemu\","
        "\"kind\": \"simpletrace\", \"layer\": \"vmm\", \"path\": \"capture\","
        "\"events\": [\"trace-events\"], \"clock\": {\"name\": \"other\", \"pairs\": \"pairs\"},"
        "\"vmm\": {\"threads\": [{\"id\": 4711, \"vcpu\": 3}]}, \"complete\": true}]}");
    reader = open_reader(dir);
    assert_int_equal(strata_reader_next(reader), STRATA_READER_EVENT);
    assert_int_equal(strata_reader_item(reader)->time, 1000); /* one clock, as it is */
    assert_int_equal(strata_reader_item(reader)->time_error_ns, 0);
    assert_int_equal(strata_reader_item(reader)->vcpu, 3);
    assert_int_equal(strata_reader_set_host_time(reader, 1), -EBUSY);
    strata_reader_free(reader);

    reader = open_reader(dir);
    assert_int_equal(strata_reader_set_host_time(reader, 1), 0);
    assert_int_equal(strata_reader_next(reader), STRATA_READER_EVENT);
    assert_int_equal(strata_reader_item(reader)->time, 50000001000);
    assert_in_range(strata_reader_item(reader)->time_error_ns, 900, 910);
    assert_string_equal(strata_reader_item(reader)->source->clock, "monotonic");
    assert_int_equal(strata_reader_next(reader), STRATA_READER_LOSS);
    assert_int_equal(strata_reader_item(reader)->time, 50000001500);
    strata_reader_free(reader);
    unlink(pairs);
    unlink(manifest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_items),       cmocka_unit_test(test_before_the_first_item),
        cmocka_unit_test(test_damage),      cmocka_unit_test(test_no_header),
        cmocka_unit_test(test_misuse),      cmocka_unit_test(test_merge),
        cmocka_unit_test(test_threads),     cmocka_unit_test(test_host_time),
        cmocka_unit_test(test_enumeration), cmocka_unit_test(test_filter),
        cmocka_unit_test(test_environment),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
