/* SPDX-License-Identifier: MIT */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "trace.h"

/* Why a guest exits: AMD's numbers, which readers of Xen's traces know. */
enum exit_reason {
    EXIT_INTR = 0x60,
    EXIT_HLT = 0x78,
    EXIT_VMMCALL = 0x81,
    EXIT_NPF = 0x400,
};

/* A virtual processor. Its program is an endless loop of steps; `rip` says at which it is. */
struct vcpu {
    uint16_t domain, number;
    enum runstate state;
    uint64_t rip;
    uint64_t wakes_at; /* tick of its processor, while it is blocked */
    uint64_t work;     /* left of the step at rip */
    uint64_t random;
    struct vcpu *next; /* of the same processor, in a circle */
};

/* Runs until the guest exits, or *INTERRUPTED. Why, and the address that it touched. */
enum exit_reason guest_run(struct vcpu *vcpu, const volatile bool *interrupted,
                           uint64_t *ret_address);

/* A processor; vCPUs stay where they are. */
struct cpu {
    pthread_t thread;
    unsigned number;
    uint64_t exits_wanted;
    unsigned n_vcpus;
    struct vcpu *vcpus;
    /* What came of it. */
    uint64_t exits, ticks, traced;
    int error;
};

/* Tells the processors to end. Async-signal-safe. */
void cpu_stop(void);
bool cpu_stopping(void);
/* The thread of the struct cpu P: runs its vCPUs until they had `exits_wanted` exits together; 0: until cpu_stop(). */
void *cpu_main(void *p);
