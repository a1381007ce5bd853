/* SPDX-License-Identifier: MIT */
/* Signal handlers that emit, at every place that a handler can interrupt an emission: the code that
 * emits is stepped through one instruction at a time. After each instruction the ring is looked at as it
 * would be found had the process been killed there: all that was acknowledged has to be in it, once,
 * whole, and in the order of time. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

#include <cmocka.h>

#include "ring_records.h"

#define RING (64U << 10)
#define SUBBUFFER (8U << 10)

static struct ring_map *map;

/* ---- What is in the ring after a crash ---- */

#define IDS 16384

/* By number of event: its emit function has returned; it was found; it was read and released. */
static uint8_t acknowledged[IDS], found[IDS], taken[IDS];
static uint64_t next_id;

/* Of one ring, in which times rise. */
static void look_into(struct ring_map *ring, bool release)
{
    struct ring_reader reader = reader_of(ring);
    struct ring_packet packet;
    uint64_t time = 0;

    while (ring_reader_next(&reader, RING_FLUSH, &packet) > 0) {
        struct record_walk walk = {.packet = &packet};
        struct record record;
        int r;

        expect(packet.header.timestamp_begin >= time);
        while ((r = next_record(&walk, &record)) > 0) {
            expect(record.class_id == CLASS_TWO);
            expect(record.a < next_id && record.b == ~record.a);
            expect(record.time >= time);
            time = record.time;
            expect(!found[record.a] && !taken[record.a]);
            found[record.a] = true;
        }
        expect(r == 0);
        expect(packet.header.timestamp_end >= time);
        time = packet.header.timestamp_end;
        if (release)
            ring_reader_release(&reader, &packet);
    }
}

/* Finds what is there: nothing acknowledged may be missing. RELEASE: and takes it. */
static void look(bool release)
{
    unsigned missing = 0;

    memset(found, 0, (size_t)next_id);
    for (unsigned i = 0; i < ring_count(); i++)
        if (ring_at(i))
            look_into(ring_at(i), release);
    for (uint64_t i = 0; i < next_id; i++) {
        missing += acknowledged[i] && !found[i] && !taken[i];
        taken[i] |= release && found[i];
    }
    expect(missing == 0);
}

static uint64_t all_discarded(void)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < ring_count(); i++)
        if (ring_at(i))
            n += ring_discarded(ring_at(i));
    return n;
}

static void emit_one(void)
{
    uint64_t id = next_id++;

    expect(id < IDS);
    if (emit_two(id, ~id))
        acknowledged[id] = true;
}

static void begin_afresh(void)
{
    for (unsigned i = 0; i < ring_count(); i++)
        if (ring_at(i))
            drain(ring_at(i));
    memset(acknowledged, 0, sizeof(acknowledged));
    memset(found, 0, sizeof(found));
    memset(taken, 0, sizeof(taken));
    next_id = 0;
}

/* ---- Handlers inside of records, by hand ---- */

/* DEPTH records, each emitted by a handler that interrupts the one before in the middle, and BURST more
 * by each handler before and after. */
static void emit_nested(unsigned depth, unsigned burst)
{
    struct strata_slot slot;
    uint64_t id = next_id++;
    uint8_t *at = ring_open(&slot, CLASS_TWO, 24);

    if (depth > 0) {
        for (unsigned i = 0; i < burst; i++)
            emit_one();
        emit_nested(depth - 1, burst);
        for (unsigned i = 0; i < burst; i++)
            emit_one();
    }
    look(false);
    if (at) {
        at = strata_ring_put(at, &id, 8);
        id = ~id;
        strata_ring_put(at, &id, 8);
        strata_ring_end(&slot);
        acknowledged[~id] = true;
    }
    look(false);
}

static unsigned count(const uint8_t *flags)
{
    unsigned n = 0;

    for (unsigned i = 0; i < IDS; i++)
        n += flags[i];
    return n;
}

static void test_nested(void **state)
{
    emit_none();
    map = my_map();
    for (unsigned depth = 0; depth < RING_LEVELS; depth++)
        for (unsigned burst = 0; burst < 3; burst++) {
            begin_afresh();
            emit_nested(depth, burst);
            expect(count(acknowledged) == next_id);
            look(true);
            expect(memcmp(found, acknowledged, sizeof(found)) == 0);
        }
}

/* One level more than there may be rings: the innermost event is dropped and counted. */
static void test_nested_too_deep(void **state)
{
    uint64_t before = ring_discarded(map);

    begin_afresh();
    emit_nested(RING_LEVELS, 0);
    expect(next_id == RING_LEVELS + 1);
    expect(count(acknowledged) == next_id - 1);
    expect(ring_discarded(map) == before + 1);
    look(true);
}

/* The handlers go to further packets while the record that they interrupt is open, up to the end of their
 * rings. */
static void test_nested_packets(void **state)
{
    uint64_t before = all_discarded();

    begin_afresh();
    emit_nested(2, RING / 24 * 3 / 4);
    expect(all_discarded() - before == next_id - count(acknowledged));
    expect(all_discarded() > before);
    expect(count(acknowledged) > 2 * (RING - 2 * SUBBUFFER) / 24);
    look(true);
    expect(memcmp(found, acknowledged, sizeof(found)) == 0);
    emit_one();
    look(true);
    expect(found[next_id - 1]);
}

/* ---- Real signals ---- */

static volatile uint64_t handled;
static volatile uint64_t refused; /* of these: the ring was full */

static bool emit_number(int signal, uint64_t n)
{
    struct strata_slot slot;
    uint8_t *at = ring_open(&slot, CLASS_TEXT, 8 + 4 + 1);

    if (!at)
        return false;
    at = strata_ring_put(at, &(uint32_t){(uint32_t)n}, 4);
    if (signal == SIGUSR1 && n % 3 == 0)
        raise(SIGUSR2);
    if (!ring_string(&slot, at, "t"))
        return false;
    strata_ring_end(&slot);
    return true;
}

#define HANDLED_ENOUGH 20000
static timer_t timers_on[2];
static volatile unsigned n_timers;

static void on_timer(int signal)
{
    uint64_t n = __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);

    if (!emit_number(signal, n))
        __atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED);
    /* Where a signal takes longer than the timers wait, the loop that they interrupt would never end. */
    for (unsigned i = 0; i < n_timers && n >= HANDLED_ENOUGH; i++)
        timer_settime(timers_on[i], 0, &(struct itimerspec){0}, NULL);
}

#ifndef STRATA_RING_TSAN /* which holds signals back until they interrupt nothing */
#define HANDLED_MAX (1 << 20)

static void read_timers(struct ring_map *ring, uint64_t *next, uint8_t *seen, uint64_t *timers)
{
    struct ring_reader reader = reader_of(ring);
    struct ring_packet packet;

    while (ring_reader_next(&reader, RING_FLUSH, &packet) > 0) {
        struct record_walk walk = {.packet = &packet};
        struct record record;
        int r;

        while ((r = next_record(&walk, &record)) > 0)
            if (record.class_id == CLASS_TWO) {
                expect(record.a == (*next)++);
            } else {
                expect(record.class_id == CLASS_TEXT && record.a < HANDLED_MAX);
                expect(!seen[record.a]);
                seen[record.a] = true;
                (*timers)++;
            }
        expect(r == 0);
        ring_reader_release(&reader, &packet);
    }
}

/* Two timers interrupt a loop that emits, and each other. On a busy machine they may come one after the
 * other for so long that the loop cannot drain the ring: what finds it full is dropped, and counted. */
static void test_timers(void **state)
{
    struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec often = {{0, 20000}, {0, 20000}};
    static uint8_t seen[HANDLED_MAX];
    uint64_t next = 0, emitted = 0, timers = 0, refused_in_loop = 0, dropped = all_discarded();

    begin_afresh();
    handled = refused = 0;
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    expect(timer_create(CLOCK_MONOTONIC, &event, &timers_on[0]) == 0);
    event.sigev_signo = SIGUSR2;
    expect(timer_create(CLOCK_MONOTONIC, &event, &timers_on[1]) == 0);
    n_timers = 2;
    timer_settime(timers_on[0], 0, &often, NULL);
    often.it_interval.tv_nsec = often.it_value.tv_nsec = 17000;
    timer_settime(timers_on[1], 0, &often, NULL);

    for (bool end = false; !end;) {
        end = handled >= HANDLED_ENOUGH;
        if (end) {
            n_timers = 0;
            timer_delete(timers_on[0]);
            timer_delete(timers_on[1]);
        }

        for (unsigned i = 0; i < 500; i++) {
            if (emit_two(emitted, ~emitted))
                emitted++;
            else
                refused_in_loop++;
        }
        for (unsigned i = 0; i < ring_count(); i++)
            if (ring_at(i))
                read_timers(ring_at(i), &next, seen, &timers);
    }
    expect(next == emitted);
    expect(timers == handled - refused);
    expect(all_discarded() - dropped == refused + refused_in_loop);
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
    sigaction(SIGUSR2, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
}
#endif

/* A thread's first event, and more, in a handler; and in one that interrupts the making of the ring. */
static void *first_in_handler(void *p)
{
    uint64_t before = handled;

    raise(SIGUSR1);
    expect(my_map() != NULL);
    expect(handled > before);
    expect(emit_two(0, ~0ULL));
    return NULL;
}

static void test_first_in_handler(void **state)
{
    struct sigaction action = {.sa_handler = on_timer};

    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    for (unsigned i = 0; i < 10; i++) {
        pthread_t thread;

        expect(pthread_create(&thread, NULL, first_in_handler, NULL) == 0);
        pthread_join(thread, NULL);
    }
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
    sigaction(SIGUSR2, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
}

/* ---- Step by step ---- */

#if defined(__x86_64__) && !defined(STRATA_RING_TSAN)
#define CAN_STEP 1
#endif
#ifdef CAN_STEP
#define TRAP_FLAG 0x100

/* At which instruction each level is interrupted, and how many it has had. */
#define LEVELS 2
static unsigned target[LEVELS], steps[LEVELS], level, burst;
static bool look_always;
static enum { READ_NOTHING, READ_ON } reading;

static inline __attribute__((always_inline)) void step_from_here(void)
{
    __asm__ __volatile__("pushfq; orq %0, (%%rsp); popfq" ::"i"(TRAP_FLAG) : "cc", "memory");
}

static inline __attribute__((always_inline)) void step_no_more(void)
{
    __asm__ __volatile__("pushfq; andq %0, (%%rsp); popfq" ::"i"(~TRAP_FLAG) : "cc", "memory");
}

static __attribute__((noinline)) void emit_in_steps(void)
{
    uint64_t id = next_id++;
    bool done;

    step_from_here();
    done = emit_two(id, ~id);
    step_no_more();
    acknowledged[id] = done;
}

static void on_step(int signal, siginfo_t *info, void *p)
{
    ucontext_t *context = p;
    unsigned my_level = level;

    (void)signal;
    (void)info;
    if (look_always)
        look(false);
    if (++steps[my_level] != target[my_level])
        return;

    /* Here the handler comes that emits. */
    look(false);
    if (my_level + 1 < LEVELS && target[my_level + 1] > 0) {
        level = my_level + 1;
        steps[level] = 0;
        emit_in_steps();
        level = my_level;
    } else {
        for (unsigned i = 0; i < burst; i++)
            emit_one();
    }
    look(false);
    if (reading == READ_ON)
        look(true);
    if (!look_always)
        context->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

/* How the ring stands before the record that is interrupted. */
enum situation {
    ORDINARY,
    NEW_PACKET, /* the record will open one */
    FULL,       /* it will be dropped */
};

static void arrange(enum situation situation)
{
    struct strata_ring *ring = strata_ring_self;
    uint64_t left;

    begin_afresh();
    if (situation == ORDINARY)
        return;
    if (situation == FULL) {
        while (emit_none())
            ;
        return;
    }
    for (;;) {
        left = ring->sub_mask + 1 - (ring->head & ring->sub_mask);
        if (left < 24 + 8)
            break;
        emit_none();
    }
    drain(map);
}

static void check_end(void)
{
    look(false);
    look(true);
    expect(memcmp(taken, acknowledged, sizeof(taken)) == 0);
    expect(map->committed == strata_ring_self->head);
}

static void begin_steps(void)
{
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO | SA_NODEFER};

    sigaction(SIGTRAP, &action, NULL);
}

/* How many instructions an emission has. */
static uint64_t count_steps(enum situation situation)
{
    arrange(situation);
    steps[0] = level = 0;
    target[0] = UINT32_MAX; /* stepped through, not interrupted */
    target[1] = 0;
    emit_in_steps();
    expect(steps[0] > 10);
    return steps[0];
}

/* A step is a signal, of some microseconds. A build with sanitizers has ten times as many of them in an
 * emission and, as all is tried with all, takes hundreds of times as long. So of STEPS that it would
 * take to try each place, DIMENSIONS being how many there are to choose, only every so many is tried;
 * all with STRATA_TEST_LONG in the environment. Odd, so that what begins anew elsewhere gets to all. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STEPS_WANTED 150000.0
#else
#define STEPS_WANTED 1000000.0
#endif

static unsigned stride_for(double n_steps, unsigned dimensions)
{
    unsigned stride = 1;
    double left = n_steps;

    while (!getenv("STRATA_TEST_LONG") && left > STEPS_WANTED) {
        stride += 2;
        left = n_steps;
        for (unsigned i = 0; i < dimensions; i++)
            left /= stride;
    }
    return stride;
}

/* Every instruction of one emission is interrupted by a handler that emits; in every situation. */
static void test_each_instruction(void **state)
{
    unsigned longest = 0;

    begin_steps();
    for (enum situation situation = ORDINARY; situation <= NEW_PACKET; situation++)
        for (reading = READ_NOTHING; reading <= READ_ON; reading++)
            for (burst = 1; burst <= 400; burst += 399) {
                double n = (double)count_steps(situation);
                unsigned stride = stride_for(n * n / 2, 1);

                for (target[0] = 1;; target[0] += stride) {
                    arrange(situation);
                    steps[0] = 0;
                    level = 0;
                    emit_in_steps();
                    if (steps[0] < target[0])
                        break; /* all were */
                    check_end();
                    longest = target[0] > longest ? target[0] : longest;
                }
            }
    expect(longest > 50);
}

/* What finds the ring full is dropped and counted. */
static void test_full(void **state)
{
    struct strata_slot slot;
    uint64_t before;

    arrange(FULL);
    before = ring_discarded(map);
    expect(!ring_open(&slot, CLASS_TWO, 24));
    expect(ring_discarded(map) == before + 1);
}

/* And every instruction of that handler's emission is interrupted by another one's. */
static void test_each_two_instructions(void **state)
{
    begin_steps();
    burst = 1;
    reading = READ_NOTHING;
    for (enum situation situation = ORDINARY; situation <= NEW_PACKET; situation++) {
        double n = (double)count_steps(situation);
        unsigned stride = stride_for(n * n * n, 2);

        for (target[0] = 1;; target[0] += stride) {
            bool outer = true;

            for (target[1] = 1 + target[0] / stride % stride;; target[1] += stride) {
                arrange(situation);
                steps[0] = steps[1] = 0;
                level = 0;
                emit_in_steps();
                check_end();
                if (steps[0] < target[0])
                    outer = false;
                if (steps[1] < target[1] || !outer)
                    break;
            }
            if (!outer)
                break;
        }
    }
    target[1] = 0;
}

/* The view after a crash at every instruction while all this happens. */
static void test_crash_at_each_instruction(void **state)
{
    begin_steps();
    burst = 2;
    reading = READ_NOTHING;
    for (enum situation situation = ORDINARY; situation <= NEW_PACKET; situation++) {
        double n = (double)count_steps(situation);
        unsigned stride = stride_for(10 * 2 * n * n, 1); /* a look is worth ten steps */

        look_always = true;
        for (target[0] = 1;; target[0] += stride) {
            arrange(situation);
            steps[0] = steps[1] = 0;
            level = 0;
            target[1] = UINT32_MAX; /* stepped through, not interrupted */
            emit_in_steps();
            check_end();
            if (steps[0] < target[0])
                break;
        }
        look_always = false;
    }
    target[1] = 0;
}
#endif

static void *run_all(void *p)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_nested_too_deep),
        cmocka_unit_test(test_nested_packets),
#ifndef STRATA_RING_TSAN
        cmocka_unit_test(test_timers),
#endif
        cmocka_unit_test(test_first_in_handler),
#ifdef CAN_STEP
        cmocka_unit_test(test_each_instruction),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_each_two_instructions),
        cmocka_unit_test(test_crash_at_each_instruction),
#endif
    };

    *(int *)p = cmocka_run_group_tests(tests, NULL, NULL);
    return NULL;
}

int main(void)
{
    int failed = 1;

    if (ring_setup(
            &(struct ring_options){.size = RING, .unnamed = true, .subbuffer_size = SUBBUFFER}) < 0)
        return 1;
    run_all(&failed);
    return failed;
}
