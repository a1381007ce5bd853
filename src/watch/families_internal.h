/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of watch/families.h share. */

#include "analysis/coverage/coverage.h"
#include "analysis/exit_spans.h"
#include "analysis/requests/io_tracker.h"
#include "analysis/spans/spans.h"
#include "analysis/states/states.h"
#include "analysis/states/steal.h"
#include "base/ticks.h"
#include "live/persistent_items.h"
#include "tracedir/machine.h"
#include "watch/families.h"

/* Rules of spans; the rules of exits come first, by enum exit_tracer. */
enum family_rule {
    RULE_IRQ = EXIT_TRACERS,
    RULE_SOFTIRQ,
    FAMILY_RULES,
};

/* The state of a vCPU: of its thread, or of a vCPU of Xen. */
enum vcpu_state {
    VCPU_IN_GUEST,
    VCPU_IN_VMM,
    VCPU_STOLEN,
    VCPU_STOLEN_IDLE,
    VCPU_WAITING, /* stolen or not: the guest is not recorded */
    VCPU_HALTED,
    VCPU_OFFLINE,
    VCPU_UNKNOWN_STATE,
    VCPU_STATES,
};

/* A machine with vCPUs. */
struct family_machine {
    char name[MACHINE_NAME_SIZE];
    bool has_guest; /* its kernel is recorded */
    struct steal steal;
    /* By vCPU of `steal`: the times that are in the metrics; the last one is unknown time. */
    int64_t (*last)[STEAL_PARTS + 1];
    unsigned n_last;
};

/* Exits of a vCPU for one reason, or interrupts of a machine. `n` and `ticks` are of this window and not in the metrics
 * yet, so that the sum is rounded only once. */
struct family_series {
    struct metric_sample *count, *seconds; /* NULL before the first */
    uint64_t n;
    int64_t ticks;
};

/* A vCPU. */
struct family_vcpu {
    struct family_machine *machine;
    char label[24];
    int64_t
        until; /* the metrics, or `steal`, contain its time up to here; TIME_UNKNOWN: nothing yet */
    struct metric_sample *seconds[VCPU_STATES]; /* NULL before the first */
    struct steal_runs runs;                     /* used while its guest is not recorded */
    int64_t last_runs[3]; /* part of `runs` that is in the metrics: guest, VMM, unknown */
    const char *reasons[FAMILIES_REASONS_MAX];
    struct family_series exits[FAMILIES_REASONS_MAX + 1]; /* the last entry has all other reasons */
    unsigned n_reasons;
};

/* The `user` of a lasting origin. */
struct family_source {
    char machine[MACHINE_NAME_SIZE];
    struct family_machine *guest_of; /* for a guest's kernel */
    const struct trace_input *input; /* NULL if it is not in this window */
    struct metric_sample *wakeups;   /* NULL before the first */
    struct family_series interrupts[2];
    struct metric_sample *unknown;
    int64_t last_unknown; /* in ticks */
};

/* The name of a virtual machine in origins, and its label. */
struct family_vm {
    const char *vm, *machine;
};

/* Analyses whose counts go to FAMILY_UNPAIRED. */
enum family_analysis { OF_EXITS, OF_INTERRUPTS, OF_REQUESTS, OF_WAKEUPS, FAMILY_ANALYSES };

struct families {
    struct metric_family *family[FAMILIES];
    struct metric_sample *events;
    double seconds_per_tick;
    struct persistent_items *persistent;
    struct sink sink;       /* gets the items of the present opening */
    struct sink bound_sink; /* gets the same items, bound */
    /* Reset after too many sources have gone. */
    struct arena arena;
    struct span_rule rules[FAMILY_RULES];
    struct spans spans;
    struct states states;
    struct io_tracker requests;
    struct coverage coverage;
    struct exit_classes exit_classes;
    const struct origin *kvm;         /* of the last exit of KVM */
    struct family_series other_exits; /* of vCPUs beyond the limit */
    struct family_vcpu **vcpus;
    unsigned n_vcpus;
    struct map vcpus_by_id; /* by origin and thread, or by Xen's vCPU */
    struct family_machine **machines;
    unsigned n_machines;
    uint64_t last_unpaired[FAMILY_ANALYSES][SPAN_FATES];
    /* For the present opening. */
    struct map series; /* of exits, by the origin, reason and vCPU of their begins */
    struct map requests_by_key;
    struct arena window;
    struct family_vm *vms;
    unsigned n_vms;
    const struct trace *trace;
    int64_t from;
    bool is_finished; /* the recording has ended, or everything begins again */
    int error;
};

static inline struct family_source *family_source_of(const struct origin *origin)
{
    return bound_origin_of(origin)->user;
}

static inline double family_seconds(const struct families *families, int64_t ticks)
{
    return (double)ticks * families->seconds_per_tick;
}

static inline uint64_t family_key(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t hash = (a + 1) * UINT64_C(0x9e3779b97f4a7c15);

    hash = (hash ^ hash >> 29 ^ b) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ hash >> 32 ^ c) * UINT64_C(0x94d049bb133111eb);
    return hash ^ hash >> 31;
}

/* ---- families.c ---- */

/* Returns the machine called NAME. NULL without an error if there are as many machines as vCPUs may be; NULL with
 * families->error. */
struct family_machine *family_machine(struct families *families, const char *name);
/* Returns the vCPU of thread ID of ORIGIN, or Xen's vCPU ID: NUMBER of MACHINE. MACHINE NULL: only finds a known vCPU.
 * NULL if it is not known, if there are too many, or with families->error. */
struct family_vcpu *family_vcpu(struct families *families, const struct origin *origin, int32_t id,
                                const char *machine, int64_t number);
/* Returns the label of the virtual machine whose monitor has the thread PID of ORIGIN, or NULL if none is known. */
const char *family_vm_of(const struct families *families, const struct origin *origin, int32_t pid);
/* Writes the machine and the number of a vCPU of Xen. */
const char *family_domain(const struct families *families, const struct origin *origin,
                          int32_t vcpu, char *buf, size_t size);

/* Adds to the metrics what SERIES has counted since the last call. */
void family_series_flush(const struct families *families, struct family_series *series);

/* ---- families_spans.c ---- */

int family_spans_init(struct families *families);
int family_spans_put(struct families *families, const struct item *items, unsigned n);
int family_spans_close(struct families *families);

/* ---- families_states.c ---- */

int family_states_init(struct families *families);
int family_states_close(struct families *families);

/* ---- families_requests.c ---- */

int family_requests_init(struct families *families, const struct clock *clock);
int family_requests_close(struct families *families);

/* Adds the increase of FATES since the last call. */
int family_add_unpaired(struct families *families, enum family_analysis analysis,
                        const uint64_t *fates);
