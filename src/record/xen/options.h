/* SPDX-License-Identifier: MIT */
#pragma once

/* The options of `strata record` for per-CPU trace buffers of Xen and of programs. */

#include "base/strings.h"
#include "cli/options.h"

struct buffers_options {
    bool xen;
    struct strings names;  /* files of per-CPU buffers */
    struct strings tables; /* files with event declarations */
    const char *cpus;      /* NULL: all */
    uint64_t memory;       /* bytes; 0: everything is written */
    uint64_t poll;         /* ms */
    bool backlog, leave_on, libxenctrl;
};

#define BUFFERS_OPTIONS_DEFAULT \
    {                           \
        .poll = 100             \
    }

/* Options that choose buffers, and options for recording them. */
extern const struct cli_option buffers_choice_options[], buffers_options[];
