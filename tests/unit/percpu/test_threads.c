/* SPDX-License-Identifier: MIT */
/* Threads as CPUs that emit at full speed, timers' signals as interrupts that interrupt each other, and a
 * reader beside them that checks each record. Emitted = read + lost, to the last one. */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "percpu_records.h"

#define EVENT (STRATA_TRC_GUEST | 0x123)
#define CPUS 3
#define CONTEXTS 3 /* the CPU itself, and two interrupts */
#define READ_MIN 1000

struct counts {
    uint64_t emitted[CONTEXTS];
    uint32_t seen[CONTEXTS]; /* the last one that was read, + 1 */
};

static struct counts counts[CPUS];
static _Thread_local struct counts *mine;
static unsigned n_running;
static uint64_t n_wanted;
static uint64_t n_read[CPUS]; /* records, as far as the reader has come */

/* Records of all sizes; which, their number tells. */
static inline void emit(unsigned context)
{
    uint32_t n = (uint32_t)mine->emitted[context]++, id = context << 30 | (n & 0x3fffffff);

    switch (n % 4) {
    case 0: TRACE_1D(EVENT, id); break;
    case 1: TRACE_2D(EVENT, id, ~id); break;
    case 2: STRATA_PERCPU_TRACE(EVENT, id, ~id, id); break;
    default: TRACE_7D(EVENT, id, ~id, id, ~id, id, ~id, id);
    }
}

static void on_record(struct reader *reader, const struct seen_record *record)
{
    static const unsigned sizes[] = {1, 2, 3, 7};
    uint32_t id = record->words[0], n = id & 0x3fffffff;
    unsigned context = id >> 30;

    if (record->event == STRATA_TRC_LOST_RECORDS || record->event == STRATA_TRC_WRAP_BUFFER)
        return;
    expect(record->event == EVENT && context < CONTEXTS);
    expect(record->n_words == sizes[n % 4] && record->has_cycles == (n % 4 != 2));
    for (unsigned i = 0; i < record->n_words; i++)
        expect(record->words[i] == (i % 2 ? ~id : id));
    expect(n >= counts[reader->cpu].seen[context]);
    counts[reader->cpu].seen[context] = n + 1;
}

static void on_interrupt(int signal)
{
    unsigned context = signal == SIGUSR1 ? 1 : 2;

    for (uint64_t n = 1 + mine->emitted[context] % 3; n > 0; n--)
        emit(context);
}

/* Sanitizers for threads hold signals back until they interrupt nothing. */
static void start_timers(timer_t timers[2])
{
    static const int signals[] = {SIGUSR1, SIGUSR2};

    for (unsigned i = 0; i < 2; i++) {
        struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};
        struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = signals[i]};
        struct itimerspec often = {{0, 30000 + 7000 * i}, {0, 30000 + 7000 * i}};

        event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
        expect(sigaction(signals[i], &action, NULL) == 0);
        expect(timer_create(CLOCK_MONOTONIC, &event, &timers[i]) == 0);
        expect(timer_settime(timers[i], 0, &often, NULL) == 0);
    }
}

static void *run_cpu(void *p)
{
    unsigned number = (unsigned)(uintptr_t)p;
    timer_t timers[2];
    cpu_set_t set;

    /* So that the counter does not step back. */
    CPU_ZERO(&set);
    CPU_SET(number % (unsigned)sysconf(_SC_NPROCESSORS_ONLN), &set);
    (void)sched_setaffinity(0, sizeof(set), &set);

    self = &cpus[number];
    mine = &counts[number];
    start_timers(timers);
    /* For longer where the reader hardly comes to read. */
    for (uint64_t i = 0;
         i < n_wanted || __atomic_load_n(&n_read[number], __ATOMIC_RELAXED) <= READ_MIN; i++) {
        emit(0);
        if (i % (64U << 4 * number) ==
            0) /* so that they are ahead of the reader now and then, not always */
            sched_yield();
    }
    timer_delete(timers[0]);
    timer_delete(timers[1]);
    /* No signal is under way to this thread any more. */
    __atomic_fetch_sub(&n_running, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void threads(void **state)
{
    struct reader readers[CPUS];
    pthread_t ids[CPUS];
    bool end = false;

#ifdef STRATA_PERCPU_TSAN
    n_wanted = 100000;
#else
    n_wanted = getenv("STRATA_TEST_LONG") ? 300000000 : 1000000;
#endif
    make_area(CPUS, 2, NULL);
    n_running = CPUS;
    for (unsigned i = 0; i < CPUS; i++) {
        readers[i] = reader_of(i, on_record);
        expect(pthread_create(&ids[i], NULL, run_cpu, (void *)(uintptr_t)i) == 0);
    }
    while (!end) {
        size_t bytes = 0;

        end = __atomic_load_n(&n_running, __ATOMIC_ACQUIRE) == 0;
        for (unsigned i = 0; i < CPUS; i++) {
            bytes += read_all(&readers[i]);
            __atomic_store_n(&n_read[i], readers[i].n_records, __ATOMIC_RELAXED);
        }
        if (bytes == 0)
            sched_yield();
    }
    for (unsigned i = 0; i < CPUS; i++) {
        uint64_t emitted = 0;

        pthread_join(ids[i], NULL);
        read_all(&readers[i]);
        for (unsigned j = 0; j < CONTEXTS; j++)
            emitted += counts[i].emitted[j];
        expect_at_rest(&cpus[i]);
        printf("# CPU %u: emitted %" PRIu64 " (%" PRIu64 " in interrupts), read %" PRIu64
               ", lost %" PRIu64 " in %" PRIu64 " places\n",
               i, emitted, emitted - counts[i].emitted[0], readers[i].n_records,
               readers[i].n_lost + pending(i), readers[i].n_lost_records + (pending(i) > 0));
        assert_int_equal(readers[i].n_records + readers[i].n_lost + pending(i), emitted);
        assert_true(readers[i].n_records > READ_MIN);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
