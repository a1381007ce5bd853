/* SPDX-License-Identifier: MIT */

/* Processors. */

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "hypervisor.h"

#define TICK_NS 500000
#define TICKS_ASLEEP 2

static volatile bool stopping;

/* The calling processor's, as its interrupt sees it. */
static _Thread_local struct {
    volatile bool interrupted;
    volatile bool in_guest;
    volatile uint64_t ticks;
} local;

void cpu_stop(void)
{
    stopping = true;
}

bool cpu_stopping(void)
{
    return stopping;
}

/* ---- The timer ---- */

/* Comes at any instant, also in the middle of tracing something. */
static void on_timer(int signal)
{
    (void)signal;
    trace_cpu.in_interrupt = 1;
    local.ticks++;
    local.interrupted = true;
    TRACE_3D(TRC_TOY_TICK, trace_cpu.percpu.number, local.ticks, local.in_guest);
    trace_cpu.in_interrupt = 0;
}

static int start_timer(timer_t *ret)
{
    struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};
    struct itimerspec often = {{0, TICK_NS}, {0, TICK_NS}};

    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    if (sigaction(SIGALRM, &action, NULL) < 0 || timer_create(CLOCK_MONOTONIC, &event, ret) < 0)
        return -errno;
    return timer_settime(*ret, 0, &often, NULL) < 0 ? -errno : 0;
}

/* ---- The scheduler ---- */

static uint32_t vcpu_word(const struct vcpu *vcpu)
{
    return (uint32_t)vcpu->domain << 16 | vcpu->number;
}

static void set_state(struct vcpu *vcpu, enum runstate state)
{
    TRACE_1D(TRC_RUNSTATE_CHANGE(vcpu->state, state), vcpu_word(vcpu));
    vcpu->state = state;
}

static void wake_up(struct cpu *cpu)
{
    for (unsigned i = 0; i < cpu->n_vcpus; i++) {
        struct vcpu *vcpu = &cpu->vcpus[i];

        if (vcpu->state == BLOCKED && vcpu->wakes_at <= local.ticks) {
            TRACE_2D(TRC_WAKE, vcpu->domain, vcpu->number);
            set_state(vcpu, RUNNABLE);
        }
    }
}

/* The next one in the circle that can run; NULL: none now. */
static struct vcpu *pick(struct vcpu *current)
{
    struct vcpu *vcpu = current->next;

    while (vcpu->state != RUNNABLE && vcpu->state != RUNNING && vcpu != current)
        vcpu = vcpu->next;
    return vcpu->state == RUNNABLE || vcpu->state == RUNNING ? vcpu : NULL;
}

static struct vcpu *schedule(struct cpu *cpu, struct vcpu *current)
{
    struct vcpu *next;

    local.interrupted = false;
    wake_up(cpu);
    while (!(next = pick(current)) && !stopping) {
        sched_yield(); /* idle, until the next interrupt */
        wake_up(cpu);
    }
    if (!next)
        return current;
    if (next == current && current->state == RUNNING) {
        TRACE_1D(TRC_CONTINUE_RUNNING, vcpu_word(current));
        return current;
    }
    TRACE_4D(TRC_SWITCH, current->domain, current->number, next->domain, next->number);
    if (current->state == RUNNING)
        set_state(current, RUNNABLE);
    set_state(next, RUNNING);
    strata_percpu_set_current(&trace_cpu.percpu, next->domain, next->number);
    return next;
}

/* ---- Running guests ---- */

static struct vcpu *run_guest(struct cpu *cpu, struct vcpu *vcpu)
{
    enum exit_reason reason;
    uint64_t address = 0;

    TRACE_0D(TRC_VMENTRY);
    local.in_guest = true;
    reason = guest_run(vcpu, &local.interrupted, &address);
    local.in_guest = false;
    TRACE_3D(TRC_SVM_EXIT64, reason, TRACE_PARAM64(vcpu->rip));
    cpu->exits++;

    switch (reason) {
    case EXIT_NPF: TRACE_3D(TRC_TOY_PAGE, vcpu_word(vcpu), TRACE_PARAM64(address)); break;
    case EXIT_HLT:
        TRACE_2D(TRC_BLOCK, vcpu->domain, vcpu->number);
        set_state(vcpu, BLOCKED);
        vcpu->wakes_at = local.ticks + TICKS_ASLEEP;
        return schedule(cpu, vcpu);
    case EXIT_VMMCALL:
        if (address >> 12 & 1) {
            TRACE_2D(TRC_YIELD, vcpu->domain, vcpu->number);
            return schedule(cpu, vcpu);
        }
        break;
    case EXIT_INTR: return schedule(cpu, vcpu);
    }
    return vcpu;
}

/* As far as the machine has so many. */
static void pin(unsigned number)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(number % (n > 0 ? (unsigned)n : 1), &set);
    (void)sched_setaffinity(0, sizeof(set), &set);
}

void *cpu_main(void *p)
{
    struct cpu *cpu = p;
    struct vcpu *vcpu = &cpu->vcpus[0];
    timer_t timer = NULL;

    pin(cpu->number);
    cpu->error = trace_cpu_init(cpu->number);
    if (cpu->error == 0)
        cpu->error = start_timer(&timer);
    if (cpu->error < 0)
        return NULL;

    for (unsigned i = 0; i < cpu->n_vcpus; i++) {
        if (cpu->vcpus[i].number == 0)
            TRACE_1D(TRC_DOM_ADD, cpu->vcpus[i].domain);
        set_state(&cpu->vcpus[i], RUNNABLE);
    }
    vcpu = schedule(cpu, vcpu);
    while (!stopping && (cpu->exits_wanted == 0 || cpu->exits < cpu->exits_wanted))
        vcpu = run_guest(cpu, vcpu);

    timer_delete(timer);
    cpu->ticks = local.ticks;
    cpu->traced = trace_cpu.traced[0] + trace_cpu.traced[1];
    return NULL;
}
