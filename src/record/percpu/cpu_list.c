/* SPDX-License-Identifier: MIT */
#include "record/percpu/cpu_list.h"

#include <stdio.h>
#include <string.h>

static int wrong(const char *text, struct fault *fault)
{
    return fault_plain(fault, -EINVAL, "",
                       "'%.80s' is no list of CPUs: it should be like 0-3,5,7- or all, or a mask "
                       "like 0xf0",
                       text);
}

/* A number of at most CPU_LIST_MAX - 1. False: there is none at *P. */
static bool number(const char **p, unsigned *ret)
{
    unsigned v = 0;

    if (**p < '0' || **p > '9')
        return false;
    for (; **p >= '0' && **p <= '9'; (*p)++) {
        v = v * 10 + (unsigned)(**p - '0');
        v = MIN(v, CPU_LIST_MAX); /* whichever it is, no machine has it */
    }
    *ret = v;
    return true;
}

static int parse_mask(const char *text, unsigned n, struct cpu_list *list, struct fault *fault)
{
    char *end;
    unsigned long long v;

    errno = 0;
    v = strtoull(text, &end, 16);
    if (errno || end == text + 2 || *end)
        return wrong(text, fault);
    if (v > UINT32_MAX)
        return fault_plain(fault, -EINVAL, "",
                           "'%.40s' is too large: a mask has 32 CPUs at most; a list like 0-3,40- "
                           "has any",
                           text);
    list->bits[0] = v & (n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1);
    if (!list->bits[0])
        return fault_plain(fault, -EINVAL, "", "'%.40s' chooses none of the CPUs 0 to %u", text,
                           n - 1);
    return 0;
}

/* "A", "A-B", "A-" or "-B". */
static int parse_range(const char **p, const char *text, unsigned n, struct cpu_list *list,
                       struct fault *fault)
{
    unsigned first = 0;
    unsigned last = n - 1;
    bool has_first = number(p, &first);

    if (**p == '-') {
        (*p)++;
        if (!number(p, &last) && !has_first)
            return wrong(text, fault);
    } else if (has_first) {
        last = first;
    } else {
        return wrong(text, fault);
    }
    if (first >= n || last >= n)
        return fault_plain(fault, -EINVAL, "", "there is no CPU %u: the machine has 0 to %u",
                           MAX(first, last), n - 1);
    if (first > last)
        return fault_plain(fault, -EINVAL, "", "%u-%u in a list of CPUs runs backward", first,
                           last);
    for (unsigned cpu = first; cpu <= last; cpu++)
        cpu_list_add(list, cpu);
    return 0;
}

int cpu_list_parse(const char *text, unsigned n, struct cpu_list *ret, struct fault *fault)
{
    struct cpu_list list = {0};
    const char *p = text;
    int r;

    n = MIN(n, CPU_LIST_MAX);
    if (n == 0)
        return fault_plain(fault, -EINVAL, "", "there are no CPUs");
    if (strcmp(text, "all") == 0) {
        for (unsigned cpu = 0; cpu < n; cpu++)
            cpu_list_add(&list, cpu);
    } else if (strncmp(text, "0x", 2) == 0 || strncmp(text, "0X", 2) == 0) {
        r = parse_mask(text, n, &list, fault);
        if (r < 0)
            return r;
    } else {
        do {
            r = parse_range(&p, text, n, &list, fault);
            if (r < 0)
                return r;
        } while (*p++ == ',');
        if (p[-1])
            return wrong(text, fault);
    }
    *ret = list;
    return 0;
}

const char *cpu_list_text(const struct cpu_list *list, unsigned n, char *buf, size_t size)
{
    size_t at = 0;

    buf[0] = 0;
    for (unsigned cpu = 0; cpu < n && at < size; cpu++) {
        unsigned last = cpu;
        int len;

        if (!cpu_list_has(list, cpu))
            continue;
        while (last + 1 < n && cpu_list_has(list, last + 1))
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
