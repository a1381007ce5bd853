/* SPDX-License-Identifier: MIT */
#include "watch/families.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "event/xen_vcpu.h"
#include "watch/families_internal.h"

/* Threads whose vCPU is remembered. */
#define THREADS_MAX (4 * FAMILIES_VCPUS_MAX)

/* ---- The families ---- */

static const char *const exit_labels[] = {"machine", "vcpu", "reason"};
static const char *const vcpu_labels[] = {"machine", "vcpu", "state"};
static const char *const layer_labels[] = {"machine", "layer"};
static const char *const request_labels[] = {"machine", "layer", "device", "kind"};
static const char *const interrupt_labels[] = {"machine", "layer", "kind"};
static const char *const unpaired_labels[] = {"analysis", "cause"};

static const double wakeup_bounds[] = {5e-6,   1e-5, 2.5e-5, 5e-5,   1e-4, 2.5e-4, 5e-4, 1e-3,
                                       2.5e-3, 5e-3, 1e-2,   2.5e-2, 5e-2, 0.1,    0.5,  1};
static const double request_bounds[] = {5e-5, 1e-4,   2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2,
                                        0.02, 2.5e-2, 5e-2,   0.1,  0.25, 0.5,    1,    5};

#define LABELS(names) .labels = (names), .n_labels = ARRAY_SIZE(names)
#define BOUNDS(values) .bounds = (values), .n_bounds = ARRAY_SIZE(values)

static const struct metric_desc descs[FAMILIES] = {
    [FAMILY_EXITS] = {.type = METRIC_COUNTER,
                      .name = "strata_exits",
                      .max_samples = 4096,
                      .help = "VM exits that ended with an entry into the guest",
                      LABELS(exit_labels)},
    [FAMILY_EXIT_SECONDS] = {.type = METRIC_COUNTER,
                             .name = "strata_exit_seconds",
                             .unit = "seconds",
                             .max_samples = 4096,
                             .help = "Time from VM exits to the entries that ended them",
                             LABELS(exit_labels)},
    [FAMILY_VCPU_SECONDS] = {.type = METRIC_COUNTER,
                             .name = "strata_vcpu_seconds",
                             .unit = "seconds",
                             .max_samples = 4096,
                             .help = "Time of a vCPU by what it did",
                             LABELS(vcpu_labels)},
    [FAMILY_WAKEUPS] = {.type = METRIC_HISTOGRAM,
                        .name = "strata_wakeup_latency_seconds",
                        .unit = "seconds",
                        .help = "Time from the wake-up of a thread, or of a vCPU of Xen, until it "
                                "runs",
                        LABELS(layer_labels),
                        BOUNDS(wakeup_bounds)},
    [FAMILY_REQUESTS] = {.type = METRIC_HISTOGRAM,
                         .name = "strata_block_request_duration_seconds",
                         .unit = "seconds",
                         .help = "Time of requests to disks, from the first layer that has them "
                                 "to their completion there",
                         LABELS(request_labels),
                         BOUNDS(request_bounds)},
    [FAMILY_REQUEST_BYTES] = {.type = METRIC_COUNTER,
                              .name = "strata_block_request_bytes",
                              .unit = "bytes",
                              .help = "Bytes of requests to disks that completed",
                              LABELS(request_labels)},
    [FAMILY_INTERRUPTS] = {.type = METRIC_COUNTER,
                           .name = "strata_interrupts",
                           .help = "Handlers of interrupts and softirqs that ended",
                           LABELS(interrupt_labels)},
    [FAMILY_INTERRUPT_SECONDS] = {.type = METRIC_COUNTER,
                                  .name = "strata_interrupt_seconds",
                                  .unit = "seconds",
                                  .help = "Time in handlers of interrupts and softirqs",
                                  LABELS(interrupt_labels)},
    [FAMILY_UNPAIRED] = {.type = METRIC_COUNTER,
                         .name = "strata_unpaired",
                         .help =
                             "Spans that are not counted, because their begin or end is unknown",
                         LABELS(unpaired_labels)},
    [FAMILY_UNKNOWN_SECONDS] = {.type = METRIC_COUNTER,
                                .name = "strata_unknown_seconds",
                                .unit = "seconds",
                                .help = "Time that is unknown because events were lost",
                                LABELS(layer_labels)},
    [FAMILY_ANALYZED_EVENTS] = {.type = METRIC_COUNTER,
                                .name = "strata_analyzed_events",
                                .help = "Events that the metrics of analyses are made of"},
};

int families_add(struct metrics *metrics, struct metric_family **ret)
{
    int r = 0;

    for (unsigned i = 0; i < FAMILIES && r >= 0; i++)
        r = metrics_add(metrics, &descs[i], &ret[i]);
    return r;
}

/* ---- Machines and vCPUs ---- */

struct family_machine *family_machine(struct families *families, const char *name)
{
    struct family_machine **more;

    for (unsigned i = 0; i < families->n_machines; i++)
        if (strcmp(families->machines[i]->name, name) == 0)
            return families->machines[i];
    if (families->n_machines == FAMILIES_VCPUS_MAX)
        return NULL;
    more =
        realloc(families->machines, (families->n_machines + 1) * sizeof(struct family_machine *));
    if (more) {
        families->machines = more;
        more[families->n_machines] = calloc(1, sizeof **more);
    }
    if (!more || !more[families->n_machines]) {
        families->error = -ENOMEM;
        return NULL;
    }
    snprintf(more[families->n_machines]->name, MACHINE_NAME_SIZE, "%s", name);
    return more[families->n_machines++];
}

static struct family_vcpu *find_vcpu(const struct families *families,
                                     const struct family_machine *machine, const char *label)
{
    for (unsigned i = 0; i < families->n_vcpus; i++)
        if (families->vcpus[i]->machine == machine && strcmp(families->vcpus[i]->label, label) == 0)
            return families->vcpus[i];
    return NULL;
}

static struct family_vcpu *add_vcpu(struct families *families, struct family_machine *machine,
                                    const char *label)
{
    struct family_vcpu **more, *vcpu;

    if (families->n_vcpus == FAMILIES_VCPUS_MAX)
        return NULL;
    more = realloc(families->vcpus, (families->n_vcpus + 1) * sizeof(struct family_vcpu *));
    vcpu = arena_alloc(&families->arena, sizeof *vcpu);
    if (more)
        families->vcpus = more;
    if (!more || !vcpu) {
        families->error = -ENOMEM;
        return NULL;
    }
    vcpu->machine = machine;
    vcpu->until = TIME_UNKNOWN;
    snprintf(vcpu->label, sizeof vcpu->label, "%s", label);
    return more[families->n_vcpus++] = vcpu;
}

struct family_vcpu *family_vcpu(struct families *families, const struct origin *origin, int32_t id,
                                const char *machine, int64_t number)
{
    uint64_t key = family_key((uintptr_t)origin, (uint32_t)id, (uint64_t)number);
    struct family_vcpu *vcpu = map_get(&families->vcpus_by_id, key);
    struct family_machine *of;
    char label[sizeof vcpu->label];

    if (likely(vcpu != NULL && (!machine || strcmp(machine, vcpu->machine->name) == 0)))
        return vcpu;
    of = machine ? family_machine(families, machine) : NULL;
    if (!of)
        return NULL;
    if (number < 0)
        snprintf(label, sizeof label, "other");
    else
        snprintf(label, sizeof label, "%" PRId64, number);
    vcpu = find_vcpu(families, of, label);
    if (!vcpu)
        vcpu = add_vcpu(families, of, label);
    if (families->vcpus_by_id.used > THREADS_MAX)
        map_done(&families->vcpus_by_id);
    if (vcpu && map_put(&families->vcpus_by_id, key, vcpu) < 0) {
        families->error = -ENOMEM;
        return NULL;
    }
    return vcpu;
}

const char *family_vm_of(const struct families *families, const struct origin *origin, int32_t pid)
{
    const char *vm = origin->vm_name ? origin->vm_name(origin, pid) : NULL;

    for (unsigned i = 0; vm && i < families->n_vms; i++)
        if (strcmp(families->vms[i].vm, vm) == 0)
            return families->vms[i].machine;
    return vm;
}

const char *family_domain(const struct families *families, const struct origin *origin,
                          int32_t vcpu, char *buf, size_t size)
{
    const struct family_source *source = family_source_of(origin);
    const char *name = source && source->input ? trace_input_domain(source->input, vcpu) : NULL;

    (void)families;
    if (name && *name)
        snprintf(buf, size, "%s", name);
    else
        snprintf(buf, size, "d%u", (unsigned)vcpu >> 16);
    return buf;
}

/* ---- Sources ---- */

static int add_vms(struct families *families, const struct manifest *manifest)
{
    struct family_vm *vms =
        arena_alloc(&families->window, (families->n_vms + manifest->n_sources + 1) * sizeof *vms);

    if (!vms)
        return -ENOMEM;
    if (families->n_vms > 0)
        memcpy(vms, families->vms, families->n_vms * sizeof *vms);
    families->vms = vms;
    for (unsigned i = 0; i < manifest->n_sources; i++) {
        const struct manifest_source *source = &manifest->sources[i];
        char vm[MACHINE_LABEL_SIZE], machine[MACHINE_NAME_SIZE];
        struct family_vm *one = &vms[families->n_vms];

        if (!source->vmm || source->vmm->n_threads == 0)
            continue;
        machine_vm_label(manifest, source->vmm, vm); /* as origins call it */
        machine_name(manifest, source, machine, sizeof machine);
        one->vm = arena_strdup(&families->window, vm);
        one->machine = arena_strdup(&families->window, machine);
        if (!one->vm || !one->machine)
            return -ENOMEM;
        families->n_vms++;
    }
    return 0;
}

static int set_source(struct families *families, const struct trace_input *input,
                      const struct origin *live)
{
    struct bound_origin *bound = persistent_items_origin(families->persistent, live);
    struct family_source *source = bound ? bound->user : NULL;

    if (bound && !source)
        source = bound->user = arena_alloc(&families->arena, sizeof *source);
    if (!source)
        return -ENOMEM;
    source->input = input;
    if (input->recorded && input->manifest)
        machine_name(input->manifest, input->recorded, source->machine, sizeof source->machine);
    else if (live->host_name)
        snprintf(source->machine, sizeof source->machine, "%s", live->host_name);
    if (live->layer == LAYER_GUEST && !source->guest_of) {
        source->guest_of = family_machine(families, source->machine);
        if (families->error < 0)
            return families->error;
    }
    return 0;
}

static int set_sources(struct families *families, const struct trace *trace)
{
    for (unsigned i = 0; i < trace->n_inputs; i++) {
        const struct trace_input *input = &trace->inputs[i];
        bool is_first = true;
        int r = 0;

        for (unsigned j = 0; j < i; j++)
            is_first = is_first && trace->inputs[j].manifest != input->manifest;
        if (is_first && input->manifest)
            r = add_vms(families, input->manifest);
        for (unsigned j = 0; j < input->n_origins && r >= 0; j++)
            r = set_source(families, input, trace->catalogue.origins[input->first_origin + j]);
        if (r < 0)
            return r;
    }
    return 0;
}

static void forget_inputs(struct families *families)
{
    const struct catalogue *catalogue = persistent_items_catalogue(families->persistent);

    for (unsigned i = 0; i < catalogue->n_origins; i++) {
        struct family_source *source = family_source_of(catalogue->origins[i]);

        if (source)
            source->input = NULL;
    }
}

/* ---- Engines ---- */

static void engines_done(struct families *families)
{
    spans_done(&families->spans);
    states_done(&families->states);
    io_tracker_done(&families->requests);
    coverage_done(&families->coverage);
    for (unsigned i = 0; i < families->n_machines; i++) {
        steal_done(&families->machines[i]->steal);
        free(families->machines[i]->last);
        free(families->machines[i]);
    }
    free(families->machines);
    free(families->vcpus);
    exit_classes_done(&families->exit_classes);
    map_done(&families->vcpus_by_id);
    map_done(&families->series);
    map_done(&families->requests_by_key);
    arena_done(&families->window);
    arena_done(&families->arena);
    persistent_items_free(families->persistent);
}

/* Begins everything again, except what is in the metrics. */
static int engines_init(struct families *families, const struct clock *clock)
{
    struct families empty = {.sink = families->sink, .bound_sink = families->bound_sink};
    int r;

    memcpy(empty.family, families->family, sizeof empty.family);
    empty.events = families->events;
    *families = empty;
    coverage_init(&families->coverage);
    r = persistent_items_new(&families->persistent);
    if (r >= 0)
        r = family_spans_init(families);
    if (r >= 0)
        r = family_states_init(families);
    if (r >= 0)
        r = family_requests_init(families, clock);
    return r;
}

/* ---- Windows ---- */

void family_series_flush(const struct families *families, struct family_series *series)
{
    if (series->n == 0)
        return;
    metric_add(series->count, (double)series->n);
    metric_add(series->seconds, family_seconds(families, series->ticks));
    series->n = 0;
    series->ticks = 0;
}

static int add_unknown(struct families *families)
{
    const struct coverage *coverage = &families->coverage;
    const struct catalogue *catalogue = persistent_items_catalogue(families->persistent);

    for (unsigned i = 0; i < catalogue->n_origins; i++) {
        const struct origin *origin = catalogue->origins[i];
        struct family_source *source = family_source_of(origin);
        int64_t unknown = coverage_lost(coverage, origin);
        const char *const values[] = {source ? source->machine : "", layer_name(origin->layer)};

        if (!source)
            continue;
        if (!source->unknown &&
            metric_sample(families->family[FAMILY_UNKNOWN_SECONDS], values, &source->unknown) < 0)
            return -ENOMEM;
        if (unknown > source->last_unknown) {
            metric_add(source->unknown, family_seconds(families, unknown - source->last_unknown));
            source->last_unknown = unknown;
        }
    }
    return 0;
}

int family_add_unpaired(struct families *families, enum family_analysis analysis,
                        const uint64_t *fates)
{
    static const char *const names[FAMILY_ANALYSES] = {[OF_EXITS] = "exits",
                                                       [OF_INTERRUPTS] = "irq",
                                                       [OF_REQUESTS] = "io",
                                                       [OF_WAKEUPS] = "sched"};

    for (unsigned i = SPAN_COMPLETE + 1; i < SPAN_FATES; i++) {
        const char *const values[] = {names[analysis], span_fate_name((enum span_fate)i)};
        uint64_t *last = &families->last_unpaired[analysis][i];
        struct metric_sample *sample;

        if (fates[i] <= *last)
            continue;
        if (metric_sample(families->family[FAMILY_UNPAIRED], values, &sample) < 0)
            return -ENOMEM;
        metric_add(sample, (double)(fates[i] - *last));
        *last = fates[i];
    }
    return 0;
}

static int put_bound(struct sink *sink, const struct item *items, unsigned n)
{
    struct families *families = container_of(sink, struct families, bound_sink);
    uint64_t before = families->coverage.n_events;
    int r = coverage_put(&families->coverage, items, n);

    metric_add(families->events, (double)(families->coverage.n_events - before));
    if (r >= 0)
        r = states_put(&families->states, items, n);
    if (r >= 0)
        r = io_tracker_put(&families->requests, items, n);
    if (r >= 0)
        r = family_spans_put(families, items, n);
    return r < 0 ? r : families->error;
}

int families_open(struct families *families, const struct trace *trace, int64_t from,
                  struct error *error)
{
    static const struct clock host_clock = {"monotonic", NANOSECONDS};
    const struct clock *clock = trace->host_time || trace->catalogue.n_origins == 0
                                    ? &host_clock
                                    : &trace->catalogue.origins[0]->clock;
    int r = 0;

    if (clock->hz == 0)
        return error_set(error, -EINVAL, NULL, "the rate of the clock is unknown");
    if (families->persistent && persistent_items_is_worn(families->persistent)) {
        r = families_finish(families);
        engines_done(families);
        families->persistent = NULL;
    }
    if (r >= 0 && !families->persistent)
        r = engines_init(families, clock);
    if (r >= 0)
        r = persistent_items_open(families->persistent, trace);
    if (r < 0)
        return r;
    families->trace = trace;
    families->from = from;
    families->seconds_per_tick = 1.0 / (double)clock->hz;
    families->vms = NULL;
    families->n_vms = 0;
    r = set_sources(families, trace);
    return r < 0 ? r : families->error;
}

struct sink *families_sink(struct families *families)
{
    return &families->sink;
}

static int put(struct sink *sink, const struct item *items, unsigned n)
{
    struct families *families = container_of(sink, struct families, sink);

    while (n > 0 && items->time <= families->from && families->from != INT64_MIN) {
        items++;
        n--;
    }
    /* It counts with its end, which has not come. The last items are none, or losses like this one. */
    while (n > 0 && item_is_part_of_loss(&items[n - 1]))
        n--;
    return persistent_items_put(families->persistent, items, n, &families->bound_sink);
}

static int add_all(struct families *families)
{
    int r = family_states_close(families);

    if (r >= 0)
        r = family_spans_close(families);
    if (r >= 0)
        r = family_requests_close(families);
    if (r >= 0)
        r = add_unknown(families);
    return r < 0 ? r : families->error;
}

int families_close(struct families *families)
{
    int r = states_release(&families->states);

    if (r >= 0)
        r = add_all(families);
    forget_inputs(families);
    persistent_items_close(families->persistent);
    families->trace = NULL;
    map_done(&families->series);
    map_done(&families->requests_by_key);
    arena_done(&families->window);
    families->vms = NULL;
    families->n_vms = 0;
    return r;
}

int families_finish(struct families *families)
{
    int r;

    if (!families->persistent)
        return 0;
    r = states_finish(&families->states);
    if (r >= 0)
        r = io_tracker_finish(&families->requests);
    if (r < 0)
        return r;
    spans_finish(&families->spans);
    families->is_finished = true;
    return add_all(families);
}

/* ---- Life ---- */

int families_new(struct metric_family *const *family, struct families **ret)
{
    static const struct sink_ops ops = {.put = put}, bound_ops = {.put = put_bound};
    struct families *families = calloc(1, sizeof *families);
    int r;

    if (!families)
        return -ENOMEM;
    memcpy(families->family, family, sizeof families->family);
    families->sink.ops = &ops;
    families->bound_sink.ops = &bound_ops;
    r = metric_sample(family[FAMILY_ANALYZED_EVENTS], NULL, &families->events);
    if (r < 0) {
        free(families);
        return r;
    }
    *ret = families;
    return 0;
}

void families_free(struct families *families)
{
    if (!families)
        return;
    if (families->persistent)
        engines_done(families);
    free(families);
}
