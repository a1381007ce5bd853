/* SPDX-License-Identifier: MIT */
#include "export/export.h"

/* One line a format, by name: its name here, and again in the list that options are made of. */
/* clang-format off */
#define FORMATS(F) \
    F("chrome", EXPORT_STREAM, false, export_chrome_open) \
    F("csv", EXPORT_STREAM, false, export_csv_open) \
    F("ctf", EXPORT_FOLDER, true, export_ctf_open) \
    F("perfetto", EXPORT_STREAM, true, export_perfetto_open) \
    F("simpletrace", EXPORT_STREAM, true, export_simpletrace_open) \
    F("sqlite", EXPORT_FILE, true, export_sqlite_open) \
    F("trace.dat", EXPORT_FILE, true, export_trace_dat_open) \
    F("trace-events", EXPORT_STREAM, false, export_trace_events_open)
/* clang-format on */

#define FORMAT(name, target, binary, open) {name, target, binary, open},
const struct export_format export_formats[] = {FORMATS(FORMAT){NULL}};

#define NAME(name, target, binary, open) name,
const char *const export_names[] = {FORMATS(NAME) NULL};

int export_no_memory(struct fault *fault)
{
    return fault_plain(fault, -ENOMEM, NULL, "out of memory");
}
