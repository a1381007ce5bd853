/* SPDX-License-Identifier: MIT */
#pragma once

/* What changed between two traces, as a table in text, JSON or CSV. */

#include "analysis/diff.h"
#include "print/table.h"

struct print_diff_options {
    enum table_format format;
    const char *analysis; /* its name, for JSON */
    uint64_t top;         /* rows; 0: all */
    unsigned line_width;  /* columns of the terminal; 0: any number */
};

/* 0, -ENOMEM. A failure to write is kept in OUT. */
int print_diff(const struct diff *diff, const struct print_diff_options *options, struct text *out);
