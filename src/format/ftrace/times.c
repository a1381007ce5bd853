/* SPDX-License-Identifier: MIT */
#include "format/ftrace/times.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/macro.h"
#include "base/wide.h"

/* The flag of the option: draw a line between two samples, not a step. */
#define FLAG_INTERPOLATE 1

static int compare_samples(const void *pa, const void *pb)
{
    const struct ftrace_time_sample *a = pa, *b = pb;

    return a->time < b->time ? -1 : a->time > b->time;
}

/* The samples of one time are one. */
static void sort_samples(struct ftrace_time_cpu *cpu)
{
    uint32_t n = 0;

    if (!cpu->n_samples)
        return;
    qsort(cpu->samples, cpu->n_samples, sizeof *cpu->samples, compare_samples);
    for (uint32_t i = 0; i < cpu->n_samples; i++)
        if (i == 0 || cpu->samples[i].time != cpu->samples[i - 1].time)
            cpu->samples[n++] = cpu->samples[i];
    cpu->n_samples = n;
}

int ftrace_times_read_shift(struct ftrace_times *times, const uint8_t *p, uint32_t size, bool swap)
{
    const uint8_t *end = p + size;
    uint32_t n_cpus;

    if (size < 16 || times->cpus)
        return -EBADMSG;
    /* 8 bytes: which trace the other side is. */
    times->interpolate = load_u32_swap(p + 8, swap) & FLAG_INTERPOLATE;
    n_cpus = load_u32_swap(p + 12, swap);
    p += 16;
    if (n_cpus > (size_t)(end - p) / 4)
        return -EBADMSG;
    times->cpus = calloc(MAX(n_cpus, 1u), sizeof *times->cpus);
    if (!times->cpus)
        return -ENOMEM;
    times->n_cpus = n_cpus;

    for (uint32_t i = 0; i < n_cpus; i++) {
        struct ftrace_time_cpu *cpu = &times->cpus[i];
        uint32_t n;

        if (end - p < 4)
            return -EBADMSG;
        n = load_u32_swap(p, swap);
        p += 4;
        if (n > (size_t)(end - p) / 24)
            return -EBADMSG;
        cpu->samples = calloc(MAX(n, 1u), sizeof *cpu->samples);
        if (!cpu->samples)
            return -ENOMEM;
        cpu->n_samples = n;
        for (uint32_t k = 0; k < n; k++) {
            cpu->samples[k].time = (int64_t)load_u64_swap(p + 8 * (size_t)k, swap);
            cpu->samples[k].offset = (int64_t)load_u64_swap(p + 8 * ((size_t)n + k), swap);
            cpu->samples[k].scaling = (int64_t)load_u64_swap(p + 8 * (2 * (size_t)n + k), swap);
        }
        p += 24 * (size_t)n;
    }
    /* Later writers add the fractions of all CPUs. */
    for (uint32_t i = 0; i < n_cpus && p < end; i++) {
        struct ftrace_time_cpu *cpu = &times->cpus[i];

        if (cpu->n_samples > (size_t)(end - p) / 8)
            return -EBADMSG;
        for (uint32_t k = 0; k < cpu->n_samples; k++, p += 8)
            cpu->samples[k].fraction = (int64_t)load_u64_swap(p, swap);
    }
    for (uint32_t i = 0; i < n_cpus; i++)
        sort_samples(&times->cpus[i]);
    return 0;
}

void ftrace_times_done(struct ftrace_times *times)
{
    for (uint32_t i = 0; i < times->n_cpus; i++)
        free(times->cpus[i].samples);
    free(times->cpus);
    *times = (struct ftrace_times){0};
}

/* TIME by the line through A and B, or by A alone. All sums wrap: the numbers are not trusted. */
static uint64_t correct(const struct ftrace_times *times, uint64_t time,
                        const struct ftrace_time_sample *a, const struct ftrace_time_sample *b)
{
    uint64_t correction = (uint64_t)a->offset;
    int64_t delta = (int64_t)((uint64_t)b->time - (uint64_t)a->time);

    if (times->interpolate && delta != 0) {
        uint64_t rise = (time - (uint64_t)a->time) * ((uint64_t)b->offset - (uint64_t)a->offset) +
                        (uint64_t)(delta / 2);
        /* The smallest number by -1 has no quotient. */
        correction += delta == -1 ? -rise : (uint64_t)((int64_t)rise / delta);
    }
    return (time * (uint64_t)a->scaling >> (a->fraction & 63)) + correction;
}

static uint64_t to_host(const struct ftrace_times *times, int number, uint64_t time)
{
    const struct ftrace_time_sample *s;
    const struct ftrace_time_cpu *cpu;
    uint32_t low = 0, high;

    if (number < 0 || (uint32_t)number >= times->n_cpus)
        return time;
    cpu = &times->cpus[number];
    s = cpu->samples;
    if (cpu->n_samples == 0)
        return time;
    if (cpu->n_samples == 1)
        return time + (uint64_t)s[0].offset;
    /* The last sample that is not after TIME; before the first the first two hold, after the last
     * the last two. */
    high = cpu->n_samples - 1;
    while (low + 1 < high) {
        uint32_t middle = (low + high) / 2;

        if ((uint64_t)s[middle].time <= time)
            low = middle;
        else
            high = middle;
    }
    return correct(times, time, &s[low], &s[low + 1]);
}

uint64_t ftrace_times_apply(const struct ftrace_times *times, int cpu, uint64_t time)
{
    if (times->n_cpus)
        time = to_host(times, cpu, time);
    if (times->mult)
        time = mul_shift_u64(time, times->mult, MIN(times->shift, 127u));
    return time + (uint64_t)times->offset;
}
