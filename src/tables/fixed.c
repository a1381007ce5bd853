/* SPDX-License-Identifier: MIT */
#include "tables/columns.h"

#include "base/macro.h"

/* The columns of all events. */
#define ID                                   \
    {                                        \
        .name = "id", .type = COLUMN_INTEGER \
    }
#define TIME                                                        \
    {                                                               \
        .name = "time_ns", .type = COLUMN_INTEGER, .nullable = true \
    }
#define ERROR                                                        \
    {                                                                \
        .name = "error_ns", .type = COLUMN_INTEGER, .nullable = true \
    }
#define SOURCE                                   \
    {                                            \
        .name = "source", .type = COLUMN_INTEGER \
    }
#define CPU                                                     \
    {                                                           \
        .name = "cpu", .type = COLUMN_INTEGER, .nullable = true \
    }
#define PID                                                     \
    {                                                           \
        .name = "pid", .type = COLUMN_INTEGER, .nullable = true \
    }
#define VCPU                                                    \
    {                                                           \
        .name = "vcpu", .type = COLUMN_EITHER, .nullable = true \
    }
#define LAYER                                \
    {                                        \
        .name = "layer", .type = COLUMN_TEXT \
    }
#define INTEGER(title)                          \
    {                                           \
        .name = (title), .type = COLUMN_INTEGER \
    }
#define INTEGER_OR_NULL(title)                                    \
    {                                                             \
        .name = (title), .type = COLUMN_INTEGER, .nullable = true \
    }
#define TEXT(title)                          \
    {                                        \
        .name = (title), .type = COLUMN_TEXT \
    }
#define TEXT_OR_NULL(title)                                    \
    {                                                          \
        .name = (title), .type = COLUMN_TEXT, .nullable = true \
    }

const struct trace_column event_columns[EVENT_FIELDS] = {
    [EVENT_ID] = ID,   [EVENT_TIME] = TIME, [EVENT_ERROR] = ERROR, [EVENT_SOURCE] = SOURCE,
    [EVENT_CPU] = CPU, [EVENT_PID] = PID,   [EVENT_VCPU] = VCPU,
};

static const struct trace_column event[ALL_EVENT_COLUMNS] = {
    [ALL_EVENT_ID] = ID,
    [ALL_EVENT_TIME] = TIME,
    [ALL_EVENT_ERROR] = ERROR,
    [ALL_EVENT_LAYER] = LAYER,
    [ALL_EVENT_SOURCE] = SOURCE,
    [ALL_EVENT_CPU] = CPU,
    [ALL_EVENT_PID] = PID,
    [ALL_EVENT_COMM] = TEXT_OR_NULL("comm"),
    [ALL_EVENT_VCPU] = VCPU,
    [ALL_EVENT_GROUP] = TEXT_OR_NULL("event_group"),
    [ALL_EVENT_EVENT] = TEXT("event"),
};

static const struct trace_column span[SPAN_COLUMNS] = {
    [SPAN_COL_NAME] = TEXT("name"),
    [SPAN_COL_LAYER] = LAYER,
    [SPAN_COL_SOURCE] = SOURCE,
    [SPAN_COL_BEGIN] = INTEGER("begin_ns"),
    [SPAN_COL_END] = INTEGER_OR_NULL("end_ns"),
    [SPAN_COL_DURATION] = INTEGER_OR_NULL("duration_ns"),
    [SPAN_COL_ERROR] = ERROR,
    [SPAN_COL_KEY] = TEXT_OR_NULL("key"),
    [SPAN_COL_CPU] = CPU,
    [SPAN_COL_PID] = PID,
    [SPAN_COL_VCPU] = VCPU,
    [SPAN_COL_CUT] = TEXT_OR_NULL("cut"),
};

static const struct trace_column state[STATE_COLUMNS] = {
    [STATE_COL_KIND] = TEXT("kind"),
    [STATE_COL_SOURCE] = SOURCE,
    [STATE_COL_LAYER] = LAYER,
    [STATE_COL_ID] = INTEGER("id"),
    [STATE_COL_NAME] = TEXT_OR_NULL("name"),
    [STATE_COL_STATE] = TEXT("state"),
    [STATE_COL_BEGIN] = INTEGER("begin_ns"),
    [STATE_COL_END] = INTEGER("end_ns"),
    [STATE_COL_DURATION] = INTEGER("duration_ns"),
    [STATE_COL_CPU] = CPU,
    [STATE_COL_BY] = INTEGER_OR_NULL("by"),
    [STATE_COL_VCPU] = VCPU,
    [STATE_COL_BEGIN_SEEN] = INTEGER("begin_seen"),
    [STATE_COL_END_SEEN] = INTEGER("end_seen"),
};

static const struct trace_column loss[] = {
    [LOSS_COL_ID] = ID,
    [LOSS_COL_TIME] = TIME,
    [LOSS_COL_SINCE] = INTEGER_OR_NULL("since_ns"),
    [LOSS_COL_ERROR] = ERROR,
    [LOSS_COL_SOURCE] = SOURCE,
    [LOSS_COL_CPU] = CPU,
    [LOSS_COL_LOST] = INTEGER_OR_NULL("lost"),
    [LOSS_COL_CAUSE] = TEXT("cause"),
    [LOSS_COL_SKIPPED] = INTEGER("skipped_bytes"),
};

static const struct trace_column source[] = {
    INTEGER("id"),
    INTEGER("input"), /* position on the command line, from 0 */
    LAYER,
    TEXT_OR_NULL("format"),
    TEXT_OR_NULL("path"),
    TEXT_OR_NULL("clock"),
    INTEGER_OR_NULL("hz"), /* NULL: times are ticks */
    TEXT_OR_NULL("host"),
};

/* How a source's clock relates to its host's: a row for each point of its map, or one row without a point. */
static const struct trace_column clock_of_source[] = {
    SOURCE,
    TEXT_OR_NULL("clock"),
    INTEGER_OR_NULL("hz"),
    TEXT("relation"), /* host: it is the host's clock; map: points relate it; unrelated */
    ERROR,            /* at the point, or of the whole */
    INTEGER_OR_NULL("point"),
    INTEGER_OR_NULL("ticks"),
    INTEGER_OR_NULL("host_ns"),
};

static const struct trace_column thread[] = {SOURCE, INTEGER("pid"), TEXT("comm")};

static const struct trace_column cpu[] = {SOURCE, INTEGER("cpu"), INTEGER("events")};

static const struct trace_column class[] = {
    INTEGER("id"),
    LAYER,
    TEXT_OR_NULL("event_group"),
    TEXT("event"),
    TEXT("name"),       /* of the table or view of the event */
    TEXT("table_name"), /* of the table of this class */
    INTEGER("events"),
    TEXT_OR_NULL("format"),
};

static const struct trace_column field[] = {
    INTEGER("class"),    INTEGER("number"), TEXT("name"),
    TEXT("column_name"), TEXT("c_type"),    INTEGER("is_hex"),
};

static const struct trace_column value_name_of_field[] = {
    INTEGER("class"), INTEGER("field"), INTEGER("is_bit"), INTEGER("value"), TEXT("name"),
};

static const struct trace_column meta[] = {
    TEXT("key"),
    {.name = "value", .type = COLUMN_EITHER, .nullable = true},
};
static const struct trace_column fact[] = {SOURCE, TEXT("key"), TEXT_OR_NULL("value")};
static const struct trace_column problem[] = {TEXT("text")};

#define TABLE(title, of)                                              \
    {                                                                 \
        .name = (title), .columns = (of), .n_columns = ARRAY_SIZE(of) \
    }
const struct trace_table fixed_tables[FIXED_TABLES] = {
    [TABLE_EVENT] = TABLE("event", event),
    [TABLE_SPAN] = TABLE("span", span),
    [TABLE_STATE] = TABLE("state", state),
    [TABLE_LOSS] = TABLE("loss", loss),
    [TABLE_SOURCE] = TABLE("source", source),
    [TABLE_CLOCK] = TABLE("clock", clock_of_source),
    [TABLE_THREAD] = TABLE("thread", thread),
    [TABLE_CPU] = TABLE("cpu", cpu),
    [TABLE_CLASS] = TABLE("class", class),
    [TABLE_FIELD] = TABLE("field", field),
    [TABLE_VALUE_NAME] = TABLE("value_name", value_name_of_field),
    [TABLE_META] = TABLE("meta", meta),
    [TABLE_FACT] = TABLE("fact", fact),
    [TABLE_PROBLEM] = TABLE("problem", problem),
};

const char *const reserved_table_names[] = {"events", "events_json", NULL};

bool fixed_row_times(enum fixed_table table, const struct value *cells,
                     const struct value **ret_begin, const struct value **ret_end)
{
    unsigned begin, end;

    switch (table) {
    case TABLE_EVENT: begin = end = ALL_EVENT_TIME; break;
    case TABLE_SPAN: begin = SPAN_COL_BEGIN, end = SPAN_COL_END; break;
    case TABLE_STATE: begin = STATE_COL_BEGIN, end = STATE_COL_END; break;
    case TABLE_LOSS: begin = end = LOSS_COL_TIME; break;
    default: return false;
    }
    *ret_begin = &cells[begin];
    *ret_end = &cells[end];
    return true;
}
