/* SPDX-License-Identifier: MIT */
/* Metrics from states: the time of vCPUs, and how long threads wait for a CPU after they were woken. */

#include <errno.h>
#include <stdlib.h>

#include "watch/families_internal.h"

static const char *const state_labels[VCPU_STATES] = {
    [VCPU_IN_GUEST] = "guest",  [VCPU_IN_VMM] = "vmm",
    [VCPU_STOLEN] = "stolen",   [VCPU_STOLEN_IDLE] = "stolen_idle",
    [VCPU_WAITING] = "waiting", [VCPU_HALTED] = "halted",
    [VCPU_OFFLINE] = "offline", [VCPU_UNKNOWN_STATE] = "unknown",
};

static int add_time(struct families *families, struct family_vcpu *vcpu, enum vcpu_state state,
                    int64_t ticks)
{
    const char *const values[] = {vcpu->machine->name, vcpu->label, state_labels[state]};

    if (ticks <= 0)
        return 0;
    if (!vcpu->seconds[state] &&
        metric_sample(families->family[FAMILY_VCPU_SECONDS], values, &vcpu->seconds[state]) < 0)
        return -ENOMEM;
    metric_add(vcpu->seconds[state], family_seconds(families, ticks));
    return 0;
}

/* ---- Wake-ups ---- */

static int put_wakeup(struct families *families, const struct state_interval *interval)
{
    struct family_source *source = family_source_of(interval->origin);
    const char *const values[] = {source->machine, layer_name(interval->origin->layer)};

    if (unlikely(!source->wakeups) &&
        metric_sample(families->family[FAMILY_WAKEUPS], values, &source->wakeups) < 0)
        return -ENOMEM;
    metric_observe(source->wakeups,
                   family_seconds(families, ticks_between(interval->begin, interval->end)));
    return 0;
}

/* ---- vCPUs ---- */

/* Returns the vCPU of INTERVAL. If its source is not open any more, only a known vCPU. */
static struct family_vcpu *vcpu_of(struct families *families, const struct state_interval *interval)
{
    const struct origin *origin = interval->origin;
    int64_t number = interval->of == STATE_SUBJECT_VCPU ? interval->id & 0xffff : interval->vcpu;
    char buf[MACHINE_NAME_SIZE];
    const char *vm;

    if (!bound_origin_of(origin)->live)
        return family_vcpu(families, origin, interval->id, NULL, number);
    if (interval->of == STATE_SUBJECT_VCPU)
        return family_vcpu(families, origin, interval->id,
                           family_domain(families, origin, interval->id, buf, sizeof buf), number);
    vm = family_vm_of(families, origin, interval->id);
    return family_vcpu(families, origin, interval->id, vm ? vm : family_source_of(origin)->machine,
                       interval->vcpu);
}

static int put_vcpu(struct families *families, const struct state_interval *interval)
{
    struct family_vcpu *vcpu = vcpu_of(families, interval);
    int64_t duration = ticks_between(interval->begin, interval->end);
    int r = 0;

    if (!vcpu)
        return families->error;
    if (vcpu->until != TIME_UNKNOWN && interval->begin > vcpu->until)
        r = add_time(families, vcpu, VCPU_UNKNOWN_STATE,
                     ticks_between(vcpu->until, interval->begin));
    vcpu->until = vcpu->until == TIME_UNKNOWN ? interval->end : MAX(vcpu->until, interval->end);
    if (r < 0)
        return r;
    if (interval->state == STATE_UNKNOWN)
        return add_time(families, vcpu, VCPU_UNKNOWN_STATE, duration);
    if (interval->of == STATE_SUBJECT_THREAD && vcpu->machine->has_guest)
        return steal_put(&vcpu->machine->steal, vcpu->machine, interval);
    switch (interval->state) {
    case STATE_RUNNING: steal_runs_add(&vcpu->runs, interval); return 0;
    case STATE_RUNNABLE:
    case STATE_WOKEN:
    case STATE_PREEMPTED: return add_time(families, vcpu, VCPU_WAITING, duration);
    case STATE_OFFLINE: return add_time(families, vcpu, VCPU_OFFLINE, duration);
    default: return add_time(families, vcpu, VCPU_HALTED, duration);
    }
}

/* Without switches, events show a thread only sometimes, and what it did in between is unknown. */
static bool has_switches(const struct families *families, const struct origin *origin)
{
    const struct states *states = &families->states;

    for (unsigned i = 0; i < states->n_sources; i++) {
        const struct origin *of;

        (void)states_counts(states, i, &of);
        if (of == origin)
            return states_events(states, i) & STATE_EVENT_SWITCH;
    }
    return false;
}

static int put_guest_cpu(const struct state_interval *interval)
{
    struct family_machine *machine = family_source_of(interval->origin)->guest_of;

    if (!machine)
        return 0;
    machine->has_guest = true;
    return steal_put(&machine->steal, machine, interval);
}

static int put_intervals(void *arg, const struct state_interval *intervals, unsigned n)
{
    struct families *families = arg;
    int r = 0;

    for (unsigned i = 0; i < n && r >= 0; i++) {
        const struct state_interval *interval = &intervals[i];
        enum layer layer = interval->origin->layer;

        if (interval->state == STATE_WOKEN && interval->begin_seen && interval->end_seen &&
            (interval->of == STATE_SUBJECT_THREAD || interval->of == STATE_SUBJECT_VCPU))
            r = put_wakeup(families, interval);
        if (r < 0)
            return r;
        if (interval->of == STATE_SUBJECT_VCPU ||
            (interval->of == STATE_SUBJECT_THREAD && layer == LAYER_HOST &&
             interval->vcpu != VCPU_UNKNOWN && has_switches(families, interval->origin)))
            r = put_vcpu(families, interval);
        else if (interval->of == STATE_SUBJECT_CPU && layer == LAYER_GUEST)
            r = put_guest_cpu(interval);
    }
    return r;
}

int family_states_init(struct families *families)
{
    static const struct states_ops ops = {put_intervals};

    states_init(&families->states, &ops, families);
    families->states.wanted = STATE_SUBJECTS(STATE_SUBJECT_THREAD) |
                              STATE_SUBJECTS(STATE_SUBJECT_VCPU) |
                              STATE_SUBJECTS(STATE_SUBJECT_CPU);
    return 0;
}

/* ---- Windows ---- */

static struct family_vcpu *vcpu_of_machine(const struct families *families,
                                           const struct family_machine *machine, int32_t number)
{
    for (unsigned i = 0; i < families->n_vcpus; i++)
        if (families->vcpus[i]->machine == machine &&
            strcmp(families->vcpus[i]->label, "other") != 0 &&
            strtol(families->vcpus[i]->label, NULL, 10) == number)
            return families->vcpus[i];
    return NULL;
}

static int64_t early_max(const struct families *families)
{
    return (int64_t)(STEAL_EARLY_MAX_S / families->seconds_per_tick);
}

/* Adds what a vCPU ran if its guest is not recorded. */
static int add_runs(struct families *families, struct family_vcpu *vcpu)
{
    static const enum vcpu_state states[] = {VCPU_IN_GUEST, VCPU_IN_VMM, VCPU_UNKNOWN_STATE};
    struct steal_split split =
        steal_runs_split(&vcpu->runs, families->is_finished, early_max(families));
    const int64_t now[] = {split.guest, split.vmm, split.unknown};
    int r = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(now) && r >= 0; i++) {
        r = add_time(families, vcpu, states[i], ticks_between(vcpu->last_runs[i], now[i]));
        vcpu->last_runs[i] = MAX(vcpu->last_runs[i], now[i]);
    }
    return r;
}

static int add_steal(struct families *families, struct family_machine *machine, unsigned i)
{
    static const enum vcpu_state states[STEAL_PARTS + 1] = {
        [STEAL_GUEST] = VCPU_IN_GUEST, [STEAL_VMM] = VCPU_IN_VMM,
        [STEAL_STOLEN] = VCPU_STOLEN,  [STEAL_STOLEN_IDLE] = VCPU_STOLEN_IDLE,
        [STEAL_HALTED] = VCPU_HALTED,  [STEAL_PARTS] = VCPU_UNKNOWN_STATE,
    };
    int64_t now[STEAL_PARTS + 1];
    int32_t number = steal_times_so_far(&machine->steal, i, early_max(families), now);
    struct family_vcpu *vcpu = vcpu_of_machine(families, machine, number);
    int r = 0;

    if (!vcpu) /* its thread is not known */
        return 0;
    for (unsigned part = 0; part <= STEAL_PARTS && r >= 0; part++) {
        r = add_time(families, vcpu, states[part],
                     ticks_between(machine->last[i][part], now[part]));
        machine->last[i][part] = MAX(machine->last[i][part], now[part]);
    }
    return r;
}

static int add_steals(struct families *families, struct family_machine *machine)
{
    unsigned n = machine->steal.n;
    int r = 0;

    if (n > machine->n_last) {
        int64_t(*more)[STEAL_PARTS + 1] = realloc(machine->last, n * sizeof *more);

        if (!more)
            return -ENOMEM;
        memset(more + machine->n_last, 0, (n - machine->n_last) * sizeof *more);
        machine->last = more;
        machine->n_last = n;
    }
    for (unsigned i = 0; i < n && r >= 0; i++)
        r = add_steal(families, machine, i);
    return r;
}

int family_states_close(struct families *families)
{
    uint64_t fates[SPAN_FATES] = {0};
    int r = 0;

    for (unsigned i = 0; i < families->n_machines && r >= 0; i++) {
        if (families->is_finished)
            r = steal_finish(&families->machines[i]->steal);
        if (r >= 0)
            r = add_steals(families, families->machines[i]);
    }
    for (unsigned i = 0; i < families->n_vcpus && r >= 0; i++)
        r = add_runs(families, families->vcpus[i]);
    for (unsigned i = 0; i < families->states.n_sources; i++) {
        const struct origin *origin;
        const struct state_counts *counts = states_counts(&families->states, i, &origin);

        fates[SPAN_LOST] += counts->lost;
        fates[SPAN_EARLY] += counts->early;
        fates[SPAN_CONTRADICTED] += counts->contradicted;
        fates[SPAN_OPEN] += counts->open;
        fates[SPAN_NO_BEGIN] += counts->no_begin;
        fates[SPAN_GONE] += counts->gone;
    }
    return r < 0 ? r : family_add_unpaired(families, OF_WAKEUPS, fates);
}
