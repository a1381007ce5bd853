/* SPDX-License-Identifier: MIT */
#pragma once

/* What the verbs print that read declarations of events. */

#include "gen/generate.h"

/* Prints problems to standard error, at most MAX of each kind; 0: all. */
struct diagnose diagnose_on_stderr(enum diagnose_style style, uint64_t max);

/* As generate(), but prints errors. An exit status. */
int run_generate(const struct generate *generate_job);
