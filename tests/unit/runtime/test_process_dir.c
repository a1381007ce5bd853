/* SPDX-License-Identifier: MIT */
/* The directory of a process's rings, as a recorder sees it at any moment. */
#include "cmocka_all.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/ring/class_dump.h"
#include "runtime/ring/process_dir.h"
#include "runtime/ring/process_file.h"
#include "runtime/ring/reserve_memory.h"

#define LENGTH ((uint64_t)1 << 20)
#define FIRST ((uint64_t)64 << 10)

static char parent[] = "/dev/shm/strata-test-process-XXXXXX";
static off_t sizes[16]; /* of the ring's file, after each call that may change it */
static unsigned n_sizes;
static bool is_many; /* threads: sizes are not noted */

static bool has_no_fallocate;
static off_t
    longer_meanwhile; /* what another thread makes a file right before it is truncated, once; 0: it does not */

static void note_size(int fd)
{
    struct stat st;

    if (is_many)
        return;
    assert_int_equal(fstat(fd, &st), 0);
    assert_true(n_sizes < sizeof(sizes) / sizeof(*sizes));
    sizes[n_sizes++] = st.st_size;
}

/* In front of the C library's, whose names are those of 64 bits here. */
int ftruncate(int fd, off_t length)
{
    int r = longer_meanwhile ? (int)syscall(SYS_ftruncate, fd, longer_meanwhile) : 0;

    longer_meanwhile = 0;
    r = r < 0 ? r : (int)syscall(SYS_ftruncate, fd, length);
    note_size(fd);
    return r;
}

int fallocate(int fd, int mode, off_t offset, off_t len)
{
    int r;

    if (has_no_fallocate) {
        errno = EOPNOTSUPP;
        return -1;
    }
    r = (int)syscall(SYS_fallocate, fd, mode, offset, len);
    note_size(fd);
    return r;
}

static bool is_taken_away; /* the directory is, once, before it has its name */

int renameat2(int oldfd, const char *old, int newfd, const char *new, unsigned flags)
{
    if (is_taken_away) {
        is_taken_away = false;
        errno = ENOENT;
        return -1;
    }
    return (int)syscall(SYS_renameat2, oldfd, old, newfd, new, flags);
}

static int make_parent(void **state)
{
    (void)state;
    return mkdtemp(parent) ? process_dir_setup(parent, true) : -1;
}

static int remove_parent(void **state)
{
    (void)state;
    process_dir_end(1, true);
    return rmdir(parent);
}

static void a_ring_has_its_whole_length_at_once(void **state)
{
    bool has_file, has_all;
    void *ring;

    (void)state;
    n_sizes = 0;
    ring = dir_map_ring(LENGTH, FIRST, 0, true, false, &has_file, &has_all);
    assert_non_null(ring);
    assert_true(has_file);
    assert_true(n_sizes > 0);
    /* Before it is 0, and its reader waits. */
    for (unsigned i = 0; i < n_sizes; i++)
        assert_int_equal(sizes[i], LENGTH);
    munmap(ring, LENGTH);
}

/* By a thread that knows fewer descriptions than another one has made room for. */
static void a_file_is_not_made_shorter(void **state)
{
    int fd = memfd_create("descriptions", MFD_CLOEXEC);
    struct stat st;

    (void)state;
    n_sizes = 0;
    assert_int_equal(reserve_file_space(fd, 2 * LENGTH, 2 * LENGTH), 0);
    assert_int_equal(reserve_file_space(fd, LENGTH, LENGTH), 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, 2 * LENGTH);
    close(fd);
}

/* The same on a file system without fallocate(), while the other thread does so. */
static void a_file_is_not_made_shorter_meanwhile(void **state)
{
    int fd = memfd_create("descriptions", MFD_CLOEXEC);
    struct stat st;

    (void)state;
    n_sizes = 0;
    has_no_fallocate = true;
    longer_meanwhile = 4 * LENGTH;
    assert_int_equal(reserve_file_space(fd, LENGTH + 1, LENGTH + 1), 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, longer_meanwhile ? LENGTH + 1 : 4 * LENGTH);
    assert_int_equal(reserve_file_space(fd, LENGTH, LENGTH), 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_true(st.st_size > (off_t)LENGTH);
    has_no_fallocate = false;
    longer_meanwhile = 0;
    close(fd);
}

/* The program may be killed when it has created the trace and before it has stored its UUID beside the path. */
static void the_planned_uuid_is_in_the_process_file(void **state)
{
    static const uint8_t uuid[16] = "a planned trace";
    static struct process_file file;
    bool has_file, has_all;
    char path[256];
    void *ring;
    int fd;

    (void)state;
    process_dir_plan_trace("/planned", uuid);
    ring = dir_map_ring(LENGTH, FIRST, 0, true, false, &has_file, &has_all);
    assert_non_null(ring);
    snprintf(path, sizeof path, "%s/" PROCESS_FILE_NAME, dir_path());
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, &file, sizeof file), sizeof file);
    close(fd);
    assert_int_equal(file.trace, 1);
    assert_string_equal(file.traces[0].path, "/planned");
    assert_memory_equal(file.planned_uuid, uuid, sizeof uuid);
    munmap(ring, LENGTH);
    process_dir_unmake_ring(0);
}

#define THREADS 6
#define ROUNDS 100

static pthread_barrier_t all_run;

static void *map_ring(void *number)
{
    bool has_file, has_all;

    pthread_barrier_wait(&all_run);
    if (!dir_map_ring(LENGTH, FIRST, *(uint32_t *)number, true, false, &has_file, &has_all) ||
        !has_file)
        _exit(2);
    return NULL;
}

/* In a child: the exit status says whether a recorder saw one directory. */
static void begin_at_once(void)
{
    int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    char events[4096] __attribute__((aligned(8)));
    pthread_t threads[THREADS];
    uint32_t numbers[THREADS];
    unsigned shown = 0;
    ssize_t n;

    process_dir_forget();
    is_many = true;
    if (watch < 0 || inotify_add_watch(watch, parent, IN_MOVED_TO) < 0)
        _exit(3);
    pthread_barrier_init(&all_run, NULL, THREADS);
    for (uint32_t i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, map_ring, &numbers[i]);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    n = read(watch, events, sizeof events);
    for (ssize_t at = 0; at < n; shown++)
        at += (ssize_t)(sizeof(struct inotify_event) +
                        ((const struct inotify_event *)(events + at))->len);
    process_dir_end(THREADS, true);
    _exit(shown == 1 ? 0 : 1);
}

/* A recorder that sees a second one records it, too, as a process without events. */
static void threads_that_begin_at_once_have_one_directory(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++) {
        pid_t pid = fork();
        int status;

        assert_true(pid >= 0);
        if (pid == 0)
            begin_at_once();
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
}

/* In a child: the exit status says whether the ring is in the directory that a recorder sees. */
static void begin_twice(void)
{
    bool has_file, has_all;
    char path[256];

    process_dir_forget();
    is_many = is_taken_away = true;
    if (!dir_map_ring(LENGTH, FIRST, 0, true, false, &has_file, &has_all) || !has_file)
        _exit(2);
    snprintf(path, sizeof path, "%s/" RING_FILE_PREFIX "0", dir_path());
    if (access(path, F_OK) < 0 || is_taken_away)
        _exit(1);
    process_dir_end(1, true);
    _exit(0);
}

/* By a recorder that does not see the pid namespace of the process. */
static void a_directory_that_is_taken_away_is_made_again(void **state)
{
    pid_t pid = fork();
    int status;

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0)
        begin_twice();
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static sem_t stands, goes_on;
static __thread unsigned
    calls_before; /* of this thread, before it stands still in one; 0: it never does */

/* Linked in front of the runtime's. */
const uint8_t *__real_class_dump_all(size_t *ret_size);
const uint8_t *__wrap_class_dump_all(size_t *ret_size)
{
    if (calls_before > 0 && --calls_before == 0) {
        sem_post(&stands);
        sem_wait(&goes_on);
    }
    return __real_class_dump_all(ret_size);
}

/* The directory is made, and the thread does not get to write the descriptions. */
static void *stand_still(void *number)
{
    bool has_file, has_all;

    calls_before = 2;
    if (!dir_map_ring(LENGTH, FIRST, *(uint32_t *)number, true, false, &has_file, &has_all))
        _exit(2);
    return NULL;
}

/* In a child: the exit status says whether what is emitted can be decoded. */
static void begin_beside_one_that_stands(void)
{
    static struct trace_class class = {.name = "event", .id = 32, .compiled_in = true};
    struct process_file file;
    bool has_file, has_all;
    uint32_t number = 0;
    char path[256];
    pthread_t thread;
    size_t described;
    int fd;

    process_dir_forget();
    is_many = true;
    sem_init(&stands, 0, 0);
    sem_init(&goes_on, 0, 0);
    if (!class_dump_class(&class) || pthread_create(&thread, NULL, stand_still, &number) != 0)
        _exit(3);
    sem_wait(&stands);
    if (!dir_path() || !dir_map_ring(LENGTH, FIRST, 1, true, false, &has_file, &has_all))
        _exit(4);
    (void)class_dump_all(&described);
    snprintf(path, sizeof path, "%s/" PROCESS_FILE_NAME, dir_path());
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, &file, sizeof file) != sizeof file)
        _exit(5);
    sem_post(&goes_on);
    pthread_join(thread, NULL);
    process_dir_end(2, true);
    _exit(described > 0 && file.described == described ? 0 : 1);
}

/* The process may be killed before the thread that made the directory goes on. */
static void events_are_described_before_another_thread_has_a_ring(void **state)
{
    pid_t pid;
    int status;

    (void)state;
#ifdef BUILT_WITH_LTO /* which binds the runtime's own calls before --wrap is looked at */
    skip();
#endif
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        begin_beside_one_that_stands();
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_planned_uuid_is_in_the_process_file),
        cmocka_unit_test(a_ring_has_its_whole_length_at_once),
        cmocka_unit_test(a_file_is_not_made_shorter),
        cmocka_unit_test(a_file_is_not_made_shorter_meanwhile),
        cmocka_unit_test(threads_that_begin_at_once_have_one_directory),
        cmocka_unit_test(a_directory_that_is_taken_away_is_made_again),
        cmocka_unit_test(events_are_described_before_another_thread_has_a_ring),
    };

    return cmocka_run_group_tests(tests, make_parent, remove_parent);
}
