/* SPDX-License-Identifier: MIT */
#pragma once

/* strata record --live: prints events while they are recorded. */

#include "cli/options.h"

struct record_live_options {
    bool on, spreadsheet;
    unsigned format; /* an index into the choices of --format; 0: text */
};

extern const struct cli_option record_live_options[];

struct record_run;
struct record_options;

/* A usage error is printed. An exit status. */
int record_live_check(const struct record_options *options);
/* Adds the recorder that prints, where --live asks for it: before all that it prints. An exit status. */
int record_live_add(struct record_run *run);
/* Where the stream of what is printed is: of this machine's kernel, or of guest I. NULL: nothing is printed. */
int *record_live_host_stream(const struct record_run *run);
int *record_live_guest_stream(const struct record_run *run, unsigned i);
/* Whether its output was closed, so that nothing is to be said of it. */
bool record_live_is_unread(const struct record_run *run);
