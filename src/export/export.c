/* SPDX-License-Identifier: MIT */
#include "export/export.h"

#include "print/view.h"

/* One line a format, by name: its name here, and again in the list that options are made of. */
/* clang-format off */
#define FORMATS(F) \
    F("chrome", ATOMIC_OUTPUT_STREAM, false, false, NULL, export_chrome_open) \
    F("clickhouse", ATOMIC_OUTPUT_STREAM, true, true, NULL, export_clickhouse_open) \
    F("csv", ATOMIC_OUTPUT_STREAM, false, false, NULL, export_csv_open) \
    F("ctf", ATOMIC_OUTPUT_DIRECTORY, true, false, export_ctf_is_export, export_ctf_open) \
    F("parquet", ATOMIC_OUTPUT_DIRECTORY, true, false, NULL, export_parquet_open) \
    F("perfetto", ATOMIC_OUTPUT_STREAM, true, false, NULL, export_perfetto_open) \
    F("simpletrace", ATOMIC_OUTPUT_STREAM, true, false, NULL, export_simpletrace_open) \
    F("sqlite", ATOMIC_OUTPUT_FILE, true, false, NULL, export_sqlite_open) \
    F("trace.dat", ATOMIC_OUTPUT_FILE, true, false, NULL, export_trace_dat_open) \
    F("trace-events", ATOMIC_OUTPUT_STREAM, false, false, NULL, export_trace_events_open)
/* clang-format on */

#define FORMAT(name, target, binary, remote, is_export, open) \
    {name, target, binary, remote, is_export, open},
const struct export_format export_formats[] = {FORMATS(FORMAT){NULL}};

#define NAME(name, target, binary, remote, is_export, open) name,
const char *const export_names[] = {FORMATS(NAME) NULL};

int export_no_memory(struct error *error)
{
    return error_set(error, -ENOMEM, NULL, "out of memory");
}

void export_tables_options(const struct export_options *options, unsigned wanted,
                           struct tables_options *ret)
{
    *ret = (struct tables_options){
        .catalogue = options->catalogue,
        .trace = options->trace,
        .problem = options->problem,
        .origin_number = options->origin_number,
        .origin_arg = options->origin_arg,
        .errors = options->errors,
        .wanted = wanted,
        .rules = options->rules,
        .n_rules = options->n_rules,
    };
}

int export_csv_open(const struct export_options *options, struct sink **ret_sink,
                    struct error *error)
{
    const struct view_options view_options = {
        .origin_number = options->lines_numbered ? options->origin_number : NULL,
        .origin_arg = options->origin_arg,
        .errors = options->errors,
        .spreadsheet = options->spreadsheet};

    return line_csv_open(&view_options, options->out, ret_sink) < 0 ? export_no_memory(error) : 0;
}
