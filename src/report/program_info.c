/* SPDX-License-Identifier: MIT */
#include "report/program_info.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/date.h"
#include "base/printable.h"

void program_set_sinks(struct table *table, unsigned column, const struct client_program *program)
{
    struct text item = TEXT_IN_MEMORY;

    table_list(table, column);
    for (size_t i = 0; i < program->n_sinks; i++) {
        const struct client_sink *sink = &program->sinks[i];

        item.next = item.start;
        text_put_str(&item, sink->name);
        if (strcmp(sink->path, "-") != 0) {
            text_put_char(&item, ' ');
            text_put_str(&item, sink->path);
        }
        if (strcmp(sink->state, "open") != 0)
            text_printf(&item, " (%s)", sink->state);
        text_put_char(&item, '\0');
        if (!item.error)
            table_list_add(table, item.start);
    }
    text_done(&item);
}

void program_write_sinks(struct json_writer *w, const struct client_program *program)
{
    json_write_array(w);
    for (size_t i = 0; i < program->n_sinks; i++) {
        const struct client_sink *sink = &program->sinks[i];

        json_write_object(w);
        json_write_key(w, "name");
        json_write_str(w, sink->name);
        json_write_key(w, "state");
        json_write_str(w, sink->state);
        json_write_key(w, "lost");
        json_write_u64(w, sink->lost);
        if (strcmp(sink->path, "-") != 0) {
            json_write_key(w, "path");
            json_write_str(w, sink->path);
        }
        json_write_end(w);
    }
    json_write_end(w);
}

static void put_row(struct text *out, const char *label, const char *format, ...) _printf_(3, 4);
static void put_row(struct text *out, const char *label, const char *format, ...)
{
    char value[PATH_MAX + 128];
    va_list args;

    va_start(args, format);
    vsnprintf(value, sizeof value, format, args);
    va_end(args);
    text_printf_safe(out, "%-10s  %s", label, value);
    text_put_char(out, '\n');
}

static int put_data(const struct client_program *program, enum table_format format,
                    struct text *out)
{
    enum {
        PROGRAM,
        PID,
        VERSION,
        SINCE,
        ON,
        EVENTS,
        RINGS,
        SIZE,
        MODE,
        DROPPED,
        UNWRITTEN,
        SINKS,
        SINKS_JSON
    };
    static const struct table_column columns[] = {
        [PROGRAM] = {.name = "program"},
        [PID] = {.name = "pid"},
        [VERSION] = {.name = "libstrata"},
        [SINCE] = {.name = "since_ns"},
        [ON] = {.name = "events_on"},
        [EVENTS] = {.name = "events"},
        [RINGS] = {.name = "rings"},
        [SIZE] = {.name = "ring_bytes"},
        [MODE] = {.name = "mode"},
        [DROPPED] = {.name = "dropped"},
        [UNWRITTEN] = {.name = "unwritten"},
        [SINKS] = {.name = "sinks", .csv_only = true},
        [SINKS_JSON] = {.name = "sinks", .json_only = true},
    };
    static const struct table_form form = {columns, ARRAY_SIZE(columns)};
    struct table table;

    table_begin(&table, out, format, &form);
    table_str(&table, PROGRAM, program->name);
    table_i64(&table, PID, program->pid);
    table_str(&table, VERSION, program->version);
    table_u64(&table, SINCE, program->since);
    table_u64(&table, ON, program->events_on);
    table_u64(&table, EVENTS, program->events);
    table_u64(&table, RINGS, program->rings);
    table_u64(&table, SIZE, program->ring_bytes);
    table_str(&table, MODE, program->mode);
    table_u64(&table, DROPPED, program->dropped);
    table_u64(&table, UNWRITTEN, program->unwritten);
    program_set_sinks(&table, SINKS, program);
    program_write_sinks(table_json(&table, SINKS_JSON), program);
    table_end_row(&table);
    return table_end(&table);
}

static void put_text(const struct client_program *program, struct text *out)
{
    char since[32];

    put_row(out, "program", "%s", program->name);
    put_row(out, "pid", "%ld", (long)program->pid);
    put_row(out, "libstrata", "%s", program->version);
    put_row(out, "since", "%s", date_text(since, sizeof since, (int64_t)program->since));
    put_row(out, "events", "%" PRIu64 " of %" PRIu64 " are on", program->events_on,
            program->events);
    put_row(out, "rings", "%" PRIu64 " of %" PRIu64 " bytes together, %s", program->rings,
            program->ring_bytes, program->mode);
    put_row(out, "dropped", "%" PRIu64 " events", program->dropped);
    put_row(out, "unwritten", "%" PRIu64 " events", program->unwritten);
    for (size_t i = 0; i < program->n_sinks; i++) {
        const struct client_sink *sink = &program->sinks[i];

        if (sink->lost)
            put_row(out, sink->name, "%s (%s, %" PRIu64 " events lost)", sink->path, sink->state,
                    sink->lost);
        else
            put_row(out, sink->name, "%s (%s)", sink->path, sink->state);
    }
}

int print_program_info(const struct client_program *program, enum table_format format,
                       struct text *out)
{
    if (format != TABLE_TEXT)
        return put_data(program, format, out);
    put_text(program, out);
    return 0;
}
