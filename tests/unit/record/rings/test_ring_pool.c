/* SPDX-License-Identifier: MIT */
/* A ring pool whose processes, of other users, write whatever they like into it: the recorder stays within it, comes to
 * an end, writes nothing but its own trace, and says in trace.json what it could not read. */
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/clock_ns.h"
#include "base/proc.h"
#include "base/saturate.h"
#include "byte_order.h"
#include "qemu_user.h"
#include "record/rings/programs.h"
#include "runtime/ring/ring.h"

#define SUBBUFFER UINT64_C(4096)
#define SIZE (4 * SUBBUFFER)
#define DATA UINT64_C(4096)
#define ROUNDS 30u

/* The entries of all slots, and the bytes of the first ones, which are all that is written here: on a 32-bit machine the
 * whole file seldom fits into the address space. */
#define MAPPED_SLOTS 8U
#define MAPPED_SIZE ((size_t)pool_slot_offset(MAPPED_SLOTS))

static char dir[] = "/tmp/strata-test-pool-XXXXXX";
static struct programs programs;
static struct pool_file *pool;
static uint32_t dead; /* the pid of a process that has ended */
static uint64_t seed = 88172645463325252;

static uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static int make_dir(void **state)
{
    pid_t pid = fork();

    (void)state;
    if (pid == 0)
        _exit(0);
    if (pid < 0 || waitpid(pid, NULL, 0) != pid || !mkdtemp(dir))
        return -1;
    dead = (uint32_t)pid;
    return 0;
}

static void remove_tree(void)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): its own name */
}

static int remove_dir(void **state)
{
    (void)state;
    remove_tree();
    return 0;
}

static void open_pool(void)
{
    struct error error = {0};
    char path[128];
    int fd;

    remove_tree();
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(programs_open(dir, &programs, &error), 0);
    assert_non_null(programs.pool);
    snprintf(path, sizeof path, "%s/" POOL_DIR_NAME "/" POOL_FILE_NAME, programs.rings.path);
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    pool = mmap(NULL, MAPPED_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    assert_true(pool != MAP_FAILED);
    close(fd);
}

/* Reads what is in the pool, as a recorder does until its program has ended. The problems and the lost events of all
 * sources that trace.json has then go to PROBLEMS and *RET_LOST. Returns how many sources. */
static unsigned record(char *problems, size_t size, uint64_t *ret_lost)
{
    struct arena arena = {0};
    struct error error = {0};
    struct manifest_source *sources;
    struct manifest manifest = {0}, back;
    unsigned n;
    uint64_t sleep;

    programs_look(&programs);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(programs_step(&programs, &sleep), 0);
    programs_finish(&programs);
    assert_int_equal(programs_put_sources(&programs, true, &arena, &sources, &n), 0);
    manifest.sources = sources;
    manifest.n_sources = n;
    if (n > 0) {
        assert_int_equal(manifest_write(dir, &manifest, &error), 0);
        assert_int_equal(manifest_read(dir, &back, &error), 0);
        assert_int_equal(back.n_sources, n);
    }
    *problems = '\0';
    *ret_lost = 0;
    for (unsigned i = 0; i < n; i++) {
        *ret_lost = add_saturated(*ret_lost, back.sources[i].lost);
        for (unsigned j = 0; j < back.sources[i].n_problems; j++)
            snprintf(problems + strlen(problems), size - strlen(problems), "%s\n",
                     back.sources[i].problems[j]);
    }
    if (n > 0)
        manifest_done(&back);
    arena_done(&arena);
    return n;
}

static void close_pool(void)
{
    char path[sizeof programs.rings.path];
    char command[128];

    snprintf(path, sizeof path, "%s", programs.rings.path);
    programs_close(&programs);
    munmap(pool, MAPPED_SIZE);
    /* What is damaged stays for strata-recover(1). */
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): its own name */
}

/* ---- What a process leaves there ---- */

static uint8_t *slot_bytes(unsigned slot)
{
    assert_true(slot < MAPPED_SLOTS);
    return (uint8_t *)pool + pool_slot_offset(slot);
}

static void take_slot(unsigned slot, uint32_t pid, uint32_t number, uint64_t length)
{
    pool->slots[slot] = (struct pool_slot){pid, number, 1, length, 0};
    pool->changes++;
}

static struct process_file *put_process(unsigned slot, uint32_t pid)
{
    struct process_file *file = (struct process_file *)(void *)slot_bytes(slot);

    memset(file, 0, sizeof *file);
    memcpy(file->magic, PROCESS_FILE_MAGIC, sizeof file->magic);
    file->version = PROCESS_FILE_VERSION;
    file->pid = pid;
    file->start = 1;
    file->clock_kind = CLOCK_KIND_MONOTONIC;
    file->clock_pair = (struct clock_pair){1000, 1000, 1000};
    memcpy(file->name, "hostile", 8);
    take_slot(slot, pid, POOL_PROCESS, POOL_SLOT_SIZE);
    return file;
}

static struct ring_map *put_ring(unsigned slot, uint32_t pid, uint32_t number)
{
    struct ring_map *map = (struct ring_map *)(void *)slot_bytes(slot);

    memset(map, 0, sizeof *map);
    memcpy(map->magic, RING_MAGIC, sizeof map->magic);
    map->version = RING_VERSION;
    map->size = SIZE;
    map->subbuffer_size = SUBBUFFER;
    map->data_offset = map->classes_offset = DATA;
    map->number = number;
    map->pid = pid;
    take_slot(slot, pid, number, DATA + SIZE);
    return map;
}

/* ---- Tests ---- */

static void sound_slots_have_no_problems(void **state)
{
    char problems[4096];
    uint64_t lost;

    (void)state;
    open_pool();
    put_process(0, dead);
    put_ring(1, dead, 0);
    assert_int_equal(record(problems, sizeof problems, &lost), 1);
    assert_string_equal(problems, "");
    assert_int_equal(lost, 0);
    assert_int_equal(pool->slots[0].pid, 0);
    assert_int_equal(pool->slots[1].pid, 0);
    close_pool();
}

static void entries_with_any_numbers_are_reported(void **state)
{
    static const struct pool_slot wrong[] = {
        {UINT32_MAX, UINT32_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX},
        {UINT32_MAX, 0, 0, 1, 0},
        {1, 0, 1, UINT64_MAX, 0},
        {1, POOL_PROCESS, 1, POOL_SLOT_SIZE + 1, 0},
        {1, RINGS_MAX, 1, POOL_SLOT_SIZE, 0},
        {1, POOL_PROCESS, UINT64_MAX, 1, 0},
    };
    char problems[4096];
    uint64_t lost;

    (void)state;
    open_pool();
    put_process(0, dead);
    for (unsigned i = 0; i < ARRAY_SIZE(wrong); i++)
        pool->slots[10 + i] = wrong[i];
    assert_int_equal(record(problems, sizeof problems, &lost), 1);
    assert_string_equal(problems,
                        "6 of 512 slots of the ring pool are damaged and were passed over\n");
    close_pool();
}

static void counts_that_do_not_fit_are_not_small_ones(void **state)
{
    char problems[4096];
    uint64_t lost;

    (void)state;
    open_pool();
    pool->no_ring_events = UINT64_MAX;
    pool->no_ring_processes = UINT32_MAX;
    put_process(0, dead)->no_ring = UINT64_MAX;
    put_ring(1, dead, 0)->discarded = 1;
    put_ring(2, dead, 1)->discarded = UINT64_MAX;
    assert_int_equal(record(problems, sizeof problems, &lost), 1);
    assert_int_equal(lost, INT64_MAX); /* the most that trace.json holds */
    assert_non_null(strstr(problems, "18446744073709551615 events were lost as their threads"));
    close_pool();
}

static void clocks_are_checked(void **state)
{
    static const int64_t moments[] = {INT64_MIN, -1, INT64_MAX};
    char problems[4096];
    uint64_t lost;

    (void)state;
    open_pool();
    put_process(0, dead);
    for (unsigned i = 0; i < ARRAY_SIZE(moments); i++)
        put_process(1 + i, dead + 1)->clock_pair.monotonic = moments[i];
    put_process(4, dead + 1)->clock_kind = UINT32_MAX;
    assert_int_equal(record(problems, sizeof problems, &lost), 1);
    assert_string_equal(problems,
                        "4 of 512 slots of the ring pool are damaged and were passed over\n");
    close_pool();
}

/* Says that it is a process that lives and has slots of its own, of another boot: dead, it seems. */
static void slots_of_others_are_not_freed(void **state)
{
    char problems[4096];
    uint64_t lost, start;
    char run;

    (void)state;
    open_pool();
    assert_true(proc_stat(getpid(), &start, &run) >= 0);
    put_process(0, (uint32_t)getpid())->start = start;
    pool->slots[0].start = start;
    put_ring(1, (uint32_t)getpid(), 0);
    pool->slots[1].start = start;
    assert_int_equal(record(problems, sizeof problems, &lost), 1);
    assert_int_equal(pool->slots[1].pid, getpid());
    assert_memory_equal(slot_bytes(1), RING_MAGIC, 8);
    close_pool();
}

static void paths_in_it_are_not_followed(void **state)
{
    char problems[4096], other[256];
    struct process_file *file;
    struct stat st;
    uint64_t lost;
    FILE *f;

    (void)state;
    open_pool();
    snprintf(other, sizeof other, "%s/other", dir);
    assert_int_equal(mkdir(other, 0700), 0);
    snprintf(other, sizeof other, "%s/other/stream-0", dir);
    f = fopen(other, "w");
    assert_non_null(f);
    fputs("mine", f);
    fclose(f);
    file = put_process(0, dead);
    file->trace = 1;
    snprintf(file->traces[0].path, sizeof file->traces[0].path, "%s/other", dir);
    memset(file->traces[0].uuid, 1, 16);
    put_ring(1, dead, 0);
    assert_int_equal(record(problems, sizeof problems, &lost), 1);
    assert_int_equal(stat(other, &st), 0);
    assert_int_equal(st.st_size, 4);
    close_pool();
}

static void a_pool_that_is_cut_short_is_reported(void **state)
{
    char problems[4096];
    uint64_t lost;

    if (SWAP_LITTLE)
        SKIP_BY_QEMU_USER("gives a handler of SIGBUS a wrong address on big-endian machines");
    (void)state;
    open_pool();
    put_process(0, dead);
    put_ring(1, dead, 0);
    programs_look(&programs);
    assert_int_equal(ftruncate(programs.pool->fd, 0), 0);
    assert_int_equal(record(problems, sizeof problems, &lost), 1);
    assert_non_null(strstr(problems, "512 of 512 slots of the ring pool are damaged"));
    close_pool();
}

static void processes_beyond_the_limit_are_counted(void **state)
{
    char problems[4096];
    uint64_t lost;

    (void)state;
    open_pool();
    assert_int_equal(programs.max, PROGRAMS_MAX);
    programs.max = 1;
    put_process(0, dead);
    put_process(1, dead + 1);
    put_process(2, dead + 2);
    assert_int_equal(record(problems, sizeof problems, &lost), 1);
    assert_string_equal(problems,
                        "2 more processes were not recorded, because a recording has at most 1: "
                        "'strata recover' saves the events\n");
    /* What is left is still there to be saved. */
    assert_int_equal(pool->slots[0].pid, 0);
    assert_int_equal(pool->slots[1].pid, dead + 1);
    assert_int_equal(pool->slots[2].pid, dead + 2);
    close_pool();
}

/* ---- Anything at any time ---- */

static bool stop;

static uint64_t hostile_number(void)
{
    static const uint64_t numbers[] = {
        0, 1, 7, 4095, 4096, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX - 7, UINT64_MAX};
    uint64_t r = next_random();

    return r % 3 == 0 ? numbers[r / 4 % ARRAY_SIZE(numbers)]
                      : next_random() >> (r / 64 % 64) /* any length */;
}

/* Into entries of the first slots, process files and rings, and what follows those. */
static void write_anything(void)
{
    uint64_t r = next_random();
    uint64_t *words =
        (uint64_t *)(void *)((uint8_t *)pool + (r & 1 ? pool_slot_offset(r / 4 % MAPPED_SLOTS)
                                                      : offsetof(struct pool_file, slots)));
    size_t n = !(r & 1)  ? 8 * sizeof(struct pool_slot) / 8
               : (r & 2) ? sizeof(struct ring_map) / 8
                         : (sizeof(struct process_file) + 256) / 8;

    __atomic_store_n(&words[r / 1024 % n], hostile_number(), __ATOMIC_RELAXED);
}

static void *write_beside(void *p)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        write_anything();
    return p;
}

static void fill(void)
{
    for (unsigned i = 0; i < 8; i += 2) {
        struct process_file *file = put_process(i, i % 4 ? dead : dead + 1);
        struct ring_map *map = put_ring(i + 1, i % 4 ? dead : dead + 1, i);

        file->clock_kind = (uint32_t)(next_random() % 3);
        file->described = 64;
        map->committed = map->closed = SUBBUFFER;
        map->discarded = 1;
    }
}

static void anything_may_be_written_before_it_is_read(void **state)
{
    char problems[4096];
    uint64_t lost;

    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++) {
        open_pool();
        fill();
        for (unsigned j = 0; j < i; j++)
            write_anything();
        record(problems, sizeof problems, &lost);
        close_pool();
    }
}

static void anything_may_be_written_while_it_is_read(void **state)
{
    char problems[4096];
    pthread_t thread;
    uint64_t lost;

    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++) {
        open_pool();
        fill();
        stop = false;
        assert_int_equal(pthread_create(&thread, NULL, write_beside, NULL), 0);
        record(problems, sizeof problems, &lost);
        __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
        pthread_join(thread, NULL);
        close_pool();
    }
}

/* A process that lives, and whose rings get nothing. */
static struct process_file *put_quiet_process(uint32_t flags)
{
    struct process_file *file = put_process(0, (uint32_t)getpid());
    char state;

    assert_int_equal(proc_stat(getpid(), &file->start, &state), 0);
    pool->slots[0].start = file->start;
    file->flags = flags;
    put_ring(1, (uint32_t)getpid(), 0);
    pool->slots[1].start = file->start;
    return file;
}

#define STEPS 100
#define LONG UINT64_C(250000000)

/* Steps until there need not be another one for long. False: it does not come to that. */
static bool step_to_sleep(void)
{
    uint64_t sleep;

    assert_int_equal(programs_step(&programs, &sleep), 0);
    programs.look_until = 0; /* no more processes come */
    for (unsigned i = 0; i < STEPS; i++) {
        assert_int_equal(programs_step(&programs, &sleep), 0);
        if (sleep >= LONG)
            return true;
        usleep((useconds_t)(sleep / 1000));
    }
    return false;
}

/* A process came just after a look, and the recorder had no CPU until it would have stopped looking. */
static void a_recorder_that_is_late_finds_who_came(void **state)
{
    uint64_t sleep;

    (void)state;
    open_pool();
    assert_int_equal(programs_step(&programs, &sleep), 0);
    programs.look_next = clock_ns(CLOCK_MONOTONIC) + NSEC_PER_SEC;
    put_quiet_process(PROCESS_WAKES);
    __atomic_fetch_add(&pool->changes, 1, __ATOMIC_RELEASE);
    assert_int_equal(programs_step(&programs, &sleep), 0);
    usleep(1100000);
    assert_int_equal(programs_step(&programs, &sleep), 0);
    assert_int_equal(programs.n, 1);
    close_pool();
}

static void wake(void)
{
    assert_int_equal(__atomic_exchange_n(&pool->asleep, 0, __ATOMIC_SEQ_CST), 1);
    assert_true(syscall(SYS_futex, &pool->asleep, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0) >= 0);
}

static bool is_woken(int timeout_ms)
{
    struct pollfd fd = {programs_wakeup_fd(&programs), POLLIN, 0};

    assert_true(fd.fd >= 0);
    return poll(&fd, 1, timeout_ms) > 0;
}

/* While nothing comes, there are no steps; a sub-buffer that is closed ends that at once. */
static void a_quiet_recorder_sleeps_until_it_is_woken(void **state)
{
    uint64_t sleep;

    (void)state;
    open_pool();
    programs.may_sleep = true;
    put_quiet_process(PROCESS_WAKES);
    programs_look(&programs);
    for (unsigned round = 0; round < 3; round++) {
        assert_true(step_to_sleep());
        assert_int_equal(pool->asleep, 1);
        while (is_woken(0)) /* of the round before */
            assert_int_equal(programs_step(&programs, &sleep), 0);
        wake();
        assert_true(is_woken(60000));
        assert_int_equal(programs_step(&programs, &sleep), 0);
        assert_true(sleep < LONG / 100);
    }
    close_pool();
}

/* One that wakes nobody, and a pool in which another user writes what only processes that wake do. */
static void a_recorder_that_is_not_woken_looks_by_itself(void **state)
{
    uint64_t sleep;

    (void)state;
    open_pool();
    programs.may_sleep = true;
    put_quiet_process(0);
    programs_look(&programs);
    assert_false(step_to_sleep());
    close_pool();

    open_pool();
    programs.may_sleep = true;
    put_quiet_process(PROCESS_WAKES);
    programs_look(&programs);
    assert_true(step_to_sleep());
    /* Seldom, while nothing comes. Where the thread that is to be woken did not wait yet, it sees the change, and so there was
     * a wake-up. */
    for (unsigned i = 0; programs_wakeup_fd(&programs) >= 0; i++) {
        assert_true(i < STEPS);
        pool->asleep = 0;
        assert_int_equal(programs_step(&programs, &sleep), 0);
        assert_true(sleep < LONG / 100);
        assert_true(step_to_sleep());
    }
    close_pool();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_slots_have_no_problems),
        cmocka_unit_test(entries_with_any_numbers_are_reported),
        cmocka_unit_test(counts_that_do_not_fit_are_not_small_ones),
        cmocka_unit_test(clocks_are_checked),
        cmocka_unit_test(slots_of_others_are_not_freed),
        cmocka_unit_test(paths_in_it_are_not_followed),
        cmocka_unit_test(a_pool_that_is_cut_short_is_reported),
        cmocka_unit_test(processes_beyond_the_limit_are_counted),
        cmocka_unit_test(a_recorder_that_is_late_finds_who_came),
        cmocka_unit_test(a_quiet_recorder_sleeps_until_it_is_woken),
        cmocka_unit_test(a_recorder_that_is_not_woken_looks_by_itself),
        cmocka_unit_test(anything_may_be_written_before_it_is_read),
        cmocka_unit_test(anything_may_be_written_while_it_is_read),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
