/* SPDX-License-Identifier: MIT */
#include "cli/jobs.h"

#include <ctype.h>
#include <sched.h>
#include <stdlib.h>

#include "base/macro.h"

int jobs_parse(void *member, const char *value, struct error *error)
{
    char *end;
    unsigned long n = strtoul(value, &end, 10);

    if (!isdigit((unsigned char)value[0]) || *end || n == 0)
        return error_set(error, -EINVAL, NULL, "is not a number of threads, 1 or more");
    *(unsigned *)member = (unsigned)MIN(n, (unsigned long)JOBS_MAX);
    return 0;
}

unsigned jobs_count(unsigned given)
{
    cpu_set_t set;

    if (given > 0)
        return MIN(given, JOBS_MAX);
    /* A machine with more CPUs than a set holds has enough. */
    if (sched_getaffinity(0, sizeof set, &set) < 0)
        return JOBS_MAX;
    return MIN((unsigned)MAX(CPU_COUNT(&set), 1), JOBS_MAX);
}
