/* SPDX-License-Identifier: MIT */
#pragma once

/* How vCPUs spent their time. Combines the states of the host's threads that run the vCPUs with the states of the
 * guest's CPUs.
 *
 *     the thread          the guest's CPU
 *     runs                                  GUEST, and VMM: outside of kvm_entry..kvm_exit, if these are traced. A run is neither
 *                                           if it is unknown which
 *     could run           busy, interrupt   STOLEN
 *     could run           idle              STOLEN_IDLE
 *     sleeps                                HALTED
 *
 * All other time is unknown. `strata sched`, `summary`, `top`, metrics and conditions use these times;
 * tests/golden/same_numbers.py compares them.
 *
 * Intervals of each side come in order. Up to STEAL_HELD intervals of a vCPU are held until the other side has come as
 * far. */

#include "analysis/states/states.h"

#define STEAL_HELD 16384
/* If a vCPU has run for so long without being seen to enter its guest, its entries are not traced, or it is
 * emulated. */
#define STEAL_EARLY_MAX_S 1
#define STEAL_VCPUS_MAX 1024

enum steal_part {
    STEAL_GUEST,
    STEAL_VMM,
    STEAL_STOLEN,
    STEAL_STOLEN_IDLE,
    STEAL_HALTED,
    STEAL_PARTS,
};

/* What a vCPU ran, in ticks: inside of its guest, in the VMM, or unknown. The time before it was seen to enter and
 * leave the guest is `early`, which is all the guest's if the vCPU never enters. Zeros are an empty one. */
struct steal_runs {
    bool enters;
    int64_t guest, vmm, unknown;
    int64_t early_guest, early_vmm, early_unknown;
};

/* Adds INTERVAL of a running thread or vCPU. */
void steal_runs_add(struct steal_runs *runs, const struct state_interval *interval);
struct steal_split {
    int64_t guest, vmm, unknown;
};

/* Divides RUNS as far as it is known. IS_ALL: nothing follows. Otherwise early time is in no part until the vCPU
 * enters, or has run for EARLY_MAX ticks without entering. */
struct steal_split steal_runs_split(const struct steal_runs *runs, bool is_all, int64_t early_max);

struct steal_vcpu;

/* A wait: from `begin` to `end` a vCPU's thread could run. `part` is STEAL_STOLEN, STEAL_STOLEN_IDLE, or STEAL_PARTS if
 * the state of the guest's CPU is unknown. */
struct steal_wait {
    const void *vm;
    const struct origin *origin; /* the host's kernel */
    int32_t vcpu;
    enum steal_part part;
    int64_t begin, end;
};

/* Zeros are an empty one. */
struct steal {
    struct steal_vcpu **vcpus;
    unsigned n;
    bool is_finished;
    /* May be NULL. Called for each wait, in contiguous parts, as soon as both sides have come as far. */
    int (*put_wait)(void *arg, const struct steal_wait *wait);
    void *arg;
};

/* The machine of INTERVAL, as its origin has it, or NULL. */
const void *steal_vm(const struct state_interval *interval);

void steal_done(struct steal *steal);
/* Adds an interval of a host thread that runs a vCPU, or of a guest's CPU. VM identifies their virtual machine, as in
 * origins, because vCPUs of several machines have the same numbers. With VM NULL, does nothing. 0, -ENOMEM, or the
 * result of put_wait(). */
int steal_put(struct steal *steal, const void *vm, const struct state_interval *interval);
/* Call after the last interval: counts what has waited for the other side. */
int steal_finish(struct steal *steal);
/* Call after steal_finish(): the times of a vCPU, or NULL if one side had none. */
const int64_t *steal_times(const struct steal *steal, const void *vm, int32_t vcpu);
/* At any time: the times of vCPU number I, below `n`, as far as both sides have come. RET[STEAL_PARTS]: it could run
 * while the state of the guest's CPU is unknown, or it is unknown where it ran. EARLY_MAX: as in steal_runs_split().
 * Returns the vCPU's number. */
int32_t steal_times_so_far(const struct steal *steal, unsigned i, int64_t early_max,
                           int64_t ret[STEAL_PARTS + 1]);
