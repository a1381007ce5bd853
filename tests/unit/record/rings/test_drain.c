/* SPDX-License-Identifier: MIT */
/* The rings that a dead process left in its directory, made by hand: what is counted of them, and which are damaged. */
#include "cmocka_all.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "record/rings/drain.h"
#include "runtime/ring/ring.h"

#define SUBBUFFER UINT64_C(4096)
#define SIZE (4 * SUBBUFFER)
#define DATA UINT64_C(4096)
#define PID 4242u
#define START 77u
#define RECORD_SIZE 12 /* the next one begins 4 bytes after it */

enum {
    CLASS_NUMBER = 1, /* a u32 */
    CLASS_UNKNOWN = 9,
};

static char dir[64];

struct ring_file {
    struct ring_map map;
    char reserved[DATA - sizeof(struct ring_map)];
    uint8_t data[SIZE];
};

static void write_file(const char *name, const void *bytes, size_t size)
{
    char path[128];
    int fd;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
}

/* The directory of a process that knew CLASS_NUMBER, and whose threads without a ring lost NO_RING events. */
static void make_process(uint64_t no_ring)
{
    /* A field is its kind, its size, its name and its type. */
    static const char text[] = "number\0\0\4value\0uint32_t\0\0\0\0\0\0\0\0";
    struct {
        struct process_file file;
        struct class_description head;
        char text[32];
    } process = {.head = {.size = 16 + 32, .id = CLASS_NUMBER, .n_fields = 1}};

    snprintf(dir, sizeof dir, "/tmp/strata-test-drain-XXXXXX");
    assert_non_null(mkdtemp(dir));
    memcpy(process.text, text, sizeof process.text);
    memcpy(process.file.magic, PROCESS_FILE_MAGIC, sizeof process.file.magic);
    process.file.version = PROCESS_FILE_VERSION;
    process.file.pid = PID;
    process.file.start = START;
    process.file.uid = (uint32_t)getuid();
    process.file.clock_kind = CLOCK_KIND_MONOTONIC;
    process.file.clock_pair = (struct clock_pair){1000, 1000, 1000};
    process.file.described = process.head.size;
    process.file.no_ring = no_ring;
    memcpy(process.file.name, "drained", 8);
    write_file("process", &process, sizeof process);
}

static void remove_process(void)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): its own name */
}

static struct ring_file *make_ring(unsigned number)
{
    struct ring_file *ring = calloc(1, sizeof *ring);

    assert_non_null(ring);
    memcpy(ring->map.magic, RING_MAGIC, sizeof ring->map.magic);
    ring->map.version = RING_VERSION;
    ring->map.size = SIZE;
    ring->map.subbuffer_size = SUBBUFFER;
    ring->map.data_offset = ring->map.classes_offset = DATA;
    ring->map.number = number;
    ring->map.pid = PID;
    ring->map.process_start = START;
    ring->map.time = 1000;
    ((struct ring_packet_header *)(void *)ring->data)->magic = CTF_MAGIC;
    ring->map.committed = sizeof(struct ring_packet_header);
    return ring;
}

/* A record of CLASS at the end of RING's open packet. */
static void put_record(struct ring_file *ring, uint32_t class)
{
    struct {
        uint64_t word;
        uint32_t value;
    } record = {.value = 7};

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    record.word = ring->map.time << 16 | class;
#else
    record.word = (uint64_t) class << 48 | ring->map.time;
#endif
    ring->map.committed = (ring->map.committed + 7) & ~UINT64_C(7);
    memcpy(ring->data + ring->map.committed, &record, RECORD_SIZE);
    ring->map.committed += RECORD_SIZE;
}

/* Writes RING, and frees it. */
static void leave_ring(struct ring_file *ring)
{
    char name[32];

    snprintf(name, sizeof name, RING_FILE_PREFIX "%u", ring->map.number);
    write_file(name, ring, sizeof *ring);
    free(ring);
}

/* Removes the process, too. */
static struct drain_stats count(void)
{
    struct drain_stats stats = {0};
    struct process *process;
    struct error error = {0};

    assert_int_equal(process_open(dir, false, &process, &error), 0);
    assert_int_equal(ring_drain_count(process, &stats, &error), 0);
    process_free(process);
    remove_process();
    return stats;
}

static void test_events(void **state)
{
    struct ring_file *ring;
    struct drain_stats stats;

    (void)state;
    make_process(0);
    for (unsigned number = 0; number < 2; number++) {
        ring = make_ring(number);
        for (unsigned i = 0; i < 3 + number; i++)
            put_record(ring, CLASS_NUMBER);
        leave_ring(ring);
    }
    leave_ring(make_ring(5)); /* in which there is none */
    stats = count();
    assert_int_equal(stats.events, 7);
    assert_int_equal(stats.rings, 3);
    assert_int_equal(stats.damaged, 0);
    assert_int_equal(drain_stats_lost(&stats), 0);
}

/* The length of a record is known by its class alone: what is after one without a description is lost. */
static void test_undecoded(void **state)
{
    struct ring_file *ring = make_ring(0);
    struct drain_stats stats;

    (void)state;
    make_process(0);
    put_record(ring, CLASS_NUMBER);
    put_record(ring, CLASS_NUMBER);
    put_record(ring, CLASS_UNKNOWN);
    put_record(ring, CLASS_NUMBER);
    leave_ring(ring);
    stats = count();
    assert_int_equal(stats.events, 2);
    assert_int_equal(stats.undecoded, 1);
    assert_int_equal(stats.unwritten, 0);
    /* From the end of the second record on, which is not padded. */
    assert_int_equal(stats.undecoded_bytes, 2 * (4 + RECORD_SIZE));
    assert_int_equal(drain_stats_lost(&stats), 1);
}

static void test_losses(void **state)
{
    struct ring_file *rings[] = {make_ring(0), make_ring(1)};
    struct drain_stats stats;

    (void)state;
    make_process(5);
    rings[0]->map.discarded = 10;
    rings[1]->map.discarded = 20;
    leave_ring(rings[0]);
    leave_ring(rings[1]);
    stats = count();
    assert_int_equal(stats.discarded, 30);
    assert_int_equal(stats.no_ring, 5);
    assert_int_equal(drain_stats_lost(&stats), 35);

    stats.no_ring = UINT64_MAX;
    assert_true(drain_stats_lost(&stats) == UINT64_MAX);
}

/* A ring that breaks what holds at every instant is not read; the others are. */
static void test_damaged(void **state)
{
    enum { SOUND, BEING_MADE, CLOSED, FAR, NO_PID, OTHER_PID, OTHER_NUMBER, SHORT, RINGS };
    struct ring_file *rings[RINGS];
    struct drain_stats stats;

    (void)state;
    make_process(0);
    for (unsigned i = 0; i < RINGS; i++) {
        rings[i] = make_ring(i);
        put_record(rings[i], CLASS_NUMBER);
    }
    memset(rings[BEING_MADE]->map.magic, 0, sizeof rings[0]->map.magic);
    rings[CLOSED]->map.closed = SUBBUFFER;
    rings[FAR]->map.committed += SIZE;
    rings[NO_PID]->map.pid = 0;
    rings[OTHER_PID]->map.pid = PID + 1;
    rings[SHORT]->map.size = 2 * SIZE;
    for (unsigned i = 0; i < RINGS; i++)
        if (i != OTHER_NUMBER)
            leave_ring(rings[i]);
    rings[OTHER_NUMBER]->map.number = RINGS;
    write_file(RING_FILE_PREFIX "6", rings[OTHER_NUMBER], sizeof *rings[0]);
    free(rings[OTHER_NUMBER]);
    stats = count();
    assert_int_equal(stats.rings, 1);
    assert_int_equal(stats.damaged, RINGS - 2);
    assert_int_equal(stats.events, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_undecoded),
        cmocka_unit_test(test_losses),
        cmocka_unit_test(test_damaged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
