/* SPDX-License-Identifier: MIT */
#pragma once

/* What verbs that read declarations of events print. */

#include "gen/generate.h"

/* Shows problems on standard error, at most MAX of each kind; 0: all. */
struct diagnose diagnose_on_stderr(enum diagnose_style style, uint64_t max);

/* generate() that prints what goes wrong. An exit status. */
int run_generate(const struct generate *generate_job);
