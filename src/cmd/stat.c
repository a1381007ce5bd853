/* SPDX-License-Identifier: MIT */
/* strata stat: how many events of which kind, how often, how far apart. */

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "analysis/tally.h"
#include "base/printable.h"
#include "cli/duration.h"
#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/walk.h"
#include "event/program.h"
#include "print/json.h"
#include "print/table.h"

#define OUT_SIZE ((size_t)64 * 1024)

enum format {
    FORMAT_TEXT,
    FORMAT_JSON,
    FORMAT_CSV,
};

struct stat_options {
    struct open_options open;
    struct select_options select;
    unsigned format; /* enum format */
    unsigned by;     /* enum tally_by */
};

static const char *const formats[] = {"text", "json", "csv", NULL};
static const char *const kinds[] = {"event", "cpu", "task", "layer", "vcpu", "source-event", NULL};

static const struct option output_options[] = {
    {OPTION_CHOICE, 'f', "format", "text|json|csv", "output format (text)",
     offsetof(struct stat_options, format), .choices = formats},
    {OPTION_CHOICE, 'b', "by", "event|cpu|task|layer|vcpu|source-event",
     "what a row counts (event)", offsetof(struct stat_options, by), .choices = kinds},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"Output", output_options, 0},
    {"Selection", select_option_table, offsetof(struct stat_options, select)},
    {"Reading", open_option_table, offsetof(struct stat_options, open)},
    {"Help", help_option_table, 0},
    {NULL},
};

const struct command stat_command = {
    .name = "stat",
    .summary = "count the events of a trace and measure the time between them",
    .operands = "PATH...",
    .about = "Counts the events of one or more traces by class, CPU, task, layer or vCPU, the\n"
             "most frequent first. Shows count, rate, share, and the time from one event to\n"
             "the next: 50, 90 and 99 % percentiles (within 1.6 %) and the maximum.\n\n"
             "The format of PATH is detected; - is standard input.",
    .groups = groups,
    .examples = "  strata stat trace\n"
                "  strata stat --by task --cpu 0 --until +1 trace",
};

struct stat {
    const struct stat_options *options;
    const struct trace *trace;
    struct tally tally;
    struct clock clock;
    struct text *out;
};

static double seconds(const struct stat *stat)
{
    if (stat->clock.hz == 0)
        return 0;
    return (double)tally_duration(&stat->tally) / (double)stat->clock.hz;
}

static double share(const struct stat *stat, const struct tally_row *row)
{
    return 100.0 * (double)row->count / (double)stat->tally.count;
}

static const char *task_name(const struct tally_row *row)
{
    const struct origin *origin = row->origin;

    return row->pid != PID_UNKNOWN && origin->task_name ? origin->task_name(origin, row->pid)
                                                        : NULL;
}

static void put_vcpu(const struct tally_row *row, struct text *text)
{
    if (row->origin->put_vcpu)
        row->origin->put_vcpu(row->origin, row->vcpu, text);
    else
        text_printf(text, "vcpu%d", row->vcpu);
}

static const char *domain_name(const struct stat *stat, const struct tally_row *row)
{
    const struct trace_part *parts = stat->trace->parts;

    return trace_part_domain(&parts[trace_part_of(stat->trace, row->origin)], row->vcpu);
}

/* Rows of sources, which are numbered where there are several. */
static bool has_source_rows(const struct stat *stat)
{
    return stat->trace->n_parts > 1 && stat->tally.by != TALLY_BY_EVENT;
}

/* The last column. */
static void put_what(const struct stat *stat, const struct tally_row *row, struct text *out)
{
    const char *name;

    if (stat->tally.by == TALLY_BY_LAYER || trace_layers(stat->trace))
        text_printf(out, "%s%s", layer_name(row->origin->layer),
                    stat->tally.by == TALLY_BY_LAYER ? "" : " ");
    if (stat->tally.by == TALLY_BY_LAYER)
        return;
    if (trace_needs_numbers(stat->trace) && stat->tally.by != TALLY_BY_EVENT)
        text_printf(out, "#%u ", trace_part_of(stat->trace, row->origin));
    switch (stat->tally.by) {
    case TALLY_BY_EVENT:
    case TALLY_BY_SOURCE_EVENT:
        text_put_safe(out, row->class->name, strlen(row->class->name));
        return;
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
    case TALLY_BY_LAYER: break;
    }
    if (row->pid == PID_UNKNOWN && row->vcpu == VCPU_UNKNOWN) {
        text_put_char(out, '-');
    } else if (row->pid == PID_UNKNOWN) {
        put_vcpu(row, out);
        name = domain_name(stat, row);
        if (name) {
            text_put_char(out, ' ');
            text_put_safe(out, name, strlen(name));
        }
    } else {
        name = task_name(row);
        if (name && *name) {
            text_put_safe(out, name, strlen(name));
            text_put_char(out, '-');
        }
        text_printf(out, "%d", row->pid);
    }
}

/* Parts of a thousand of the intervals; 1000: the longest. */
static const unsigned permilles[] = {500, 900, 990, 1000};

static uint64_t interval(const struct tally_row *row, unsigned permille)
{
    return permille == 1000 ? row->distances->max : histogram_quantile(row->distances, permille);
}

static bool has_intervals(const struct tally_row *row)
{
    return row->distances && row->distances->n;
}

static void put_row(const struct stat *stat, struct table *table, const struct tally_row *row)
{
    double time = seconds(stat);
    char buf[32];

    text_put_u64(&table->cell, row->count);
    table_next(table);
    if (time > 0)
        text_printf(&table->cell, "%.1f", (double)row->count / time);
    else
        text_put_char(&table->cell, '-');
    table_next(table);
    text_printf(&table->cell, "%.2f", share(stat, row));
    table_next(table);
    for (unsigned i = 0; i < ARRAY_SIZE(permilles); i++) {
        if (has_intervals(row))
            text_put_str(&table->cell,
                         duration_text(buf, sizeof buf, &stat->clock, interval(row, permilles[i])));
        else
            text_put_char(&table->cell, '-');
        table_next(table);
    }
    put_what(stat, row, &table->cell);
    table_next(table);
}

/* CPUs of different layers are different ones, so that each layer has a line. */
static void put_losses(const struct stat *stat)
{
    unsigned layers = trace_layers(stat->trace);
    const char *behind = ": all of this is without them\n";

    if (layers == 0 && stat->tally.losses.n) {
        losses_put(&stat->tally.losses, stat->out);
        text_put_str(stat->out, behind);
    }
    for (unsigned i = 0; i < LAYERS; i++) {
        if (!(layers >> i & 1) || stat->tally.layers.losses[i].n == 0)
            continue;
        text_printf(stat->out, "%s: ", layer_name((enum layer)i));
        losses_put(&stat->tally.layers.losses[i], stat->out);
        text_put_str(stat->out, behind);
    }
}

static int put_table(const struct stat *stat, const struct tally_row *const *rows, unsigned n)
{
    static const char *const heads[] = {"EVENT", "CPU", "TASK", "LAYER", "VCPU", "EVENT"};
    const struct tally *tally = &stat->tally;
    const struct table_column columns[] = {
        {"COUNT", 12}, {"RATE/s", 12}, {"SHARE%", 7}, {"P50", 9},
        {"P90", 9},    {"P99", 9},     {"MAX", 9},    {heads[tally->by], 0},
    };
    struct text *out = stat->out;
    struct table table;
    char buf[32];
    int r;

    table_begin(&table, out, TABLE_TEXT, columns, ARRAY_SIZE(columns));
    for (unsigned i = 0; i < n; i++)
        put_row(stat, &table, rows[i]);
    r = table_end(&table);
    text_printf(out, "%12" PRIu64 " events", tally->count);
    if (tally->first != TIME_UNKNOWN)
        text_printf(out, " in %s%s",
                    duration_text(buf, sizeof buf, &stat->clock, tally_duration(tally)),
                    stat->clock.hz ? "" : " ticks (the clock's rate is not known)");
    text_put_char(out, '\n');
    put_losses(stat);
    return r;
}

/* ---- CSV ---- */

static void put_number_cell(struct table *table, int64_t v, bool known)
{
    if (known)
        text_put_i64(&table->cell, v);
    table_next(table);
}

static void put_name_cell(struct table *table, const char *name)
{
    if (name)
        text_put_safe_str(&table->cell, name);
    table_next(table);
}

/* The columns that say what the row counts. */
static void put_csv_what(const struct stat *stat, struct table *table, const struct tally_row *row)
{
    bool by_vcpu = row->vcpu != VCPU_UNKNOWN && row->pid == PID_UNKNOWN;

    put_name_cell(table, layer_name(row->origin->layer));
    put_number_cell(table, trace_part_of(stat->trace, row->origin), has_source_rows(stat));
    switch (stat->tally.by) {
    case TALLY_BY_EVENT:
    case TALLY_BY_SOURCE_EVENT:
        put_name_cell(table, row->class->group);
        put_name_cell(table, row->class->name);
        return;
    case TALLY_BY_CPU: put_number_cell(table, row->cpu, row->cpu >= 0); return;
    case TALLY_BY_LAYER: return;
    case TALLY_BY_TASK:
        put_number_cell(table, row->pid, row->pid != PID_UNKNOWN);
        put_name_cell(table, task_name(row));
        break;
    case TALLY_BY_VCPU: by_vcpu = row->vcpu != VCPU_UNKNOWN; break;
    }
    if (by_vcpu)
        put_vcpu(row, &table->cell);
    table_next(table);
    put_name_cell(table, by_vcpu ? domain_name(stat, row) : NULL);
}

static void put_csv_row(const struct stat *stat, struct table *table, const struct tally_row *row)
{
    double time = seconds(stat);

    put_csv_what(stat, table, row);
    text_put_u64(&table->cell, row->count);
    table_next(table);
    if (time > 0)
        text_printf(&table->cell, "%.6g", (double)row->count / time);
    table_next(table);
    text_printf(&table->cell, "%.6g", share(stat, row) / 100);
    table_next(table);
    for (unsigned i = 0; i < ARRAY_SIZE(permilles); i++) {
        uint64_t ticks = has_intervals(row) ? interval(row, permilles[i]) : 0;

        put_number_cell(table, stat->clock.hz ? duration_ns(&stat->clock, ticks) : (int64_t)ticks,
                        has_intervals(row));
    }
}

/* The rows have no place for what was lost. */
static void warn_losses(const struct stat *stat)
{
    struct text text = TEXT_IN_MEMORY;

    losses_put(&stat->tally.losses, &text);
    if (text.start && !text.error)
        cli_error("%.*s", (int)text_len(&text), text.start);
    text_done(&text);
}

#define CSV_COLUMNS_MAX 16

static int put_csv(const struct stat *stat, const struct tally_row *const *rows, unsigned n)
{
    static const char *const whats[][5] = {
        [TALLY_BY_EVENT] = {"group", "event"},
        [TALLY_BY_SOURCE_EVENT] = {"group", "event"},
        [TALLY_BY_CPU] = {"cpu"},
        [TALLY_BY_TASK] = {"pid", "comm", "vcpu", "domain"},
        [TALLY_BY_LAYER] = {NULL},
        [TALLY_BY_VCPU] = {"vcpu", "domain"},
    };
    static const char *const numbers[] = {"count", "rate", "share"};
    static const char *const intervals[][2] = {{"p50_ticks", "p50_ns"},
                                               {"p90_ticks", "p90_ns"},
                                               {"p99_ticks", "p99_ns"},
                                               {"max_ticks", "max_ns"}};
    struct table_column columns[CSV_COLUMNS_MAX] = {{"layer", 0}, {"source", 0}};
    unsigned n_columns = 2;
    struct table table;

    for (const char *const *what = whats[stat->tally.by]; *what; what++)
        columns[n_columns++].name = *what;
    for (unsigned i = 0; i < ARRAY_SIZE(numbers); i++)
        columns[n_columns++].name = numbers[i];
    for (unsigned i = 0; i < ARRAY_SIZE(intervals); i++)
        columns[n_columns++].name = intervals[i][stat->clock.hz != 0];
    table_begin(&table, stat->out, TABLE_CSV, columns, n_columns);
    for (unsigned i = 0; i < n; i++)
        put_csv_row(stat, &table, rows[i]);
    warn_losses(stat);
    return table_end(&table);
}

/* ---- JSON ---- */

static void put_json_time(const struct stat *stat, const char *key, uint64_t ticks)
{
    text_printf(stat->out, "\"%s_%s\":%" PRId64, key, stat->clock.hz ? "ns" : "ticks",
                stat->clock.hz ? duration_ns(&stat->clock, ticks) : (int64_t)ticks);
}

static void put_json_vcpu(const struct stat *stat, const struct tally_row *row)
{
    struct text *out = stat->out;
    struct text vcpu = TEXT_IN_MEMORY;
    const char *name = domain_name(stat, row);

    put_vcpu(row, &vcpu);
    text_put_literal(out, ",\"vcpu\":");
    json_put_string(out, vcpu.start ? vcpu.start : "", text_len(&vcpu));
    text_done(&vcpu);
    if (name) {
        text_put_literal(out, ",\"domain\":");
        json_put_str(out, name);
    }
}

static void put_json_what(const struct stat *stat, const struct tally_row *row)
{
    struct text *out = stat->out;
    const char *name;

    text_printf(out, "{\"layer\":\"%s\"", layer_name(row->origin->layer));
    if (stat->tally.by == TALLY_BY_LAYER)
        return;
    if (has_source_rows(stat))
        text_printf(out, ",\"source\":%u", trace_part_of(stat->trace, row->origin));
    switch (stat->tally.by) {
    case TALLY_BY_EVENT:
    case TALLY_BY_SOURCE_EVENT:
        if (row->class->group && *row->class->group) {
            text_put_literal(out, ",\"group\":");
            json_put_str(out, row->class->group);
        }
        text_put_literal(out, ",\"event\":");
        json_put_str(out, row->class->name);
        return;
    case TALLY_BY_CPU:
        if (row->cpu >= 0)
            text_printf(out, ",\"cpu\":%d", row->cpu);
        return;
    case TALLY_BY_VCPU:
        if (row->vcpu != VCPU_UNKNOWN)
            put_json_vcpu(stat, row);
        return;
    case TALLY_BY_TASK:
    case TALLY_BY_LAYER: break;
    }
    name = task_name(row);
    if (row->pid != PID_UNKNOWN)
        text_printf(out, ",\"pid\":%d", row->pid);
    if (name && *name) {
        text_put_literal(out, ",\"comm\":");
        json_put_str(out, name);
    }
    if (row->pid == PID_UNKNOWN && row->vcpu != VCPU_UNKNOWN)
        put_json_vcpu(stat, row);
}

static void put_json_row(const struct stat *stat, const struct tally_row *row)
{
    static const struct {
        const char *key;
        unsigned permille;
    } quantiles[] = {{"p50", 500}, {"p90", 900}, {"p99", 990}};
    struct text *out = stat->out;
    double time = seconds(stat);

    put_json_what(stat, row);
    text_printf(out, ",\"count\":%" PRIu64, row->count);
    if (time > 0)
        text_printf(out, ",\"rate\":%.6g", (double)row->count / time);
    text_printf(out, ",\"share\":%.6g", share(stat, row) / 100);
    if (row->distances && row->distances->n) {
        text_put_literal(out, ",\"intervals\":{");
        for (unsigned i = 0; i < ARRAY_SIZE(quantiles); i++) {
            put_json_time(stat, quantiles[i].key,
                          histogram_quantile(row->distances, quantiles[i].permille));
            text_put_char(out, ',');
        }
        put_json_time(stat, "max", row->distances->max);
        text_put_char(out, '}');
    }
    text_put_char(out, '}');
}

static void put_json_layer_losses(const struct stat *stat)
{
    unsigned layers = trace_layers(stat->trace);
    const char *before = ",\"layers\":{";

    for (unsigned i = 0; i < LAYERS; i++) {
        if (!(layers >> i & 1))
            continue;
        text_printf(stat->out, "%s\"%s\":{", before, layer_name((enum layer)i));
        losses_put_json(&stat->tally.layers.losses[i], stat->out);
        text_put_char(stat->out, '}');
        before = ",";
    }
    if (layers)
        text_put_char(stat->out, '}');
}

static void put_json(const struct stat *stat, const struct tally_row *const *rows, unsigned n)
{
    struct text *out = stat->out;
    const struct tally *tally = &stat->tally;

    text_printf(out, "{\"by\":\"%s\",\"events\":%" PRIu64 ",", kinds[stat->options->by],
                tally->count);
    if (tally->first != TIME_UNKNOWN) {
        put_json_time(stat, "first", (uint64_t)tally->first);
        text_put_char(out, ',');
        put_json_time(stat, "duration", tally_duration(tally));
        text_put_char(out, ',');
    }
    losses_put_json(&tally->losses, out);
    put_json_layer_losses(stat);
    text_put_literal(out, ",\"rows\":[");
    for (unsigned i = 0; i < n; i++) {
        if (i)
            text_put_char(out, ',');
        text_put_char(out, '\n');
        put_json_row(stat, rows[i]);
    }
    text_put_literal(out, "]}\n");
}

static int put_result(const struct stat *stat)
{
    const struct tally_row **rows;
    unsigned n;
    int r = tally_sorted(&stat->tally, &rows, &n);

    if (r < 0)
        return r;
    switch (stat->options->format) {
    case FORMAT_JSON: put_json(stat, rows, n); break;
    case FORMAT_CSV: r = put_csv(stat, rows, n); break;
    default: r = put_table(stat, rows, n);
    }
    free(rows);
    return r;
}

static int count(const struct stat_options *options, struct trace *trace)
{
    struct text out;
    struct selection selection = {0};
    struct stat stat = {.options = options, .trace = trace, .out = &out};
    struct walk walk = {.trace = trace,
                        .selection = &selection,
                        .out = &out,
                        .sink = &stat.tally.sink,
                        .losses = &stat.tally.losses};
    enum tally_by by = (enum tally_by)options->by;
    int status = EXIT_FAILURE;

    /* Sources with clocks of their own are read one after the other, and may not be of one system. */
    if (by == TALLY_BY_EVENT && trace->n_parts > 1 && !trace->host_time)
        by = TALLY_BY_SOURCE_EVENT;
    if (output_open(&out, options->format == FORMAT_TEXT ? OUTPUT_TEXT : OUTPUT_DATA, OUT_SIZE) <
        0) {
        cli_error("out of memory");
        return EXIT_FAILURE;
    }
    tally_init(&stat.tally, by);
    stat.clock = trace->parts[0].origin->clock;
    if (selection_init(&selection, &options->select) < 0) {
        cli_error("out of memory");
    } else {
        status = walk_through(&walk);
        if (put_result(&stat) < 0) {
            cli_error("out of memory");
            status = EXIT_FAILURE;
        }
        status = walk_end(&walk, &options->open, status);
    }
    tally_done(&stat.tally);
    selection_done(&selection);
    text_done(&out);
    return status;
}

int cmd_stat(int argc, char **argv)
{
    struct stat_options options = {0};
    int status = EXIT_FAILURE;
    int n;

    if (options_parse(&stat_command, argc, argv, &options, &n, &status)) {
        if (n == 0) {
            status = cli_usage_error("stat", "no trace file given");
        } else {
            struct trace *trace = walk_open(&options.open, argv + 1, n);
            if (trace)
                status = count(&options, trace);
            trace_free(trace);
        }
    }
    open_options_done(&options.open);
    select_options_done(&options.select);
    return status;
}
