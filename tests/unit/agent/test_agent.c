/* SPDX-License-Identifier: MIT */
/* The guest's agent, piece by piece; tests/agent/ has it as a whole, on a real kernel. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/control.h"
#include "agent/cpus.h"
#include "agent/endpoint.h"
#include "agent/frame_tx.h"
#include "agent/key.h"
#include "agent/ports.h"
#include "agent/queue.h"
#include "agent/raw_port.h"
#include "agent/readers.h"
#include "agent/session.h"
#include "agent/splice.h"
#include "agent/trace_clock.h"
#include "base/bytes.h"
#include "cmocka_all.h"

/* A directory for a test, empty. */
static int set_up_dir(void **state)
{
    char path[] = "/tmp/strata-agent-XXXXXX";

    assert_non_null(mkdtemp(path));
    *state = strdup(path);
    return 0;
}

static int remove_dir(void **state)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf '%s'", (char *)*state);
    assert_int_equal(system(command), 0);
    free(*state);
    return 0;
}

static void write_file(const char *directory, const char *name, const char *text)
{
    char path[256];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", directory, name);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void make_dir(const char *directory, const char *name)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", directory, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

/* What was told, one line behind the other. */
struct said {
    pthread_mutex_t lock;
    size_t len;
    char text[4096];
};

static void append_line(void *userdata, const char *text)
{
    struct said *said = userdata;
    int n;

    pthread_mutex_lock(&said->lock);
    n = snprintf(said->text + said->len, sizeof said->text - said->len, "%s\n", text);
    said->len = MIN(said->len + (size_t)n, sizeof said->text - 1);
    pthread_mutex_unlock(&said->lock);
}

/* Waits for what another thread does. */
#define WAIT_FOR(condition)                          \
    do {                                             \
        for (int i_ = 0; !(condition); i_++) {       \
            if (i_ > 60000)                          \
                fail_msg("in vain: %s", #condition); \
            usleep(1000);                            \
        }                                            \
    } while (0)

/* "1" and "0" for the commands in TEXT, fed in pieces of SIZE bytes. */
static void commands_of(const char *text, size_t len, size_t size, char *ret)
{
    struct control control = {0};
    enum control_command command;
    size_t n = 0;

    for (size_t at = 0; at < len; at += size) {
        size_t pos = 0;

        while (
            control_next(&control, (const uint8_t *)text + at, MIN(size, len - at), &pos, &command))
            ret[n++] = command == CONTROL_START ? '1' : '0';
    }
    ret[n] = '\0';
}

static void test_control(void **state)
{
    static const struct {
        const char *text;
        size_t len;
        const char *want;
    } cases[] = {
        {"1", 1, "1"},
        {"1\n", 2, "1"},
        {"0\n", 2, "0"},
        {"10", 2, "10"},
        {"1\n0\n", 4, "10"},
        {"0\n1\n0\n1\n", 8, "0101"},
        {"1\r\n", 3, "1"},
        {" 1\t\n0", 5, "10"},
        {"1\0"
         "0\0",
         4, "10"},
        {"\n\n", 2, ""},
        {"hello 1 2", 9, "1"},
        {"", 0, ""},
    };
    struct control control = {0};
    enum control_command command;
    size_t pos = 0;
    char got[32];

    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++)
        for (size_t size = 1; size <= 9; size++) {
            commands_of(cases[i].text, cases[i].len, size, got);
            assert_string_equal(got, cases[i].want);
        }
    assert_false(control_next(&control, (const uint8_t *)"ab\n", 3, &pos, &command));
    assert_int_equal(control.n_unknown, 2);
    assert_int_equal(control.first_unknown, 'a');
}

static void test_cpus(void **state)
{
    struct cpu_set cpus;

    assert_int_equal(cpus_online(&cpus), 0);
    assert_true(cpu_set_count(&cpus) >= 1);
}

static void test_queue(void **state)
{
    struct queue queue;
    uint8_t *pages, *first;

    assert_int_equal(queue_init(&queue, 64, 0), 0);
    assert_int_equal(queue.n_pages, 2); /* the least */
    queue_done(&queue);

    assert_int_equal(queue_init(&queue, 64, 3 * 64 + 63), 0);
    assert_int_equal(queue.n_pages, 3);
    assert_int_equal(queue_look(&queue, &pages), 0);
    for (int i = 0; i < 3; i++) {
        uint8_t *page = queue_free_page(&queue);

        assert_non_null(page);
        memset(page, i, 64);
        queue_put(&queue);
    }
    assert_null(queue_free_page(&queue));
    assert_int_equal(queue_held(&queue), 3);
    assert_int_equal(queue_look(&queue, &pages), 3);
    assert_int_equal(pages[64], 1);
    queue_take(&queue, 2);
    for (int i = 3; i < 5; i++) {
        uint8_t *page = queue_free_page(&queue);

        assert_non_null(page);
        memset(page, i, 64);
        queue_put(&queue);
    }
    assert_null(queue_free_page(&queue));
    /* Only up to the ring's end, then from its beginning. What is before them may be written over, here and … */
    assert_int_equal(queue_held(&queue), 3);
    assert_int_equal(queue_look(&queue, &pages), 2);
    memset(pages - QUEUE_ROOM, 0xff, QUEUE_ROOM);
    assert_int_equal(pages[0], 2);
    assert_int_equal(pages[64], 3);
    queue_take(&queue, 2);
    assert_int_equal(queue_look(&queue, &pages), 1);
    memset(pages - QUEUE_ROOM, 0xff, QUEUE_ROOM); /* … there. */
    assert_int_equal(*pages, 4);
    queue_take(&queue, 1);
    assert_int_equal(queue_look(&queue, &pages), 0);
    /* Emptied, it begins anew with the memory that was used. */
    first = queue_free_page(&queue);
    for (int i = 0; i < 5; i++) {
        assert_ptr_equal(queue_free_page(&queue), first);
        queue_put(&queue);
        assert_int_equal(queue_look(&queue, &pages), 1);
        assert_ptr_equal(pages, first);
        queue_take(&queue, 1);
    }
    queue_done(&queue);
}

#define THREAD_PAGES 200000u

static void *put_pages(void *userdata)
{
    struct queue *queue = userdata;

    for (uint32_t i = 0; i < THREAD_PAGES;) {
        uint8_t *page = queue_free_page(queue);

        if (!page) {
            sched_yield();
            continue;
        }
        for (unsigned at = 0; at < 64; at += 4)
            memcpy(page + at, &i, 4);
        queue_put(queue);
        i++;
    }
    return NULL;
}

/* One puts, one takes: every page comes out whole and in its order. */
static void test_queue_threads(void **state)
{
    struct queue queue;
    pthread_t putter;
    uint32_t next = 0;

    assert_int_equal(queue_init(&queue, 64, 5 * 64), 0);
    assert_int_equal(pthread_create(&putter, NULL, put_pages, &queue), 0);
    while (next < THREAD_PAGES) {
        uint8_t *pages;
        size_t n = queue_look(&queue, &pages);

        if (n == 0)
            sched_yield();
        for (size_t i = 0; i < n * 64; i += 4)
            if (memcmp(pages + i, &(uint32_t){next + (uint32_t)(i / 64)}, 4) != 0)
                fail_msg("page %u came out as another", next + (unsigned)(i / 64));
        if (n > 0)
            memset(pages - QUEUE_ROOM, 0xff, QUEUE_ROOM);
        queue_take(&queue, n);
        next += (uint32_t)n;
    }
    pthread_join(putter, NULL);
    assert_int_equal(queue_held(&queue), 0);
    queue_done(&queue);
}

static void test_tracefs_page(void **state)
{
    const char *directory = *state;
    struct tracefs_page page;
    struct error error = {0};
    int dir = open(directory, O_PATH | O_DIRECTORY);

    assert_int_equal(tracefs_page(dir, &page, NULL), -ENOENT);
    make_dir(directory, "events");
    write_file(directory, "events/header_page",
               "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
               "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
               "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
               "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n");
    assert_int_equal(tracefs_page(dir, &page, NULL), 0);
    assert_true(page.size == 4096 && page.data == 16 && page.commit == 8 && page.commit_size == 8);
    /* 32 bits, larger sub-buffers. */
    write_file(directory, "events/header_page",
               "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
               "\tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n"
               "\tfield: char data;\toffset:12;\tsize:16372;\tsigned:1;\n");
    assert_int_equal(tracefs_page(dir, &page, NULL), 0);
    assert_true(page.size == 16384 && page.data == 12 && page.commit_size == 4);
    write_file(directory, "events/header_page",
               "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
               "\tfield: char data;\toffset:16;\tsize:4294967295;\tsigned:0;\n");
    assert_int_equal(tracefs_page(dir, &page, &error), -EBADMSG);
    assert_string_equal(error.path, "events/header_page");
    write_file(directory, "events/header_page", "nonsense");
    assert_int_equal(tracefs_page(dir, &page, NULL), -EBADMSG);
    close(dir);
}

static void test_tracefs_files(void **state)
{
    const char *directory = *state;
    static const _Atomic bool ending;
    struct tracefs tracefs;
    struct error error = {0};
    char *text, name[64], locked[256];
    char *large = malloc(100001);
    uint64_t number;
    size_t len;
    int dir, lock;

    assert_int_equal(tracefs_open(directory, &tracefs, &error), -ENOENT);
    assert_non_null(strstr(error.what, "not a tracefs"));
    make_dir(directory, "per_cpu");
    assert_int_equal(tracefs_open(directory, &tracefs, NULL), 0);
    dir = tracefs.fd;
    memset(large, 'x', 100000);
    large[100000] = '\0';
    write_file(directory, "large", large);
    assert_int_equal(tracefs_read(dir, "large", 1 << 20, &text, &len), 0);
    assert_int_equal(len, 100000);
    assert_string_equal(text, large);
    free(text);
    assert_int_equal(tracefs_read(dir, "large", 99999, &text, &len), -EFBIG);
    free(large);
    write_file(directory, "buffer_size_kb", "7 (expanded: 1408)\n");
    assert_int_equal(tracefs_read_number(dir, "buffer_size_kb", &number), 0);
    assert_int_equal(number, 7);
    write_file(directory, "number", "X\n");
    assert_int_equal(tracefs_read_number(dir, "number", &number), -EBADMSG);
    assert_int_equal(tracefs_write_number(dir, "number", 42), 0);
    assert_int_equal(tracefs_append(dir, "number", "1"), 0);
    assert_int_equal(tracefs_read_number(dir, "number", &number), 0);
    assert_int_equal(number, 421);
    assert_int_equal(tracefs_write(dir, "no/such", "1"), -ENOENT);

    make_dir(directory, "instances");
    assert_int_equal(tracefs_instance_open(&tracefs, "../per_cpu", &dir), -EINVAL);
    assert_int_equal(tracefs_instance_open(&tracefs, "..", &dir), -EINVAL);
    assert_int_equal(tracefs_instance_open(&tracefs, "", &dir), -EINVAL);
    assert_int_equal(tracefs_instance_open(&tracefs, "none", &dir), -ENOENT);
    assert_int_equal(tracefs_instance_make(&tracefs, name, sizeof name, &dir), 0);
    close(dir);
    /* Of the dead, of another that got the number, of the living, and of others. */
    make_dir(directory, "instances/strata-agent-4194305-7-0");
    make_dir(directory, "instances/strata-agent-1-99999999999-0");
    make_dir(directory, "instances/strata-agent-x");
    make_dir(directory, "instances/strata-agent-4194305-7");
    /* This creator is not seen, as in another PID namespace, but holds the lock. */
    make_dir(directory, "instances/strata-agent-4194305-7-1");
    assert_true(
        snprintf(locked, sizeof locked, "%s/instances/strata-agent-4194305-7-1", directory) > 0);
    lock = open(locked, O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(tracefs_instance_sweep(&tracefs), 2);
    assert_int_equal(tracefs_instance_sweep(&tracefs), 0);
    close(lock);
    assert_int_equal(tracefs_instance_sweep(&tracefs), 1);
    assert_int_equal(tracefs_instance_open(&tracefs, name, &dir), 0);
    close(dir);
    assert_int_equal(tracefs_instance_remove(&tracefs, name), 0);
    assert_int_equal(tracefs_instance_remove(&tracefs, name), -ENOENT);
    assert_int_equal(tracefs_instance_make(&tracefs, name, sizeof name, &dir), 0);
    assert_true(snprintf(locked, sizeof locked, "%s/instances/%s", directory, name) > 0);
    lock = open(locked, O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), -1);
    close(lock);
    assert_int_equal(tracefs_instance_remove_by(&tracefs, name, dir, &ending, 10), 0);
    assert_int_equal(tracefs_instance_remove_by(&tracefs, name, dir, &ending, 10), -ENOENT);
    assert_int_equal(tracefs_instance_remove_by(&tracefs, "..", dir, &ending, 10), -EINVAL);
    close(dir);
    assert_int_equal(tracefs_instance_remove(&tracefs, "strata-agent-x"), 0);
    tracefs_done(&tracefs);
}

static void test_clock(void **state)
{
    const char *offered = "[local] global counter uptime perf mono mono_raw boot tai x86-tsc\n";
    struct guest_clock clock = {.name = "mono", .dir = -1};
    struct timespec before, behind;
    uint64_t now;
    char name[32];

    assert_int_equal(guest_clock_choose(offered, "", name, sizeof name), 0);
    assert_string_equal(name, "x86-tsc");
    assert_int_equal(guest_clock_choose("local [global] mono_raw mono", "", name, sizeof name), 0);
    assert_string_equal(name, "mono_raw");
    assert_int_equal(guest_clock_choose("local [global] counter\n", "", name, sizeof name), 0);
    assert_string_equal(name, "global");
    assert_int_equal(guest_clock_choose(offered, "local", name, sizeof name), 0);
    assert_string_equal(name, "local");
    assert_int_equal(guest_clock_choose(offered, "mon", name, sizeof name), -ENOENT);
    assert_int_equal(guest_clock_choose("local global", "", name, sizeof name), -ENOENT);
    assert_int_equal(guest_clock_choose("", "", name, sizeof name), -ENOENT);
    guest_clock_in_force(offered, name, sizeof name);
    assert_string_equal(name, "local");

    clock_gettime(CLOCK_MONOTONIC, &before);
    now = guest_clock_now(&clock);
    clock_gettime(CLOCK_MONOTONIC, &behind);
    assert_true(now >= (uint64_t)before.tv_sec * 1000000000 + (uint64_t)before.tv_nsec);
    assert_true(now <= (uint64_t)behind.tv_sec * 1000000000 + (uint64_t)behind.tv_nsec);
    assert_int_equal(guest_clock_hz(&clock), 1000000000);
    clock = (struct guest_clock){.name = "counter", .dir = -1};
    assert_int_equal(guest_clock_now(&clock), 0);
    assert_int_equal(guest_clock_hz(&clock), 0);
}

/* Writes a page with USED bytes of events into FD. */
static void feed_page(int fd, uint64_t time, uint64_t used)
{
    uint8_t page[4096] = {0};

    memcpy(page, &time, 8);
    memcpy(page + 8, &used, 8);
    assert_int_equal(write(fd, page, sizeof page), sizeof page);
}

/* A kernel of FIFOs: the CPU whose file fails does not stop the other, and goes on when it is mended. */
static void test_readers(void **state)
{
    const char *directory = *state;
    struct said said = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct agent_log say_to = {append_line, &said};
    struct readers *readers = calloc(1, sizeof *readers);
    struct wakeup wakeup;
    uint8_t *pages;
    char path[256];
    int dir = open(directory, O_PATH | O_DIRECTORY), fds[2];

    make_dir(directory, "events");
    write_file(directory, "events/header_page",
               "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
               "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
               "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n");
    write_file(directory, "buffer_size_kb", "7 (expanded: 1408)\n");
    make_dir(directory, "per_cpu");
    make_dir(directory, "per_cpu/cpu0");
    make_dir(directory, "per_cpu/cpu1");
    snprintf(path, sizeof path, "%s/per_cpu/cpu0/trace_pipe_raw", directory);
    assert_int_equal(mkfifo(path, 0600), 0);
    fds[0] = open(path, O_RDWR | O_NONBLOCK);

    assert_int_equal(wakeup_init(&wakeup), 0);
    /* Queues of 4 pages. */
    assert_int_equal(readers_init(readers, dir, 4 * 4096, &say_to, &wakeup, NULL), 0);
    assert_int_equal(readers->buffer.ring_pages, 1408 / 4 + 1);
    assert_int_equal(readers_add(readers, 0), 0);
    assert_int_equal(readers_add(readers, 1), 0);
    assert_int_equal(readers_add(readers, 1), -EEXIST);
    assert_true(readers_are_stopped(readers));
    feed_page(fds[0], 1, 4080);
    usleep(20000);
    assert_int_equal(readers_held(readers), 0); /* not before it is told to */
    readers_start(readers);
    WAIT_FOR(readers_held(readers) == 1);
    WAIT_FOR(atomic_load(&readers->list[1]->error) == -ENOENT);
    assert_int_equal(atomic_load(&readers->list[0]->error), 0);

    /* More than fits: what is over stays in the kernel, and comes when there is room. */
    for (uint64_t i = 2; i <= 7; i++)
        feed_page(fds[0], i, 4080);
    WAIT_FOR(atomic_load(&readers->list[0]->times_full) >= 1);
    assert_int_equal(readers_held(readers), 4);
    for (uint64_t i = 1; i <= 7; i++) {
        WAIT_FOR(queue_look(&readers->list[0]->queue, &pages) > 0);
        assert_int_equal(load_u64(pages), i);
        queue_take(&readers->list[0]->queue, 1);
        reader_has_room(readers->list[0]);
    }

    /* The other CPU's file comes. */
    snprintf(path, sizeof path, "%s/per_cpu/cpu1/trace_pipe_raw", directory);
    assert_int_equal(mkfifo(path, 0600), 0);
    fds[1] = open(path, O_RDWR | O_NONBLOCK);
    feed_page(fds[1], 9, 100);
    WAIT_FOR(queue_held(&readers->list[1]->queue) == 1);
    WAIT_FOR(atomic_load(&readers->list[1]->error) == 0);

    /* A stop takes what there is, of a partly filled page too, and then comes to rest. */
    feed_page(fds[0], 10, 50);
    readers_stop(readers);
    WAIT_FOR(readers_are_stopped(readers));
    assert_int_equal(queue_held(&readers->list[0]->queue), 1);
    feed_page(fds[0], 11, 50);
    readers_stop(readers);
    usleep(20000);
    assert_int_equal(queue_held(&readers->list[0]->queue), 1);
    /* A start and a stop at once. */
    readers_start(readers);
    readers_stop(readers);
    WAIT_FOR(readers_are_stopped(readers));
    assert_int_equal(queue_held(&readers->list[0]->queue), 2);
    readers_done(readers);
    assert_non_null(strstr(said.text, "CPU 1: cannot read the trace: No such file"));
    assert_non_null(strstr(said.text, "CPU 1: the trace can be read again"));
    assert_null(strstr(said.text, "CPU 0"));
    wakeup_done(&wakeup);
    close(fds[0]);
    close(fds[1]);
    close(dir);
    free(readers);
}

/* A start and another stop, while the first stop is still carried out: that one takes what was there when it came, and the
 * other one what has come since. */
static void test_stop_in_stop(void **state)
{
    const char *directory = *state;
    struct said said = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct agent_log say_to = {append_line, &said};
    struct readers *readers = calloc(1, sizeof *readers);
    struct reader *reader;
    struct wakeup wakeup;
    uint8_t *pages;
    char path[256];
    int dir = open(directory, O_PATH | O_DIRECTORY), fd;
    uint64_t waits;

    make_dir(directory, "events");
    write_file(directory, "events/header_page",
               "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
               "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
               "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n");
    make_dir(directory, "per_cpu");
    make_dir(directory, "per_cpu/cpu0");
    write_file(directory, "per_cpu/cpu0/stats", "now ts: 0.000050\n");
    snprintf(path, sizeof path, "%s/per_cpu/cpu0/trace_pipe_raw", directory);
    assert_int_equal(mkfifo(path, 0600), 0);
    fd = open(path, O_RDWR | O_NONBLOCK);
    assert_int_equal(wakeup_init(&wakeup), 0);
    assert_int_equal(readers_init(readers, dir, 4 * 4096, &say_to, &wakeup, NULL), 0);
    assert_int_equal(readers_add(readers, 0), 0);
    reader = readers->list[0];

    for (uint64_t i = 1; i <= 5; i++)
        feed_page(fd, i, 4080);
    readers_start(readers);
    WAIT_FOR(readers_held(readers) == 4);
    readers_stop(readers);
    /* The stop waits for room: the wait before it, and its own. */
    waits = atomic_load(&reader->times_full);
    WAIT_FOR(atomic_load(&reader->times_full) >= waits + 2);
    write_file(directory, "per_cpu/cpu0/stats", "now ts: 0.000090\n");
    feed_page(fd, 60000, 4080);
    feed_page(fd, 70000, 4080);
    feed_page(fd, 80000, 4080);
    readers_start(readers);
    readers_stop(readers);
    for (unsigned i = 0; i < 8; i++) {
        WAIT_FOR(queue_look(&reader->queue, &pages) > 0);
        queue_take(&reader->queue, 1);
        reader_has_room(reader);
    }
    WAIT_FOR(readers_are_stopped(readers));
    readers_done(readers);
    wakeup_done(&wakeup);
    close(fd);
    close(dir);
    free(readers);
}

/* What the kernel writes into stats. */
static void test_stats(void **state)
{
    const char *directory = *state;
    int dir = open(directory, O_PATH | O_DIRECTORY);
    uint64_t time;

    make_dir(directory, "per_cpu");
    make_dir(directory, "per_cpu/cpu0");
    write_file(directory, "per_cpu/cpu0/stats",
               "entries: 1\nnow ts: 34529.236519\nread events: 0\n");
    assert_int_equal(reader_clock(dir, 0, &time), 0);
    assert_int_equal(time, 34529236519000);
    write_file(directory, "per_cpu/cpu0/stats", "entries: 1\nnow ts:     9.000001\n");
    assert_int_equal(reader_clock(dir, 0, &time), 0);
    assert_int_equal(time, 9000001000);
    write_file(directory, "per_cpu/cpu0/stats", "now ts: 94585167318654\n");
    assert_int_equal(reader_clock(dir, 0, &time), 0);
    assert_int_equal(time, 94585167318654);
    write_file(directory, "per_cpu/cpu0/stats", "entries: 1\n");
    assert_int_equal(reader_clock(dir, 0, &time), -EBADMSG);
    assert_int_equal(reader_clock(dir, 1, &time), -ENOENT);
    close(dir);
}

static void test_endpoint(void **state)
{
    static const struct {
        const char *text;
        enum endpoint_kind kind;
        int family; /* 0: not an address */
        bool is_network;
    } cases[] = {
        {"tcp:127.0.0.1:80", ENDPOINT_LISTEN, AF_INET, true},
        {"tcp:[::1]:80", ENDPOINT_CONNECT, AF_INET6, true},
        {"tcp:*:80", ENDPOINT_LISTEN, AF_INET6, true},
        {"tcp:*:80", ENDPOINT_CONNECT, 0, false},
        {"tcp::80", ENDPOINT_LISTEN, 0, false},
        {"tcp:host:80", ENDPOINT_LISTEN, 0, false},
        {"tcp:1.2.3.4:0", ENDPOINT_LISTEN, 0, false},
        {"tcp:1.2.3.4:65536", ENDPOINT_LISTEN, 0, false},
        {"tcp:1.2.3.4:8o", ENDPOINT_LISTEN, 0, false},
        {"unix:/tmp/x", ENDPOINT_LISTEN, AF_UNIX, false},
        {"unix:", ENDPOINT_LISTEN, 0, false},
        {"vsock:5", ENDPOINT_LISTEN, AF_VSOCK, true},
        {"vsock:2:5", ENDPOINT_CONNECT, AF_VSOCK, true},
        {"vsock:5", ENDPOINT_CONNECT, 0, false},
        {"vsock:2:5", ENDPOINT_LISTEN, 0, false},
        {"/tmp/x", ENDPOINT_LISTEN, 0, false},
        {"", ENDPOINT_LISTEN, 0, false},
    };

    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        struct endpoint endpoint;
        struct error error = {0};
        int r = endpoint_parse(cases[i].text, cases[i].kind, &endpoint, &error);

        if (!cases[i].family) {
            assert_int_equal(r, -EINVAL);
            assert_non_null(strstr(error.what, "invalid address"));
            continue;
        }
        assert_int_equal(r, 0);
        assert_int_equal(endpoint.address.ss_family, cases[i].family);
        assert_int_equal(endpoint.is_network, cases[i].is_network);
    }
}

static void test_endpoint_unix(void **state)
{
    struct endpoint one, other;
    struct error error = {0};
    char address[128];
    struct stat st;
    int fd, accepted;

    snprintf(address, sizeof address, "unix:%s/socket", (char *)*state);
    assert_int_equal(endpoint_parse(address, ENDPOINT_LISTEN, &one, NULL), 0);
    assert_int_equal(endpoint_open(&one, NULL), 0);
    assert_int_equal(stat(address + 5, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(endpoint_accept(&one, &fd), -EAGAIN);
    /* Somebody listens there. */
    assert_int_equal(endpoint_parse(address, ENDPOINT_LISTEN, &other, NULL), 0);
    assert_int_equal(endpoint_open(&other, &error), -EADDRINUSE);
    assert_int_equal(endpoint_accept(&one, &accepted), 0); /* that was a look */
    close(accepted);
    assert_int_equal(endpoint_parse(address, ENDPOINT_CONNECT, &other, NULL), 0);
    assert_int_equal(endpoint_accept(&other, &fd), 0);
    assert_int_equal(endpoint_accept(&one, &accepted), 0);
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
    close(accepted);
    /* What one that was killed has left is no obstacle. */
    close(one.listen_fd);
    one.listen_fd = -1;
    assert_int_equal(endpoint_open(&one, NULL), 0);
    endpoint_done(&one);
    assert_int_equal(stat(address + 5, &st), -1);
}

static void test_ports(void **state)
{
    const char *directory = *state;
    char path[256], fifo[256];
    int fd;

    assert_int_equal(port_find(directory, "agent-ctl-path", path, sizeof path), -ENOENT);
    snprintf(fifo, sizeof fifo, "%s/agent-ctl-path", directory);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(port_find(directory, "agent-ctl-path", path, sizeof path), 0);
    assert_string_equal(path, fifo);
    assert_int_equal(port_find(directory, "agent-ctl-path", path, 8), -ENAMETOOLONG);
    assert_int_equal(port_open(path, &fd), 0);
    /* Nothing blocks, also without anybody at the other end. */
    assert_int_equal(read(fd, path, 1), -1);
    assert_int_equal(errno, EAGAIN);
    close(fd);
    assert_int_equal(port_open("/nonexistent/port", &fd), -ENOENT);
}

static void test_key(void **state)
{
    const char *directory = *state;
    struct error error = {0};
    char path[256];
    uint8_t *key;
    size_t size;

    snprintf(path, sizeof path, "%s/key", directory);
    assert_int_equal(key_read(path, &key, &size, NULL), -ENOENT);
    write_file(directory, "key", "0123456789abcdef\r\n \n");
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(key_read(path, &key, &size, &error), -EPERM);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(key_read(path, &key, &size, NULL), 0);
    assert_int_equal(size, 16);
    assert_memory_equal(key, "0123456789abcdef", 16);
    free(key);
    write_file(directory, "key", "0123456789abcde\n");
    assert_int_equal(key_read(path, &key, &size, NULL), -EINVAL);
}

static void test_inbox(void **state)
{
    struct rx_queue rx_queue;
    static uint8_t body[100000] = {1, 2, 3};
    struct proto_frame frame = {.type = PROTO_SETUP, .size = 3, .unpacked = 3, .body = body};
    struct rx_message *message;
    unsigned n = 0;

    rx_queue_init(&rx_queue);
    assert_null(rx_queue_take(&rx_queue));
    assert_int_equal(rx_queue_put(&rx_queue, &frame, 7), 0);
    frame.type = PROTO_HELLO;
    assert_int_equal(rx_queue_put(&rx_queue, &frame, 8), 0);
    assert_true(rx_queue_has_hello(&rx_queue));
    body[0] = 9; /* a letter has its own */
    message = rx_queue_take(&rx_queue);
    assert_true(message->frame.type == PROTO_SETUP && message->connection == 7 &&
                message->frame.body[0] == 1);
    free(message);
    assert_true(rx_queue_has_hello(&rx_queue));
    free(rx_queue_take(&rx_queue));
    assert_false(rx_queue_has_hello(&rx_queue));
    assert_null(rx_queue_take(&rx_queue));
    /* Not more than is right: neither bytes, nor messages, each of which may cost seconds. */
    frame.size = sizeof body;
    while (rx_queue_put(&rx_queue, &frame, 1) == 0)
        n++;
    assert_in_range(n, 9, 11);
    while ((message = rx_queue_take(&rx_queue)))
        free(message);
    frame.size = 0;
    for (n = 0; rx_queue_put(&rx_queue, &frame, 1) == 0; n++)
        ;
    assert_int_equal(n, 64);
    /* Of what a host that is gone had asked for, a BYE counts, and that once. */
    rx_queue_leave(&rx_queue);
    assert_null(rx_queue_take(&rx_queue));
    assert_false(rx_queue_has_hello(&rx_queue));
    for (n = 0; n < 3; n++) {
        frame.type = n == 0 ? PROTO_SETUP : PROTO_BYE;
        assert_int_equal(rx_queue_put(&rx_queue, &frame, 1), 0);
    }
    rx_queue_leave(&rx_queue);
    message = rx_queue_take(&rx_queue);
    assert_true(message->frame.type == PROTO_BYE);
    free(message);
    assert_null(rx_queue_take(&rx_queue));
    rx_queue_done(&rx_queue);
    rx_queue_done(&rx_queue);
}

/* All frames that FD has now. */
static unsigned frames_of(int fd, struct proto_reader *reader, uint16_t *types)
{
    struct proto_frame frame;
    unsigned n = 0;

    for (;;) {
        size_t size;
        uint8_t *room = proto_reader_room(reader, &size);
        ssize_t got = recv(fd, room, size, MSG_DONTWAIT);

        if (got <= 0)
            return n;
        proto_reader_filled(reader, (size_t)got);
        while (proto_reader_next(reader, &frame) > 0) {
            assert_int_equal(frame.sequence, reader->frames - 1);
            types[n++] = frame.type;
        }
    }
}

/* Pongs go between frames, never into one. */
static void test_wire(void **state)
{
    static uint8_t memory[PROTO_HEADER_SIZE + 900000];
    struct proto_out out = proto_begin(memory, sizeof memory);
    struct proto_ping ping = {.token = 1};
    struct proto_reader reader;
    struct frame_tx tx;
    uint16_t types[64];
    int fds[2], r;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    assert_int_equal(proto_reader_init(&reader, PROTO_WIRE_MAX), 0);
    frame_tx_init(&tx);
    out.len = sizeof memory;
    assert_int_equal(frame_tx_send(&tx, tx.connection, &out, PROTO_DATA, 0, 900000), -ENOTCONN);
    frame_tx_connect(&tx, fds[0], true);
    assert_false(frame_tx_pong(&tx, &ping, 5));
    assert_int_equal(frames_of(fds[1], &reader, types), 1);
    assert_int_equal(types[0], PROTO_PONG);

    /* Larger than the socket: it stays under way, and pongs wait for its end. */
    assert_int_equal(frame_tx_send(&tx, tx.connection, &out, PROTO_DATA, 0, 900000), 0);
    assert_int_equal(frame_tx_send(&tx, tx.connection, &out, PROTO_DATA, 0, 900000), -EAGAIN);
    for (unsigned i = 0; i < FRAME_TX_PONGS + 3; i++)
        assert_true(frame_tx_pong(&tx, &ping, 5));
    do {
        (void)frames_of(fds[1], &reader, types);
        r = frame_tx_pump(&tx);
    } while (r == 0 && reader.frames < 2);
    (void)frames_of(fds[1], &reader, types);
    assert_int_equal(frame_tx_pump(&tx), 1);
    (void)frames_of(fds[1], &reader, types);
    /* Of too many pongs the last ones. */
    assert_int_equal(reader.frames, 1 + 1 + FRAME_TX_PONGS);
    assert_int_equal(reader.skipped, 0);

    /* To somebody who is gone, though somebody else is there. */
    assert_int_equal(frame_tx_send(&tx, tx.connection - 1, &out, PROTO_DATA, 0, 900000), -ENOTCONN);
    assert_int_equal(frames_of(fds[1], &reader, types), 0);
    frame_tx_disconnect(&tx);
    assert_int_equal(frame_tx_pump(&tx), -ENOTCONN);
    close(fds[0]);
    close(fds[1]);
    proto_reader_done(&reader);
}

/* Pages on their way through a wire: number N is filled with N. */
struct passage {
    struct reader_buffer buffer;
    struct reader reader;
    struct frame_tx tx;
    struct proto_reader in;
    int out[2];          /* a pipe for a port */
    uint64_t next, made; /* pages that came, and that were made */
    unsigned unchecked, pongs;
};

static struct passage *passage(int capacity)
{
    struct passage *p = calloc(1, sizeof *p);

    p->buffer.page = (struct tracefs_page){4096, 16, 8, 8};
    p->buffer.dir = -1;
    p->reader.buffer = &p->buffer;
    p->reader.cpu = 5;
    assert_int_equal(queue_init(&p->reader.queue, 4096, (size_t)20 * 4096), 0);
    assert_int_equal(pipe2(p->reader.pipe, O_NONBLOCK), 0);
    assert_int_equal(pipe2(p->out, O_NONBLOCK), 0);
    assert_true(fcntl(p->out[1], F_SETPIPE_SZ, capacity) >= 0);
    assert_int_equal(proto_reader_init(&p->in, PROTO_WIRE_MAX), 0);
    frame_tx_init(&p->tx);
    frame_tx_connect(&p->tx, p->out[1], false);
    assert_false(p->tx.can_splice); /* it is no port */
    p->tx.can_splice = true;
    return p;
}

static void passage_end(struct passage *p)
{
    for (unsigned i = 0; i < 2; i++) {
        close(p->out[i]);
        close(p->reader.pipe[i]);
    }
    queue_done(&p->reader.queue);
    proto_reader_done(&p->in);
    frame_tx_done(&p->tx);
    free(p);
}

static void make_page(struct passage *p, uint8_t page[4096])
{
    memset(page, (int)++p->made, 4096);
}

static void into_pipe(struct passage *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        uint8_t page[4096];

        make_page(p, page);
        assert_int_equal(write(p->reader.pipe[1], page, 4096), 4096);
    }
}

static void into_queue(struct passage *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        make_page(p, queue_free_page(&p->reader.queue));
        queue_put(&p->reader.queue);
    }
}

static void page_came(struct passage *p, const uint8_t *page)
{
    static const uint8_t blank[4080];

    p->next++;
    /* One that was lost says so, and holds nothing. */
    if (load_u64(page + 8) == 0x80000000)
        assert_memory_equal(page + 16, blank, sizeof blank);
    else
        for (unsigned i = 0; i < 4096; i++)
            assert_int_equal(page[i], (uint8_t)p->next);
}

/* Takes what is there. */
static void listen_to(struct passage *p)
{
    struct proto_frame frame;
    struct proto_data data;
    size_t size;
    uint8_t *room = proto_reader_room(&p->in, &size);
    ssize_t n = read(p->out[0], room, size);

    if (n <= 0)
        return;
    proto_reader_filled(&p->in, (size_t)n);
    while (proto_reader_next(&p->in, &frame) > 0) {
        if (frame.type == PROTO_PONG) {
            p->pongs++;
            continue;
        }
        assert_int_equal(frame.type, PROTO_DATA);
        p->unchecked += frame.flags == PROTO_UNCHECKED;
        assert_int_equal(proto_get_data(&frame, &data), 0);
        assert_int_equal(data.cpu, 5);
        assert_int_equal(data.first, p->next);
        for (unsigned i = 0; i < data.n_pages; i++)
            page_came(p, data.pages + (size_t)i * 4096);
    }
    assert_int_equal(p->in.skipped, 0);
}

static void listen_to_all(struct passage *p)
{
    int r;

    do {
        listen_to(p);
        r = frame_tx_pump(&p->tx);
        assert_true(r >= 0);
    } while (r == 0);
    listen_to(p);
    assert_int_equal(p->next, p->made);
    assert_false(proto_reader_is_within(&p->in));
}

/* Readers send by themselves, from the queue and by the pipe, in order. */
static void test_wire_pages(void **state)
{
    struct passage *p = passage(1 << 20);
    uint64_t connection = p->tx.connection;

    into_queue(p, 3);
    assert_false(p->tx.sink.send(&p->tx, &p->reader)); /* not before STARTED */
    frame_tx_allow_readers(&p->tx, connection - 1, true, true);
    assert_false(p->tx.sink.send(&p->tx, &p->reader)); /* not what another host was promised */
    frame_tx_allow_readers(&p->tx, connection, true, false);
    /* The host did not say that it takes them. */
    assert_int_equal(p->tx.sink.splice_size(&p->tx, &p->reader), 0);
    assert_true(p->tx.sink.send(&p->tx, &p->reader));
    listen_to_all(p);
    assert_int_equal(p->unchecked, 0);

    frame_tx_allow_readers(&p->tx, connection, true, true);
    assert_int_equal(p->tx.sink.splice_size(&p->tx, &p->reader), SPLICE_SIZE_READ);
    into_pipe(p, 2);
    assert_true(p->tx.sink.splice(&p->tx, &p->reader, 2));
    into_pipe(p, 15);
    assert_true(p->tx.sink.splice(&p->tx, &p->reader, 15));
    into_queue(p, 17); /* more than a frame holds */
    assert_int_equal(frame_tx_send_pages(&p->tx, connection, &p->reader, 1), 1);
    assert_int_equal(queue_held(&p->reader.queue), 2);
    assert_int_equal(frame_tx_send_pages(&p->tx, connection, &p->reader, 5), 1);
    assert_int_equal(frame_tx_send_pages(&p->tx, connection, &p->reader, 5), 0);
    assert_int_equal(frame_tx_send_pages(&p->tx, connection - 1, &p->reader, 5), -ENOTCONN);
    listen_to_all(p);
    assert_int_equal(p->unchecked, 2);
    assert_int_equal(queue_held(&p->reader.queue), 0);

    frame_tx_disconnect(&p->tx);
    assert_int_equal(p->tx.sink.splice_size(&p->tx, &p->reader), 0);
    into_pipe(p, 1);
    assert_false(p->tx.sink.splice(&p->tx, &p->reader, 1));
    passage_end(p);
}

/* Splices two pages, the first of which counts as BYTES; the host reads them. */
static void splice_much(struct passage *p, uint64_t bytes)
{
    into_pipe(p, 1);
    assert_true(p->tx.sink.splice(&p->tx, &p->reader, 1));
    p->tx.spliced += bytes - 4096;
    into_pipe(p, 1);
    assert_true(p->tx.sink.splice(&p->tx, &p->reader, 1));
    listen_to_all(p);
}

/* Pieces are large as long as pings show that the host reads them. */
static void test_wire_pieces(void **state)
{
    struct passage *p = passage(1 << 20);
    struct proto_ping ping = {.token = 1};

    frame_tx_allow_readers(&p->tx, p->tx.connection, true, true);
    assert_int_equal(p->tx.sink.splice_size(&p->tx, &p->reader), SPLICE_SIZE_READ);
    splice_much(p, SPLICE_UNREAD_MAX - 4096); /* with the second page, that is the most */
    assert_int_equal(p->tx.sink.splice_size(&p->tx, &p->reader), SPLICE_SIZE_FRAMED);
    /* A first ping shows nothing; the next, that its PONG was read, and what is before that. */
    assert_false(frame_tx_pong(&p->tx, &ping, 1));
    assert_int_equal(p->tx.sink.splice_size(&p->tx, &p->reader), SPLICE_SIZE_FRAMED);
    splice_much(p, SPLICE_UNREAD_MAX / 2);
    assert_false(frame_tx_pong(&p->tx, &ping, 1));
    assert_int_equal(p->tx.sink.splice_size(&p->tx, &p->reader), SPLICE_SIZE_READ);
    splice_much(p, SPLICE_UNREAD_MAX / 2);
    assert_int_equal(p->tx.sink.splice_size(&p->tx, &p->reader), SPLICE_SIZE_FRAMED);
    /* Nothing is known of another connection's. */
    frame_tx_disconnect(&p->tx);
    assert_int_equal(p->tx.sink.splice_size(&p->tx, &p->reader), 0);
    frame_tx_connect(&p->tx, p->out[1], false);
    p->tx.can_splice = true;
    frame_tx_allow_readers(&p->tx, p->tx.connection, true, true);
    assert_int_equal(p->tx.sink.splice_size(&p->tx, &p->reader), SPLICE_SIZE_READ);
    assert_false(frame_tx_pong(&p->tx, &ping, 1));
    passage_end(p);
}

/* A port that takes a page and no more: what does not fit goes on from the queue, and keeps its place. */
static void test_wire_pages_that_do_not_fit(void **state)
{
    struct proto_ping ping = {.token = 1};
    struct passage *p = passage(4096);
    uint8_t full[4096] = {0};
    int left;

    frame_tx_allow_readers(&p->tx, p->tx.connection, true, true);
    into_pipe(p, 3);
    assert_true(p->tx.sink.splice(&p->tx, &p->reader, 3)); /* the frame has begun */
    assert_int_equal(queue_held(&p->reader.queue), 3);
    assert_int_equal(frame_tx_pump(&p->tx), 0);
    assert_true(frame_tx_pong(&p->tx, &ping, 1)); /* waits */
    /* Another one's must stay where they are. */
    into_pipe(p, 1);
    assert_false(p->tx.sink.splice(&p->tx, &p->reader, 1));
    assert_int_equal(ioctl(p->reader.pipe[0], FIONREAD, &left), 0);
    assert_int_equal(left, 4096);
    p->made--;
    listen_to_all(p);
    assert_int_equal(p->pongs, 1);
    assert_int_equal(queue_held(&p->reader.queue), 0);
    p->made++;
    assert_true(p->tx.sink.splice(&p->tx, &p->reader, 1));
    listen_to_all(p);
    assert_int_equal(p->unchecked, 2);

    /* Not even its header fits: nothing has begun. */
    assert_int_equal(write(p->out[1], full, sizeof full), sizeof full);
    into_pipe(p, 2);
    assert_false(p->tx.sink.splice(&p->tx, &p->reader, 2));
    assert_int_equal(read(p->out[0], full, sizeof full), sizeof full);
    assert_true(p->tx.sink.splice(&p->tx, &p->reader, 2));

    /* The queue ends before the frame does. */
    frame_tx_detach_readers(&p->tx);
    queue_done(&p->reader.queue);
    assert_int_equal(p->tx.sink.splice_size(&p->tx, &p->reader), 0);
    listen_to_all(p);
    passage_end(p);
}

/* What a port took and has lost is made up for by as many pages that say so; then there is no more of that. */
static void test_wire_pages_that_are_lost(void **state)
{
    struct passage *p = passage(1 << 20);

    frame_tx_allow_readers(&p->tx, p->tx.connection, true, true);
    into_pipe(p, 2);
    p->made += 2;
    assert_true(p->tx.sink.splice(&p->tx, &p->reader, 4));
    listen_to_all(p);
    assert_int_equal(p->next, 4);
    assert_int_equal(p->tx.sink.splice_size(&p->tx, &p->reader), 0);
    into_pipe(p, 1);
    assert_false(p->tx.sink.splice(&p->tx, &p->reader, 1));
    passage_end(p);
}

/* The same by the old protocol, where nothing is around pages. */
static void test_outlet_pages(void **state)
{
    struct passage *p = passage(4096);
    struct raw_port raw_port = {.name = "port", .fd = p->out[1], .can_splice = true};
    struct agent_log say_to = {NULL, NULL};
    uint8_t pages[8 * 4096];
    size_t got = 0;

    into_pipe(p, 5);
    assert_true(raw_port_splice(&raw_port, &p->reader, 5, 1)); /* the first one fits */
    assert_true(raw_port.is_full);
    assert_int_equal(queue_held(&p->reader.queue), 4);
    into_pipe(p, 1);
    assert_false(raw_port_splice(&raw_port, &p->reader, 1, 1));
    while (got < (size_t)5 * 4096) {
        ssize_t n = read(p->out[0], pages + got, sizeof pages - got);

        if (n > 0)
            got += (size_t)n;
        raw_port_polled(&raw_port, POLLOUT, &say_to, 1);
        raw_port_send(&raw_port, &p->reader, &say_to, 1);
    }
    assert_int_equal(got, 5 * 4096);
    assert_true(raw_port_splice(&raw_port, &p->reader, 1, 1));
    assert_int_equal(read(p->out[0], pages + got, 4096), 4096);
    for (unsigned i = 0; i < 6; i++)
        page_came(p, pages + (size_t)i * 4096);
    assert_int_equal(raw_port.pages_sent, 6);

    /* Lost: a page that says so is all that remains, and no more are spliced. */
    into_pipe(p, 1);
    assert_true(raw_port_splice(&raw_port, &p->reader, 2, 1));
    assert_false(raw_port.can_splice);
    assert_int_equal(queue_held(&p->reader.queue), 1);
    passage_end(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control),
        cmocka_unit_test(test_cpus),
        cmocka_unit_test(test_queue),
        cmocka_unit_test(test_queue_threads),
        cmocka_unit_test_setup_teardown(test_tracefs_page, set_up_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_tracefs_files, set_up_dir, remove_dir),
        cmocka_unit_test(test_clock),
        cmocka_unit_test_setup_teardown(test_readers, set_up_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_stop_in_stop, set_up_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_stats, set_up_dir, remove_dir),
        cmocka_unit_test(test_endpoint),
        cmocka_unit_test_setup_teardown(test_endpoint_unix, set_up_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_ports, set_up_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_key, set_up_dir, remove_dir),
        cmocka_unit_test(test_inbox),
        cmocka_unit_test(test_wire),
        cmocka_unit_test(test_wire_pages),
        cmocka_unit_test(test_wire_pieces),
        cmocka_unit_test(test_wire_pages_that_do_not_fit),
        cmocka_unit_test(test_wire_pages_that_are_lost),
        cmocka_unit_test(test_outlet_pages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
