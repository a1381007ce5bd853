/* SPDX-License-Identifier: MIT */
#pragma once

/* Prints what changed between two traces, as a table in text, JSON or CSV. */

#include "analysis/diff.h"
#include "print/table.h"

struct print_diff_options {
    enum table_format format;
    const char *analysis; /* its name, for JSON */
    uint64_t top;         /* number of rows; 0: all */
    unsigned line_width;  /* columns of the terminal; 0: unlimited */
};

/* 0, -ENOMEM. OUT keeps a write error. */
int print_diff(const struct diff *diff, const struct print_diff_options *options, struct text *out);
