/* SPDX-License-Identifier: MIT */
/* What a recorder is made of: lists of CPUs, windows and what is left out of them, the memory that keeps the
 * last ones, the file or pipe that they go to. */
#include "cmocka_all.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/percpu/chunk_memory.h"
#include "record/percpu/cpu_chunk.h"
#include "record/xen/state.h"

/* ---- Lists of CPUs ---- */

/* ---- Windows ---- */

#define TIMED (UINT32_C(1) << 31)

/* A record of EVENT with N words, which count from its own number; TIME 0: without. */
static size_t put_record(uint8_t *p, uint32_t event, uint64_t time, unsigned n)
{
    uint32_t header = event | n << 28 | (time ? TIMED : 0);
    size_t at = 4;

    memcpy(p, &header, 4);
    if (time) {
        memcpy(p + at, &time, 8);
        at += 8;
    }
    for (uint32_t i = 0; i < n; i++, at += 4) {
        uint32_t word = event + i;

        memcpy(p + at, &word, 4);
    }
    return at;
}

static size_t put_lost(uint8_t *p, uint32_t n, uint64_t time)
{
    size_t size = put_record(p, 0x1f001, time, 4);

    memcpy(p + 12, &n, 4);
    return size;
}

static void test_counting(void **state)
{
    uint8_t bytes[256];
    struct chunk_state s = {0};
    size_t size = 0;

    size += put_record(bytes + size, 0x81001, 100, 0);
    size += put_lost(bytes + size, 17, 110);
    size += put_record(bytes + size, 0x82010, 0, 7);
    size += put_lost(bytes + size, 3, 130);
    size += put_record(bytes + size, 0x1f002, 0, 6);
    assert_int_equal(chunk_count(&s, bytes, size), 0);
    assert_int_equal(s.counts.records, 2);
    assert_int_equal(s.counts.lost, 20);
    assert_int_equal(s.counts.losses, 2);
    assert_true(chunk_has(bytes, size, 2));
    assert_false(chunk_has(bytes, size, 3));
    assert_int_equal(chunk_count(&s, bytes, size - 4), -EBADMSG);
}

static void test_filter(void **state)
{
    uint8_t bytes[512], out[520], wanted[520];
    struct chunk_state s = {0};
    struct xen_event_mask choice;
    size_t size = 0, want = 0, got;

    assert_int_equal(xen_event_mask_init(&choice), 0);
    assert_int_equal(
        xen_event_mask_add(&choice, &(struct xen_table){0}, "0x82010,0x82011,0x81002", NULL), 0);

    size += put_record(bytes + size, 0x82010, 0, 1); /* nothing known of its time: stays so */
    want += put_record(wanted + want, 0x82010, 0, 1);
    size += put_record(bytes + size, 0x81001, 100, 0); /* left out; its time is owed … */
    size += put_record(bytes + size, 0x82012, 0, 2);   /* left out */
    size += put_record(bytes + size, 0x82010, 0, 2);   /* … to this one … */
    want += put_record(wanted + want, 0x82010, 100, 2);
    size += put_record(bytes + size, 0x82011, 0, 7); /* … and to this one no more */
    want += put_record(wanted + want, 0x82011, 0, 7);
    size += put_record(bytes + size, 0x81002, 200, 3);
    want += put_record(wanted + want, 0x81002, 200, 3);
    size += put_record(bytes + size, 0x82010, 0, 0);
    want += put_record(wanted + want, 0x82010, 0, 0);
    size += put_record(bytes + size, 0x81001, 300, 0);
    size += put_lost(bytes + size, 9, 310); /* never left out */
    want += put_lost(wanted + want, 9, 310);
    size += put_record(bytes + size, 0x82010, 0, 0);
    want += put_record(wanted + want, 0x82010, 0, 0);
    size += put_record(bytes + size, 0x1f002, 0, 3); /* a filler */
    size += put_record(bytes + size, 0x81001, 400, 0);

    assert_int_equal(chunk_filter(&s, &choice, bytes, size, out, &got), 0);
    assert_int_equal(got, want);
    assert_memory_equal(out, wanted, want);
    assert_int_equal(s.counts.records, 6);
    assert_int_equal(s.counts.left_out, 4);
    assert_int_equal(s.counts.lost, 9);

    /* What is owed is so over the end of a window. */
    size = put_record(bytes, 0x82010, 0, 1);
    want = put_record(wanted, 0x82010, 400, 1);
    assert_int_equal(chunk_filter(&s, &choice, bytes, size, out, &got), 0);
    assert_int_equal(got, want);
    assert_memory_equal(out, wanted, want);

    /* A record that its window cuts: nothing is made up, nothing read behind it. */
    size = put_record(bytes, 0x82010, 0, 7);
    assert_int_equal(chunk_filter(&s, &choice, bytes, size - 4, out, &got), -EBADMSG);
    assert_int_equal(got, size - 4);
    assert_memory_equal(out, bytes, size - 4);
    xen_event_mask_done(&choice);
}

/* The largest that can come of SIZE bytes. */
static void test_filter_room(void **state)
{
    struct chunk_state s = {.owed = true, .time = 7};
    struct xen_event_mask choice;
    size_t got;
    size_t size = 0;
    uint8_t *bytes = malloc(4096);
    uint8_t *out = malloc(4096 + 8);

    assert_int_equal(xen_event_mask_init(&choice), 0);
    assert_int_equal(xen_event_mask_add(&choice, &(struct xen_table){0}, "0x82010", NULL), 0);
    while (size + 16 <= 4096) {
        size += put_record(bytes + size, 0x82010, 0, 0);
        size += put_record(bytes + size, 0x81001, 5, 0);
    }
    assert_int_equal(size, 4096);
    assert_int_equal(chunk_filter(&s, &choice, bytes, size, out, &got), 0);
    assert_int_equal(got, size / 16 * 12);
    s.owed = true;
    for (size = 0; size < 4096;)
        size += put_record(bytes + size, 0x82010, 0, 0);
    assert_int_equal(chunk_filter(&s, &choice, bytes, size, out, &got), 0);
    assert_int_equal(got, 4096 + 8);
    xen_event_mask_done(&choice);
    free(bytes);
    free(out);
}

/* ---- The memory of the last windows ---- */

static void put_window(struct chunk_memory *memory, uint32_t cpu, uint8_t fill, uint32_t size)
{
    uint32_t header[3] = {0x2001f003, cpu, size};
    uint8_t bytes[256];
    struct iovec parts[3] = {
        {header, sizeof header}, {bytes, size / 2}, {bytes + size / 2, size - size / 2}};

    memset(bytes, fill, sizeof bytes);
    chunk_memory_put(memory, parts, 3);
}

/* The windows in a file, as "CPU:FILL:SIZE " each. */
static void read_windows(int fd, char *text, size_t text_size)
{
    uint8_t bytes[4096];
    ssize_t n = pread(fd, bytes, sizeof bytes, 0);
    size_t used = 0;

    text[0] = 0;
    assert_true(n >= 0);
    for (ssize_t at = 0; at < n;) {
        uint32_t header[3];

        memcpy(header, bytes + at, sizeof header);
        assert_int_equal(header[0], 0x2001f003);
        for (uint32_t i = 1; i < header[2]; i++)
            assert_int_equal(bytes[at + 12 + i], bytes[at + 12]);
        used += (size_t)snprintf(text + used, text_size - used, "%u:%u:%u ", (unsigned)header[1],
                                 bytes[at + 12], (unsigned)header[2]);
        at += 12 + (ssize_t)header[2];
    }
}

static int open_temporary(void)
{
    int fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);

    assert_true(fd >= 0);
    return fd;
}

static void test_window_memory(void **state)
{
    struct chunk_memory memory;
    struct stream stream;
    char text[256];
    int fd = open_temporary();

    assert_int_equal(chunk_memory_init(&memory, 200), 0);
    /* Three rounds of two CPUs; 52 bytes each, so three windows fit, but CPU 1's goes with CPU 0's. */
    for (uint8_t round = 1; round <= 3; round++)
        for (uint32_t cpu = 0; cpu < 2; cpu++)
            put_window(&memory, cpu, (uint8_t)(round * 10 + cpu), 40);
    assert_int_equal(memory.dropped, 4);
    assert_int_equal(memory.dropped_records, 10 + 10 + 5 + 5); /* by what the fill says of itself */
    put_window(&memory, 0, 40, 88);                            /* over the end of the circle */
    assert_int_equal(memory.dropped, 6);
    assert_int_equal(memory.dropped_records, 40);
    put_window(&memory, 1, 41, 88); /* full to the last byte */
    assert_int_equal(memory.used, 200);
    assert_int_equal(stream_init(&stream, fd, "file", NULL), 0);
    assert_int_equal(chunk_memory_write(&memory, &stream, NULL), STREAM_WRITTEN);
    read_windows(fd, text, sizeof text);
    assert_string_equal(text, "0:40:88 1:41:88 ");
    assert_int_equal(memory.used, 0);
    assert_int_equal(memory.dropped_records, 40);

    /* What a limit leaves out. */
    put_window(&memory, 0, 10, 40);
    put_window(&memory, 1, 11, 40);
    stream.max = stream.written + 60;
    assert_int_equal(chunk_memory_write(&memory, &stream, NULL), STREAM_MAX);
    assert_int_equal(memory.dropped_records, 50);
    chunk_memory_done(&memory);
    close(fd);
}

/* ---- Streams ---- */

static int write_bytes(struct stream *stream, size_t size, struct error *error)
{
    static char bytes[1 << 20];
    struct iovec parts[2] = {{bytes, size / 3}, {bytes, size - size / 3}};

    return stream_write(stream, parts, 2, error);
}

static void test_stream_limits(void **state)
{
    struct stream stream;
    struct error error = {0};
    int fd = open_temporary();

    assert_int_equal(stream_init(&stream, fd, "file", &error), 0);
    stream.max = 1000;
    assert_int_equal(write_bytes(&stream, 600, &error), STREAM_WRITTEN);
    assert_int_equal(write_bytes(&stream, 401, &error), STREAM_MAX);
    assert_int_equal(write_bytes(&stream, 400, &error), STREAM_WRITTEN);
    assert_int_equal(lseek(fd, 0, SEEK_END), 1000);
    stream.max = 0;
    stream.reserve = UINT64_MAX;
    assert_int_equal(write_bytes(&stream, 1, &error), STREAM_RESERVE);
    assert_int_equal(lseek(fd, 0, SEEK_END), 1000);
    close(fd);
}

/* A piece that does not fit is not there at all. */
static void test_stream_full_disk(void **state)
{
    struct stream stream;
    struct error error = {0};
    struct rlimit limit, before;
    int fd = open_temporary();

    getrlimit(RLIMIT_FSIZE, &before);
    limit = (struct rlimit){1000, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    assert_int_equal(stream_init(&stream, fd, "file", &error), 0);
    assert_int_equal(write_bytes(&stream, 600, &error), STREAM_WRITTEN);
    assert_int_equal(write_bytes(&stream, 600, &error), -EFBIG);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(lseek(fd, 0, SEEK_END), 600);
    assert_int_equal(stream.written, 600);
    assert_non_null(strstr(error.what, "cannot be written"));
    close(fd);

    fd = open("/dev/full", O_WRONLY);
    error_clear(&error);
    assert_int_equal(stream_init(&stream, fd, "full", &error), 0);
    assert_int_equal(write_bytes(&stream, 10, &error), -ENOSPC);
    assert_non_null(strstr(error.what, "the disk is full"));
    close(fd);
}

/* A reader that reads gets all, however slow; one that does not is given up when the end has come; one that
 * has gone is seen. */
static void test_stream_pipe(void **state)
{
    struct stream stream;
    struct error error = {0};
    int fds[2];
    pid_t child;
    int status;

    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe(fds), 0);
    child = fork();
    if (child == 0) {
        char bytes[70000];
        size_t total = 0;
        ssize_t n;

        close(fds[1]);
        while ((n = read(fds[0], bytes, sizeof bytes)) > 0)
            total += (size_t)n;
        _exit(total == 900000 ? 0 : 1);
    }
    close(fds[0]);
    assert_int_equal(stream_init(&stream, fds[1], "pipe", &error), 0);
    assert_int_equal(write_bytes(&stream, 900000, &error), STREAM_WRITTEN);
    close(fds[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);

    assert_int_equal(pipe(fds), 0);
    assert_int_equal(stream_init(&stream, fds[1], "pipe", &error), 0);
    stream_hurry(&stream);
    assert_int_equal(write_bytes(&stream, 900000, &error), -ETIMEDOUT);
    close(fds[0]);
    error_clear(&error);
    assert_int_equal(write_bytes(&stream, 10, &error), -EPIPE);
    close(fds[1]);
}

/* ---- What is to be restored ---- */

static void test_state_file(void **state)
{
    char path[] = "/tmp/strata-state-XXXXXX/state";
    char *slash = strrchr(path, '/');
    struct xen_state a, b;
    struct error error = {0};
    int fd;

    *slash = 0;
    assert_non_null(mkdtemp(path));
    *slash = '/';
    assert_int_equal(xen_state_open(&a, path, &error), 0);
    assert_false(a.found);
    assert_int_equal(xen_state_open(&b, path, &error), -EBUSY);
    assert_int_equal(xen_state_note(&a, 0x0802f000, &error), 0);
    xen_state_close(&a); /* as if killed */

    assert_int_equal(xen_state_open(&b, path, &error), 0);
    assert_true(b.found);
    assert_int_equal(b.events, 0x0802f000);
    assert_int_equal(xen_state_forget(&b), 0);
    xen_state_close(&b);
    assert_int_equal(xen_state_open(&a, path, &error), 0);
    assert_false(a.found);
    xen_state_close(&a);

    /* Cut by a crash: what Xen starts with. */
    fd = open(path, O_WRONLY);
    assert_int_equal(write(fd, "strata-x", 8), 8);
    close(fd);
    assert_int_equal(xen_state_open(&a, path, &error), 0);
    assert_true(a.found);
    assert_int_equal(a.events, 0x0ffff000);
    xen_state_close(&a);
    unlink(path);
    *slash = 0;
    rmdir(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counting),      cmocka_unit_test(test_filter),
        cmocka_unit_test(test_filter_room),   cmocka_unit_test(test_window_memory),
        cmocka_unit_test(test_stream_limits), cmocka_unit_test(test_stream_full_disk),
        cmocka_unit_test(test_stream_pipe),   cmocka_unit_test(test_state_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
