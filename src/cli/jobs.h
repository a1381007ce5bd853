/* SPDX-License-Identifier: MIT */
#pragma once

/* The option --jobs: the number of threads that work on one trace. */

#include "base/error.h"

/* Parses a number of threads into the unsigned MEMBER; for struct cli_option. -EINVAL with ERROR->what. */
int jobs_parse(void *member, const char *value, struct error *error);

/* Returns GIVEN or, if that is 0, the number of CPUs that this process may use; at most JOBS_MAX. */
#define JOBS_MAX 8u
unsigned jobs_count(unsigned given);
