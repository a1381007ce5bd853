/* SPDX-License-Identifier: MIT */
/* strata top: what vCPUs did in a window.
 *
 * Intervals come from analysis/states/states.h. While a vCPU runs, it is in the guest, the hypervisor or the VMM. This
 * follows from kvm_entry, kvm_exit and kvm_userspace_exit (Xen: vmentry, vmexit), which are kept in order, as changes,
 * for the window. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/exit_events.h"
#include "base/macro.h"
#include "base/text.h"
#include "base/ticks.h"
#include "event/value.h"
#include "top/model.h"
#include "tracedir/manifest.h"

struct top_change {
    int64_t time;
    uint8_t mode; /* from then on: TOP_GUEST, TOP_HYPERVISOR, TOP_VMM or TOP_RUNS */
};

/* ---- vCPUs ---- */

static uint64_t key_of(enum top_vcpu_kind kind, unsigned source, int32_t id)
{
    return (uint64_t)kind << 60 | (uint64_t)source << 32 | (uint32_t)id;
}

static struct top_vcpu *find_vcpu(const struct top_model *model, enum top_vcpu_kind kind,
                                  unsigned source, int32_t id)
{
    return map_get(&model->vcpu_map, key_of(kind, source, id));
}

struct top_vcpu *top_vcpu_get(struct top_model *model, enum top_vcpu_kind kind, unsigned source,
                              int32_t id)
{
    struct top_vcpu *vcpu = find_vcpu(model, kind, source, id);

    if (likely(vcpu != NULL))
        return vcpu;
    if (model->n_vcpus == TOP_VCPUS_MAX) {
        model->is_too_much = true;
        return NULL;
    }
    if (model->n_vcpus == model->vcpus_room) {
        unsigned room = MAX(model->vcpus_room * 2, 16u);
        struct top_vcpu **vcpus = realloc(model->vcpus, room * sizeof(struct top_vcpu *));

        if (!vcpus) {
            model->no_memory = true;
            return NULL;
        }
        model->vcpus = vcpus;
        model->vcpus_room = room;
    }
    vcpu = calloc(1, sizeof *vcpu);
    if (!vcpu || map_put(&model->vcpu_map, key_of(kind, source, id), vcpu) < 0) {
        free(vcpu);
        model->no_memory = true;
        return NULL;
    }
    vcpu->kind = kind;
    vcpu->source = source;
    vcpu->id = id;
    vcpu->vcpu = kind == TOP_BY_THREAD ? VCPU_UNKNOWN : id;
    vcpu->mode = vcpu->begin_mode = TOP_RUNS;
    vcpu->state = vcpu->begin_state = STATE_UNKNOWN;
    vcpu->last = model->n;
    model->vcpus[model->n_vcpus++] = vcpu;
    return vcpu;
}

static void free_vcpu(struct top_vcpu *vcpu)
{
    free(vcpu->changes);
    free(vcpu);
}

/* Forgets vCPUs without events in all windows. The next event of a vCPU that sleeps so long adds it again. */
static void forget_vcpus(struct top_model *model)
{
    unsigned n = 0;

    for (unsigned i = 0; i < model->n_vcpus; i++)
        if (model->vcpus[i]->last + TOP_WINDOWS > model->n ||
            (model->vcpus[i]->state != STATE_UNKNOWN &&
             model->sources[model->vcpus[i]->source].is_here))
            model->vcpus[n++] = model->vcpus[i];
        else
            free_vcpu(model->vcpus[i]);
    if (n == model->n_vcpus)
        return;
    model->n_vcpus = n;
    map_done(&model->vcpu_map);
    model->vcpu_map = (struct map){0};
    for (unsigned i = 0; i < n; i++) {
        const struct top_vcpu *vcpu = model->vcpus[i];

        /* Not put: it is found no more, and forgotten by and by. */
        (void)map_put(&model->vcpu_map, key_of(vcpu->kind, vcpu->source, vcpu->id),
                      model->vcpus[i]);
    }
}

/* Adds the vCPUs of a running monitor, whose threads its recorder knows, so that a vCPU without events is there,
 * too. */
static void add_listed(struct top_model *model, const struct trace_input *input, unsigned source,
                       const struct manifest_vmm *vmm)
{
    for (unsigned i = 0; i < vmm->n_threads; i++) {
        const struct manifest_thread *thread = &vmm->threads[i];
        struct top_vcpu *vcpu =
            thread->vcpu < 0 ? NULL : top_vcpu_get(model, TOP_BY_THREAD, source, thread->id);

        if (!vcpu)
            continue;
        vcpu->last = model->n;
        vcpu->has_states = true;
        if (vcpu->vcpu == VCPU_UNKNOWN) {
            vcpu->vcpu = thread->vcpu;
            top_copy_name(vcpu->name, input->origin->vm_name
                                          ? input->origin->vm_name(input->origin, thread->id)
                                          : thread->name);
        }
    }
}

static void add_all_listed(struct top_model *model)
{
    for (unsigned i = 0; i < model->trace->n_inputs; i++) {
        const struct trace_input *input = &model->trace->inputs[i];
        const struct manifest *manifest = input->manifest;

        if (!manifest || input->is_left_out || input->origin->layer != LAYER_HOST ||
            !input->origin->kernel)
            continue;
        for (unsigned j = 0; j < manifest->n_sources; j++)
            if (manifest->sources[j].vmm && !manifest_source_has_ended(&manifest->sources[j]))
                add_listed(model, input, top_model_source(model, input->origin),
                           manifest->sources[j].vmm);
    }
}

void top_vcpus_begin(struct top_model *model)
{
    forget_vcpus(model);
    add_all_listed(model);
    for (unsigned i = 0; i < model->n_vcpus; i++) {
        struct top_vcpu *vcpu = model->vcpus[i];

        memset(vcpu->parts[model->slot], 0, sizeof vcpu->parts[0]);
        vcpu->steal[model->slot] = (struct top_steal){0};
        vcpu->vm = NULL;
        vcpu->n_changes = vcpu->at_change = 0;
        vcpu->has_interval = false;
        vcpu->modes_from = TIME_UNKNOWN;
        vcpu->lost = model->has_gap[model->slot];
        vcpu->begin_state = vcpu->lost ? STATE_UNKNOWN : vcpu->state;
        vcpu->begin_mode = vcpu->lost ? TOP_RUNS : vcpu->mode;
        vcpu->mode = vcpu->begin_mode;
    }
}

void top_vcpus_done(struct top_model *model)
{
    for (unsigned i = 0; i < model->n_vcpus; i++)
        free_vcpu(model->vcpus[i]);
    free(model->vcpus);
    model->vcpus = NULL;
    model->n_vcpus = model->vcpus_room = 0;
    map_done(&model->vcpu_map);
}

/* ---- Modes ---- */

static int change_mode(struct top_vcpu *vcpu, int64_t time, enum top_part mode)
{
    if (vcpu->n_changes == TOP_CHANGES_MAX)
        return 0; /* top_vcpus_end() sees it: from the last one on it is not known */
    if (vcpu->n_changes == vcpu->changes_room) {
        unsigned room = MAX(vcpu->changes_room * 2, 64u);
        struct top_change *changes = realloc(vcpu->changes, room * sizeof *changes);

        if (!changes)
            return -ENOMEM;
        vcpu->changes = changes;
        vcpu->changes_room = room;
    }
    if (vcpu->n_changes == TOP_CHANGES_MAX - 1)
        mode = TOP_RUNS;
    vcpu->changes[vcpu->n_changes++] = (struct top_change){time, (uint8_t)mode};
    vcpu->mode = (uint8_t)mode;
    return 0;
}

/* Returns the vCPU of ITEM, or NULL. */
static struct top_vcpu *vcpu_of(struct top_model *model, const struct exit_class *class,
                                const struct item *item)
{
    unsigned source = top_model_source(model, item->origin);
    enum layer layer = item->origin->layer;
    bool is_step = class->role == EXIT_STEP || class->role == EXIT_TO_VMM;
    struct top_vcpu *vcpu;

    if (layer == LAYER_HYPERVISOR)
        return item->vcpu == VCPU_UNKNOWN || !is_step
                   ? NULL
                   : top_vcpu_get(model, TOP_BY_XEN, source, item->vcpu);
    if (layer != LAYER_HOST && !is_step)
        return NULL;
    if (item->pid <= 0 || (!is_step && item->vcpu == VCPU_UNKNOWN))
        return NULL;
    vcpu = top_vcpu_get(model, TOP_BY_THREAD, source, item->pid);
    if (vcpu && vcpu->vcpu == VCPU_UNKNOWN) {
        const char *name = item_vm_name(item);

        vcpu->vcpu = item->vcpu;
        if (item->vcpu == VCPU_UNKNOWN && class->vcpu >= 0)
            vcpu->vcpu = (int32_t)item_value(item, (unsigned)class->vcpu).u;
        top_copy_name(vcpu->name, name ? name : item_task_name(item));
    }
    return vcpu;
}

int top_vcpus_put(struct top_model *model, const struct exit_class *class, const struct item *item)
{
    struct top_vcpu *vcpu;
    bool is_exit;

    if (likely(class->role != EXIT_STEP && class->role != EXIT_TO_VMM) &&
        item->vcpu == VCPU_UNKNOWN)
        return 0;
    vcpu = vcpu_of(model, class, item);
    if (!vcpu)
        return 0;
    vcpu->last = model->n;
    if (class->role == EXIT_TO_VMM) {
        vcpu->has_vmm = true;
        return change_mode(vcpu, item->time, TOP_VMM);
    }
    if (class->role != EXIT_STEP || exit_is_unused(class, item))
        return 0;
    /* As the rules of exits have them: what else ends an exit is kvm_entry, vmentry, and the ioctl of QEMU. */
    is_exit = strstr(item->class->name, "exit") != NULL;
    if (class->tracer == EXITS_OF_QEMU)
        return 0;
    vcpu->has_modes = true;
    return change_mode(vcpu, item->time, is_exit ? TOP_HYPERVISOR : TOP_GUEST);
}

void top_vcpus_put_loss(struct top_model *model, unsigned source, int64_t since)
{
    for (unsigned i = 0; i < model->n_vcpus; i++) {
        struct top_vcpu *vcpu = model->vcpus[i];

        if (vcpu->source != source)
            continue;
        vcpu->lost = true;
        /* What it did since then is not known, either. */
        while (vcpu->n_changes > 0 && vcpu->changes[vcpu->n_changes - 1].time > since)
            vcpu->n_changes--;
        if (vcpu->n_changes > 0 || vcpu->mode != TOP_RUNS)
            (void)change_mode(vcpu, since, TOP_RUNS);
    }
}

/* ---- Intervals ---- */

static enum top_part part_of(enum state state)
{
    switch (state) {
    case STATE_RUNNING:
    case STATE_INTERRUPT: return TOP_RUNS;
    case STATE_RUNNABLE:
    case STATE_WOKEN:
    case STATE_PREEMPTED: return TOP_WAIT;
    case STATE_SLEEPING:
    case STATE_UNINTERRUPTIBLE:
    case STATE_BLOCKED:
    case STATE_IDLE: return TOP_BLOCKED;
    case STATE_OFFLINE: return TOP_OFFLINE;
    default: return TOP_PARTS;
    }
}

/* Returns the mode after its change number AT_CHANGE. */
static enum top_part mode_at(const struct top_vcpu *vcpu)
{
    bool has_change = vcpu->at_change > 0;
    const struct top_change *change = has_change ? &vcpu->changes[vcpu->at_change - 1] : NULL;

    if (vcpu->modes_from != TIME_UNKNOWN && (!change || change->time < vcpu->modes_from))
        return TOP_RUNS;
    return (enum top_part)(change ? change->mode : vcpu->begin_mode);
}

/* Adds the time from BEGIN to END, in which it ran, by its modes. Called in the order of time. */
static void add_run(struct top_vcpu *vcpu, int64_t *parts, int64_t begin, int64_t end)
{
    while (begin < end) {
        int64_t next = end;
        enum top_part mode;

        while (vcpu->at_change < vcpu->n_changes && vcpu->changes[vcpu->at_change].time <= begin)
            vcpu->at_change++;
        mode = mode_at(vcpu);
        if (vcpu->at_change < vcpu->n_changes)
            next = MIN(next, vcpu->changes[vcpu->at_change].time);
        parts[mode] += next - begin;
        begin = next;
    }
}

/* Passes a wait to the engine of stolen time, as `strata sched` does. */
static void add_to_steal(struct top_model *model, const struct top_vcpu *vcpu, enum state state,
                         int64_t begin, int64_t end)
{
    const struct state_interval interval = {
        .of = vcpu->kind == TOP_BY_THREAD ? STATE_SUBJECT_THREAD : STATE_SUBJECT_CPU,
        .state = (uint8_t)state,
        .begin = begin,
        .end = end,
        .id = vcpu->id,
        .vcpu = vcpu->vcpu,
        .inside = -1,
    };

    if (vcpu->kind != TOP_BY_XEN && steal_put(&model->steal, vcpu->vm, &interval) < 0)
        model->no_memory = true;
}

static void add(struct top_model *model, struct top_vcpu *vcpu, enum state state, int64_t begin,
                int64_t end)
{
    int64_t *parts = vcpu->parts[model->slot];
    enum top_part part = part_of(state);

    begin = MAX(begin, model->from);
    end = MIN(end, model->to);
    if (part == TOP_PARTS || begin >= end)
        return;
    add_to_steal(model, vcpu, state, begin, end);
    if (part == TOP_RUNS)
        add_run(vcpu, parts, begin, end);
    else
        parts[part] += end - begin;
}

/* Adds INTERVAL. After a loss, the engine of states may know exactly how long the vCPU was in its guest. Then its modes
 * only divide the rest between hypervisor and VMM. */
static void add_interval(struct top_model *model, struct top_vcpu *vcpu,
                         const struct state_interval *interval)
{
    int64_t *parts = vcpu->parts[model->slot], before[TOP_PARTS], missing;

    memcpy(before, parts, sizeof before);
    add(model, vcpu, (enum state)interval->state, interval->begin, interval->end);
    if (interval->state != STATE_RUNNING || interval->inside < 0 || vcpu->kind == TOP_BY_GUEST)
        return;
    missing = interval->inside - (parts[TOP_GUEST] - before[TOP_GUEST]);
    missing = MAX(missing, before[TOP_GUEST] - parts[TOP_GUEST]);
    missing = MIN(missing, parts[TOP_RUNS] - before[TOP_RUNS]);
    parts[TOP_GUEST] += missing;
    parts[TOP_RUNS] -= missing;
}

/* True if the state that was carried over can have lasted until NEXT, the first known interval. */
static bool leads_to(const struct top_vcpu *vcpu, const struct state_interval *next)
{
    enum top_part before = part_of((enum state)vcpu->begin_state);
    enum top_part part = part_of((enum state)next->state);

    if (vcpu->lost || before == TOP_PARTS || part == TOP_PARTS)
        return false;
    if (before == part)
        return true;
    /* The sched_waking that may have been before its sched_wakeup would have been in the window before (T13 of states.h). */
    if (!next->begin_seen && !next->begin_unsure)
        return false;
    if (before == TOP_RUNS || vcpu->kind == TOP_BY_GUEST)
        return true;
    return before == TOP_BLOCKED || before == TOP_OFFLINE ? part == TOP_WAIT : part == TOP_RUNS;
}

static void put_interval(struct top_model *model, struct top_vcpu *vcpu,
                         const struct state_interval *interval)
{
    if (interval->end <= model->from || interval->begin >= model->to)
        return;
    if (!vcpu->has_interval && interval->begin > model->from && leads_to(vcpu, interval))
        add(model, vcpu, (enum state)vcpu->begin_state, model->from, interval->begin);
    add_interval(model, vcpu, interval);
    if (interval->state == STATE_UNKNOWN)
        vcpu->modes_from = MIN(interval->end, model->to);
    vcpu->has_interval = true;
    vcpu->has_states = true;
    vcpu->last_interval = *interval;
}

static int put_intervals(void *arg, const struct state_interval *intervals, unsigned n)
{
    struct top_model *model = arg;

    for (unsigned i = 0; i < n; i++) {
        const struct state_interval *interval = &intervals[i];
        unsigned source;
        struct top_vcpu *vcpu = NULL;

        source = top_model_source(model, interval->origin);
        model->last_end[source] = MAX(model->last_end[source], interval->end);
        if (interval->of == STATE_SUBJECT_DOMAIN ||
            (interval->of == STATE_SUBJECT_CPU && interval->origin->layer != LAYER_GUEST))
            continue;
        if (interval->of == STATE_SUBJECT_CPU)
            vcpu = top_vcpu_get(model, TOP_BY_GUEST, source, interval->id);
        else if (interval->of == STATE_SUBJECT_VCPU)
            vcpu = top_vcpu_get(model, TOP_BY_XEN, source, interval->id);
        else if (interval->origin->layer == LAYER_HOST)
            vcpu = interval->vcpu != VCPU_UNKNOWN
                       ? top_vcpu_get(model, TOP_BY_THREAD, source, interval->id)
                       : find_vcpu(model, TOP_BY_THREAD, source, interval->id);
        /* Before its first event in the window, what was carried over may go on. */
        if (!vcpu || (interval->state == STATE_UNKNOWN &&
                      interval->begin == states_begin(&model->states, interval->origin)))
            continue;
        if (interval->of == STATE_SUBJECT_THREAD && vcpu->vcpu == VCPU_UNKNOWN) {
            vcpu->vcpu = interval->vcpu;
            top_copy_name(vcpu->name, interval->origin->vm_name
                                          ? interval->origin->vm_name(interval->origin, vcpu->id)
                                          : interval->name);
        }
        if (interval->of == STATE_SUBJECT_VCPU && !*vcpu->name && interval->origin->put_vcpu) {
            struct text text = TEXT_IN_MEMORY;

            interval->origin->put_vcpu(interval->origin, interval->id, &text);
            text_put_char(&text, '\0');
            if (!text.error)
                top_copy_name(vcpu->name, text.start);
            model->no_memory |= text.error != 0;
            text_done(&text);
        }
        if (interval->end > model->from)
            vcpu->last = model->n;
        if (!vcpu->vm)
            vcpu->vm = steal_vm(interval);
        put_interval(model, vcpu, interval);
    }
    return 0;
}

const struct states_ops top_vcpus_states_ops = {.put = put_intervals};

/* Finds the state at the end of the window: the last interval's if it is open, or the carried-over state if there was
 * no interval. */
static void end_vcpu(struct top_model *model, struct top_vcpu *vcpu)
{
    const struct state_interval *last = &vcpu->last_interval;
    const struct top_source *source = &model->sources[vcpu->source];

    if (!vcpu->has_interval) {
        vcpu->state =
            vcpu->lost || source->is_late || !source->is_here ? STATE_UNKNOWN : vcpu->begin_state;
        add(model, vcpu, (enum state)vcpu->state, model->from,
            model->is_final ? model->last_time[vcpu->source] : model->to);
    } else if (!last->end_seen && last->end == model->last_end[vcpu->source] && !source->is_late) {
        /* What is open ends with the last event of its source. */
        vcpu->state = last->state;
        if (!model->is_final)
            add(model, vcpu, (enum state)last->state, last->end, model->to);
    } else {
        vcpu->state = STATE_UNKNOWN;
    }
    vcpu->at_change = vcpu->n_changes;
    vcpu->mode = (uint8_t)mode_at(vcpu);
    if (vcpu->changes_room > 4096 && vcpu->n_changes < vcpu->changes_room / 8) {
        free(vcpu->changes);
        vcpu->changes = NULL;
        vcpu->changes_room = 0;
    }
    if (vcpu->n_changes >= TOP_CHANGES_MAX - 1)
        model->is_too_much = true;
}

/* Finds the virtual machine of a vCPU without intervals in the window. */
static const void *find_vm(const struct top_model *model, const struct top_vcpu *vcpu)
{
    for (unsigned i = 0; i < MIN(model->trace->n_inputs, ARRAY_SIZE(model->input_sources)); i++) {
        const struct trace_input *input = &model->trace->inputs[i];
        struct state_interval interval = {.of = STATE_SUBJECT_CPU, .origin = input->origin};

        if (model->input_sources[i] != vcpu->source || input->is_left_out)
            continue;
        if (vcpu->kind == TOP_BY_THREAD) {
            interval.of = STATE_SUBJECT_THREAD;
            interval.id = vcpu->id;
        }
        return steal_vm(&interval);
    }
    return NULL;
}

static void note_steal(struct top_model *model, struct top_vcpu *vcpu)
{
    const int64_t *times = steal_times(&model->steal, vcpu->vm, vcpu->vcpu);

    if (times)
        vcpu->steal[model->slot] = (struct top_steal){
            .stolen = times[STEAL_STOLEN],
            .idle = times[STEAL_STOLEN_IDLE],
            .has_guest = true,
        };
}

void top_vcpus_end(struct top_model *model)
{
    for (unsigned i = 0; i < model->n_vcpus; i++) {
        if (!model->vcpus[i]->vm)
            model->vcpus[i]->vm = find_vm(model, model->vcpus[i]);
        end_vcpu(model, model->vcpus[i]);
    }
    if (steal_finish(&model->steal) < 0)
        model->no_memory = true;
    for (unsigned i = 0; i < model->n_vcpus; i++)
        if (model->vcpus[i]->kind == TOP_BY_THREAD)
            note_steal(model, model->vcpus[i]);
}
