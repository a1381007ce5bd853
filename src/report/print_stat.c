/* SPDX-License-Identifier: MIT */
#include "report/print_stat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "event/late_text.h"
#include "event/program.h"
#include "print/duration.h"
#include "print/sparkline.h"
#include "print/table.h"
#include "print/wrap.h"
#include "report/losses_text.h"
#include "report/stat_covered.h"

const char *const stat_kinds[STAT_KINDS] = {"event", "cpu",  "task",
                                            "layer", "vcpu", "source-event"};

static double share(const struct stat_report *stat, const struct tally_row *row)
{
    return 100.0 * (double)row->count / (double)stat->tally.count;
}

static void put_vcpu(const struct tally_row *row, struct text *text)
{
    if (row->origin->put_vcpu)
        row->origin->put_vcpu(row->origin, row->vcpu, text);
    else
        text_printf(text, "vcpu%d", row->vcpu);
}

static const char *domain_name(const struct stat_report *stat, const struct tally_row *row)
{
    const struct trace_input *inputs = stat->trace->inputs;

    return trace_input_domain(&inputs[trace_input_of(stat->trace, row->origin)], row->vcpu);
}

/* True if rows have sources, which are numbered if there are several. */
static bool has_source_rows(const struct stat_report *stat)
{
    return stat->trace->n_inputs > 1 && stat->tally.by != TALLY_BY_EVENT;
}

/* Puts what a row counts. */
static void put_what(const struct stat_report *stat, const struct tally_row *row, struct text *out)
{
    const char *name;

    if (stat->tally.by == TALLY_BY_LAYER || trace_layers(stat->trace))
        text_printf(out, "%s%s", layer_name(row->origin->layer),
                    stat->tally.by == TALLY_BY_LAYER ? "" : " ");
    if (stat->tally.by == TALLY_BY_LAYER)
        return;
    if (trace_needs_numbers(stat->trace) && stat->tally.by != TALLY_BY_EVENT)
        text_printf(out, "#%u ", trace_input_of(stat->trace, row->origin));
    switch (stat->tally.by) {
    case TALLY_BY_EVENT:
    case TALLY_BY_SOURCE_EVENT: text_put_str(out, row->class->name); return;
    case TALLY_BY_CPU:
        if (row->cpu < 0)
            text_put_literal(out, "[---]");
        else
            text_printf(out, "[%03d]", row->cpu);
        return;
    case TALLY_BY_VCPU:
        if (row->vcpu == VCPU_UNKNOWN)
            text_put_char(out, '-');
        else
            put_vcpu(row, out);
        return;
    case TALLY_BY_TASK:
    case TALLY_BY_KEYS:
    case TALLY_BY_LAYER: break;
    }
    if (row->pid == PID_UNKNOWN && row->vcpu == VCPU_UNKNOWN) {
        text_put_char(out, '-');
    } else if (row->pid == PID_UNKNOWN) {
        put_vcpu(row, out);
        name = domain_name(stat, row);
        if (name) {
            text_put_char(out, ' ');
            text_put_str(out, name);
        }
    } else {
        name = origin_task_name(row->origin, row->pid);
        if (name && *name) {
            text_put_str(out, name);
            text_put_char(out, '-');
        }
        text_printf(out, "%d", row->pid);
    }
}

/* In parts per thousand of the intervals; 1000: the longest. */
static const unsigned permilles[] = {500, 900, 990, 1000};

static uint64_t interval(const struct tally_row *row, unsigned permille)
{
    return permille == 1000 ? row->distances->max : histogram_quantile(row->distances, permille);
}

static bool has_intervals(const struct stat_report *stat, const struct tally_row *row)
{
    return row->distances && row->distances->n && !clock_is_order(&stat->clock);
}

/* ---- The table ---- */

enum {
    STAT_LAYER,
    STAT_SOURCE,
    STAT_GROUP,
    STAT_EVENT,
    STAT_CPU,
    STAT_PID,
    STAT_COMM,
    STAT_VCPU,
    STAT_DOMAIN,
    STAT_COUNT,
    STAT_RATE,
    STAT_SHARE_PERCENT,
    STAT_SHARE,
    STAT_INTERVALS,
    STAT_MAX_AT = STAT_INTERVALS + ARRAY_SIZE(permilles),
    STAT_PERIODS,
    STAT_WHAT,
    STAT_KEYS = STAT_WHAT, /* replaces STAT_WHAT if rows are by keys */
    STAT_SERIES = STAT_KEYS + GROUPING_KEYS,
    STAT_COLUMNS,
};

/* Characters of the column of periods. */
#define PERIODS_WIDTH 40

/* True for columns that say what a row counts, besides its layer and source. */
static bool is_of(unsigned column, enum tally_by by)
{
    switch (column) {
    case STAT_GROUP:
    case STAT_EVENT: return by == TALLY_BY_EVENT || by == TALLY_BY_SOURCE_EVENT;
    case STAT_CPU: return by == TALLY_BY_CPU;
    case STAT_PID:
    case STAT_COMM: return by == TALLY_BY_TASK;
    case STAT_LAYER:
    case STAT_SOURCE: return by != TALLY_BY_KEYS;
    case STAT_VCPU:
    case STAT_DOMAIN: return by == TALLY_BY_TASK || by == TALLY_BY_VCPU;
    default: return true;
    }
}

/* The number of periods over all rows. */
static unsigned count_periods(const struct stat_report *stat)
{
    const struct tally *tally = &stat->tally;

    if (tally->periods_begin == TIME_UNKNOWN)
        return 0;
    return (unsigned)MIN(((uint64_t)tally->last - (uint64_t)tally->periods_begin) /
                                 (uint64_t)tally->options.every +
                             1,
                         (uint64_t)TALLY_PERIODS_MAX);
}

static void make_key_columns(const struct stat_report *stat, struct table_column *columns)
{
    const struct grouping *grouping = &stat->tally.options.grouping;

    for (unsigned i = 0; i < grouping->n; i++) {
        columns[STAT_KEYS + i] = (struct table_column){
            .title = grouping->keys[i].title,
            .width = -1,
            .name = grouping->keys[i].name,
            .object = "key",
            .is_name = true,
        };
    }
}

static void make_columns(const struct stat_report *stat, struct table_column columns[STAT_COLUMNS])
{
    static const char *const heads[] = {"EVENT", "CPU", "TASK", "LAYER", "VCPU", "EVENT"};
    static const char *const names[] = {
        [STAT_LAYER] = "layer", [STAT_SOURCE] = "source", [STAT_GROUP] = "group",
        [STAT_EVENT] = "event", [STAT_CPU] = "cpu",       [STAT_PID] = "pid",
        [STAT_COMM] = "comm",   [STAT_VCPU] = "vcpu",     [STAT_DOMAIN] = "domain",
        [STAT_COUNT] = "count", [STAT_RATE] = "rate",     [STAT_SHARE] = "share",
    };
    static const struct {
        const char *title, *name, *name_of_ticks;
        uint8_t rank;
    } intervals[] = {{"P50", "p50_ns", "p50_ticks", 3},
                     {"P90", "p90_ns", "p90_ticks", 5},
                     {"P99", "p99_ns", "p99_ticks", 3},
                     {"MAX", "max_ns", "max_ticks", 3}};

    memset(columns, 0, STAT_COLUMNS * sizeof *columns);
    for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
        columns[i].name = is_of(i, stat->tally.by) ? names[i] : NULL;
    columns[STAT_COUNT].title = "COUNT";
    columns[STAT_COUNT].width = 6;
    columns[STAT_RATE].title = "RATE/s";
    columns[STAT_RATE].width = 7;
    columns[STAT_RATE].decimals = 1;
    columns[STAT_RATE].rank = 1;
    columns[STAT_SHARE_PERCENT] = (struct table_column){"SHARE%", 6, .decimals = 2, .rank = 1};
    for (unsigned i = 0; i < ARRAY_SIZE(intervals); i++)
        columns[STAT_INTERVALS + i] = (struct table_column){
            .title = intervals[i].title,
            .width = 7,
            .name = stat->clock.hz ? intervals[i].name : intervals[i].name_of_ticks,
            .object = "intervals",
            .rank = intervals[i].rank};
    columns[STAT_MAX_AT] = (struct table_column){
        "MAX AT", 7, stat->clock.hz ? "max_begin_ns" : "max_begin_ticks", "intervals", .rank = 4};
    if (stat->options->every) {
        columns[STAT_PERIODS] = (struct table_column){"COUNT OVER TIME", -1, .rank = 2};
        columns[STAT_SERIES] = (struct table_column){.name = "series", .json_only = true};
    }
    if (stat->tally.by == TALLY_BY_KEYS)
        make_key_columns(stat, columns);
    else
        columns[STAT_WHAT] = (struct table_column){heads[stat->tally.by], -1, .is_name = true};
}

static void set_vcpu(const struct stat_report *stat, struct table *table,
                     const struct tally_row *row)
{
    put_vcpu(row, table_cell(table, STAT_VCPU));
    table_str(table, STAT_DOMAIN, domain_name(stat, row));
}

static void set_what(const struct stat_report *stat, struct table *table,
                     const struct tally_row *row)
{
    const char *name;

    table_str(table, STAT_LAYER, layer_name(row->origin->layer));
    if (stat->tally.by == TALLY_BY_LAYER)
        return;
    if (has_source_rows(stat))
        table_u64(table, STAT_SOURCE, trace_input_of(stat->trace, row->origin));
    switch (stat->tally.by) {
    case TALLY_BY_EVENT:
    case TALLY_BY_SOURCE_EVENT:
        if (row->class->group && *row->class->group)
            table_str(table, STAT_GROUP, row->class->group);
        table_str(table, STAT_EVENT, row->class->name);
        return;
    case TALLY_BY_CPU:
        if (row->cpu >= 0)
            table_i64(table, STAT_CPU, row->cpu);
        return;
    case TALLY_BY_VCPU:
        if (row->vcpu != VCPU_UNKNOWN)
            set_vcpu(stat, table, row);
        return;
    case TALLY_BY_TASK:
    case TALLY_BY_KEYS:
    case TALLY_BY_LAYER: break;
    }
    name = origin_task_name(row->origin, row->pid);
    if (row->pid != PID_UNKNOWN)
        table_i64(table, STAT_PID, row->pid);
    if (name && *name)
        table_str(table, STAT_COMM, name);
    if (row->pid == PID_UNKNOWN && row->vcpu != VCPU_UNKNOWN)
        set_vcpu(stat, table, row);
}

static void set_interval(const struct stat_report *stat, struct table *table, unsigned column,
                         uint64_t ticks)
{
    char buf[32];

    if (table->format == TABLE_TEXT)
        table_str(table, column, duration_text(buf, sizeof buf, &stat->clock, ticks));
    else
        table_i64(table, column, duration_ns(&stat->clock, ticks));
}

/* Sets the counts per period. In text, neighbouring periods are added up to fit. */
static void set_periods(const struct stat_report *stat, struct table *table,
                        const struct tally_row *row)
{
    unsigned n = count_periods(stat);
    unsigned together = (n + PERIODS_WIDTH - 1) / PERIODS_WIDTH;
    uint64_t counts[PERIODS_WIDTH] = {0};

    for (const struct tally_period *period = row->periods; period && n > 0; period = period->next)
        counts[MIN(period->number, n - 1) / together] += period->count;
    if (n > 0)
        sparkline_put(table_cell(table, STAT_PERIODS), counts, NULL, (n + together - 1) / together);
}

/* Sets [start, count, median and 99th percentile of the intervals] for each period with events. */
static int set_series(const struct stat_report *stat, struct table *table,
                      const struct tally_row *row)
{
    static const struct histogram none;
    struct json_writer *w = table_json(table, STAT_SERIES);
    const struct tally_period **periods;
    int r = tally_sort_periods(row, &periods);

    if (r < 0)
        return r;
    json_write_array(w);
    for (unsigned i = 0; i < row->n_periods; i++) {
        const struct tally_period *period = periods[i];
        const struct histogram *distances = period->distances ? period->distances : &none;
        int64_t begin = (int64_t)((uint64_t)stat->tally.periods_begin +
                                  period->number * (uint64_t)stat->tally.options.every);

        json_write_array(w);
        json_write_i64(w, clock_to_ns(&stat->clock, begin));
        json_write_u64(w, period->count);
        json_write_i64(w, duration_ns(&stat->clock, histogram_quantile(distances, 500)));
        json_write_i64(w, duration_ns(&stat->clock, histogram_quantile(distances, 990)));
        json_write_end(w);
    }
    json_write_end(w);
    free(periods);
    return 0;
}

static void set_max_at(const struct stat_report *stat, struct table *table,
                       const struct tally_row *row)
{
    if (table->format == TABLE_TEXT)
        clock_put_time(&stat->clock, row->max_at, table_cell(table, STAT_MAX_AT));
    else
        table_i64(table, STAT_MAX_AT, clock_to_ns(&stat->clock, row->max_at));
}

/* 0, -ENOMEM. */
static int put_row(const struct stat_report *stat, struct stat_covered *covered,
                   struct table *table, const struct tally_row *row)
{
    double time;
    int r = stat_covered_seconds(stat, covered, row, &time);

    if (r < 0)
        return r;
    if (stat->tally.by != TALLY_BY_KEYS)
        set_what(stat, table, row);
    table_u64(table, STAT_COUNT, row->count);
    if (time > 0)
        table_real(table, STAT_RATE, (double)row->count / time);
    table_real(table, STAT_SHARE_PERCENT, share(stat, row));
    table_real(table, STAT_SHARE, share(stat, row) / 100);
    for (unsigned i = 0; i < ARRAY_SIZE(permilles) && has_intervals(stat, row); i++)
        set_interval(stat, table, STAT_INTERVALS + i, interval(row, permilles[i]));
    if (has_intervals(stat, row))
        set_max_at(stat, table, row);
    if (stat->options->every && table->format == TABLE_TEXT)
        set_periods(stat, table, row);
    if (stat->options->every && table->format == TABLE_JSON)
        r = set_series(stat, table, row);
    if (stat->tally.by != TALLY_BY_KEYS)
        put_what(stat, row, table_cell(table, STAT_WHAT));
    for (unsigned i = 0; i < stat->tally.options.grouping.n; i++)
        table_str(table, STAT_KEYS + i, row->keys[i]);
    table_end_row(table);
    return r;
}

/* ---- Around the table ---- */

/* Puts how much time a source of LAYER lost at most; of any layer for LAYERS. */
static void put_lost_time(const struct stat_report *stat, const struct stat_covered *covered,
                          unsigned layer, struct text *out)
{
    const struct coverage *coverage = &covered->coverage;
    int64_t lost = 0;
    char buf[32];

    for (unsigned i = 0; i < coverage->n_sources && !stat->tally.options.separate; i++) {
        const struct origin *origin = stat->tally.cover.sources[i].origin;

        if (layer == LAYERS || origin->layer == layer)
            lost = MAX(lost, coverage_lost(coverage, origin));
    }
    if (lost == 0)
        return;
    text_printf(out, "; %s of ", duration_text(buf, sizeof buf, &stat->clock, (uint64_t)lost));
    text_printf(out, "%s%s are unknown",
                duration_text(buf, sizeof buf, &stat->clock, (uint64_t)coverage_duration(coverage)),
                stat->clock.hz ? "" : CLOCK_TICKS_TEXT);
}

static void put_losses_of(const struct stat_report *stat, const struct stat_covered *covered,
                          unsigned layer, const struct losses *losses, struct text *out)
{
    losses_put(losses, out);
    put_lost_time(stat, covered, layer, out);
    text_put_literal(out, ": counts are without them, and P50 to MAX are over that time, too\n");
}

/* Puts one line per layer, because layers number their CPUs separately. */
static void put_losses(const struct stat_report *stat, const struct stat_covered *covered,
                       struct text *out)
{
    unsigned layers = trace_layers(stat->trace);

    if (layers == 0 && losses_any(&stat->tally.losses))
        put_losses_of(stat, covered, LAYERS, &stat->tally.losses, out);
    for (unsigned i = 0; i < LAYERS; i++) {
        if (!(layers >> i & 1) || !losses_any(&stat->tally.layers.losses[i]))
            continue;
        text_printf(out, "%s: ", layer_name((enum layer)i));
        put_losses_of(stat, covered, i, &stat->tally.layers.losses[i], out);
    }
}

/* From the first event, or a loss before it, to the last event. */
static uint64_t duration(const struct stat_report *stat, const struct stat_covered *covered)
{
    return stat->tally.options.separate ? tally_duration(&stat->tally)
                                        : (uint64_t)coverage_duration(&covered->coverage);
}

static void put_summary(const struct stat_report *stat, const struct stat_covered *covered,
                        struct text *out)
{
    const struct tally *tally = &stat->tally;
    char buf[32];

    text_printf(out, "%12" PRIu64 " event%s", tally->count, tally->count == 1 ? "" : "s");
    if (clock_is_order(&stat->clock))
        text_put_literal(out, CLOCK_ORDER_TEXT);
    else if (tally->first != TIME_UNKNOWN)
        text_printf(out, " in %s%s",
                    duration_text(buf, sizeof buf, &stat->clock, duration(stat, covered)),
                    stat->clock.hz ? "" : CLOCK_TICKS_TEXT);
    text_put_char(out, '\n');
    if (tally->n_without_keys)
        text_printf(out, "%12" PRIu64 " %s no such field and %s not counted\n",
                    tally->n_without_keys, tally->n_without_keys == 1 ? "event has" : "events have",
                    tally->n_without_keys == 1 ? "is" : "are");
    put_losses(stat, covered, out);
    if (trace_late(stat->trace) > 0) {
        char late[LATE_TEXT_SIZE];

        text_printf(out, "%s\n", late_text(late, trace_late(stat->trace)));
    }
    if (covered->rates_are_least)
        text_put_literal(out, "RATE/s is the least that it can be: events of a row may be missing "
                              "on the CPUs that lost events\n");
}

static void put_gaps(const struct stat_report *stat, struct text *out)
{
    const struct tally *tally = &stat->tally;

    if (tally->n_gaps)
        text_put_literal(out, "\nThe longest times without an event:\n");
    for (unsigned i = 0; i < tally->n_gaps; i++) {
        const struct tally_gap *gap = &tally->gaps[i];
        char buf[32];

        text_printf(out, "%9s  from ",
                    duration_text(buf, sizeof buf, &stat->clock,
                                  (uint64_t)gap->end - (uint64_t)gap->begin));
        clock_put_time(&stat->clock, gap->begin, out);
        text_put_literal(out, " to ");
        clock_put_time(&stat->clock, gap->end, out);
        text_printf(out, ", after %s%s\n", gap->class->name,
                    gap->lost ? "; events were lost there" : "");
    }
}

static void write_gaps(const struct stat_report *stat, struct json_writer *w)
{
    bool is_ns = stat->clock.hz != 0;

    json_write_key(w, "gaps");
    json_write_array(w);
    for (unsigned i = 0; i < stat->tally.n_gaps; i++) {
        const struct tally_gap *gap = &stat->tally.gaps[i];

        json_write_object(w);
        json_write_key(w, is_ns ? "begin_ns" : "begin_ticks");
        json_write_i64(w, clock_to_ns(&stat->clock, gap->begin));
        json_write_key(w, is_ns ? "end_ns" : "end_ticks");
        json_write_i64(w, clock_to_ns(&stat->clock, gap->end));
        json_write_key(w, "after");
        json_write_str(w, gap->class->name);
        json_write_key(w, "lost");
        json_write_bool(w, gap->lost);
        json_write_end(w);
    }
    json_write_end(w);
}

static void write_layer_losses(const struct stat_report *stat, struct json_writer *w)
{
    unsigned layers = trace_layers(stat->trace);

    if (!layers)
        return;
    json_write_key(w, "layers");
    json_write_object(w);
    for (unsigned i = 0; i < LAYERS; i++) {
        if (!(layers >> i & 1))
            continue;
        json_write_key(w, layer_name((enum layer)i));
        json_write_object(w);
        losses_write_json(&stat->tally.layers.losses[i], w);
        json_write_end(w);
    }
    json_write_end(w);
}

/* Begins an object, in which the table's rows come last. */
static void begin_json(const struct stat_report *stat, const struct stat_covered *covered,
                       struct json_writer *w)
{
    const struct clock *clock = &stat->clock;
    const struct tally *tally = &stat->tally;

    json_write_object(w);
    json_write_key(w, "by");
    json_write_str(w, stat->options->by ? stat->options->by : stat_kinds[TALLY_BY_EVENT]);
    json_write_key(w, "events");
    json_write_u64(w, tally->count);
    if (tally->first != TIME_UNKNOWN) {
        json_write_key(w, clock->hz ? "first_ns" : "first_ticks");
        json_write_i64(w,
                       clock_to_ns(clock, stat->tally.options.separate ? tally->first
                                                                       : covered->coverage.first));
        json_write_key(w, clock->hz ? "duration_ns" : "duration_ticks");
        json_write_i64(w, duration_ns(clock, duration(stat, covered)));
        if (!stat->tally.options.separate) {
            json_write_key(w, clock->hz ? "covered_ns" : "covered_ticks");
            json_write_i64(
                w, duration_ns(clock, (uint64_t)coverage_covered(&covered->coverage, NULL)));
        }
    }
    losses_write_json(&tally->losses, w);
    write_layer_losses(stat, w);
    json_write_key(w, "out_of_order");
    json_write_u64(w, trace_late(stat->trace));
    if (covered->rates_are_least) {
        json_write_key(w, "rates_are_least");
        json_write_bool(w, true);
    }
    if (stat->tally.by == TALLY_BY_KEYS) {
        json_write_key(w, "events_without_keys");
        json_write_u64(w, tally->n_without_keys);
    }
    if (stat->options->every) {
        json_write_key(w, clock->hz ? "every_ns" : "every_ticks");
        json_write_i64(w, duration_ns(clock, (uint64_t)tally->options.every));
    }
    if (stat->options->gaps)
        write_gaps(stat, w);
    json_write_key(w, "rows");
    json_write_lines(w);
}

static void put_footer(const struct stat_report *stat, const struct stat_covered *covered,
                       unsigned n_rows, unsigned line_width)
{
    _cleanup_(text_done) struct text lines = TEXT_IN_MEMORY;

    if (n_rows > 0 && !clock_is_order(&stat->clock))
        text_put_literal(&lines,
                         "(P50 to MAX: intervals from one event of a row to the next; MAX AT: "
                         "when the longest began)\n");
    put_summary(stat, covered, &lines);
    if (!clock_is_order(&stat->clock))
        put_gaps(stat, &lines);
    wrap_lines(stat->out, &lines, line_width);
}

void stat_set_begin(struct stat_report *stat, const struct selection *selection)
{
    if (selection->started && selection->options->from.given)
        stat->from = selection->from;
}

int print_stat(struct stat_report *stat)
{
    struct table_column columns[STAT_COLUMNS];
    const struct table_form form = {
        .columns = columns, .n = STAT_COLUMNS, .keeps_rows = true, .line_width = stat->line_width};
    const struct tally_row **rows;
    struct stat_covered covered = {0};
    struct table table;
    unsigned n;
    int r = tally_sorted(&stat->tally, &rows, &n);
    int end;

    if (r < 0)
        return r;
    coverage_init(&covered.coverage);
    r = tally_mark_gaps(&stat->tally);
    if (r == 0)
        r = stat_covered_make(stat, &covered);
    make_columns(stat, columns);
    table_begin(&table, stat->out, (enum table_format)stat->options->format, &form);
    if (table.format == TABLE_JSON)
        begin_json(stat, &covered, &table.json);
    for (unsigned i = 0; i < n && r == 0; i++)
        r = put_row(stat, &covered, &table, rows[i]);
    if (table.format == TABLE_JSON)
        json_write_finish(&table.json);
    end = table_end(&table);
    r = r < 0 ? r : end;
    if (table.format == TABLE_TEXT)
        put_footer(stat, &covered, n, form.line_width);
    coverage_done(&covered.coverage);
    free(rows);
    return r;
}
