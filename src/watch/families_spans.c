/* SPDX-License-Identifier: MIT */
/* Metrics of exits and interrupts, which are spans by rules. */

#include <errno.h>
#include <stdlib.h>

#include "event/value.h"
#include "watch/families_internal.h"

static const struct {
    const char *label, *rule;
} kinds[] = {{"irq", "irq:"}, {"softirq", "softirq:"}};

/* ---- Exits ---- */

/* True if ITEM, of QEMU, is an exit that the kernel of the same host has traced, too. */
static bool is_seen_by_kvm(const struct families *families, const struct item *item)
{
    const struct origin *kvm = families->kvm;

    return kvm && (!kvm->host_name || !item->origin->host_name ||
                   strcmp(kvm->host_name, item->origin->host_name) == 0);
}

/* Returns the vCPU number of ITEM, or -1 if it is unknown or of a machine that is not recorded. */
static int64_t vcpu_number(const struct exit_class *class, const struct item *item, const char *vm)
{
    int field = class->vcpu;
    struct value value;

    if (class->tracer == EXITS_OF_XEN)
        return item->vcpu == VCPU_UNKNOWN ? -1 : item->vcpu & 0xffff;
    if (item->vcpu != VCPU_UNKNOWN)
        return item->vcpu;
    if (class->tracer == EXITS_OF_QEMU)
        field = event_class_field(item->class, "cpu_index");
    else if (item->origin->vm_name && !vm)
        return -1;
    if (field < 0)
        return -1;
    value = item_value(item, (unsigned)field);
    return value.present && value.u < MANIFEST_CPUS_MAX ? (int64_t)value.u : -1;
}

static struct family_vcpu *exit_vcpu(struct families *families, const struct exit_class *class,
                                     const struct item *item)
{
    char buf[MACHINE_NAME_SIZE];
    const char *vm = family_vm_of(families, item->origin, item->pid);
    const char *machine = vm ? vm : family_source_of(item->origin)->machine;
    int64_t number = vcpu_number(class, item, vm);

    if (class->tracer == EXITS_OF_XEN)
        return item->vcpu == VCPU_UNKNOWN
                   ? NULL
                   : family_vcpu(families, item->origin, item->vcpu,
                                 family_domain(families, item->origin, item->vcpu, buf, sizeof buf),
                                 number);
    return family_vcpu(families, item->origin, item->pid, machine, number);
}

/* Returns the index of the reason NAME. Only the first reasons have their own index. -ENOMEM. */
static int find_reason(struct families *families, struct family_vcpu *vcpu, const char *name)
{
    const char *copy;

    for (unsigned i = 0; i < vcpu->n_reasons; i++)
        if (strcmp(vcpu->reasons[i], name) == 0)
            return (int)i;
    if (vcpu->n_reasons == FAMILIES_REASONS_MAX)
        return FAMILIES_REASONS_MAX;
    copy = arena_strdup(&families->arena, name);
    if (!copy)
        return -ENOMEM;
    vcpu->reasons[vcpu->n_reasons] = copy;
    return (int)vcpu->n_reasons++;
}

/* Finds the samples of SERIES, unless it has them. */
static int find_samples(struct families *families, struct family_series *series, enum family count,
                        enum family seconds, const char *const *values)
{
    int r = 0;

    if (series->seconds)
        return 0;
    r = metric_sample(families->family[count], values, &series->count);
    return r < 0 ? r : metric_sample(families->family[seconds], values, &series->seconds);
}

static int find_exits(struct families *families, const struct exit_class *class,
                      const struct item *item, const struct exit_reason *reason,
                      struct family_series **ret)
{
    struct family_vcpu *vcpu = exit_vcpu(families, class, item);
    const char *values[] = {"other", "other", "other"};
    struct text name = TEXT_IN_MEMORY;
    int r = families->error;

    *ret = &families->other_exits;
    if (r >= 0 && vcpu) {
        exit_reason_put(class, item, reason, &name);
        text_put_char(&name, '\0');
        r = name.error ? name.error : find_reason(families, vcpu, name.start);
        if (r >= 0) {
            *ret = &vcpu->exits[r];
            values[0] = vcpu->machine->name;
            values[1] = vcpu->label;
            if (r < (int)FAMILIES_REASONS_MAX)
                values[2] = vcpu->reasons[r];
        }
    }
    text_done(&name);
    return r < 0 ? r : find_samples(families, *ret, FAMILY_EXITS, FAMILY_EXIT_SECONDS, values);
}

static struct family_series *exits_of(struct families *families, const struct item *item)
{
    const struct exit_class *class = families->exit_classes.of[item->class->index];
    struct exit_reason reason;
    struct family_series *series;
    uint64_t key;

    exit_reason_of(class, item, &reason);
    key = family_key((uintptr_t)item->class,
                     (uint64_t)(uint32_t)item->pid << 32 | (uint32_t)item->vcpu,
                     reason.number ^ (uint64_t)reason.isa << 40 ^ (uint64_t)reason.is_nested << 48);
    series = map_get(&families->series, key);
    if (likely(series != NULL))
        return series;
    if (find_exits(families, class, item, &reason, &series) < 0 ||
        map_put(&families->series, key, series) < 0) {
        families->error = -ENOMEM;
        return NULL;
    }
    return series;
}

/* ---- Interrupts ---- */

static struct family_series *interrupts_of(struct families *families, unsigned kind,
                                           const struct item *item)
{
    struct family_source *source = family_source_of(item->origin);
    struct family_series *series = &source->interrupts[kind];
    const char *const values[] = {source->machine, layer_name(item->origin->layer),
                                  kinds[kind].label};

    if (find_samples(families, series, FAMILY_INTERRUPTS, FAMILY_INTERRUPT_SECONDS, values) >= 0)
        return series;
    families->error = -ENOMEM;
    return NULL;
}

/* ---- Spans ---- */

static uint64_t begin(void *arg, const struct span_kind *kind, const struct item *item)
{
    struct families *families = arg;

    if (kind->rule_number >= RULE_IRQ)
        return (uintptr_t)interrupts_of(families, kind->rule_number - RULE_IRQ, item);
    if (kind->rule_number == EXITS_OF_KVM)
        families->kvm = item->origin;
    else if (kind->rule_number == EXITS_OF_QEMU && is_seen_by_kvm(families, item))
        return 0;
    return (uintptr_t)exits_of(families, item);
}

static int complete(void *arg, const struct span *span, const struct item *item)
{
    struct family_series *series = (struct family_series *)(uintptr_t)span->tag;

    (void)arg;
    (void)item;
    if (!series)
        return 0;
    series->n++;
    series->ticks = ticks_sum(series->ticks, ticks_between(span_begin(span), span_end(span)));
    return 0;
}

int family_spans_init(struct families *families)
{
    static const struct spans_ops ops = {.begin = begin, .complete = complete};
    struct error error = {0};
    int r = 0;

    memcpy(families->rules, exit_rules, sizeof exit_rules);
    for (unsigned i = 0; i < ARRAY_SIZE(kinds) && r >= 0; i++)
        r = span_rule_parse(span_builtin_find(kinds[i].rule), kinds[i].label, &families->arena,
                            &families->rules[RULE_IRQ + i], &error);
    return r < 0 ? r
                 : spans_init(&families->spans, persistent_items_catalogue(families->persistent),
                              families->rules, FAMILY_RULES, &ops, families);
}

int family_spans_put(struct families *families, const struct item *items, unsigned n)
{
    int r = exit_spans_put(&families->spans, &families->exit_classes, items, n, NULL);

    return r < 0 ? r : families->error;
}

int family_spans_close(struct families *families)
{
    const struct catalogue *catalogue = persistent_items_catalogue(families->persistent);
    uint64_t fates[2][SPAN_FATES] = {0};
    int r;

    family_series_flush(families, &families->other_exits);
    for (unsigned i = 0; i < families->n_vcpus; i++)
        for (unsigned j = 0; j <= FAMILIES_REASONS_MAX; j++)
            family_series_flush(families, &families->vcpus[i]->exits[j]);
    for (unsigned i = 0; i < catalogue->n_origins; i++) {
        struct family_source *source = family_source_of(catalogue->origins[i]);

        for (unsigned j = 0; source && j < ARRAY_SIZE(source->interrupts); j++)
            family_series_flush(families, &source->interrupts[j]);
    }

    for (unsigned i = 0; i < families->spans.n_kinds; i++) {
        const struct span_kind *kind = families->spans.kinds[i];

        for (unsigned j = 0; j < SPAN_FATES; j++)
            fates[kind->rule_number >= RULE_IRQ][j] += kind->fates[j];
    }
    r = family_add_unpaired(families, OF_EXITS, fates[0]);
    return r < 0 ? r : family_add_unpaired(families, OF_INTERRUPTS, fates[1]);
}
