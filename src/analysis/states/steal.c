/* SPDX-License-Identifier: MIT */
#include "analysis/states/steal.h"

#include <errno.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/ticks.h"

struct piece {
    int64_t begin, end;
    int64_t inside;
    bool enters;
    uint8_t state;
};

/* Pieces in order: number N is at N % STEAL_HELD. */
struct side {
    struct piece *pieces;
    uint64_t first, n;
    int64_t until; /* end of the last piece */
};

struct steal_vcpu {
    const void *vm;
    int32_t vcpu;
    const struct origin *origin; /* of its thread */
    struct side thread, cpu;
    int64_t times[STEAL_PARTS]; /* STEAL_GUEST and STEAL_VMM are set at the end */
    struct steal_runs runs;
    /* Ticks in which the thread could run while the state of the guest's CPU is unknown. */
    int64_t unknown;
};

void steal_runs_add(struct steal_runs *runs, const struct state_interval *interval)
{
    int64_t time = ticks_between(interval->begin, interval->end);
    bool is_known = interval->inside >= 0;
    int64_t inside = is_known ? MIN(interval->inside, time) : 0;
    int64_t outside = is_known ? time - inside : 0;
    int64_t unknown = is_known ? 0 : time;

    runs->enters |= interval->enters;
    if (interval->enters) {
        runs->guest = ticks_sum(runs->guest, inside);
        runs->vmm = ticks_sum(runs->vmm, outside);
        runs->unknown = ticks_sum(runs->unknown, unknown);
    } else {
        runs->early_guest = ticks_sum(runs->early_guest, inside);
        runs->early_vmm = ticks_sum(runs->early_vmm, outside);
        runs->early_unknown = ticks_sum(runs->early_unknown, unknown);
    }
}

struct steal_split steal_runs_split(const struct steal_runs *runs, bool is_all, int64_t early_max)
{
    struct steal_split split = {runs->guest, runs->vmm, runs->unknown};
    int64_t early = ticks_sum(ticks_sum(runs->early_guest, runs->early_vmm), runs->early_unknown);

    if (runs->enters) {
        split.guest = ticks_sum(split.guest, runs->early_guest);
        split.vmm = ticks_sum(split.vmm, runs->early_vmm);
        split.unknown = ticks_sum(split.unknown, runs->early_unknown);
    } else if (is_all || early >= early_max) {
        split.guest = ticks_sum(split.guest, early);
    }
    return split;
}

const void *steal_vm(const struct state_interval *interval)
{
    const struct origin *origin = interval->origin;

    return interval->of == STATE_SUBJECT_CPU ? origin->vm
           : origin->vm_of                   ? origin->vm_of(origin, interval->id)
                                             : NULL;
}

void steal_done(struct steal *steal)
{
    for (unsigned i = 0; i < steal->n; i++) {
        free(steal->vcpus[i]->thread.pieces);
        free(steal->vcpus[i]->cpu.pieces);
        free(steal->vcpus[i]);
    }
    free(steal->vcpus);
    *steal = (struct steal){0};
}

static struct steal_vcpu *get_vcpu(struct steal *steal, const void *vm, int32_t number)
{
    struct steal_vcpu **more;
    struct steal_vcpu *vcpu;

    for (unsigned i = 0; i < steal->n; i++)
        if (steal->vcpus[i]->vm == vm && steal->vcpus[i]->vcpu == number)
            return steal->vcpus[i];
    more = realloc(steal->vcpus, (steal->n + 1) * sizeof *more);
    if (!more)
        return NULL;
    steal->vcpus = more;
    vcpu = calloc(1, sizeof *vcpu);
    if (!vcpu)
        return NULL;
    *vcpu = (struct steal_vcpu){
        .vm = vm, .vcpu = number, .thread.until = INT64_MIN, .cpu.until = INT64_MIN};
    return more[steal->n++] = vcpu;
}

static inline struct piece *piece_at(const struct side *side, uint64_t number)
{
    return &side->pieces[number % STEAL_HELD];
}

static void add_time(struct steal_vcpu *vcpu, enum steal_part part, int64_t time)
{
    vcpu->times[part] = ticks_sum(vcpu->times[part], time);
}

/* If the thread could run, the state of the guest counts; otherwise only the thread's. */
static void count(struct steal_vcpu *vcpu, const struct piece *thread)
{
    if (thread->state == STATE_RUNNING) {
        const struct state_interval run = {.begin = thread->begin,
                                           .end = thread->end,
                                           .inside = thread->inside,
                                           .enters = thread->enters};

        steal_runs_add(&vcpu->runs, &run);
    } else if (state_is_sleep(thread->state)) {
        add_time(vcpu, STEAL_HALTED, ticks_between(thread->begin, thread->end));
    }
}

/* BEGIN to END of a wait is PART of VCPU's time. */
static int add_wait(struct steal *steal, struct steal_vcpu *vcpu, enum steal_part part,
                    int64_t begin, int64_t end)
{
    struct steal_wait wait = {vcpu->vm, vcpu->origin, vcpu->vcpu, part, begin, end};

    if (begin >= end)
        return 0;
    if (part < STEAL_PARTS)
        add_time(vcpu, part, ticks_between(begin, end));
    else
        vcpu->unknown = ticks_sum(vcpu->unknown, ticks_between(begin, end));
    return steal->put_wait ? steal->put_wait(steal->arg, &wait) : 0;
}

static enum steal_part part_of(const struct piece *cpu)
{
    return cpu->state == STATE_IDLE                                       ? STEAL_STOLEN_IDLE
           : cpu->state == STATE_RUNNING || cpu->state == STATE_INTERRUPT ? STEAL_STOLEN
                                                                          : STEAL_PARTS;
}

/* Finds what the guest's CPU did while THREAD could run. */
static int join_wait(struct steal *steal, struct steal_vcpu *vcpu, const struct piece *thread)
{
    struct side *cpus = &vcpu->cpu;
    int64_t at = thread->begin; /* up to here it is counted */
    int r = 0;

    while (cpus->first < cpus->n && piece_at(cpus, cpus->first)->end <= thread->begin)
        cpus->first++;
    for (uint64_t i = cpus->first; i < cpus->n && r >= 0; i++) {
        const struct piece *cpu = piece_at(cpus, i);
        int64_t begin = MAX(cpu->begin, at), end = MIN(cpu->end, thread->end);

        if (cpu->begin >= thread->end)
            break;
        if (begin >= end)
            continue;
        r = add_wait(steal, vcpu, STEAL_PARTS, at, begin);
        if (r >= 0)
            r = add_wait(steal, vcpu, part_of(cpu), begin, end);
        at = end;
    }
    return r < 0 ? r : add_wait(steal, vcpu, STEAL_PARTS, at, thread->end);
}

/* Counts what both sides know, or with ALL, what the thread's side knows. */
static int join(struct steal *steal, struct steal_vcpu *vcpu, bool all)
{
    struct side *threads = &vcpu->thread;

    while (threads->first < threads->n) {
        const struct piece *thread = piece_at(threads, threads->first);
        int r = 0;

        if (!state_waits((enum state)thread->state))
            count(vcpu, thread);
        else if (!all && vcpu->cpu.until < thread->end)
            return 0;
        else
            r = join_wait(steal, vcpu, thread);
        if (r < 0)
            return r;
        threads->first++;
    }
    return 0;
}

static int put(struct steal *steal, struct steal_vcpu *vcpu, struct side *side,
               const struct piece *piece)
{
    int r = 0;

    if (!side->pieces) {
        side->pieces = malloc(STEAL_HELD * sizeof *side->pieces);
        if (!side->pieces)
            return -ENOMEM;
    }
    if (side->n - side->first == STEAL_HELD) {
        /* Of the guest's CPU: what it did then is not known. */
        if (side == &vcpu->thread)
            r = join(steal, vcpu, true);
        else
            side->first++;
    }
    if (r < 0)
        return r;
    *piece_at(side, side->n++) = *piece;
    side->until = MAX(side->until, piece->end);
    return join(steal, vcpu, false);
}

int steal_put(struct steal *steal, const void *vm, const struct state_interval *interval)
{
    bool is_thread = interval->of == STATE_SUBJECT_THREAD;
    struct piece piece = {
        .begin = interval->begin,
        .end = interval->end,
        .inside = interval->inside,
        .enters = interval->enters,
        .state = interval->state,
    };
    int32_t number = is_thread ? interval->vcpu : interval->id;
    struct steal_vcpu *vcpu;

    if (!vm || number < 0 || number >= STEAL_VCPUS_MAX)
        return 0;
    vcpu = get_vcpu(steal, vm, number);
    if (!vcpu)
        return -ENOMEM;
    if (is_thread)
        vcpu->origin = interval->origin;
    return put(steal, vcpu, is_thread ? &vcpu->thread : &vcpu->cpu, &piece);
}

int steal_finish(struct steal *steal)
{
    for (unsigned i = 0; i < steal->n; i++) {
        struct steal_vcpu *vcpu = steal->vcpus[i];
        int r = join(steal, vcpu, true);
        struct steal_split split;

        if (r < 0)
            return r;
        split = steal_runs_split(&vcpu->runs, true, 0);
        vcpu->times[STEAL_GUEST] = split.guest;
        vcpu->times[STEAL_VMM] = split.vmm;
    }
    steal->is_finished = true;
    return 0;
}

const int64_t *steal_times(const struct steal *steal, const void *vm, int32_t vcpu)
{
    for (unsigned i = 0; i < steal->n; i++) {
        const struct steal_vcpu *found = steal->vcpus[i];

        if (found->vm == vm && found->vcpu == vcpu)
            return found->thread.n > 0 && found->cpu.n > 0 ? found->times : NULL;
    }
    return NULL;
}

int32_t steal_times_so_far(const struct steal *steal, unsigned i, int64_t early_max,
                           int64_t ret[STEAL_PARTS + 1])
{
    const struct steal_vcpu *vcpu = steal->vcpus[i];
    struct steal_split split = steal_runs_split(&vcpu->runs, steal->is_finished, early_max);

    for (unsigned part = 0; part < STEAL_PARTS; part++)
        ret[part] = vcpu->times[part];
    ret[STEAL_GUEST] = split.guest;
    ret[STEAL_VMM] = split.vmm;
    ret[STEAL_PARTS] = ticks_sum(vcpu->unknown, split.unknown);
    return vcpu->vcpu;
}
