/* SPDX-License-Identifier: MIT */
#pragma once

/* The CPUs that a kernel has, as far as its events name them: of one of which there are no data, these are missing. */

#include "base/cpu_set.h"
#include "event/source.h"

/* Higher CPUs are not looked for: what is damaged may name any. */
#define FTRACE_NAMED_CPUS_MAX 1024u

/* Adds to NAMED the CPUs that the first events of each of the N SOURCES name, twice at least. 0, -ENOMEM; of data that cannot be read,
 * those before. */
int ftrace_named_cpus(struct source **sources, unsigned n, struct cpu_set *named);
