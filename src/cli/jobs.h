/* SPDX-License-Identifier: MIT */
#pragma once

/* The option --jobs: how many threads work on one trace. */

#include "base/error.h"

/* Parses a number of threads into the unsigned MEMBER; for struct cli_option. -EINVAL with ERROR->what. */
int jobs_parse(void *member, const char *value, struct error *error);

/* GIVEN, or, where that is 0, the number of CPUs that this process may run on. At most JOBS_MAX. */
#define JOBS_MAX 8u
unsigned jobs_count(unsigned given);
