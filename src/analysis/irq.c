/* SPDX-License-Identifier: MIT */
#include "analysis/irq.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/macro.h"
#include "base/wide.h"
#include "event/kernel.h"

/* What a rule measures. */
enum measure {
    MEASURE_RUN,      /* the handler runs */
    MEASURE_DELAY,    /* from the cause of the interrupt to the begin of its handler */
    MEASURE_LATENESS, /* the same for a timer: from its set time */
};

struct irq_rule {
    const char *kind;    /* of the row */
    const char *builtin; /* beginning of the text of a rule in span_builtins */
    const char *rule;    /* a rule that is not built in, or NULL */
    /* A field of the handler's begin, or "A|B", that names the row. NULL: what '*' matched. */
    const char *name;
    /* A field of the handler's begin that distinguishes rows with the same name; may be NULL. */
    const char *number;
    enum measure measure;
};

/* clang-format off */
static const struct irq_rule irq_rules[] = {
    {"irq", "irq:", NULL, "name", "irq", MEASURE_RUN},
    {"softirq", "softirq:", NULL, "name|vec", "vec", MEASURE_RUN},
    {"tasklet", "tasklet:", NULL, "func", NULL, MEASURE_RUN},
    {"vector", "vector:", NULL, NULL, "vector", MEASURE_RUN},
    {"hrtimer", "hrtimer:", NULL, "function", NULL, MEASURE_RUN},
    {"timer", "timer:", NULL, "function", NULL, MEASURE_RUN},
    {"softirq", "softirq-raise:", NULL, "name|vec", "vec", MEASURE_DELAY},
    {"hrtimer", "hrtimer-start:", NULL, "function", NULL, MEASURE_LATENESS},
    /* The field "cpu" of a send is where the handler runs; without a callback, it is to reschedule. */
    {"vector", NULL, "reschedule: ipi:ipi_send_cpu(field:cpu){callback == 0} -> irq_vectors:reschedule_entry(cpu)",
     NULL, "vector", MEASURE_DELAY},
    {"vector", NULL, "call_function_single: ipi:ipi_send_cpu(field:cpu){callback != 0} -> "
     "irq_vectors:call_function_single_entry(cpu)", NULL, "vector", MEASURE_DELAY},
    {"vector", NULL, "*: host:kvm:kvm_inj_virq(vector,vcpu) -> guest:irq_vectors:*_entry(vector,vcpu) again=first", NULL,
     "vector", MEASURE_DELAY},
    {"vector", NULL, "*: hypervisor:inj_virq(vector,vcpu) -> guest:irq_vectors:*_entry(vector,vcpu) again=first", NULL,
     "vector", MEASURE_DELAY},
};
/* clang-format on */

/* What rows have in addition to durations. */
struct irq_row {
    wide self;
    struct histogram delays; /* negative ones count as 0 */
};

/* Spans that ended on a CPU and may be within an open one there: disjoint, in order. */
#define CPU_SPANS_MAX 64
struct cpu_spans {
    struct {
        int64_t begin;
        uint64_t duration;
    } spans[CPU_SPANS_MAX];
    unsigned n;
};

static struct irq *get_irq(struct analysis *analysis)
{
    return container_of(analysis, struct irq, analysis);
}

/* ---- Rows ---- */

static void put_name(const struct irq_rule *rule, const struct item *item, const char *name,
                     struct text *text)
{
    if (!rule->name)
        text_put_str(text, name);
    else
        grouping_put_field(item, rule->name, text);
}

static _cold_ struct row *add_row(struct irq *irq, const struct irq_rule *rule,
                                  const struct item *item, const char *name,
                                  const uint64_t *numbers)
{
    const struct grouping *grouping = &irq->analysis.settings.grouping;
    struct text *text = &irq->rows.text;
    const char *keys[ROW_KEYS] = {rule->kind};
    size_t starts[ROW_KEYS] = {0};
    struct irq_row *extra;
    struct row *row;

    text->next = text->start;
    put_name(rule, item, name, text);
    text_put_char(text, '\0');
    for (unsigned i = 0; i < grouping->n; i++) {
        starts[i + 1] = text_len(text);
        grouping_put(grouping, i, item, text);
        text_put_char(text, '\0');
    }
    if (text->error)
        return NULL;
    for (unsigned i = 0; i <= grouping->n; i++)
        keys[i + 1] = text->start + starts[i];
    row = rows_add(&irq->rows, numbers, keys);
    if (!row || row->number < irq->n_extra)
        return row;
    extra = realloc(irq->extra, irq->rows.n * sizeof *extra);
    if (!extra)
        return NULL;
    memset(extra + irq->n_extra, 0, (irq->rows.n - irq->n_extra) * sizeof *extra);
    irq->extra = extra;
    irq->n_extra = irq->rows.n;
    row->origin = item->origin;
    if (rule->number) {
        row->values[1] = (int64_t)grouping_field_number(&irq->finder, item, rule->number);
        row->has_value |= 1u << 1;
    }
    for (unsigned i = 0; i < grouping->n; i++)
        if (grouping_value(grouping, i, item, &row->values[i + 2]))
            row->has_value |= 1u << (i + 2);
    return row;
}

/* The row of ITEM, which begins a handler. NULL if out of memory. */
static struct row *get_row(struct irq *irq, const struct irq_rule *rule, const struct item *item,
                           const char *name)
{
    uint64_t numbers[ROW_KEYS] = {(uintptr_t)rule->kind};
    struct row *row;

    numbers[1] = rule->name ? grouping_field_number(&irq->finder, item, rule->name)
                            : hash_bytes(name, strlen(name));
    if (rule->number)
        numbers[1] = hash_mix(hash_mix(0, numbers[1]),
                              grouping_field_number(&irq->finder, item, rule->number));
    grouping_numbers(&irq->analysis.settings.grouping, item, numbers + 2);
    row = rows_find(&irq->rows, numbers);
    return row ? row : add_row(irq, rule, item, name, numbers);
}

/* ---- Spans ---- */

/* The duration of SPAN without the spans within it. */
static int64_t get_self(struct irq *irq, const struct span *span)
{
    uint64_t key = (uintptr_t)span->origin << 16 ^ (uint32_t)span->cpu;
    struct cpu_spans *cpu = map_get(&irq->cpus, key);
    uint64_t duration = (uint64_t)span_end(span) - (uint64_t)span_begin(span);
    uint64_t within = 0;

    if (!cpu) {
        cpu = arena_alloc(&irq->arena, sizeof *cpu);
        if (!cpu || map_put(&irq->cpus, key, cpu) < 0)
            return -ENOMEM;
    }
    while (cpu->n > 0 && cpu->spans[cpu->n - 1].begin >= span_begin(span))
        within += cpu->spans[--cpu->n].duration;
    if (cpu->n == CPU_SPANS_MAX) {
        /* The oldest two become one: an open span has both in it, or neither. */
        cpu->spans[1].begin = cpu->spans[0].begin;
        cpu->spans[1].duration += cpu->spans[0].duration;
        memmove(cpu->spans, cpu->spans + 1, --cpu->n * sizeof cpu->spans[0]);
    }
    cpu->spans[cpu->n].begin = span_begin(span);
    cpu->spans[cpu->n++].duration = duration;
    return (int64_t)MIN(duration - MIN(within, duration), (uint64_t)INT64_MAX);
}

static uint64_t begin(void *arg, const struct span_kind *kind, const struct item *item)
{
    const struct irq_rule *rule = &irq_rules[kind->rule_number];
    struct irq *irq = arg;
    struct row *row;

    if (rule->measure == MEASURE_LATENESS)
        return grouping_field_number(&irq->finder, item, "expires");
    if (rule->measure == MEASURE_DELAY)
        return 0;
    if (!analysis_selects(&irq->analysis, item)) {
        analysis_leave_out(&irq->analysis, item);
        return 0;
    }
    row = get_row(irq, rule, item, kind->name);
    if (!row)
        error_set(&irq->analysis.sink.error, -ENOMEM, NULL, "out of memory");
    return (uintptr_t)row;
}

/* The name of the handler that ITEM enters: "local_timer" for local_timer_entry. */
static const char *handler_name(const struct item *item, char *buf, size_t size)
{
    const char *name = item->class->name;
    size_t len = strlen(name);

    if (len > 6 && strcmp(name + len - 6, "_entry") == 0)
        len -= 6;
    snprintf(buf, size, "%.*s", (int)len, name);
    return buf;
}

/* True if the source of ITEM was recorded at TIME. Earlier, handlers ran unseen. */
static bool was_recorded(const struct irq *irq, const struct item *item, int64_t time)
{
    const int64_t *first = map_get(&irq->firsts, (uintptr_t)item->origin);

    return !first || time >= *first;
}

static int count_delay(struct irq *irq, const struct irq_rule *rule, const struct span *span,
                       const struct item *item)
{
    int64_t delay = (int64_t)((uint64_t)span_end(span) - (uint64_t)span_begin(span));
    struct row *row;
    char name[64];

    /* It came before its cause, by the error of the clocks; only its cause is at hand. */
    if (delay < 0 || !analysis_selects(&irq->analysis, item) ||
        !was_recorded(irq, item, span_begin(span)))
        return 0;
    row = get_row(irq, rule, item,
                  strcmp(span->kind->name, "*") == 0 ? handler_name(item, name, sizeof name)
                                                     : span->kind->name);
    if (!row)
        return -ENOMEM;
    if (rule->measure == MEASURE_LATENESS) /* by the kernel's own clock */
        delay = (int64_t)(grouping_field_number(&irq->finder, item, "now") - span->tag);
    else
        row->error_max = MAX(row->error_max, span->error_ns);
    return histogram_add(&irq->extra[row->number].delays, delay < 0 ? 0 : (uint64_t)delay);
}

static int complete(void *arg, const struct span *span, const struct item *item)
{
    const struct irq_rule *rule = &irq_rules[span->kind->rule_number];
    struct row *row = (struct row *)(uintptr_t)span->tag;
    struct irq *irq = arg;
    int64_t self;

    if (rule->measure != MEASURE_RUN)
        return count_delay(irq, rule, span, item);
    self = get_self(irq, span);
    if (self < 0)
        return -ENOMEM;
    if (!row)
        return 0;
    irq->extra[row->number].self = wide_add(irq->extra[row->number].self, wide_of(self));
    return analysis_count_span(&irq->analysis, &irq->rows, row, &irq->spans, span, item);
}

static void incomplete(void *arg, const struct span *span, enum span_fate fate)
{
    struct irq *irq = arg;
    struct row *row = (struct row *)(uintptr_t)span->tag;

    if (fate == SPAN_OPEN && irq_rules[span->kind->rule_number].measure == MEASURE_RUN && row)
        analysis_keep_open_span(&irq->analysis, &irq->rows, row, &irq->spans, span);
}

static bool selects(void *arg, const struct item *item)
{
    const struct irq *irq = arg;

    return analysis_selects(&irq->analysis, item);
}

static const struct spans_ops span_ops = {
    .begin = begin, .complete = complete, .incomplete = incomplete};

/* Notes when each source begins. */
static int note_firsts(struct irq *irq, const struct item *items, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        int64_t *first;

        if (likely(items[i].origin == irq->last_origin) || items[i].kind != ITEM_EVENT ||
            items[i].time == TIME_UNKNOWN)
            continue;
        irq->last_origin = items[i].origin;
        if (map_get(&irq->firsts, (uintptr_t)items[i].origin))
            continue;
        first = arena_alloc(&irq->arena, sizeof *first);
        if (!first)
            return -ENOMEM;
        *first = items[i].time;
        if (map_put(&irq->firsts, (uintptr_t)items[i].origin, first) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int put(struct sink *sink, const struct item *items, unsigned n)
{
    struct irq *irq = get_irq(container_of(sink, struct analysis, sink));
    int r;

    r = analysis_note_times(&irq->analysis, &irq->rows, items, n);
    if (r == 0)
        r = note_firsts(irq, items, n);
    if (r == 0)
        r = spans_put(&irq->spans, items, n);
    return r < 0 ? r : sink->error.code;
}

static int begin_loss(struct sink *sink, const struct item *item)
{
    return spans_begin_loss(&get_irq(container_of(sink, struct analysis, sink))->spans, item);
}

static int finish(struct sink *sink)
{
    spans_finish(&get_irq(container_of(sink, struct analysis, sink))->spans);
    return 0;
}

/* ---- Result ---- */

static void add_columns(struct analysis *analysis, struct result *result)
{
    const struct grouping *grouping = &analysis->settings.grouping;
    struct irq *irq = get_irq(analysis);

    result_add_key(result, "kind", "KIND", false);
    result_add_key(result, "name", "NAME", false);
    for (unsigned i = 0; i < grouping->n; i++)
        result_add_key(result, grouping->keys[i].name, grouping->keys[i].title,
                       grouping_is_number(grouping, i));
    result_add_duration_columns(result, &analysis->settings.percentiles, &irq->columns);
    irq->self = result_add_column(result, "self", "SELF", RESULT_DURATION);
    irq->delay_n = result_add_column(result, "delay_n", NULL, RESULT_COUNT);
    irq->delay_p50 = result_add_column(result, "delay_p50", "DELAY-P50", RESULT_DURATION);
    irq->delay_p99 = result_add_column(result, "delay_p99", "DELAY-P99", RESULT_DURATION);
    irq->delay_max = result_add_column(result, "delay_max", "DELAY-MAX", RESULT_DURATION);
}

static void set_delays(const struct irq *irq, struct result_row *row, const struct irq_row *extra)
{
    const struct histogram *delays = &extra->delays;

    result_set_number(row, irq->delay_n, (int64_t)delays->n);
    if (delays->n == 0)
        return;
    result_set_number(row, irq->delay_p50, (int64_t)histogram_quantile(delays, 500));
    result_set_number(row, irq->delay_p99, (int64_t)histogram_quantile(delays, 990));
    result_set_number(row, irq->delay_max, (int64_t)delays->max);
}

/* True if an interrupt, softirq, tasklet or timer ran. */
static bool has_events(const struct analysis *analysis)
{
    const struct spans *spans = &container_of(analysis, const struct irq, analysis)->spans;

    for (unsigned i = 0; i < spans->n_kinds; i++)
        if (irq_rules[spans->kinds[i]->rule_number].measure == MEASURE_RUN)
            return true;
    return false;
}

static int add_rows(struct analysis *analysis, struct result *result)
{
    const struct irq *irq = get_irq(analysis);
    int r = result_add_duration_rows(result, &irq->columns, &irq->rows);

    if (r == 0)
        r = result_add_slow_spans(result, &irq->rows);
    for (unsigned i = 0; r == 0 && i < result->n_rows; i++) {
        if (irq->rows.rows[i]->n > 0)
            result_set_number(result->rows[i], irq->self, (int64_t)wide_low(irq->extra[i].self));
        set_delays(irq, result->rows[i], &irq->extra[i]);
    }
    /* A timer that is cancelled never expires: rules of delays have spans without an end. */
    for (unsigned i = 0; i < irq->spans.n_kinds; i++) {
        const struct span_kind *kind = irq->spans.kinds[i];

        if (irq_rules[kind->rule_number].measure != MEASURE_RUN)
            continue;
        for (unsigned fate = SPAN_NO_BEGIN; fate < SPAN_FATES; fate++)
            result->unpaired[fate] += kind->fates[fate];
    }
    return r;
}

/* ---- Life ---- */

int irq_init(struct irq *irq, const struct analysis_settings *settings,
             const struct catalogue *catalogue)
{
    static const struct sink_ops sink_ops = {
        .put = put, .begin_loss = begin_loss, .finish = finish};
    static const struct analysis_ops ops = {
        .name = "irq", .add_columns = add_columns, .add_rows = add_rows, .has_events = has_events};
    int r;

    *irq = (struct irq){.analysis = {.sink.ops = &sink_ops, .ops = &ops, .settings = *settings}};
    for (unsigned i = 0; i < ARRAY_SIZE(irq_rules); i++) {
        struct span_rule rule;

        r = span_rule_parse(irq_rules[i].builtin ? span_builtin_find(irq_rules[i].builtin)
                                                 : irq_rules[i].rule,
                            NULL, &irq->arena, &rule, NULL);
        if (r < 0)
            return r;
        /* Each by its own name, not as "vector". */
        if (irq_rules[i].builtin && !irq_rules[i].name)
            rule.name = "*";
        r = span_rule_list_add(&irq->rules, &rule);
        if (r < 0)
            return r;
    }
    r = rows_init(&irq->rows, 2 + settings->grouping.n, settings->slowest, settings->every,
                  settings->has_batches);
    if (r < 0)
        return r;
    rows_set_grouping(&irq->rows, &settings->grouping);
    irq->rows.moves = true; /* a device may interrupt one CPU alone */
    r = spans_init(&irq->spans, catalogue, irq->rules.rules, irq->rules.n, &span_ops, irq);
    irq->spans.selects = analysis_span_selects(settings, selects);
    return r;
}

void irq_done(struct irq *irq)
{
    for (unsigned i = 0; i < irq->n_extra; i++)
        histogram_done(&irq->extra[i].delays);
    free(irq->extra);
    map_done(&irq->cpus);
    map_done(&irq->firsts);
    spans_done(&irq->spans);
    rows_done(&irq->rows);
    span_rule_list_done(&irq->rules);
    arena_done(&irq->arena);
}
