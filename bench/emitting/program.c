/* SPDX-License-Identifier: MIT */
/* The program that bench/emit runs, built once with the code that `strata gen` makes for rings and once
 * with what it makes for LTTng-UST. Prints one line of JSON.
 *
 *     program cost pair|text|fprintf THREADS BATCHES   ns of CPU an event, beside the bare loop
 *     program off BATCHES                              the same of events that are off
 *     program latency RATE COUNT                       ns from before to behind an event, at RATE a second
 *     program pace RATE COUNT THREADS [fprintf]        COUNT events a thread, RATE a second (0: as fast as
 *                                                      it goes): how long it took, what was lost
 *
 * Costs are taken in batches, one of what is measured and one of the bare loop in turn, so that both
 * meet the same spells of the machine; the medians count. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "trace-bench.h"

#define BATCH 100000 /* events: with 24 bytes each, little more than half a ring of 4 MiB */
#define BATCHES_MAX 1000
#define THREADS_MAX 16

void cold_sites(uint64_t a, uint64_t b);

static uint64_t ns_of(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static uint64_t ticks(void)
{
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t n;

    __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(n));
    return n;
#else
    return ns_of(CLOCK_MONOTONIC);
#endif
}

/* ---- What is measured: functions that do it N times ---- */

/* The floor: read the clock, store time and two words into a ring of the thread's own. */
#define BARE_RING (4U << 20)

struct bare {
    uint64_t head;
    uint8_t *data;
};

static __thread struct bare bare;

static void begin_bare(void)
{
    void *p;

    if (posix_memalign(&p, 4096, BARE_RING + 4096) != 0)
        abort();
    bare.data = p;
    memset(bare.data, 1, BARE_RING + 4096); /* every page is there */
}

__attribute__((noinline)) static void bare_record(uint64_t id, uint64_t value)
{
    uint64_t *at = (uint64_t *)(void *)(bare.data + (bare.head & (BARE_RING - 1)));

    at[0] = ticks();
    at[1] = id;
    at[2] = value;
    bare.head += 24; /* the last one goes over the end, where there is room */
}

static void do_bare(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        bare_record(i, n);
}

static void do_pair(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        trace_pair(i, n);
}

static const char *volatile sixteen = "0123456789abcdef";

static void do_text(uint64_t n)
{
    const char *text = sixteen;

    for (uint64_t i = 0; i < n; i++)
        trace_text(text);
}

static FILE *print_to;

static void do_fprintf(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        fprintf(print_to, "%d@%ld.%06ld:pair id %" PRIu64 " value %" PRIu64 "\n", (int)getpid(),
                (long)now.tv_sec, now.tv_nsec / 1000, i, n);
    }
}

static void do_loop(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        __asm__ __volatile__("" : "+r"(i)::"memory");
}

static void do_never(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        __asm__ __volatile__("" : "+r"(i)::"memory");
        trace_never(i, n);
    }
}

static void do_cold(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        cold_sites(i, n);
}

/* ---- Costs ---- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, unsigned n)
{
    qsort(values, n, sizeof(*values), compare_doubles);
    return values[n / 2];
}

struct job {
    void (*what)(uint64_t n), (*beside)(uint64_t n);
    uint64_t n;
    unsigned batches;
    unsigned rest_us; /* between batches: who writes out catches up, nothing is lost */
    pthread_barrier_t *together;
    double ns, beside_ns, first_ns;
    double values[BATCHES_MAX], beside_values[BATCHES_MAX];
};

static double batch(void (*what)(uint64_t n), uint64_t n)
{
    uint64_t from = ns_of(CLOCK_THREAD_CPUTIME_ID);

    what(n);
    return (double)(ns_of(CLOCK_THREAD_CPUTIME_ID) - from) / (double)n;
}

static void *measure(void *p)
{
    struct job *job = p;

    begin_bare();
    job->what(1); /* makes the thread's ring */
    for (unsigned i = 0; i < job->batches; i++) {
        pthread_barrier_wait(job->together);
        job->beside_values[i] = batch(job->beside, job->n);
        if (job->rest_us)
            usleep(job->rest_us);
        pthread_barrier_wait(job->together);
        job->values[i] = batch(job->what, job->n);
        if (job->rest_us)
            usleep(job->rest_us);
    }
    job->ns = median(job->values, job->batches);
    job->beside_ns = median(job->beside_values, job->batches);
    return NULL;
}

/* The mean over threads. */
static void run_cost(struct job *job, unsigned n_threads, double *ret_ns, double *ret_beside)
{
    static struct job jobs[THREADS_MAX];
    pthread_t threads[THREADS_MAX];
    pthread_barrier_t together;
    double ns = 0, beside = 0;

    pthread_barrier_init(&together, NULL, n_threads);
    job->together = &together;
    for (unsigned i = 0; i < n_threads; i++) {
        jobs[i] = *job;
        if (pthread_create(&threads[i], NULL, measure, &jobs[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < n_threads; i++) {
        pthread_join(threads[i], NULL);
        ns += jobs[i].ns;
        beside += jobs[i].beside_ns;
    }
    *ret_ns = ns / n_threads;
    *ret_beside = beside / n_threads;
}

/* ---- Losses ---- */

static uint64_t lost(void)
{
#ifdef BENCH_RING
    struct strata_trace_stats stats;

    strata_trace_flush();
    strata_trace_get_stats(&stats, sizeof(stats));
    return stats.dropped + stats.unwritten;
#else
    return 0; /* asked of whoever collects */
#endif
}

/* ---- Latency ---- */

static double ticks_per_ns(void)
{
    uint64_t ns = ns_of(CLOCK_MONOTONIC), t = ticks();

    while (ns_of(CLOCK_MONOTONIC) - ns < 50000000)
        ;
    return (double)(ticks() - t) / (double)(ns_of(CLOCK_MONOTONIC) - ns);
}

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static void print_latency(const char *name, uint32_t *took, uint64_t n, double scale)
{
    static const struct {
        const char *name;
        double part;
    } parts[] = {{"p50", 0.5}, {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}, {"max", 1}};

    qsort(took, n, sizeof(*took), compare_u32);
    printf("\"%s\": {", name);
    for (unsigned i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        uint64_t at = (uint64_t)((double)(n - 1) * parts[i].part);

        printf("%s\"%s\": %.1f", i ? ", " : "", parts[i].name, took[at] / scale);
    }
    printf("}");
}

/* Half of the times nothing is done between the two readings of the clock: that is the machine's own. */
static int latency(double rate, uint64_t n)
{
    uint32_t *took = malloc(n * sizeof(*took)), *nothing = malloc(n * sizeof(*nothing));
    double scale = ticks_per_ns();
    uint64_t gap = (uint64_t)(1e9 / rate * scale), next;

    if (!took || !nothing)
        return 1;
    memset(took, 1, n * sizeof(*took));
    memset(nothing, 1, n * sizeof(*nothing));
    trace_pair(0, 0);
    next = ticks();
    for (uint64_t i = 0; i < n; i++) {
        uint64_t from, to;

        next += gap;
        while (ticks() < next)
            ;
        from = ticks();
        trace_pair(i, n);
        to = ticks();
        took[i] = to - from > UINT32_MAX ? UINT32_MAX : (uint32_t)(to - from);
        from = ticks();
        __asm__ __volatile__("" ::: "memory");
        to = ticks();
        nothing[i] = to - from > UINT32_MAX ? UINT32_MAX : (uint32_t)(to - from);
        if (to > next + 100 * gap) /* do not make up for a long wait by a burst */
            next = to;
    }
    printf("{");
    print_latency("event", took, n, scale);
    printf(", ");
    print_latency("nothing", nothing, n, scale);
    printf(", \"lost\": %" PRIu64 "}\n", lost());
    return 0;
}

/* ---- A rate kept up ---- */

struct pace {
    void (*what)(uint64_t n);
    double rate;
    uint64_t n;
};

static void *keep_pace(void *p)
{
    const struct pace *pace = p;
    uint64_t start = ns_of(CLOCK_MONOTONIC);

    for (uint64_t done = 0; done < pace->n; done += 1000) {
        if (pace->rate > 0) {
            /* Asleep, as waiting is no cost of tracing. */
            uint64_t due = start + (uint64_t)((double)done * 1e9 / pace->rate);
            struct timespec until = {.tv_sec = (time_t)(due / 1000000000U),
                                     .tv_nsec = (long)(due % 1000000000U)};

            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        }
        pace->what(1000);
    }
    return NULL;
}

static int run_pace(struct pace pace, unsigned n_threads)
{
    pthread_t threads[THREADS_MAX];
    struct rusage usage;
    uint64_t from = ns_of(CLOCK_MONOTONIC), emitted, written, n_lost;

    for (unsigned i = 0; i < n_threads; i++)
        if (pthread_create(&threads[i], NULL, keep_pace, &pace) != 0)
            abort();
    for (unsigned i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    emitted = ns_of(CLOCK_MONOTONIC);
    if (print_to)
        fflush(print_to);
    n_lost = lost();
    written = ns_of(CLOCK_MONOTONIC);
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"events\": %" PRIu64 ", \"emitted_s\": %.6f, \"written_s\": %.6f, \"lost\": %" PRIu64
           ", \"cpu_s\": %.6f}\n",
           pace.n * n_threads, (double)(emitted - from) / 1e9, (double)(written - from) / 1e9,
           n_lost,
           (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
    return 0;
}

/* ---- */

static unsigned number(const char *text, unsigned most)
{
    unsigned long n = strtoul(text, NULL, 10);

    if (n < 1 || n > most) {
        fprintf(stderr, "program: 1 to %u, not %s\n", most, text);
        exit(2);
    }
    return (unsigned)n;
}

static int cost(const char *what, unsigned n_threads, unsigned batches)
{
    struct job job = {.beside = do_bare, .n = BATCH, .batches = batches, .rest_us = 5000};
    double ns, bare_ns;

    job.what = strcmp(what, "text") == 0 ? do_text : do_pair;
    if (strcmp(what, "fprintf") == 0) {
        print_to = fopen("/dev/null", "w");
        job.what = do_fprintf;
        job.rest_us = 0;
    }
    run_cost(&job, n_threads, &ns, &bare_ns);
    printf("{\"ns\": %.3f, \"bare\": %.3f, \"lost\": %" PRIu64 "}\n", ns, bare_ns, lost());
    return 0;
}

static int off(unsigned batches)
{
    struct job hot = {.what = do_never, .beside = do_loop, .n = 1000000, .batches = batches};
    struct job cold = {.what = do_cold, .beside = do_loop, .n = 100, .batches = batches};
    double hot_ns, loop_ns, cold_ns, unused;

    run_cost(&hot, 1, &hot_ns, &loop_ns);
    run_cost(&cold, 1, &cold_ns, &unused);
    printf("{\"hot\": %.3f, \"loop\": %.3f, \"cold\": %.3f}\n", hot_ns, loop_ns,
           cold_ns / BENCH_COLD);
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";

#ifdef BENCH_UST
    sleep(1); /* LTTng's threads hear from the session daemon what is on */
#endif
    if (strcmp(mode, "cost") == 0 && argc == 5)
        return cost(argv[2], number(argv[3], THREADS_MAX), number(argv[4], BATCHES_MAX));
    if (strcmp(mode, "off") == 0 && argc == 3)
        return off(number(argv[2], BATCHES_MAX));
    if (strcmp(mode, "latency") == 0 && argc == 4)
        return latency(atof(argv[2]), number(argv[3], 100000000));
    if (strcmp(mode, "pace") == 0 && argc >= 5) {
        struct pace pace = {do_pair, atof(argv[2]), number(argv[3], 1000000000)};

        if (argc > 5) {
            pace.what = do_fprintf;
            print_to = fopen(argv[5], "w");
            if (!print_to)
                return 1;
        }
        return run_pace(pace, number(argv[4], THREADS_MAX));
    }
    fprintf(stderr, "program: see the head of bench/emitting/program.c\n");
    return 2;
}
