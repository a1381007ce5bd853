/* SPDX-License-Identifier: MIT */
#include "report/print_result.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "print/duration.h"
#include "report/causal.h"
#include "report/losses_text.h"

/* Columns that a narrow terminal drops last, the most important first. It drops all other columns before. */
static const char *const columns_by_rank[] = {
    " part slow_part rest_part ",
    " n sum error run_share wait_share sleep_share unknown_share busy_share interrupt_share "
    "idle_share cpu_share ",
    " p50 p99 max runs wake_p99 delay_p99 guest_share vmm_share "
    "run_unknown_share "
    "stolen_share stolen_unknown_share blocked_share partial_run_share full_run_share ",
    " share wake_max preempt_n preempt_sum halted_share run wait sleep vmm self ",
    " rate mean wake_p50 preempt_max delay_max migrations ",
};
/* Rank of columns over time, which exist only on request. */
#define RANK_OVER_TIME 1

/* Columns of the table: the columns of the result; sparklines in text; the keys, each with the number that it names;
 * the periods. */
struct result_table {
    const struct result *result;
    struct table table;
    struct table_column columns[TABLE_COLUMNS_MAX];
    unsigned keys, periods, sparklines, n;
    char names[RESULT_COLUMNS][32]; /* with their units */
    char numbered[RESULT_KEYS][32]; /* "reason_value" */
};

_Static_assert(RESULT_COLUMNS + 2 * RESULT_KEYS + 3 <= TABLE_COLUMNS_MAX, "a table has room");

static bool is_ns(const struct result *result)
{
    return result->clock.hz != 0;
}

static bool has_word(const char *words, const char *word)
{
    size_t len = strlen(word);

    for (const char *p = words; (p = strstr(p, word)); p++)
        if (p[-1] == ' ' && p[len] == ' ')
            return true;
    return false;
}

static uint8_t rank_of(const char *name)
{
    bool is_percentile = name[0] == 'p' && name[1] >= '0' && name[1] <= '9';
    uint8_t rank = 0;

    if (is_percentile && strcmp(name, "p90") != 0)
        name = "p99";
    while (rank < ARRAY_SIZE(columns_by_rank) && !has_word(columns_by_rank[rank], name))
        rank++;
    return (uint8_t)(rank > 0 ? RANK_OVER_TIME + rank : 0);
}

static struct table_column make_column(const struct result *result,
                                       const struct result_column *column, char *name, size_t size)
{
    static const int widths[] = {
        [RESULT_COUNT] = 6, [RESULT_DURATION] = 7, [RESULT_TIME] = 16, [RESULT_ERROR] = 7,
        [RESULT_RATE] = 7,  [RESULT_SHARE] = 6,    [RESULT_TEXT] = -1,
    };
    const char *unit = "";

    if (column->kind == RESULT_DURATION || column->kind == RESULT_TIME)
        unit = is_ns(result) ? "_ns" : "_ticks";
    else if (column->kind == RESULT_ERROR)
        unit = "_ns";
    snprintf(name, size, "%s%s", column->name, unit);
    return (struct table_column){
        .title = column->title,
        .width = widths[column->kind],
        .name = name,
        .key = column->name,
        .decimals = column->kind == RESULT_SHARE ? 2 : 1,
        .rank = rank_of(column->name),
    };
}

static void make_keys(struct result_table *t)
{
    const struct result *result = t->result;

    for (unsigned i = 0; i < result->n_keys; i++) {
        const struct result_key *key = &result->keys[i];

        t->columns[t->keys + 2 * i] = (struct table_column){
            .title = key->title,
            .width = -1,
            .name = key->name,
            .object = "key",
            .is_name = true,
        };
        snprintf(t->numbered[i], sizeof t->numbered[i], "%s_value", key->name);
        if (!key->is_number)
            t->columns[t->keys + 2 * i + 1] =
                (struct table_column){.name = t->numbered[i], .object = "key", .json_only = true};
    }
}

/* True if the text has COLUMN. */
static bool is_wanted(const struct print_options *options, const char *column)
{
    for (const char *const *name = options->columns; name && *name; name++)
        if (strcmp(*name, column) == 0)
            return true;
    return !options->columns;
}

static void make_columns(struct result_table *t, const struct print_options *options)
{
    const struct result *result = t->result;

    t->sparklines = result->n_columns;
    t->keys = t->sparklines + 2;
    t->periods = t->keys + 2 * result->n_keys;
    t->n = t->periods + 1;
    for (unsigned i = 0; i < result->n_columns; i++) {
        t->columns[i] = make_column(result, &result->columns[i], t->names[i], sizeof t->names[i]);
        if (!is_wanted(options, result->columns[i].name))
            t->columns[i].title = NULL;
    }
    if (options->order < result->n_columns)
        t->columns[options->order].rank = 0;
    for (unsigned i = 0; result->n_periods > 0 && i < 2; i++)
        t->columns[t->sparklines + i] = (struct table_column){
            .title = i == 0 ? "N OVER TIME" : "P99 OVER TIME", .width = -1, .rank = RANK_OVER_TIME};
    make_keys(t);
    t->columns[t->periods] = (struct table_column){.name = "series", .json_only = true};
}

void print_duration(const struct clock *clock, int64_t ticks, struct text *out)
{
    uint64_t size = ticks < 0 ? -(uint64_t)ticks : (uint64_t)ticks;
    char buf[32];

    if (ticks < 0)
        text_put_char(out, '-');
    text_put_str(out, duration_text(buf, sizeof buf, clock, size));
}

void print_duration_with_unit(const struct clock *clock, int64_t ticks, struct text *out)
{
    print_duration(clock, ticks, out);
    if (clock->hz == 0)
        text_put_literal(out, " ticks");
}

static int64_t ticks_to_ns(const struct clock *clock, int64_t ticks)
{
    return ticks < 0 ? -duration_ns(clock, -(uint64_t)ticks) : duration_ns(clock, (uint64_t)ticks);
}

/* The median of ROW in ns, to compare with an error; 0 if unknown. */
static double get_median(const struct result *result, const struct result_row *row)
{
    int column = result_find_column(result, "p50");

    return column >= 0 && result_has(row, (unsigned)column)
               ? result_number(result, row, (unsigned)column)
               : 0;
}

bool print_shows_error(int64_t error_ns, double ns)
{
    return error_ns != 0 && (double)error_ns * 100 >= ns;
}

static bool is_error_shown(const struct result *result, const struct result_row *row,
                           unsigned column)
{
    return print_shows_error(row->values[column].number, get_median(result, row));
}

/* `~` means that the median is within the error. */
void print_error_ns(const struct result *result, const struct result_row *row, unsigned column,
                    struct text *out)
{
    static const struct clock ns = {.hz = NANOSECONDS};
    int64_t error = row->values[column].number;

    if (!is_error_shown(result, row, column))
        return;
    text_put_str(out, (double)error > get_median(result, row) ? "~\xc2\xb1" : "\xc2\xb1");
    print_duration(&ns, error, out);
}

static void set_error(struct result_table *t, unsigned column, const struct result_row *row)
{
    if (t->table.format != TABLE_TEXT)
        table_i64(&t->table, column, row->values[column].number);
    else if (is_error_shown(t->result, row, column))
        print_error_ns(t->result, row, column, table_cell(&t->table, column));
}

static void set_value(struct result_table *t, unsigned column, const struct result_row *row)
{
    const struct clock *clock = &t->result->clock;
    union result_value value = row->values[column];
    struct table *table = &t->table;

    if (result_is_unknown(row, column))
        table_unknown(table, column);
    if (!result_has(row, column))
        return;
    switch (t->result->columns[column].kind) {
    case RESULT_COUNT: table_i64(table, column, value.number); return;
    case RESULT_DURATION:
        if (table->format == TABLE_TEXT)
            print_duration(clock, value.number, table_cell(table, column));
        else
            table_i64(table, column, ticks_to_ns(clock, value.number));
        return;
    case RESULT_TIME:
        if (table->format == TABLE_TEXT)
            clock_put_time(clock, value.number, table_cell(table, column));
        else
            table_i64(table, column, clock_to_ns(clock, value.number));
        return;
    case RESULT_ERROR: set_error(t, column, row); return;
    case RESULT_RATE: table_real(table, column, value.real); return;
    case RESULT_SHARE:
        table_real(table, column, table->format == TABLE_TEXT ? value.real * 100 : value.real);
        return;
    case RESULT_TEXT: table_str(table, column, value.text); return;
    }
}

static void set_periods(struct result_table *t, const struct result_row *row)
{
    const struct result *result = t->result;
    int sum = result_find_column(result, "sum");
    bool is_known = sum < 0 || result_has(row, (unsigned)sum); /* how long spans were */
    struct json_writer *w;

    if (!row->periods)
        return;
    w = table_json(&t->table, t->periods);
    json_write_array(w);
    for (unsigned i = 0; i < result->n_periods; i++) {
        int64_t begin = result->periods_begin + (int64_t)i * result->every;
        const struct result_period *period = result_row_period(row, i);

        json_write_array(w);
        json_write_i64(w, clock_to_ns(&result->clock, begin));
        json_write_u64(w, period->n);
        if (is_known) {
            json_write_i64(w, ticks_to_ns(&result->clock, period->p50));
            json_write_i64(w, ticks_to_ns(&result->clock, period->p99));
        } else {
            json_write_raw(w, "null", 4);
            json_write_raw(w, "null", 4);
        }
        json_write_bool(w, coverage_has_loss(result->coverage, begin, begin + result->every));
        json_write_end(w);
    }
    json_write_end(w);
}

static void put_row(struct result_table *t, const struct result_row *row)
{
    const struct result *result = t->result;

    for (unsigned i = 0; i < result->n_columns; i++)
        set_value(t, i, row);
    for (unsigned i = 0; i < result->n_keys; i++) {
        if (result->keys[i].is_number && t->table.format == TABLE_JSON) {
            if (row->has_number >> i & 1)
                table_i64(&t->table, t->keys + 2 * i, row->numbers[i]);
            continue;
        }
        table_str(&t->table, t->keys + 2 * i, row->keys[i]);
        if (t->table.format == TABLE_JSON && (row->has_number >> i & 1))
            table_i64(&t->table, t->keys + 2 * i + 1, row->numbers[i]);
    }
    if (t->table.format == TABLE_JSON)
        set_periods(t, row);
    for (unsigned i = 0; t->table.format == TABLE_TEXT && row->periods && i < 2; i++)
        print_sparkline(result, row, i == 1, table_cell(&t->table, t->sparklines + i));
    table_end_row(&t->table);
}

/* ---- JSON ---- */

static void write_time(const struct result *result, struct json_writer *w, const char *name,
                       int64_t time)
{
    char key[32];

    snprintf(key, sizeof key, "%s_%s", name, is_ns(result) ? "ns" : "ticks");
    json_write_key(w, key);
    json_write_i64(w, clock_to_ns(&result->clock, time));
}

static void write_sentences(struct json_writer *w, const char *const *sentences, unsigned n)
{
    json_write_array(w);
    for (unsigned i = 0; i < n && sentences[i]; i++)
        json_write_str(w, sentences[i]);
    json_write_end(w);
}

static void write_why(struct json_writer *w, const char *const *why)
{
    if (!why)
        return;
    json_write_key(w, "why");
    write_sentences(w, why, UINT32_MAX);
}

void print_json_key(const struct result *result, const struct result_row *row,
                    struct json_writer *w)
{
    json_write_key(w, "key");
    json_write_object(w);
    for (unsigned i = 0; row && i < result->n_keys; i++) {
        bool has_number = row->has_number >> i & 1;

        if (result->keys[i].is_number && !has_number)
            continue;
        json_write_key(w, result->keys[i].name);
        if (result->keys[i].is_number)
            json_write_i64(w, row->numbers[i]);
        else
            json_write_str(w, row->keys[i]);
    }
    json_write_end(w);
}

static void write_error(const struct result *result, struct json_writer *w, uint32_t error_ns)
{
    if (!error_is_known(error_ns, result->is_error_refuted))
        json_write_raw(w, "null", 4);
    else
        json_write_u64(w, error_ns);
}

static void write_slow(const struct result *result, struct json_writer *w,
                       const struct result_slow *slow)
{
    const char *task = origin_task_name(slow->origin, slow->pid);
    const struct {
        const char *name;
        int32_t v;
    } places[] = {{"cpu", slow->cpu}, {"pid", slow->pid}, {"vcpu", slow->vcpu}};

    json_write_object(w);
    write_time(result, w, "begin", slow->begin);
    write_time(result, w, "end", slow->end);
    if (slow->is_open) {
        json_write_key(w, "open");
        json_write_bool(w, true);
    }
    json_write_key(w, "error_ns");
    write_error(result, w, slow->error_ns);
    if (slow->name) {
        json_write_key(w, "name");
        json_write_str(w, slow->name);
    }
    print_json_key(result, slow->row, w);
    for (unsigned i = 0; i < ARRAY_SIZE(places); i++) {
        if (places[i].v < 0)
            continue;
        json_write_key(w, places[i].name);
        json_write_i64(w, places[i].v);
    }
    if (task) {
        json_write_key(w, "task");
        json_write_str(w, task);
    }
    json_write_key(w, "stages");
    json_write_array(w);
    for (unsigned i = 0; i < slow->n_stages; i++) {
        json_write_object(w);
        json_write_key(w, "name");
        json_write_str(w, slow->stages[i].name);
        if (slow->stages[i].layer) {
            json_write_key(w, "layer");
            json_write_str(w, slow->stages[i].layer);
        }
        write_time(result, w, "begin", slow->stages[i].begin);
        write_time(result, w, "end", slow->stages[i].end);
        if (slow->stages[i].error_ns > 0) {
            json_write_key(w, "error_ns");
            write_error(result, w, slow->stages[i].error_ns);
        }
        write_why(w, slow->stages[i].why);
        json_write_end(w);
    }
    json_write_end(w);
    write_why(w, slow->why);
    json_write_end(w);
}

static void write_contradictions(const struct result *result, struct json_writer *w)
{
    const struct result_contradictions *contradictions = &result->contradictions;

    if (contradictions->n_checked == 0)
        return;
    json_write_key(w, "contradictions");
    json_write_object(w);
    json_write_key(w, "checked");
    json_write_u64(w, contradictions->n_checked);
    json_write_key(w, "switches");
    json_write_u64(w, contradictions->n);
    json_write_key(w, "by_cpu");
    json_write_object(w);
    for (unsigned i = 0; i < contradictions->n_cpus; i++) {
        char cpu[16];

        snprintf(cpu, sizeof cpu, "%d", contradictions->by_cpu[i].cpu);
        json_write_key(w, cpu);
        json_write_u64(w, contradictions->by_cpu[i].n);
    }
    json_write_end(w);
    json_write_end(w);
}

static void write_columns(const struct result *result, struct json_writer *w)
{
    json_write_key(w, "columns");
    json_write_array(w);
    for (unsigned i = 0; i < result->n_columns; i++)
        json_write_str(w, result->columns[i].name);
    json_write_end(w);
    json_write_key(w, "kinds");
    json_write_array(w);
    for (unsigned i = 0; i < result->n_columns; i++)
        json_write_str(w, result_kind_name(result->columns[i].kind));
    json_write_end(w);
}

/* Writes the cost of recording for threads that waited. */
static void write_recorder(const struct result *result, struct json_writer *w)
{
    const struct result_recorder *recorder = &result->recorder;

    if (recorder->waited == 0)
        return;
    json_write_key(w, "recorder");
    json_write_object(w);
    write_time(result, w, "wait", recorder->waited);
    write_time(result, w, "own", recorder->own);
    write_time(result, w, "unknown", recorder->unknown);
    json_write_end(w);
}

void print_json_head(const struct result *result, struct json_writer *w)
{
    const struct coverage *coverage = result->coverage;

    json_write_key(w, "analysis");
    json_write_str(w, result->analysis);
    json_write_key(w, "unit");
    json_write_str(w, is_ns(result) ? "ns" : "ticks");
    json_write_key(w, "events");
    json_write_u64(w, coverage->n_events);
    if (coverage->first != TIME_UNKNOWN) {
        write_time(result, w, "first", coverage->first);
        write_time(result, w, "duration", coverage_duration(coverage));
        write_time(result, w, "covered", coverage_covered(coverage, NULL));
    }
}

/* Begins an object, in which the table's rows come last. */
static void begin_json(const struct result *result, const struct print_options *options,
                       struct json_writer *w)
{
    const struct coverage *coverage = result->coverage;

    json_write_object(w);
    print_json_head(result, w);
    if (result->every > 0)
        write_time(result, w, "every", result->every);
    json_write_key(w, "unpaired");
    json_write_object(w);
    for (unsigned fate = SPAN_NO_BEGIN; fate < SPAN_FATES; fate++) {
        json_write_key(w, span_fate_name((enum span_fate)fate));
        json_write_u64(w, result->unpaired[fate]);
    }
    json_write_end(w);
    write_contradictions(result, w);
    write_recorder(result, w);
    if (options->clocks)
        causal_write_json(w, options->clocks);
    losses_write_json(&coverage->losses, w);
    json_write_key(w, "slowest");
    json_write_array(w);
    for (unsigned i = 0; i < result->n_slowest; i++)
        write_slow(result, w, &result->slowest[i]);
    json_write_end(w);
    json_write_key(w, "notes");
    write_sentences(w, result->notes, result->n_notes);
    write_columns(result, w);
    json_write_key(w, "rows");
    json_write_lines(w);
}

/* Puts a frame of a stack, without `;`, which would end it. */
static void put_frame(const char *s, struct text *out)
{
    for (; *s; s++)
        text_put_char(out, *s == ';' || *s == '\n' ? ',' : *s);
}

/* If a row shares time with its parts, this time counts only in the parts. */
static void put_folded(const struct result *result, const struct result_row *row, struct text *out)
{
    int column = result_find_column(result, "sum");
    int64_t ticks;

    if (column < 0 || !result_has(row, (unsigned)column))
        return;
    ticks = row->is_whole ? row->rest : row->values[column].number;
    if (ticks <= 0)
        return;
    for (unsigned i = 0; i < result->n_keys; i++) {
        bool is_rest = row->is_whole && i + 1 == result->n_keys;

        if (i > 0)
            text_put_char(out, ';');
        put_frame(is_rest ? "(no stage)" : row->keys[i], out);
    }
    text_put_char(out, ' ');
    text_put_i64(out, ticks_to_ns(&result->clock, ticks));
    text_put_char(out, '\n');
}

static int print_folded(const struct result *result, const struct print_options *options,
                        struct text *out)
{
    for (unsigned i = 0; i < result->n_rows && (options->top == 0 || i < options->top); i++)
        put_folded(result, result->rows[i], out);
    return out->error == -ENOMEM ? -ENOMEM : 0;
}

int print_result(const struct result *result, const struct print_options *options, struct text *out)
{
    struct result_table t = {.result = result};
    struct table_form form = {
        .columns = t.columns, .keeps_rows = true, .line_width = options->line_width};
    int r;

    if (options->folded)
        return print_folded(result, options, out);
    make_columns(&t, options);
    form.n = t.n;
    table_begin(&t.table, out, options->format, &form);
    if (options->format == TABLE_JSON)
        begin_json(result, options, &t.table.json);
    for (unsigned i = 0; i < result->n_rows && (options->top == 0 || i < options->top); i++)
        put_row(&t, result->rows[i]);
    if (options->format == TABLE_JSON)
        json_write_finish(&t.table.json);
    r = table_end(&t.table);
    if (options->format == TABLE_TEXT && !options->has_no_footer)
        print_result_footer(result, options, out);
    return r;
}
