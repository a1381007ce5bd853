/* SPDX-License-Identifier: MIT */

/* A timer for each vCPU. Register 0: a number of µs written there lowers its interrupt, and raises it
 * again after that time; read, the µs that are left. */

#include <time.h>

#include "../machine.h"
#include "trace-timer.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static pthread_t thread;
static bool stopping;
static struct {
    struct vcpu *vcpu; /* NULL: not armed */
    int64_t deadline;  /* ns */
} timers[VCPUS_MAX];

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Fires what is due, and tells when the next one is. */
static int64_t fire(void)
{
    int64_t next = INT64_MAX;

    for (unsigned i = 0; i < VCPUS_MAX; i++) {
        int64_t late = now() - timers[i].deadline;

        if (timers[i].vcpu && late >= 0) {
            trace_timer_fire(i, late);
            vcpu_set_irq(timers[i].vcpu, IRQ_TIMER, true);
            timers[i].vcpu = NULL;
        }
        if (timers[i].vcpu && timers[i].deadline < next)
            next = timers[i].deadline;
    }
    return next;
}

static void *run(void *unused)
{
    pthread_setname_np(pthread_self(), "timer");
    pthread_mutex_lock(&lock);
    while (!stopping) {
        int64_t next = fire();
        struct timespec t = {.tv_sec = (time_t)(next / 1000000000),
                             .tv_nsec = (long)(next % 1000000000)};

        if (next == INT64_MAX)
            pthread_cond_wait(&changed, &lock);
        else
            pthread_cond_timedwait(&changed, &lock, &t);
    }
    pthread_mutex_unlock(&lock);
    return unused;
}

int timer_start(void)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return -pthread_create(&thread, NULL, run, NULL);
}

void timer_stop(void)
{
    pthread_mutex_lock(&lock);
    stopping = true;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
}

uint32_t timer_read(struct vcpu *vcpu, uint32_t offset)
{
    int64_t left = 0;

    pthread_mutex_lock(&lock);
    if (offset == 0 && timers[vcpu->number].vcpu)
        left = timers[vcpu->number].deadline - now();
    pthread_mutex_unlock(&lock);
    return left > 0 ? (uint32_t)(left / 1000) : 0;
}

void timer_write(struct vcpu *vcpu, uint32_t offset, uint32_t value)
{
    if (offset != 0)
        return;
    trace_timer_arm(vcpu->number, value);
    vcpu_set_irq(vcpu, IRQ_TIMER, false);
    pthread_mutex_lock(&lock);
    timers[vcpu->number].vcpu = vcpu;
    timers[vcpu->number].deadline = now() + (int64_t)value * 1000;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}
