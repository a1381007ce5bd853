/* SPDX-License-Identifier: MIT */
/* Native traces that a recorder writes: new ones, and those that a program began. */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/wide.h"
#include "record/rings/native.h"
#include "runtime/ring/ring.h"

#define HEADER sizeof(struct ring_packet_header)

static char parent[] = "/tmp/strata-test-native-XXXXXX";
static char path[64];
static const struct classes no_classes;
static const struct ctf_metadata metadata = {
    .start = {.ticks = 1000},
    .clock_hz = 1000000000,
    .program = "a program",
    .pid = 42,
};

static int make_parent(void **state)
{
    (void)state;
    if (!mkdtemp(parent))
        return -1;
    snprintf(path, sizeof path, "%s/trace", parent);
    return 0;
}

static void remove_name(const char *name)
{
    char whole[128];

    snprintf(whole, sizeof whole, "%s/%s", path, name);
    (void)unlink(whole);
}

static int remove_trace(void **state)
{
    static const char *const names[] = {"metadata", ".metadata", "other",
                                        "stream-0", "stream-1",  "stream-4096"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        remove_name(names[i]);
    (void)rmdir(path);
    return 0;
}

static int remove_parent(void **state)
{
    (void)state;
    return rmdir(parent);
}

static off_t size_of(const char *name)
{
    char whole[128];
    struct stat st;

    snprintf(whole, sizeof whole, "%s/%s", path, name);
    return stat(whole, &st) < 0 ? -1 : st.st_size;
}

static struct native *create(void)
{
    struct native *native = NULL;

    assert_int_equal(native_create(path, &metadata, &native, NULL), 0);
    assert_int_equal(native_describe(native, &no_classes, NULL), 0);
    return native;
}

static struct ring_packet packet_of(uint64_t sequence, size_t content_size)
{
    static const uint8_t content[64] = {1, 2, 3};

    return (struct ring_packet){
        .header = {.magic = CTF_MAGIC,
                   .timestamp_begin = 1000 + 10 * sequence,
                   .timestamp_end = 1005 + 10 * sequence,
                   .packet_seq_num = sequence},
        .content = content,
        .content_size = content_size,
    };
}

static void write_packets(struct native *native, unsigned n, struct native_stream *stream)
{
    assert_int_equal(native_stream_open(native, 0, 0, stream, NULL), 0);
    for (unsigned i = 0; i < n; i++) {
        struct ring_packet packet = packet_of(i, 24);

        assert_int_equal(native_stream_write(stream, &packet, 0), 0);
    }
}

static void a_directory_with_something_in_it_is_not_used(void **state)
{
    struct native *native = NULL;
    char name[128];
    FILE *f;

    (void)state;
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(name, sizeof name, "%s/other", path);
    f = fopen(name, "w");
    assert_non_null(f);
    fclose(f);
    assert_int_equal(native_create(path, &metadata, &native, NULL), -ENOTEMPTY);
    /* What a program that was killed while it made its trace leaves is nothing. */
    remove_name("other");
    snprintf(name, sizeof name, "%s/.metadata", path);
    f = fopen(name, "w");
    assert_non_null(f);
    fclose(f);
    native_free(create());
    assert_true(size_of("metadata") > 0);
    assert_int_equal(size_of(".metadata"), -1);
}

static void only_the_trace_of_a_uuid_is_completed(void **state)
{
    struct native *native = create();
    uint8_t uuid[16];

    (void)state;
    memcpy(uuid, native->uuid, sizeof uuid);
    native_free(native);
    native = NULL;
    assert_int_equal(native_complete(path, uuid, &native, NULL), 0);
    native_free(native);
    uuid[3] ^= 1;
    native = NULL;
    assert_int_equal(native_complete(path, uuid, &native, NULL), -ESTALE);
    assert_null(native);
}

/* What the next packets of the ring are is known by their numbers. */
static void packets_that_are_in_the_ring_and_torn_ones_are_cut_off(void **state)
{
    struct native *native = create();
    struct native_stream stream;
    char name[128];
    int fd;

    (void)state;
    write_packets(native, 5, &stream);
    assert_int_equal(stream.length, 5 * (HEADER + 24));
    native_stream_done(&stream);

    snprintf(name, sizeof name, "%s/stream-0", path);
    fd = open(name, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, name, 7), 7);
    close(fd);

    assert_int_equal(native_stream_open(native, 0, UINT64_MAX, &stream, NULL), 0);
    assert_int_equal(size_of("stream-0"), 5 * (HEADER + 24));
    native_stream_done(&stream);
    assert_int_equal(native_stream_open(native, 0, 3, &stream, NULL), 0);
    assert_int_equal(stream.length, 3 * (HEADER + 24));
    assert_int_equal(stream.time, 1025);
    assert_int_equal(size_of("stream-0"), 3 * (HEADER + 24));
    native_stream_done(&stream);
    native_free(native);
}

static void a_stream_that_is_not_of_the_trace_stays(void **state)
{
    struct native *native = create();
    struct native_stream stream;
    char name[128];
    int fd;

    (void)state;
    write_packets(native, 2, &stream);
    native_stream_done(&stream);
    snprintf(name, sizeof name, "%s/stream-0", path);
    fd = open(name, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    /* The magic of the second packet. */
    assert_int_equal(pwrite(fd, "none", 4, HEADER + 24), 4);
    close(fd);
    assert_int_equal(native_stream_open(native, 0, UINT64_MAX, &stream, NULL), -EBADMSG);
    assert_int_equal(size_of("stream-0"), 2 * (HEADER + 24));
    native_free(native);
}

static void times_and_losses_do_not_go_back(void **state)
{
    struct native *native = create();
    struct ring_packet packet = packet_of(1, 8);
    struct native_stream stream;

    (void)state;
    write_packets(native, 1, &stream);
    assert_int_equal(native_stream_write(&stream, &packet, 7), 0);
    assert_int_equal(stream.discarded, 7);
    packet = packet_of(0, 8); /* earlier */
    assert_int_equal(native_stream_write(&stream, &packet, 2), 0);
    assert_int_equal(stream.discarded, 7);
    assert_int_equal(stream.time, 1015);
    native_stream_done(&stream);
    native_free(native);
}

/* Losses are written even then. */
static void max_size_refuses_packets_with_records(void **state)
{
    struct native *native = create();
    struct ring_packet packet = packet_of(1, 24);
    struct native_stream stream;

    (void)state;
    native->max_size = HEADER + 40;
    write_packets(native, 1, &stream);
    assert_int_equal(native_stream_write(&stream, &packet, 0), -EFBIG);
    assert_true(native->full);
    packet.content_size = 0;
    assert_int_equal(native_stream_write(&stream, &packet, 3), 0);
    assert_int_equal(stream.discarded, 3);
    native_stream_done(&stream);
    native_free(native);
}

static void losses_of_no_ring_are_written_once(void **state)
{
    struct native *native = create();

    (void)state;
    assert_int_equal(native_put_no_ring(native, 0, false, 1000, 42, NULL), 0);
    assert_int_equal(size_of("stream-4096"), -1);
    assert_int_equal(native_put_no_ring(native, 5, false, 1000, 42, NULL), 0);
    assert_int_equal(native_put_no_ring(native, 5, false, 1000, 42, NULL), 0);
    assert_int_equal(size_of("stream-4096"), HEADER);
    assert_int_equal(native_put_no_ring(native, 2, true, 1000, 42, NULL), 0);
    assert_int_equal(size_of("stream-4096"), 2 * HEADER);
    native_free(native);
}

/* The time of TICKS, as readers compute it. */
static int64_t time_of(const struct native *native, uint64_t ticks)
{
    const struct clock_pair *start = &native->metadata.start;

    return start->monotonic +
           mul_div_i64((int64_t)(ticks - start->ticks), 1000000000, native->metadata.clock_hz);
}

static void expect_in_metadata(const char *key, int64_t value)
{
    char name[128], line[80], text[4096];
    size_t n;
    FILE *f;

    snprintf(name, sizeof name, "%s/metadata", path);
    snprintf(line, sizeof line, "    %s = %lld;\n", key, (long long)value);
    f = fopen(name, "r");
    assert_non_null(f);
    n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    assert_non_null(strstr(text, line));
}

/* A viewer that follows a recording has shown it. */
static void the_first_event_keeps_its_time_when_the_rate_is_refined(void **state)
{
    /* 0.6 s after the start. */
    const uint64_t start = 85254649211045, first = start + 1557658815, second = first + 2596098026;
    struct ctf_metadata of_counter = metadata;
    struct ring_packet packet = packet_of(0, 24);
    struct native_stream stream, other;
    struct native *native = NULL;
    int64_t begin, end, real;

    (void)state;
    of_counter.clock_kind = CLOCK_KIND_TSC;
    of_counter.start = (struct clock_pair){
        .ticks = start, .monotonic = 32839454295493, .realtime = 1795485552170139437};
    of_counter.clock_hz = 2596097377;
    assert_int_equal(native_create(path, &of_counter, &native, NULL), 0);
    assert_int_equal(native_describe(native, &no_classes, NULL), 0);
    /* Nothing was shown: the start stays the reading that it was. */
    assert_int_equal(native_refine(native, 2596097378, NULL), 0);
    assert_int_equal(native->metadata.start.ticks, start);

    packet.header.timestamp_begin = packet.header.timestamp_end = second;
    assert_int_equal(native_stream_open(native, 0, 0, &stream, NULL), 0);
    assert_int_equal(native_stream_write(&stream, &packet, 0), 0);
    /* Of another ring, and earlier. */
    packet.header.timestamp_begin = packet.header.timestamp_end = first;
    assert_int_equal(native_stream_open(native, 1, 0, &other, NULL), 0);
    assert_int_equal(native_stream_write(&other, &packet, 0), 0);

    begin = time_of(native, first);
    end = time_of(native, second);
    for (uint64_t hz = 2596098026; hz > 2596098020; hz -= 2) {
        assert_int_equal(native_refine(native, hz, NULL), 0);
        assert_int_equal(time_of(native, first), begin);
        assert_int_equal(native->metadata.clock_hz, hz);
    }
    assert_true(time_of(native, second) < end);
    expect_in_metadata("clock_ticks", (int64_t)first);
    expect_in_metadata("clock_monotonic", begin);
    real = of_counter.start.realtime + begin - of_counter.start.monotonic;
    expect_in_metadata("clock_realtime", real);

    native_stream_done(&stream);
    native_stream_done(&other);
    native_free(native);
}

#define TEST(name) cmocka_unit_test_teardown(name, remove_trace)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_directory_with_something_in_it_is_not_used),
        TEST(only_the_trace_of_a_uuid_is_completed),
        TEST(packets_that_are_in_the_ring_and_torn_ones_are_cut_off),
        TEST(a_stream_that_is_not_of_the_trace_stays),
        TEST(times_and_losses_do_not_go_back),
        TEST(max_size_refuses_packets_with_records),
        TEST(losses_of_no_ring_are_written_once),
        TEST(the_first_event_keeps_its_time_when_the_rate_is_refined),
    };

    return cmocka_run_group_tests(tests, make_parent, remove_parent);
}
