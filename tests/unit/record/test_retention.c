/* SPDX-License-Identifier: MIT */
/* What is kept of growing files, and what a copy has of them. */
#include "cmocka_all.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock_ns.h"
#include "base/copy.h"
#include "base/remove_dir.h"
#include "base/sparse.h"
#include "record/retention.h"

#define PAGE 4096u
#define BEGAN (100 * NSEC_PER_SEC)

static char top[] = "/tmp/test-retention-XXXXXX";
static int dir;

static const struct manifest_source kernel = {.name = "host", .kind = "ftrace", .path = "host"};
static const struct manifest_source monitor = {
    .name = "vmm", .kind = "qemu-log", .path = "vmm/log"};
static const struct manifest_source program = {.name = "program", .kind = "ctf", .path = "program"};

static int set_up(void **state)
{
    (void)state;
    memcpy(top + sizeof top - 7, "XXXXXX", 6);
    assert_non_null(mkdtemp(top));
    dir = open(top, O_RDONLY | O_DIRECTORY);
    assert_int_equal(mkdirat(dir, "host", 0700), 0);
    assert_int_equal(mkdirat(dir, "vmm", 0700), 0);
    assert_int_equal(mkdirat(dir, "program", 0700), 0);
    assert_int_equal(mkdirat(dir, "to", 0700), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(dir);
    return remove_dir_at(AT_FDCWD, top) ? 0 : -1;
}

static void append(const char *path, const void *p, size_t size)
{
    int fd = openat(dir, path, O_WRONLY | O_CREAT | O_APPEND, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, p, size), (ssize_t)size);
    close(fd);
}

/* A page whose bytes are all N, but for the first: that of a time may be 0. */
static void append_page(const char *path, unsigned n)
{
    uint8_t page[PAGE];

    memset(page, (int)n, sizeof page);
    page[0] = 0;
    append(path, page, sizeof page);
}

static uint64_t begin_of(const char *path)
{
    int fd = openat(dir, path, O_RDONLY);
    uint64_t begin = sparse_begin(fd);

    close(fd);
    return begin;
}

static size_t read_file(const char *path, char *buf, size_t size)
{
    int fd = openat(dir, path, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, buf, size);

    assert_true(n >= 0);
    close(fd);
    return (size_t)n;
}

static struct retention *make(uint64_t ns, uint64_t bytes)
{
    const struct retention_limit limit = {ns, bytes};
    struct retention *retention;
    struct error error = {0};
    int r = retention_new(&limit, dir, top, &retention, &error);

    if (r == -EOPNOTSUPP)
        skip();
    assert_int_equal(r, 0);
    return retention;
}

static void step_unless(bool copies, struct retention *retention,
                        const struct manifest_source *source, uint64_t now)
{
    struct error error = {0};

    assert_int_equal(retention_step(retention, source, 1, now, !copies, &error), 0);
}

static void step(struct retention *retention, const struct manifest_source *source, uint64_t now)
{
    step_unless(false, retention, source, now);
}

static void copy(const struct retention *retention, const struct manifest_source *source,
                 uint64_t since)
{
    int to = openat(dir, "to", O_RDONLY | O_DIRECTORY);
    struct error error = {0};

    assert_int_equal(retention_copy(retention, source, to, since, &error), 0);
    close(to);
}

/* The error of a copy for which there is no room. */
static void copy_without_room(const struct retention *retention,
                              const struct manifest_source *source, struct error *error)
{
    int to = openat(dir, "to", O_RDONLY | O_DIRECTORY);
    struct rlimit before, none;

    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = (struct rlimit){0, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    assert_int_equal(retention_copy(retention, source, to, 0, error), -EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    close(to);
}

/* A page each second, and the last 16 seconds are kept: what was written at each mark is known. */
static void test_time(void **state)
{
    struct retention *retention = make(16 * NSEC_PER_SEC, 0);
    static char bytes[100 * PAGE];
    size_t size;

    (void)state;
    for (unsigned i = 0; i < 40; i++) {
        append_page("host/cpu0.raw", i + 1);
        step(retention, &kernel, BEGAN + i * NSEC_PER_SEC);
    }
    /* The mark of 23 s is 16 s old: the page of 24 s is the first. */
    assert_int_equal(begin_of("host/cpu0.raw"), 24 * PAGE + 1);
    copy(retention, &kernel, 0);
    size = read_file("to/host/cpu0.raw", bytes, sizeof bytes);
    assert_int_equal(size, 16 * PAGE);
    for (unsigned i = 0; i < 16; i++)
        assert_int_equal(bytes[i * PAGE + 1], 24 + i + 1);
    /* Nothing more comes, until all is too old. */
    for (unsigned i = 40; i < 60; i++)
        step(retention, &kernel, BEGAN + i * NSEC_PER_SEC);
    assert_int_equal(begin_of("host/cpu0.raw"), 40 * PAGE);
    retention_free(retention);
}

/* A child copies for a time; after that no more is kept than without. */
static void test_copying(void **state)
{
    static const unsigned seconds[] = {10, 16, 31, 33, 100};

    (void)state;
    for (size_t n = 0; n < ARRAY_SIZE(seconds); n++) {
        struct retention *retention = make(16 * NSEC_PER_SEC, 0);
        unsigned i;

        for (i = 0; i < 40 + seconds[n]; i++) {
            append_page("host/cpu0.raw", i + 1);
            step_unless(i >= 40, retention, &kernel, BEGAN + i * NSEC_PER_SEC);
        }
        assert_int_equal(begin_of("host/cpu0.raw"), 24 * PAGE + 1);
        append_page("host/cpu0.raw", i + 1);
        step(retention, &kernel, BEGAN + i * NSEC_PER_SEC);
        assert_int_equal(begin_of("host/cpu0.raw"), (i - 15) * PAGE + 1);
        retention_free(retention);
        assert_int_equal(unlinkat(dir, "host/cpu0.raw", 0), 0);
    }
}

static void test_since(void **state)
{
    struct retention *retention = make(16 * NSEC_PER_SEC, 0);
    static char bytes[100 * PAGE];

    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        append_page("host/cpu0.raw", i + 1);
        step(retention, &kernel, BEGAN + i * NSEC_PER_SEC);
    }
    copy(retention, &kernel, BEGAN + 6 * NSEC_PER_SEC + 1);
    assert_int_equal(read_file("to/host/cpu0.raw", bytes, sizeof bytes), 3 * PAGE);
    assert_int_equal(bytes[1], 8);
    retention_free(retention);
}

/* More bytes than the limit are never kept when it has been looked at, whatever comes at once. */
static void test_bytes(void **state)
{
    struct retention *retention = make(0, 64 * PAGE);
    unsigned n = 0;

    (void)state;
    for (unsigned i = 0; i < 300; i++) {
        for (unsigned j = 0; j < i % 7; j++)
            append_page(i % 3 ? "host/cpu0.raw" : "host/cpu1.raw", ++n % 255 + 1);
        step(retention, &kernel, BEGAN + i * NSEC_PER_SEC);
        if (n > 200) {
            struct stat one, two;

            assert_int_equal(fstatat(dir, "host/cpu0.raw", &one, 0), 0);
            assert_int_equal(fstatat(dir, "host/cpu1.raw", &two, 0), 0);
            uint64_t kept = (uint64_t)(one.st_size + two.st_size) - begin_of("host/cpu0.raw") -
                            begin_of("host/cpu1.raw");

            assert_true(kept <= 66 * PAGE); /* the newest of each file is never cut */
            assert_true(kept >= 40 * PAGE);
        }
    }
    retention_free(retention);
}

/* What comes at once, and is more than the limit, is kept up to the limit, each file's share of it. */
static void test_burst(void **state)
{
    struct retention *retention = make(0, 64 * PAGE);
    uint64_t begin0, begin1;

    (void)state;
    append_page("host/cpu0.raw", 1);
    step(retention, &kernel, BEGAN);
    for (unsigned i = 0; i < 300; i++)
        append_page(i % 3 ? "host/cpu0.raw" : "host/cpu1.raw", i % 255 + 1);
    for (unsigned i = 1; i < 5; i++) { /* nothing more comes */
        step(retention, &kernel, BEGAN + i * NSEC_PER_SEC);
        begin0 = begin_of("host/cpu0.raw") / PAGE;
        begin1 = begin_of("host/cpu1.raw") / PAGE;
        assert_in_range(201 - begin0, 42, 44);
        assert_in_range(100 - begin1, 21, 22);
    }
    retention_free(retention);
}

/* A burst of one file leaves the only page of another. */
static void test_burst_of_one(void **state)
{
    struct retention *retention = make(0, 64 * PAGE);

    (void)state;
    step(retention, &kernel, BEGAN);
    append_page("host/cpu1.raw", 1);
    for (unsigned i = 0; i < 100; i++)
        append_page("host/cpu0.raw", i % 255 + 1);
    for (unsigned i = 1; i < 5; i++)
        step(retention, &kernel, BEGAN + i * NSEC_PER_SEC);
    assert_int_equal(begin_of("host/cpu1.raw"), 0);
    assert_in_range(begin_of("host/cpu0.raw") / PAGE, 35, 37);
    retention_free(retention);
}

/* What is kept begins with a whole line, wherever the mark was. */
static void test_lines(void **state)
{
    struct retention *retention = make(16 * NSEC_PER_SEC, 0);
    static char bytes[100000];
    char line[64];
    size_t size;

    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        int n = snprintf(line, sizeof line, "line %u of what QEMU says\n", i);

        append("vmm/log", line, (size_t)n - 5);
        if (i % 10 == 0)
            step(retention, &monitor, BEGAN + i * NSEC_PER_SEC / 10);
        append("vmm/log", line + n - 5, 5);
    }
    copy(retention, &monitor, 0);
    size = read_file("to/vmm/log", bytes, sizeof bytes - 1);
    bytes[size] = '\0';
    /* At 99 s the mark of 83 s is 16 s old: it lies in line 830. */
    assert_int_equal(strncmp(bytes, "line 831 of", 11), 0);
    assert_non_null(strstr(bytes, "line 999 of what QEMU says\n"));
    assert_int_equal(begin_of("vmm/log") + size,
                     lseek(openat(dir, "vmm/log", O_RDONLY), 0, SEEK_END));
    retention_free(retention);
}

/* A file shorter than a block keeps its bytes: it would have zeros instead of a hole. Of a longer one nothing may be left. */
static void test_quiet_log(void **state)
{
    struct retention *retention = make(16 * NSEC_PER_SEC, 0);
    char line[64];
    uint64_t size = 0;

    (void)state;
    append("vmm/log", "a line\n", 7);
    for (unsigned i = 0; i < 40; i++)
        step(retention, &monitor, BEGAN + i * NSEC_PER_SEC);
    assert_int_equal(read_file("vmm/log", line, sizeof line), 7);
    assert_memory_equal(line, "a line\n", 7);
    for (size = 7; size < 4 * PAGE; size += 7)
        append("vmm/log", "a line\n", 7);
    for (unsigned i = 40; i < 80; i++)
        step(retention, &monitor, BEGAN + i * NSEC_PER_SEC);
    assert_int_equal(begin_of("vmm/log"), size);
    /* … also where its end is that of a block. */
    for (; size < 7 * PAGE; size += 7)
        append("vmm/log", "a line\n", 7);
    for (unsigned i = 80; i < 120; i++)
        step(retention, &monitor, BEGAN + i * NSEC_PER_SEC);
    assert_int_equal(size % PAGE, 0);
    assert_int_equal(begin_of("vmm/log"), size);
    retention_free(retention);
}

/* Whatever was written of the last packet when its file was looked at; what describes the packets is kept. */
static void test_packets(void **state)
{
    struct retention *retention = make(16 * NSEC_PER_SEC, 0);
    static char bytes[100000];

    (void)state;
    append("program/metadata", "metadata", 8);
    for (unsigned i = 0; i < 40; i++) {
        size_t size = 104 + 8 * i;
        char packet[104 + 8 * 40];
        uint32_t magic = 0xc1fc1fc1;
        uint64_t bits = size * 8;

        memset(packet, (int)i + 1, size);
        memcpy(packet, &magic, sizeof magic);
        memcpy(packet + 48, &bits, sizeof bits);
        append("program/stream-3", packet, size - i);
        step(retention, &program, BEGAN + i * NSEC_PER_SEC);
        if (i == 39)
            copy(retention, &program, 0);
        append("program/stream-3", packet + size - i, i);
    }
    assert_int_equal(read_file("to/program/metadata", bytes, sizeof bytes), 8);
    /* The mark of 23 s, when packet 23 was not whole, is 16 s old; nor is 39 now. */
    assert_int_equal(read_file("to/program/stream-3", bytes, sizeof bytes),
                     16 * 104 + 8 * (23 + 38) * 16 / 2);
    assert_int_equal(bytes[60], 24);
    retention_free(retention);
}

/* What the recorder does while it is copied, when the files of a directory were. */
static void (*meanwhile)(void);
int __real_copy_dir(const char *from, const char *to, const struct copy_options *options,
                    struct error *error);
int __wrap_copy_dir(const char *from, const char *to, const struct copy_options *options,
                    struct error *error)
{
    int r = __real_copy_dir(from, to, options, error);

    if (meanwhile)
        meanwhile();
    return r;
}

static void put_packet(uint8_t content)
{
    char packet[104];
    uint32_t magic = 0xc1fc1fc1;
    uint64_t bits = sizeof packet * 8;

    memset(packet, content, sizeof packet);
    memcpy(packet, &magic, sizeof magic);
    memcpy(packet + 48, &bits, sizeof bits);
    append("program/stream-3", packet, sizeof packet);
}

static void put_described_packet(void)
{
    append("program/metadata", " of another class", 17);
    put_packet(2);
}

/* A copy has no event of a class that its metadata does not describe, and nothing that is being written. */
static void test_described(void **state)
{
    struct retention *retention = make(16 * NSEC_PER_SEC, 0);
    char bytes[1000];

    (void)state;
    append("program/metadata", "metadata", 8);
    append("program/.metadata", "meta", 4);
    put_packet(1);
    step(retention, &program, BEGAN);
    meanwhile = put_described_packet;
    copy(retention, &program, 0);
    meanwhile = NULL;
    assert_int_equal(read_file("program/metadata", bytes, sizeof bytes), 25);
    assert_int_equal(read_file("to/program/metadata", bytes, sizeof bytes), 8);
    assert_int_equal(read_file("to/program/stream-3", bytes, sizeof bytes), 104);
    assert_int_equal(faccessat(dir, "to/program/.metadata", F_OK, 0), -1);
    retention_free(retention);
}

/* Of Xen's records, by bytes, and all at once. */
static void test_windows(void **state)
{
    static const struct manifest_source xen = {
        .name = "xen", .kind = "xentrace", .path = "vmm/trace.raw"};
    struct retention *retention = make(0, 10000);
    static char bytes[100000];
    uint8_t window[12 + 88] = {0};

    (void)state;
    store_u32(window, 0x2001f003);
    store_u32(window + 8, 88);
    for (unsigned i = 0; i < 300; i++) {
        memset(window + 12, (int)(i % 255) + 1, 88);
        append("vmm/trace.raw", window, sizeof window);
    }
    append("vmm/trace.raw", window, 50);
    step(retention, &xen, BEGAN);
    step(retention, &xen, BEGAN + NSEC_PER_SEC);
    copy(retention, &xen, 0);
    assert_int_equal(read_file("to/vmm/trace.raw", bytes, sizeof bytes), 10000);
    assert_int_equal(load_u32(bytes), 0x2001f003);
    assert_int_equal((uint8_t)bytes[12], 201);
    retention_free(retention);
}

/* Where less than a block is to be released, a reader would see zero bytes and no hole: nothing is. */
static void test_small(void **state)
{
    struct retention *retention = make(16 * NSEC_PER_SEC, 0);
    static char bytes[10000];
    uint64_t begin = 0;

    (void)state;
    for (unsigned i = 0; i < 60; i++) {
        char packet[104];
        uint32_t magic = 0xc1fc1fc1;
        uint64_t bits = sizeof packet * 8;

        memset(packet, (int)i + 1, sizeof packet);
        memcpy(packet, &magic, sizeof magic);
        memcpy(packet + 48, &bits, sizeof bits);
        append("program/stream-3", packet, sizeof packet);
        step(retention, &program, BEGAN + i * NSEC_PER_SEC);
        begin = begin_of("program/stream-3");
        assert_int_equal(read_file("program/stream-3", bytes, sizeof bytes),
                         (i + 1) * sizeof packet);
        assert_int_equal(memcmp(bytes + begin, &magic, sizeof magic), 0);
    }
    assert_int_equal(begin, 44 * 104);
    retention_free(retention);
}

/* Of each second another number; only of what is kept. */
static void test_losses(void **state)
{
    struct retention *retention = make(16 * NSEC_PER_SEC, 0);
    static const struct manifest_guest guest;
    struct manifest_source source = kernel;
    struct retention_losses losses;

    (void)state;
    source.guest = &guest;
    for (unsigned i = 0; i < 40; i++) {
        append_page("host/cpu0.raw", i + 1);
        source.lost += i;
        step(retention, &source, BEGAN + i * NSEC_PER_SEC);
    }
    source.lost += 1000;
    source.lost_at_end = 1000;
    /* What is kept begins after the mark of 23 s. */
    assert_true(retention_losses(retention, &source, &losses));
    assert_int_equal(losses.lost, (24 + 39) * 16 / 2 + 1000);
    assert_int_equal(losses.at_end, 1000);
    source.guest = NULL;
    assert_false(retention_losses(retention, &source, &losses));
    retention_free(retention);
}

/* … and in a burst that is cut somewhere between two marks, how many is unknown. */
static void test_losses_of_burst(void **state)
{
    struct retention *retention = make(0, 64 * PAGE);
    static const struct manifest_guest guest;
    struct manifest_source source = kernel;
    struct retention_losses losses;

    (void)state;
    source.guest = &guest;
    append_page("host/cpu0.raw", 1);
    step(retention, &source, BEGAN);
    for (unsigned i = 0; i < 300; i++)
        append_page("host/cpu0.raw", i % 255 + 1);
    source.lost = 7;
    step(retention, &source, BEGAN + NSEC_PER_SEC);
    assert_false(retention_losses(retention, &source, &losses));
    assert_int_equal(losses.lost, 7);
    retention_free(retention);
}

static void test_unlimited(void **state)
{
    struct retention *retention = make(0, 0);
    static char bytes[100 * PAGE];

    (void)state;
    append_page("host/cpu0.raw", 1);
    assert_int_equal(retention_due(retention), UINT64_MAX);
    copy(retention, &kernel, 0);
    assert_int_equal(read_file("to/host/cpu0.raw", bytes, sizeof bytes), PAGE);
    retention_free(retention);
}

/* Users know no descriptors of the recorder. */
static void test_error(void **state)
{
    struct retention *retention = make(16 * NSEC_PER_SEC, 0);
    struct error error = {0};

    (void)state;
    append("program/metadata", "m", 1);
    step(retention, &program, BEGAN);
    copy_without_room(retention, &program, &error);
    assert_string_equal(error.path, "program");
    assert_null(strstr(error.what, "/proc/"));
    retention_free(retention);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_copying, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_since, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_burst, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_burst_of_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_quiet_log, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_windows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_packets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_described, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_small, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_losses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_losses_of_burst, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unlimited, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
