/* SPDX-License-Identifier: MIT */
#include "export/export.h"

#include "print/parallel.h"

/* One line per format: the formats and the list of their names are made of it. */
/* clang-format off */
#define FORMATS(F) \
    F("clickhouse", STREAM, EXPORT_REMOTE | EXPORT_HOSTS | EXPORT_SPANS | EXPORT_NAMES, NULL, export_clickhouse_open) \
    F("csv", STREAM, EXPORT_TEXT | EXPORT_ALONE, NULL, export_csv_open) \
    F("ctf", DIRECTORY, EXPORT_NAMES | EXPORT_HIDES_RATE | EXPORT_NEEDS_TIMES, export_ctf_is_export, export_ctf_open) \
    F("parquet", DIRECTORY, EXPORT_HOSTS | EXPORT_SPANS | EXPORT_NAMES, NULL, export_parquet_open) \
    F("perfetto", STREAM, EXPORT_SPANS | EXPORT_NAMES, NULL, export_perfetto_open) \
    F("simpletrace", STREAM, EXPORT_NEEDS_RATE | EXPORT_NEEDS_TIMES, NULL, export_simpletrace_open) \
    F("sqlite", FILE, EXPORT_NAMES, NULL, export_sqlite_open) \
    F("trace.dat", FILE, EXPORT_ALONE | EXPORT_NEEDS_TIMES | EXPORT_NEEDS_THREADS, NULL, export_trace_dat_open) \
    F("trace-events", STREAM, EXPORT_TEXT, NULL, export_trace_events_open)
/* clang-format on */

#define FORMAT(name, target, traits, is_export, open) \
    {name, ATOMIC_OUTPUT_##target, traits, is_export, open},
const struct export_format export_formats[] = {FORMATS(FORMAT){NULL}};

#define NAME(name, target, traits, is_export, open) name,
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

    return print_parallel_open(line_csv_open, &view_options, options->out, options->n_threads,
                               ret_sink) < 0
               ? export_no_memory(error)
               : 0;
}
