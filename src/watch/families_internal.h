/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of watch/families.h have in common. */

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

/* Of spans: exits first, by enum exit_tracer. */
enum family_rule {
    RULE_IRQ = EXIT_TRACERS,
    RULE_SOFTIRQ,
    FAMILY_RULES,
};

/* What a vCPU's thread, or a vCPU of Xen, does. */
enum vcpu_state {
    VCPU_IN_GUEST,
    VCPU_IN_VMM,
    VCPU_STOLEN,
    VCPU_STOLEN_IDLE,
    VCPU_WAITING, /* stolen or not: the guest's CPU is not recorded */
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
    int64_t (*last)[STEAL_PARTS +
                    1]; /* of the vCPUs of `steal`, what is in the metrics; then, what is unknown */
    unsigned n_last;
};

/* Exits of a vCPU by one reason; interrupts of a machine. What has come in this window is not in the metrics yet: so the sum
 * is rounded once. */
struct family_series {
    struct metric_sample *count, *seconds; /* NULL: none yet */
    uint64_t n;
    int64_t ticks;
};

/* A vCPU. */
struct family_vcpu {
    struct family_machine *machine;
    char label[24];
    int64_t
        until; /* what it did is in the metrics, or with `steal`, up to then; TIME_UNKNOWN: nothing is */
    struct metric_sample *seconds[VCPU_STATES]; /* NULL: none yet */
    struct steal_runs runs;                     /* while its guest is not recorded */
    int64_t last_runs[3]; /* of `runs`, what is in the metrics: guest, VMM, unknown */
    const char *reasons[FAMILIES_REASONS_MAX];
    struct family_series exits[FAMILIES_REASONS_MAX + 1]; /* the last is of all other reasons */
    unsigned n_reasons;
};

/* The user of an origin that lasts. */
struct family_source {
    char machine[MACHINE_NAME_SIZE];
    struct family_machine *guest_of; /* of a guest's kernel */
    const struct trace_input *input; /* NULL: not in this window */
    struct metric_sample *wakeups;   /* NULL: none yet */
    struct family_series interrupts[2];
    struct metric_sample *unknown;
    int64_t last_unknown; /* ticks */
};

/* How a virtual machine's monitor is called in origins, and its label. */
struct family_vm {
    const char *vm, *machine;
};

/* Counts whose differences go into FAMILY_UNPAIRED. */
enum family_analysis { OF_EXITS, OF_INTERRUPTS, OF_REQUESTS, OF_WAKEUPS, FAMILY_ANALYSES };

struct families {
    struct metric_family *family[FAMILIES];
    struct metric_sample *events;
    double seconds_per_tick;
    struct rebind *rebind;
    struct sink sink;       /* gets items of the present opening */
    struct sink bound_sink; /* gets the same, bound */
    /* What begins again where sources are gone. */
    struct arena arena;
    struct span_rule rules[FAMILY_RULES];
    struct spans spans;
    struct states states;
    struct io_tracker requests;
    struct coverage coverage;
    struct exit_classes exit_classes;
    const struct origin *kvm;         /* of the last exit of KVM */
    struct family_series other_exits; /* of too many vCPUs */
    struct family_vcpu **vcpus;
    unsigned n_vcpus;
    struct map vcpus_by_id; /* by origin and thread, or Xen's vCPU */
    struct family_machine **machines;
    unsigned n_machines;
    uint64_t last_unpaired[FAMILY_ANALYSES][SPAN_FATES];
    /* Of the present opening. */
    struct map series; /* of exits, by what their begins have */
    struct map requests_by_key;
    struct arena window;
    struct family_vm *vms;
    unsigned n_vms;
    const struct trace *trace;
    int64_t from;
    bool is_finished; /* nothing follows, or all begins again */
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

/* The machine called NAME; beyond as many as there may be vCPUs, NULL without an error. NULL with families->error. */
struct family_machine *family_machine(struct families *families, const char *name);
/* The vCPU that thread ID of ORIGIN, or Xen's vCPU, is: NUMBER of MACHINE; MACHINE NULL: only if it is known already. NULL: it
 * is not, there are too many, or families->error. */
struct family_vcpu *family_vcpu(struct families *families, const struct origin *origin, int32_t id,
                                const char *machine, int64_t number);
/* The label of the virtual machine whose monitor's thread PID of ORIGIN is; NULL: of none that is known. */
const char *family_vm_of(const struct families *families, const struct origin *origin, int32_t pid);
/* The machine and the number of a vCPU of Xen. */
const char *family_domain(const struct families *families, const struct origin *origin,
                          int32_t vcpu, char *buf, size_t size);

/* Puts what SERIES has since the last time into the metrics. */
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

/* Adds what FATES have become more since the last time. */
int family_add_unpaired(struct families *families, enum family_analysis analysis,
                        const uint64_t *fates);
