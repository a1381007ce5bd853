/* SPDX-License-Identifier: MIT */
/* The program that bench/percpu runs. Prints one line of JSON.
 *
 *     percpu cost WHAT THREADS BATCHES      ns of CPU a record, beside the bare loop: reading the counter
 *                                           and storing the same words
 *     percpu off BATCHES                    ns of CPU of what is off, or masked out, beside an empty loop
 *     percpu write NAME THREADS RATE COUNT  makes the shared-memory object NAME, waits for tracing to be on,
 *                                           and writes COUNT records on each CPU, RATE a second (0: as fast
 *                                           as it goes)
 *
 * Costs are taken in batches, one of what is measured and one of the bare loop in turn, so that both
 * meet the same spells of the machine; the medians count. */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "strata/percpu_area.h"

/* As near as a kernel has what is its CPU's. */
static _Thread_local struct strata_percpu_cpu percpu_self;
#define STRATA_PERCPU_SELF() (&percpu_self)
#include "strata/percpu.h"

#define EVENT (STRATA_TRC_GUEST | 1)
#define THREADS_MAX 16
#define BATCHES_MAX 1000
#define BATCH 50000
#define PAGES 1024 /* 4 MiB: with 40 bytes each, a batch fits */

static uint64_t ns_of(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* ---- What is measured: functions that do it N times ---- */

/* The floor: a buffer of the thread's own, and the words of the record. */
#define BARE_RING (4U << 20)

static _Thread_local struct {
    uint64_t head;
    uint8_t *data;
} bare;

static inline __attribute__((always_inline)) void bare_record(unsigned n, bool cycles,
                                                              uint32_t word)
{
    uint32_t *at = (uint32_t *)(void *)(bare.data + (bare.head & (BARE_RING - 1)));

    *at++ = n << 28 | EVENT;
    if (cycles) {
        *(strata_percpu_word2 *)at = strata_percpu_cycles();
        at += 2;
    }
    for (unsigned i = 0; i < n; i++)
        at[i] = word + i;
    bare.head +=
        4 + (cycles ? 8U : 0) + 4 * n; /* the last one goes over the end, where there is room */
}

/* Not inlined into each other, as trace points are not. */
#define MEASURED(name, bare_words, bare_cycles, ...)                  \
    __attribute__((noinline)) static void bare_one_##name(uint32_t i) \
    {                                                                 \
        (void)i;                                                      \
        bare_record(bare_words, bare_cycles, i);                      \
    }                                                                 \
    static void bare_##name(uint64_t n)                               \
    {                                                                 \
        for (uint64_t i = 0; i < n; i++)                              \
            bare_one_##name((uint32_t)i);                             \
    }                                                                 \
    __attribute__((noinline)) static void one_##name(uint32_t i)      \
    {                                                                 \
        (void)i;                                                      \
        __VA_ARGS__;                                                  \
    }                                                                 \
    static void do_##name(uint64_t n)                                 \
    {                                                                 \
        for (uint64_t i = 0; i < n; i++)                              \
            one_##name((uint32_t)i);                                  \
    }

MEASURED(0d, 0, true, TRACE_0D(EVENT))
MEASURED(2d, 2, true, TRACE_2D(EVENT, i, i + 1))
MEASURED(7d, 7, true, TRACE_7D(EVENT, i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6))
MEASURED(untimed, 2, false, STRATA_PERCPU_TRACE(EVENT, i, i + 1))
MEASURED(var, 2, true, {
    uint32_t words[2] = {i, i + 1};

    STRATA_PERCPU_TRACE_VAR(EVENT, true, sizeof(words), words);
})

static const struct {
    const char *name;
    void (*bare)(uint64_t n);
    void (*traced)(uint64_t n);
} measured[] = {
    {"0d", bare_0d, do_0d},    {"2d", bare_2d, do_2d},
    {"7d", bare_7d, do_7d},    {"untimed", bare_untimed, do_untimed},
    {"var", bare_var, do_var},
};

static void do_loop(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        __asm__ __volatile__("" : "+r"(i)::"memory");
}

static void do_2d_inline(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        __asm__ __volatile__("" : "+r"(i)::"memory");
        TRACE_2D(EVENT, i, n);
    }
}

/* ---- The area ---- */

static struct strata_percpu_area area;

/* A buffer is as full as its reader asked to be woken at. */
static void notify(struct strata_percpu_cpu *cpu)
{
    syscall(SYS_futex, &cpu->control->notify, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static const struct strata_percpu_hooks hooks = {.notify = notify};

static void make_area(const char *name, unsigned n_cpus)
{
    struct strata_percpu_options options = {.n_cpus = n_cpus, .pages = PAGES, .name = "bench"};
    size_t size = strata_percpu_size(&options);
    int fd = name ? shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600) : -1;
    void *memory;

    if (name && (fd < 0 || ftruncate(fd, (off_t)size) < 0))
        abort();
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                  (name ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS) | MAP_POPULATE, fd, 0);
    if (memory == MAP_FAILED ||
        strata_percpu_init(memory, size, &options, &strata_percpu_control) < 0 ||
        strata_percpu_area_init(&area, memory, size) < 0)
        abort();
}

static void pin(unsigned number)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(number % (unsigned)sysconf(_SC_NPROCESSORS_ONLN), &set);
    (void)sched_setaffinity(0, sizeof(set), &set);
}

/* ---- Costs ---- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, unsigned n)
{
    qsort(values, n, sizeof(*values), compare);
    return values[n / 2];
}

static double cost_of(void (*function)(uint64_t))
{
    uint64_t before = ns_of(CLOCK_THREAD_CPUTIME_ID);

    function(BATCH);
    return (double)(ns_of(CLOCK_THREAD_CPUTIME_ID) - before) / BATCH;
}

struct costs {
    pthread_t thread;
    unsigned number, what, batches;
    double ns, bare;
    uint64_t lost;
};

static pthread_barrier_t barrier;

static void *measure(void *p)
{
    struct costs *costs = p;
    struct strata_percpu_view view;
    static _Thread_local double traced[BATCHES_MAX], floor[BATCHES_MAX];
    uint64_t first;

    pin(costs->number);
    if (strata_percpu_cpu_init(&percpu_self, strata_percpu_control, costs->number, &hooks) < 0 ||
        strata_percpu_area_view(&area, costs->number, &view) < 0 ||
        posix_memalign((void **)&bare.data, 4096, BARE_RING + 4096) != 0)
        abort();
    memset(bare.data, 1, BARE_RING + 4096);
    pthread_barrier_wait(&barrier);
    for (unsigned i = 0; i < costs->batches; i++) {
        floor[i] = cost_of(measured[costs->what].bare);
        traced[i] = cost_of(measured[costs->what].traced);
        if (strata_percpu_view_skip(&view) < 0)
            abort();
    }
    costs->ns = median(traced, costs->batches);
    costs->bare = median(floor, costs->batches);
    costs->lost =
        strata_percpu_area_lost(&area, costs->number, &first) + area.states[costs->number].reported;
    return NULL;
}

static int cost(const char *what, unsigned threads, unsigned batches)
{
    static struct costs all[THREADS_MAX];
    double ns = 0, floor = 0;
    uint64_t lost = 0;
    unsigned found = 0;

    while (found < sizeof(measured) / sizeof(measured[0]) &&
           strcmp(measured[found].name, what) != 0)
        found++;
    if (found == sizeof(measured) / sizeof(measured[0]))
        return 2;
    make_area(NULL, threads);
    strata_percpu_control->masks.enabled = 1;
    pthread_barrier_init(&barrier, NULL, threads);
    for (unsigned i = 0; i < threads; i++) {
        all[i] = (struct costs){.number = i, .what = found, .batches = batches};
        if (pthread_create(&all[i].thread, NULL, measure, &all[i]) != 0)
            return 1;
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(all[i].thread, NULL);
        ns += all[i].ns / threads;
        floor += all[i].bare / threads;
        lost += all[i].lost;
    }
    printf("{\"ns\": %.3f, \"bare\": %.3f, \"lost\": %" PRIu64 "}\n", ns, floor, lost);
    return 0;
}

static int off(unsigned batches)
{
    static double loop[BATCHES_MAX], hot[BATCHES_MAX], masked[BATCHES_MAX], cpu[BATCHES_MAX],
        single[BATCHES_MAX];
    struct strata_percpu_masks *masks;

    make_area(NULL, 1);
    masks = &strata_percpu_control->masks;
    if (strata_percpu_cpu_init(&percpu_self, strata_percpu_control, 0, NULL) < 0)
        return 1;
    strata_percpu_set_single(strata_percpu_control, EVENT, true);
    for (unsigned i = 0; i < batches; i++) {
        loop[i] = cost_of(do_loop);
        hot[i] = cost_of(do_2d_inline);
        masks->enabled = 1;
        masks->events = STRATA_TRC_SCHED;
        masked[i] = cost_of(do_2d_inline);
        masks->events = STRATA_TRC_ALL;
        masks->singles = 1;
        single[i] = cost_of(do_2d_inline);
        masks->singles = 0;
        strata_percpu_control->cpus[0] = 0;
        cpu[i] = cost_of(do_2d_inline);
        strata_percpu_control->cpus[0] = 1;
        masks->enabled = 0;
    }
    printf("{\"loop\": %.3f, \"off\": %.3f, \"masked\": %.3f, \"single\": %.3f, \"cpu\": %.3f}\n",
           median(loop, batches), median(hot, batches), median(masked, batches),
           median(single, batches), median(cpu, batches));
    return percpu_self.reserve == 0 ? 0 : 1;
}

/* ---- Writing for a recorder ---- */

struct writer {
    pthread_t thread;
    unsigned number;
    double rate;
    uint64_t count;
    uint64_t ns, cpu_ns; /* taken */
};

static void *write_records(void *p)
{
    struct writer *writer = p;
    uint64_t begin, due = 0;

    pin(writer->number);
    if (strata_percpu_cpu_init(&percpu_self, strata_percpu_control, writer->number, &hooks) < 0)
        abort();
    pthread_barrier_wait(&barrier);
    begin = ns_of(CLOCK_MONOTONIC);
    for (uint64_t i = 0; i < writer->count; i++) {
        /* In bursts of a millisecond. */
        if (writer->rate > 0 && i >= due) {
            uint64_t now = ns_of(CLOCK_MONOTONIC) - begin;
            struct timespec millisecond = {.tv_nsec = 1000000};

            while ((due = (uint64_t)((double)now * writer->rate / 1e9)) <= i) {
                nanosleep(&millisecond, NULL);
                now = ns_of(CLOCK_MONOTONIC) - begin;
            }
        }
        TRACE_2D(EVENT, i, ~i);
    }
    writer->ns = ns_of(CLOCK_MONOTONIC) - begin;
    writer->cpu_ns = ns_of(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

static int write_for(const char *name, unsigned threads, double rate, uint64_t count)
{
    static struct writer writers[THREADS_MAX];
    struct timespec moment = {.tv_nsec = 1000000};
    uint64_t ns = 0, cpu_ns = 0;

    make_area(name, threads);
    while (!strata_percpu_on())
        nanosleep(&moment, NULL);
    pthread_barrier_init(&barrier, NULL, threads);
    for (unsigned i = 0; i < threads; i++) {
        writers[i] = (struct writer){.number = i, .rate = rate, .count = count};
        if (pthread_create(&writers[i].thread, NULL, write_records, &writers[i]) != 0)
            return 1;
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(writers[i].thread, NULL);
        ns = writers[i].ns > ns ? writers[i].ns : ns;
        cpu_ns += writers[i].cpu_ns;
    }
    shm_unlink(name);
    printf("{\"written\": %" PRIu64 ", \"seconds\": %.6f, \"cpu\": %.6f}\n", count * threads,
           (double)ns / 1e9, (double)cpu_ns / 1e9);
    return 0;
}

static unsigned number(const char *text, unsigned max)
{
    unsigned long n = strtoul(text, NULL, 10);

    if (n < 1 || n > max)
        exit(2);
    return (unsigned)n;
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "cost") == 0)
        return cost(argv[2], number(argv[3], THREADS_MAX), number(argv[4], BATCHES_MAX));
    if (argc == 3 && strcmp(argv[1], "off") == 0)
        return off(number(argv[2], BATCHES_MAX));
    if (argc == 6 && strcmp(argv[1], "write") == 0)
        return write_for(argv[2], number(argv[3], THREADS_MAX), strtod(argv[4], NULL),
                         strtoull(argv[5], NULL, 10));
    return 2;
}
