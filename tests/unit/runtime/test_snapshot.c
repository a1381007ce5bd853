/* SPDX-License-Identifier: MIT */

/* Snapshots: taken while threads emit as fast as they can, each is a valid native trace that holds, of
 * each thread, a run of its newest events without a gap, up to at least what it had emitted when the
 * snapshot was asked for. The streams are read here byte by byte, as src/runtime/ring/ring.h documents them;
 * that babeltrace2 reads them too is seen by tests/golden/trace_snapshot.sh. */

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_all.h"

#include "../../lib/ring_emit.h"
#include "byte_order.h"
#include "qemu_user.h"
#include "runtime/control/snapshot.h"
#include "runtime/ring/ring.h"
#include "runtime/ring/ring_copy.h"
#include "strata/trace.h"

#define THREADS 4

/* ---- A program that is traced ---- */

static uint8_t state;
static const struct strata_field fields[] = {
    {"thread", "uint64_t", STRATA_FIELD_UNSIGNED, 8},
    {"count", "uint64_t", STRATA_FIELD_UNSIGNED, 8},
};
static struct strata_event event = {
    .name = "snap",
    .format = "thread %u count %u",
    .fields = fields,
    .state = &state,
    .file = "test",
    .line = 1,
    .n_fields = 2,
    .compiled_in = true,
};
static struct strata_group group = {STRATA_TRACE_ABI, 1, "test", &event, NULL};

#define RECORD_SIZE 24

static bool emit(uint64_t thread, uint64_t count)
{
    struct strata_slot slot;
    uint8_t *at = ring_open(&slot, event.id, RECORD_SIZE);

    if (!at)
        return false;
    at = strata_ring_put(at, &thread, 8);
    (void)strata_ring_put(at, &count, 8);
    strata_ring_end(&slot);
    return true;
}

/* Everything below is done in a child process, as a process's rings are for ever; the child's status is
 * the test's. */
static struct {
    atomic_bool stop;
    atomic_ullong emitted[THREADS]; /* 1 + the last count that is committed */
    pthread_t threads[THREADS];
} program;

static void *emit_on(void *p)
{
    uint64_t thread = (uint64_t)(uintptr_t)p;

    for (uint64_t count = 0; !atomic_load_explicit(&program.stop, memory_order_relaxed);)
        if (emit(thread, count)) {
            count++;
            atomic_store_explicit(&program.emitted[thread], count, memory_order_release);
        }
    return NULL;
}

static void start_program(void)
{
    for (uintptr_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&program.threads[i], NULL, emit_on, (void *)i), 0);
        while (!atomic_load(&program.emitted[i]))
            usleep(100);
    }
}

static void stop_program(void)
{
    atomic_store(&program.stop, true);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(program.threads[i], NULL);
}

/* ---- Reading a snapshot ---- */

struct seen {
    bool any;
    uint64_t first, last, n;
};

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                        \
        }                                                                   \
    } while (0)

static uint8_t *read_file(const char *path, size_t *ret_size)
{
    FILE *f = fopen(path, "re");
    struct stat st;
    uint8_t *data;

    CHECK(f && fstat(fileno(f), &st) == 0);
    data = malloc((size_t)st.st_size + 1);
    CHECK(data && fread(data, 1, (size_t)st.st_size, f) == (size_t)st.st_size);
    fclose(f);
    data[st.st_size] = 0;
    *ret_size = (size_t)st.st_size;
    return data;
}

static void read_stream(const char *path, struct seen seen[THREADS])
{
    struct ring_packet_header header;
    uint64_t time = 0, sequence = 0;
    size_t size;
    uint8_t *data = read_file(path, &size);

    CHECK(size > 0);
    for (size_t at = 0; at < size; at += header.packet_size / 8) {
        size_t end;

        CHECK(size - at >= sizeof(header));
        memcpy(&header, data + at, sizeof(header));
        CHECK(header.magic == CTF_MAGIC && header.stream_id == 0);
        CHECK(header.packet_size % 64 == 0 && header.content_size <= header.packet_size);
        CHECK(header.packet_size / 8 <= size - at);
        CHECK(header.timestamp_begin <= header.timestamp_end && header.timestamp_begin >= time);
        CHECK(at == 0 || header.packet_seq_num == sequence + 1);
        CHECK(header.pid == (uint32_t)getpid());
        sequence = header.packet_seq_num;
        time = header.timestamp_begin;
        end = at + header.content_size / 8;
        CHECK((end - at - sizeof(header)) % RECORD_SIZE == 0);
        for (size_t p = at + sizeof(header); p < end; p += RECORD_SIZE) {
            uint64_t word, thread, count;
            struct seen *its;

            memcpy(&word, data + p, 8);
            memcpy(&thread, data + p + 8, 8);
            memcpy(&count, data + p + 16, 8);
            CHECK(strata_ring_word_id(word) == event.id);
            CHECK(thread < THREADS);
            time += ((SWAP_LITTLE ? word : word >> 16) - time) & 0xffffffffffffULL;
            CHECK(time <= header.timestamp_end);
            its = &seen[thread];
            CHECK(!its->any || count == its->last + 1);
            if (!its->any)
                its->first = count;
            its->any = true;
            its->last = count;
            its->n++;
        }
        time = header.timestamp_end;
    }
    free(data);
}

static void remove_all(const char *directory)
{
    char path[4096];
    struct dirent *entry;
    DIR *dir = opendir(directory);

    CHECK(dir);
    while ((entry = readdir(dir)))
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
            CHECK(unlink(path) == 0);
        }
    closedir(dir);
    CHECK(rmdir(directory) == 0);
}

static void read_snapshot(const char *directory, struct seen seen[THREADS])
{
    char path[4096];
    struct dirent *entry;
    bool described = false;
    DIR *dir = opendir(directory);

    CHECK(dir);
    memset(seen, 0, THREADS * sizeof(*seen));
    while ((entry = readdir(dir))) {
        snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
        if (strncmp(entry->d_name, "stream-", 7) == 0) {
            read_stream(path, seen);
        } else if (strcmp(entry->d_name, "metadata") == 0) {
            size_t size;
            char *text = (char *)read_file(path, &size);

            CHECK(strstr(text, "name = \"snap\""));
            described = true;
            free(text);
        } else {
            CHECK(strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0);
        }
    }
    closedir(dir);
    CHECK(described);
    remove_all(directory);
}

static unsigned count_files(const char *directory)
{
    DIR *dir = opendir(directory);
    unsigned n = 0;

    CHECK(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 2;
}

/* ---- The tests ---- */

static char work[] = "/tmp/strata-test-snapshot-XXXXXX";

static void in_child(void (*function)(void))
{
    pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (pid == 0) {
        function();
        exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(count_files(work), 0);
}

#define ROUNDS 100

static void overwrite_at_full_speed(void)
{
    char directory[4096];

    CHECK(strata_trace_opt_parse("mode=overwrite,ring=256k,subbuffer=8k") == 0);
    start_program();
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t before[THREADS];
        struct seen seen[THREADS];

        for (unsigned k = 0; k < THREADS; k++)
            before[k] = atomic_load_explicit(&program.emitted[k], memory_order_acquire);
        snprintf(directory, sizeof(directory), "%s/s-%u", work, i);
        CHECK(strata_trace_snapshot(directory) == 0);
        read_snapshot(directory, seen);
        for (unsigned k = 0; k < THREADS; k++) {
            CHECK(seen[k].any);
            CHECK(seen[k].last + 1 >= before[k]);
            CHECK(seen[k].n <= (256 << 10) / RECORD_SIZE);
        }
    }
    stop_program();
}

static void test_overwrite_at_full_speed(void **unused)
{
    in_child(overwrite_at_full_speed);
}

/* Nobody emits: all that the ring can hold is there. */
static void overwrite_at_rest(void)
{
    struct seen seen[THREADS];
    char directory[4096];

    CHECK(strata_trace_opt_parse("mode=overwrite,ring=64k,subbuffer=8k") == 0);
    snprintf(directory, sizeof(directory), "%s/rest", work);
    CHECK(strata_trace_snapshot(directory) == 0); /* there is no ring yet */
    read_snapshot(directory, seen);
    CHECK(!seen[0].any);
    for (uint64_t i = 0; i < 10; i++)
        CHECK(emit(0, i));
    CHECK(strata_trace_snapshot(directory) == 0);
    read_snapshot(directory, seen);
    CHECK(seen[0].n == 10 && seen[0].first == 0);
    for (uint64_t i = 10; i < 100000; i++) {
        CHECK(emit(0, i));
        if (i % 9973 == 0 || i < 400) { /* wherever it stands in its packet */
            CHECK(strata_trace_snapshot(directory) == 0);
            read_snapshot(directory, seen);
            CHECK(seen[0].last == i);
            /* But for the packets that are open and given up, the ring is full. */
            CHECK(seen[0].n == i + 1 || seen[0].n >= 6 * ((8 << 10) - 96) / RECORD_SIZE - 6);
        }
    }
}

static void test_overwrite_at_rest(void **unused)
{
    in_child(overwrite_at_rest);
}

/* Nobody writes it out: it fills up, and what is newest is dropped. */
static void discard_unwritten(void)
{
    struct seen seen[THREADS], again[THREADS];
    uint64_t count = 0;
    char directory[4096];

    CHECK(strata_trace_opt_parse("ring=64k,subbuffer=8k") == 0);
    snprintf(directory, sizeof(directory), "%s/discard", work);
    for (; count < 1000; count++)
        CHECK(emit(1, count));
    CHECK(strata_trace_snapshot(directory) == 0);
    read_snapshot(directory, seen);
    CHECK(seen[1].first == 0 && seen[1].last == 999);
    while (emit(1, count))
        count++;
    CHECK(strata_trace_snapshot(directory) == 0);
    read_snapshot(directory, seen);
    CHECK(seen[1].first == 0 && seen[1].last == count - 1);
    /* Nothing was consumed. */
    CHECK(strata_trace_snapshot(directory) == 0);
    read_snapshot(directory, again);
    CHECK(again[1].n == seen[1].n && again[1].n == count);
}

static void test_discard_unwritten(void **unused)
{
    in_child(discard_unwritten);
}

/* While the writer consumes: what a snapshot has not is in the trace. */
static void discard_written(void)
{
    char directory[4096], options[4096];
    uint64_t lowest[THREADS];
    struct seen seen[THREADS];

    memset(lowest, 0, sizeof(lowest));
    snprintf(options, sizeof(options), "snap,ring=256k,subbuffer=8k,ctf=%s/trace-%%p", work);
    strata_backend_register(STRATA_BACKEND_RING);
    CHECK(strata_trace_opt_parse(options) == 0);
    start_program();
    for (unsigned i = 0; i < ROUNDS / 2; i++) {
        uint64_t before[THREADS];

        for (unsigned k = 0; k < THREADS; k++)
            before[k] = atomic_load_explicit(&program.emitted[k], memory_order_acquire);
        snprintf(directory, sizeof(directory), "%s/w-%u", work, i);
        CHECK(strata_trace_snapshot(directory) == 0);
        read_snapshot(directory, seen);
        for (unsigned k = 0; k < THREADS; k++) {
            CHECK(!seen[k].any || seen[k].last + 1 >= before[k]);
            CHECK(!seen[k].any || seen[k].last >= lowest[k]);
            if (seen[k].any)
                lowest[k] = seen[k].last;
        }
    }
    stop_program();
    CHECK(strata_trace_flush() == 0);
    snprintf(directory, sizeof(directory), "%s/trace-%d", work, (int)getpid());
    read_snapshot(directory, seen);
    for (unsigned k = 0; k < THREADS; k++) /* nothing was consumed by a snapshot */
        CHECK(seen[k].first == 0 && seen[k].last + 1 == program.emitted[k]);
}

static void test_discard_written(void **unused)
{
    in_child(discard_written);
}

static void wait_for(const char *directory)
{
    struct stat st;

    for (unsigned i = 0; stat(directory, &st) < 0; i++) {
        CHECK(i < 6000);
        usleep(10000);
    }
}

static void by_signal(void)
{
    char options[4096], directory[4096];
    struct seen seen[THREADS];

    snprintf(options, sizeof(options),
             "mode=overwrite,ring=64k,subbuffer=8k,snapshot=%s/sig-%%p-%%n,snapshot-signal=USR2",
             work);
    CHECK(strata_trace_opt_parse(options) == 0);
    start_program();
    for (unsigned i = 1; i <= 10; i++) {
        uint64_t before = atomic_load_explicit(&program.emitted[2], memory_order_acquire);

        if (i % 2)
            CHECK(kill(getpid(), SIGUSR2) == 0);
        else /* in the middle of an event, now and then */
            CHECK(pthread_kill(program.threads[2], SIGUSR2) == 0);
        snprintf(directory, sizeof(directory), "%s/sig-%d-%u", work, (int)getpid(), i);
        wait_for(directory);
        read_snapshot(directory, seen);
        CHECK(seen[2].any && seen[2].last + 1 >= before);
    }
    stop_program();
    /* One that is asked for right before the end is taken. */
    CHECK(kill(getpid(), SIGUSR2) == 0);
    if (fork() == 0) {
        /* The child has its own number and its own rings: none. */
        CHECK(emit(3, 7));
        CHECK(raise(SIGUSR2) == 0);
        /* The parent may have taken its number by now, or not. */
        struct stat st = {0};
        for (unsigned i = 0; !st.st_mode; i++) {
            CHECK(i < 20000);
            usleep(5000);
            snprintf(directory, sizeof(directory), "%s/sig-%d-%u", work, (int)getpid(), 11 + i % 3);
            (void)stat(directory, &st);
        }
        read_snapshot(directory, seen);
        CHECK(seen[3].n == 1 && seen[3].last == 7 && !seen[2].any);
        _exit(0);
    }
    int status;
    CHECK(wait(&status) > 0 && status == 0);
}

static void test_by_signal(void **unused)
{
    struct dirent *entry;
    char path[4096];
    unsigned n = 0;
    int status;
    pid_t pid;
    DIR *dir;

    SKIP_BY_QEMU_USER("may end by an assertion of its own where a program with threads forks");
    pid = fork();
    if (pid == 0) {
        by_signal();
        exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    dir = opendir(work);
    assert_non_null(dir);
    while ((entry = readdir(dir)))
        if (entry->d_name[0] != '.') {
            assert_int_equal(strncmp(entry->d_name, "sig-", 4), 0);
            snprintf(path, sizeof(path), "%s/%s", work, entry->d_name);
            remove_all(path);
            n++;
        }
    closedir(dir);
    assert_int_equal(n, 1);
}

static void refused(void)
{
    char directory[8192];
    unsigned n;

    CHECK(emit(0, 0));
    n = count_files(work);
    CHECK(strata_trace_snapshot(NULL) == -EINVAL);
    CHECK(strata_trace_snapshot("") == -EINVAL);
    CHECK(strata_trace_snapshot(work) == -EEXIST);
    snprintf(directory, sizeof(directory), "%s/no/such", work);
    CHECK(strata_trace_snapshot(directory) == -ENOENT);
    memset(directory, 'a', sizeof(directory) - 1);
    directory[0] = '/';
    directory[sizeof(directory) - 1] = 0;
    CHECK(strata_trace_snapshot(directory) == -ENAMETOOLONG);
    CHECK(strata_trace_snapshot("/dev/null/x") == -ENOTDIR);
    CHECK(count_files(work) == n);

    CHECK(strata_trace_opt_parse("snapshot-signal=KILL") == -EINVAL);
    CHECK(strata_trace_opt_parse("snapshot-signal=9") == -EINVAL);
    CHECK(strata_trace_opt_parse("snapshot-signal=11") == -EINVAL);
    CHECK(strata_trace_opt_parse("snapshot-signal=SIGBLA") == -EINVAL);
    CHECK(strata_trace_opt_parse("snapshot-signal=0") == -EINVAL);
    CHECK(strata_trace_opt_parse("snapshot-signal=USR2x") == -EINVAL);
    CHECK(strata_trace_opt_parse("snap,snapshot") == -EINVAL);
    CHECK(strata_trace_opt_parse("control=perhaps") == -EINVAL);
    /* A handler of the program's stays. */
    signal(SIGUSR1, (void (*)(int))exit);
    CHECK(strata_trace_opt_parse("snapshot-signal=USR1") == -EBUSY);
    CHECK(strata_trace_opt_parse("snapshot-signal=RTMIN+3") == 0);
    CHECK(strata_trace_opt_parse("snapshot-signal=off") == 0);
    CHECK(signal(SIGRTMIN + 3, SIG_IGN) == SIG_DFL);
}

static void quiet(const char *message, void *userdata)
{
}

static void test_refused(void **unused)
{
    in_child(refused);
}

/* ---- The copy of a ring that is damaged: never a byte from outside ---- */

static void test_copy_of_damaged(void **unused)
{
    size_t length = 4096 + (64 << 10);
    struct ring_map *map = calloc(1, length);
    struct ring_copy copy = {0};

    assert_int_equal(ring_copy_take(&copy, map, length), -EINVAL);
    memcpy(map->magic, RING_MAGIC, 8);
    map->version = RING_VERSION;
    map->size = 64 << 10;
    map->subbuffer_size = 8 << 10;
    map->data_offset = map->classes_offset = 4096;
    assert_int_equal(ring_copy_take(&copy, map, length), 0);
    for (unsigned i = 0; i < 2; i++) {
        map->flags = i ? RING_OVERWRITE : 0;
        map->committed = UINT64_MAX - 5;
        assert_int_equal(ring_copy_take(&copy, map, length), 1);
        ring_copy_done(&copy);
        map->committed = 1000000;
        assert_int_equal(ring_copy_take(&copy, map, length), 1);
        ring_copy_done(&copy);
        map->consumed = map->oldest = UINT64_MAX;
        assert_int_equal(ring_copy_take(&copy, map, length), 0);
        map->consumed = map->oldest = 0;
    }
    free(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overwrite_at_full_speed),
        cmocka_unit_test(test_overwrite_at_rest),
        cmocka_unit_test(test_discard_unwritten),
        cmocka_unit_test(test_discard_written),
        cmocka_unit_test(test_by_signal),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_copy_of_damaged),
    };
    int r;

    if (!mkdtemp(work))
        return 1;
    setenv("XDG_RUNTIME_DIR", work, 1);
    setenv("STRATA_CONTROL", "off", 1);
    strata_trace_set_message(quiet, NULL);
    strata_group_register(&group);
    r = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(work);
    return r;
}
