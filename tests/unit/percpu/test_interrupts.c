/* SPDX-License-Identifier: MIT */
/* Per-CPU buffers and interrupts that emit at every instant at which they can come: the code that emits
 * is stepped through one instruction at a time, and at one of them, or at one of the interrupt's own, the
 * next interrupt comes. Then threads as CPUs, with signals as interrupts and a reader beside them. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "percpu_records.h"

#define EVENT (STRATA_TRC_GUEST | 0x123)
#define SMALL (STRATA_TRC_GUEST | 1) /* to fill with */
#define X 4088U
#define RECORD 20U /* header, cycles, two words */
#define MARK 2044U

/* ---- One CPU ---- */

#define IDS 20000

static bool found[IDS];
static uint32_t next_id, n_small, n_found;
static struct reader reader;

/* Notified, and how often the consumer brought what is unread below the mark. */
static unsigned n_notified, n_below;

static void on_notify(struct strata_percpu_cpu *cpu)
{
    /* It may be interrupted as well. */
    unsigned n = __atomic_add_fetch(&n_notified, 1, __ATOMIC_RELAXED);

    expect(cpu == &cpus[0] && n <= n_below + 1);
}

static const struct strata_percpu_hooks hooks = {.notify = on_notify};

static void on_record(struct reader *from, const struct seen_record *record)
{
    (void)from;
    n_found += record->event == EVENT || record->event == SMALL;
    if (record->event != EVENT)
        return;
    expect(record->n_words == 2 && record->words[1] == ~record->words[0]);
    expect(record->words[0] < next_id && !found[record->words[0]]);
    found[record->words[0]] = true;
}

static void begin_afresh(void)
{
    make_area(1, 1, &hooks);
    reader = reader_of(0, on_record);
    memset(found, 0, sizeof(found));
    next_id = n_small = n_found = 0;
    n_notified = n_below = 0;
}

static void emit_small(void)
{
    n_small++;
    strata_percpu_emit(SMALL, false, 0, 0, 0, 0, 0, 0, 0, 0);
}

static __attribute__((noinline)) void emit_called(void)
{
    uint32_t id = next_id++;

    expect(id < IDS);
    TRACE_2D(EVENT, id, ~id);
}

static void read_now(void)
{
    n_below += read_all(&reader) >= MARK;
}

/* What an interrupt does. "Read" is what a consumer on another CPU does meanwhile. */
enum action {
    EMIT,
    EMIT_MORE,
    LOSE,           /* emits until records are lost */
    READ,           /* nothing but that */
    READ_EMIT,      /* room, for this one */
    LOSE_READ_EMIT, /* loses, has room, can tell of it if it is outermost, loses again */
    ROUND,          /* more than all of the ring, read as it goes */
    N_ACTIONS
};

static void act(enum action action)
{
    switch (action) {
    case EMIT: emit_called(); break;
    case EMIT_MORE:
        for (unsigned i = 0; i < 5; i++)
            emit_called();
        break;
    case LOSE:
        for (uint64_t lost = pending(0); pending(0) < lost + 2;)
            emit_called();
        break;
    case READ: read_now(); break;
    case READ_EMIT:
        read_now();
        emit_called();
        break;
    case LOSE_READ_EMIT:
        act(LOSE);
        act(READ_EMIT);
        act(LOSE);
        break;
    case ROUND:
        for (unsigned i = 0; i < 500; i++) {
            emit_called();
            if (i % 50 == 0)
                read_now();
        }
        break;
    case N_ACTIONS: break;
    }
}

/* How the buffer stands before the record that is interrupted. */
enum situation {
    ORDINARY,
    AT_END,        /* it does not fit before the ring's end */
    TO_END,        /* it fits exactly */
    MOVED,         /* the consumer has read */
    FULL,          /* it will be lost, as the first */
    FULL_AGAIN,    /* as one more */
    TELLING,       /* LOST_RECORDS comes in front */
    TELLING_END,   /* and fits exactly before the ring's end */
    TELLING_PAST,  /* and does not */
    AT_MARK,       /* it crosses the mark */
    AT_MARK_AGAIN, /* and did before */
    N_SITUATIONS
};

/* Up to POSITION modulo X, nothing unread. */
static void go_to(uint32_t position)
{
    while (cpus[0].buffer[1] % X != position) {
        emit_small();
        if (look(0) > X / 4)
            read_now();
    }
    read_now();
    emit_small();
    expect(cpus[0].limit > cpus[0].reserve);
}

static void arrange(enum situation situation)
{
    begin_afresh();
    switch (situation) {
    case ORDINARY: go_to(400); break;
    case AT_END: go_to(X - 4 - 12); break;
    case TO_END: go_to(X - 4 - RECORD); break;
    case MOVED:
        go_to(400);
        emit_called();
        read_now();
        break;
    case FULL:
        go_to(400);
        while (X - look(0) >= RECORD)
            emit_called();
        break;
    case FULL_AGAIN:
        go_to(400);
        act(LOSE);
        break;
    case TELLING:
        go_to(400);
        act(LOSE);
        read_now();
        break;
    case TELLING_END:
    case TELLING_PAST:
        go_to(situation == TELLING_END ? X - 12 : X - 8);
        act(LOSE);
        read_now();
        expect(X - cpus[0].buffer[1] % X == (situation == TELLING_END ? 28 : 8));
        break;
    case AT_MARK_AGAIN:
        go_to(400);
        while (look(0) < MARK)
            emit_called();
        read_now();
        /* fall through */
    case AT_MARK:
        while (look(0) < MARK - RECORD)
            emit_called();
        while (look(0) < MARK - 4)
            emit_small();
        break;
    case N_SITUATIONS: break;
    }
}

/* At rest, nothing may be missing. */
static void check_end(void)
{
    expect_at_rest(&cpus[0]);
    expect((look(0) < MARK) || (cpus[0].crossed & 1));
    expect(n_notified == (cpus[0].crossed + 1) / 2);
    expect(n_notified == strata_percpu_control->notify);
    expect(n_notified == cpus[0].state->crossings);
    read_now();
    expect(n_found + reader.n_lost + pending(0) == next_id + n_small);

    /* And it goes on as it should: tells, and takes ordinary ones. */
    emit_called();
    emit_called();
    expect(pending(0) == 0);
    read_now();
    expect(n_found + reader.n_lost == next_id + n_small);
    expect(found[next_id - 1] && found[next_id - 2]);
}

/* ---- Within reach of a hook: between the look at `reserve` and the exchange ---- */

static enum action hook_action;
static unsigned hook_depth;

static uint64_t interrupted_cycles(void)
{
    if (hook_depth > 0) {
        hook_depth--;
        act(hook_action);
    }
    return strata_percpu_cycles();
}

static void interrupts_at_the_clock(void **state)
{
    for (unsigned situation = 0; situation < N_SITUATIONS; situation++)
        for (unsigned action = 0; action < N_ACTIONS; action++)
            for (unsigned depth = 1; depth <= 8; depth++) {
                arrange(situation);
                cpus[0].cycles = interrupted_cycles;
                hook_action = action;
                hook_depth = depth;
                /* By the slow way, which asks the hook. */
                {
                    uint32_t id = next_id++, words[2] = {id, ~id};

                    strata_percpu_emit_slow(self, strata_percpu_header(EVENT, true, 2), words);
                }
                cpus[0].cycles = NULL;
                check_end();
            }
}

/* ---- Step by step ---- */

#if defined(__x86_64__) && !defined(STRATA_PERCPU_TSAN)
#define CAN_STEP 1
#endif
#ifdef CAN_STEP
#define TRAP_FLAG 0x100

#define LEVELS 2
/* At which instruction each level is interrupted, and how many it has had. */
static unsigned target[LEVELS], steps[LEVELS], level;
static enum action step_action;

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
    uint32_t id = next_id++;

    step_from_here();
    TRACE_2D(EVENT, id, ~id);
    step_no_more();
}

static void on_step(int signal, siginfo_t *info, void *p)
{
    ucontext_t *context = p;
    unsigned my_level = level;

    (void)signal;
    (void)info;
    if (++steps[my_level] != target[my_level])
        return;

    /* Here the interrupt comes. */
    look(0);
    expect(cpus[0].committed <= cpus[0].reserve);
    if (my_level + 1 < LEVELS && target[my_level + 1] > 0) {
        level = my_level + 1;
        steps[level] = 0;
        emit_in_steps();
        level = my_level;
    } else {
        act(step_action);
    }
    look(0);
    context->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

static unsigned count_steps(enum situation situation)
{
    arrange(situation);
    steps[0] = level = 0;
    target[0] = UINT32_MAX;
    target[1] = 0;
    emit_in_steps();
    expect(steps[0] > 10);
    return steps[0];
}

/* A step is a signal, of some microseconds, and sanitizers make ten times as many of them. So only every
 * so many is tried, others in each round; all with STRATA_TEST_LONG in the environment, which takes
 * minutes. */
static unsigned stride(unsigned dimensions)
{
#if defined(__SANITIZE_ADDRESS__)
    unsigned ordinary = dimensions > 1 ? 1009 : 211;
#else
    unsigned ordinary = dimensions > 1 ? 211 : 37;
#endif

    return getenv("STRATA_TEST_LONG") ? 1 : ordinary;
}

static void begin_steps(void)
{
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO | SA_NODEFER};

    sigaction(SIGTRAP, &action, NULL);
}

static void interrupts_at_every_instruction(void **state)
{
    unsigned offset = 0;

    begin_steps();
    for (unsigned situation = 0; situation < N_SITUATIONS; situation++) {
        unsigned n = count_steps(situation);

        for (unsigned action = 0; action < N_ACTIONS; action++)
            for (unsigned at = 1 + offset++ % stride(1); at <= n; at += stride(1)) {
                arrange(situation);
                step_action = action;
                steps[0] = level = 0;
                target[0] = at;
                target[1] = 0;
                emit_in_steps();
                check_end();
            }
    }
}

static void interrupts_of_interrupts(void **state)
{
    static const enum action actions[] = {EMIT, LOSE, READ_EMIT, LOSE_READ_EMIT};
    unsigned offset = 0;

    begin_steps();
    for (unsigned situation = 0; situation < N_SITUATIONS; situation++) {
        unsigned n = count_steps(situation);

        for (unsigned action = 0; action < 4; action++)
            for (unsigned at = 1 + offset++ % stride(2); at <= n; at += stride(2)) {
                bool more = true;

                for (unsigned second = 1 + offset++ % stride(2); more; second += stride(2)) {
                    arrange(situation);
                    step_action = actions[action];
                    steps[0] = level = 0;
                    target[0] = at;
                    target[1] = second;
                    emit_in_steps();
                    more = steps[1] >= second;
                    check_end();
                }
            }
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interrupts_at_the_clock),
#ifdef CAN_STEP
        cmocka_unit_test(interrupts_at_every_instruction),
        cmocka_unit_test(interrupts_of_interrupts),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
