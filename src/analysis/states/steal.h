/* SPDX-License-Identifier: MIT */
#pragma once

/* What became of the time of vCPUs: the states of the host's threads that run them, beside the states of the guest's
 * CPUs that they are.
 *
 *     the thread          the guest's CPU
 *     runs                                  GUEST, and VMM: outside of kvm_entry..kvm_exit, where these are traced. A run of
 *                                           which it is not known is neither
 *     could run           busy, interrupt   STOLEN
 *     could run           idle              STOLEN_IDLE
 *     sleeps                                HALTED
 *
 * `strata sched`, `summary`, `top`, metrics and conditions take these times from here; tests/golden/same_numbers.py compares them.
 *
 * All else is unknown. Intervals of both sides come in their own order; up to STEAL_HELD of a vCPU's are held until
 * those of the other side have come as far. */

#include "analysis/states/states.h"

#define STEAL_HELD 16384
/* If a vCPU has run for so long and was not seen to enter its guest, its entries are not traced, or it is emulated. */
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

/* What a vCPU ran, in ticks: inside of its guest, in the VMM, or unknown. What it ran before it was seen to enter and leave the
 * guest is `early`: all of that is the guest's if it never enters. Zeros: nothing. */
struct steal_runs {
    bool enters;
    int64_t guest, vmm, unknown;
    int64_t early_guest, early_vmm, early_unknown;
};

/* INTERVAL is of a thread or vCPU that runs. */
void steal_runs_add(struct steal_runs *runs, const struct state_interval *interval);
struct steal_split {
    int64_t guest, vmm, unknown;
};

/* What is known of RUNS. IS_ALL: nothing follows. Otherwise what is early is in no part until the vCPU enters, or has run for
 * EARLY_MAX ticks without it. */
struct steal_split steal_runs_split(const struct steal_runs *runs, bool is_all, int64_t early_max);

struct steal_vcpu;

/* From `begin` to `end` a vCPU's thread could run: STEAL_STOLEN, STEAL_STOLEN_IDLE, or STEAL_PARTS, where what the guest's CPU did
 * is unknown. */
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
    /* May be NULL. Called for each wait, in parts that follow each other, as soon as both sides have come as far. */
    int (*put_wait)(void *arg, const struct steal_wait *wait);
    void *arg;
};

/* The machine of INTERVAL, as its origin knows it; NULL: it does not. */
const void *steal_vm(const struct state_interval *interval);

void steal_done(struct steal *steal);
/* An interval of a thread of the host that runs a vCPU, or of a guest's CPU. VM identifies their virtual machine, as origins do: vCPUs of
 * several have the same numbers. NULL: it is passed over. 0, -ENOMEM, or what put_wait() returned. */
int steal_put(struct steal *steal, const void *vm, const struct state_interval *interval);
/* After the last: what has waited for the other side is counted. */
int steal_finish(struct steal *steal);
/* After steal_finish(): the times of a vCPU; NULL: it had none of one of the sides. */
const int64_t *steal_times(const struct steal *steal, const void *vm, int32_t vcpu);
/* At any time: the times of vCPU number I, which is below `n`, as far as both sides have come. RET[STEAL_PARTS]: it could run
 * while the guest's CPU is unknown, or ran and where is unknown. EARLY_MAX: steal_runs_split(). Returns the vCPU's number. */
int32_t steal_times_so_far(const struct steal *steal, unsigned i, int64_t early_max,
                           int64_t ret[STEAL_PARTS + 1]);
