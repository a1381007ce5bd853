/* SPDX-License-Identifier: MIT */
#include "base/cpu_set.h"

#include <stdio.h>
#include <string.h>

#include "base/range.h"

static int invalid_list(const char *text, struct error *error)
{
    return error_set(error, -EINVAL, "",
                     "invalid list of CPUs '%.80s' (examples: 0-3,5,7- or all, or a mask like "
                     "0xf0)",
                     text);
}

static int parse_mask(const char *text, unsigned n, struct cpu_set *set, struct error *error)
{
    char *end;
    unsigned long long v;

    errno = 0;
    v = strtoull(text, &end, 16);
    if (errno || end == text + 2 || *end)
        return invalid_list(text, error);
    if (v > UINT32_MAX)
        return error_set(
            error, -EINVAL, "",
            "'%.40s' is too large, because a mask has at most 32 CPUs; use a list like "
            "0-3,40-",
            text);
    for (unsigned cpu = 0; cpu < MIN(n, 32u); cpu++)
        if (v >> cpu & 1)
            cpu_set_add(set, cpu);
    if (cpu_set_count(set) == 0)
        return error_set(error, -EINVAL, "", "'%.40s' chooses none of the CPUs 0 to %u", text,
                         n - 1);
    return 0;
}

static int parse_list(const char *text, unsigned n, struct cpu_set *set, struct error *error)
{
    const struct range all = {0, n - 1};
    const char *p = text;

    do {
        struct range range;

        if (range_parse(&p, &all, &range) < 0)
            return invalid_list(text, error);
        if (range.low >= n || range.high >= n)
            return error_set(error, -EINVAL, "", "no CPU %u; the machine has 0 to %u",
                             MAX(range.low, range.high), n - 1);
        if (range.low > range.high)
            return error_set(error, -EINVAL, "", "%u-%u in a list of CPUs runs backward", range.low,
                             range.high);
        for (unsigned cpu = range.low; cpu <= range.high; cpu++)
            cpu_set_add(set, cpu);
    } while (*p++ == ',');
    return p[-1] ? invalid_list(text, error) : 0;
}

int cpu_set_parse(const char *text, unsigned n, struct cpu_set *ret_set, struct error *error)
{
    struct cpu_set set = {0};
    int r = 0;

    n = MIN(n, CPU_SET_MAX);
    if (n == 0)
        return error_set(error, -EINVAL, "", "the machine has no CPUs");
    if (strcmp(text, "all") == 0)
        for (unsigned cpu = 0; cpu < n; cpu++)
            cpu_set_add(&set, cpu);
    else if (strncmp(text, "0x", 2) == 0 || strncmp(text, "0X", 2) == 0)
        r = parse_mask(text, n, &set, error);
    else
        r = parse_list(text, n, &set, error);
    if (r >= 0)
        *ret_set = set;
    return r;
}

int cpu_set_parse_kernel(const char *text, struct cpu_set *ret_set)
{
    struct cpu_set set = {0};
    bool beyond = false;
    const char *p = text;

    while (*p && *p != '\n') {
        struct range range;

        if (range_parse(&p, NULL, &range) < 0 || range.low > range.high)
            return -EINVAL;
        beyond |= range.high >= CPU_SET_MAX;
        for (uint32_t cpu = range.low; cpu < CPU_SET_MAX && cpu <= range.high; cpu++)
            cpu_set_add(&set, cpu);
        if (*p == ',' && p[1] >= '0' && p[1] <= '9')
            p++;
        else if (*p && *p != '\n')
            return -EINVAL;
    }
    if (*p == '\n')
        p++;
    if (*p)
        return -EINVAL;
    *ret_set = set;
    return beyond ? -ERANGE : 0;
}

const char *cpu_set_text(const struct cpu_set *set, unsigned n, char *buf, size_t size)
{
    size_t at = 0;

    buf[0] = 0;
    for (unsigned cpu = 0; cpu < n && at < size; cpu++) {
        unsigned last = cpu;
        int len;

        if (!cpu_set_has(set, cpu))
            continue;
        while (last + 1 < n && cpu_set_has(set, last + 1))
            last++;
        if (last == cpu)
            len = snprintf(buf + at, size - at, "%s%u", at ? "," : "", cpu);
        else
            len = snprintf(buf + at, size - at, "%s%u-%u", at ? "," : "", cpu, last);
        at += (size_t)MAX(len, 0);
        cpu = last;
    }
    return buf;
}
