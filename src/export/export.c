/* SPDX-License-Identifier: MIT */
#include "export/export.h"

/* One line a format: its name here, and again in the list that options are made of. */
#define FORMATS(F) F("csv", EXPORT_STREAM, false, export_csv_open)

#define FORMAT(name, target, binary, open) {name, target, binary, open},
const struct export_format export_formats[] = {FORMATS(FORMAT){NULL}};

#define NAME(name, target, binary, open) name,
const char *const export_names[] = {FORMATS(NAME) NULL};

int export_no_memory(struct fault *fault)
{
    return fault_plain(fault, -ENOMEM, NULL, "out of memory");
}
