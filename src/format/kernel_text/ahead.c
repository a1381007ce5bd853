/* SPDX-License-Identifier: MIT */
#include "format/kernel_text/ahead.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "event/item.h"
#include "format/kernel_text/graph.h"

#define PIECE_SIZE ((size_t)256 * 1024)
#define CPUS_MAX 65536u

struct look_cpu {
    uint64_t last; /* where the line of its last event, or loss, is, + 1; 0: there was none */
    bool is_seen;  /* it has events */
    bool is_late;  /* what came before its first event is lost */
};

struct look {
    struct text_ahead *ahead;
    const struct text_head *head;
    bool is_ticks;
    unsigned n_seen; /* CPUs */
    struct look_cpu cpus[CPUS_MAX];
    uint8_t piece[PIECE_SIZE];
};

/* Whether IN may have a line that tells a loss. */
static int has_losses(struct look *look, const struct input *in, struct error *error)
{
    static const char *const words[] = {" EVENTS", "PERF_RECORD_LOST"};
    const size_t overlap = strlen(words[1]) - 1;
    uint64_t at = input_offset(in);
    int64_t n;

    do {
        n = input_read_at(in, at, look->piece, PIECE_SIZE, error);
        for (unsigned i = 0; i < ARRAY_SIZE(words) && n > 0; i++)
            if (memmem(look->piece, (size_t)n, words[i], strlen(words[i])))
                return 1;
        at += PIECE_SIZE - overlap;
    } while (n == (int64_t)PIECE_SIZE);
    return n < 0 ? (int)n : 0;
}

static int add_begin(struct text_ahead *ahead, uint64_t offset)
{
    if (ahead->n == TEXT_BEGINS_MAX)
        return 0;
    if (ahead->n == ahead->capacity) {
        unsigned capacity = MAX(ahead->capacity * 2, 64u);
        uint64_t *more = realloc(ahead->begins, capacity * sizeof *more);

        if (!more)
            return -ENOMEM;
        ahead->begins = more;
        ahead->capacity = capacity;
    }
    ahead->begins[ahead->n++] = offset;
    return 0;
}

/* Whether the line at P, of LEN bytes, tells an event or another record, which RET is. */
static bool read_event(const struct look *look, const char *p, size_t len, struct kernel_line *ret)
{
    return (kernel_line_read(p, len, ret) && ret->is_ticks == look->is_ticks) ||
           graph_probe(p, len, ret);
}

static int look_at_line(struct look *look, const char *p, size_t len, uint64_t offset)
{
    struct kernel_line line = {.cpu = CPU_UNKNOWN};
    uint64_t lost = 0, last;
    bool is_event = read_event(look, p, len, &line);
    struct look_cpu *cpu;

    if (is_event && line.is_record && !line.lost)
        return 0;
    if ((!is_event && !kernel_line_lost(p, len, &line.cpu, &lost)) || line.cpu == CPU_UNKNOWN)
        return 0;
    cpu = &look->cpus[line.cpu];
    last = cpu->last;
    cpu->last = offset + 1;
    if (!is_event || line.is_record) {
        cpu->is_late |= !cpu->is_seen;
        return last > 0 && offset - (last - 1) > TEXT_AHEAD_BYTES / 2
                   ? add_begin(look->ahead, last - 1)
                   : 0;
    }
    if (cpu->is_seen)
        return 0;
    cpu->is_seen = true;
    look->n_seen++;
    look->ahead->only_cpu = line.cpu;
    if ((cpu->is_late || look->head->overwritten > 0) && line.time != TIME_UNKNOWN)
        look->ahead->lost_begin = MAX(look->ahead->lost_begin, line.time);
    return 0;
}

/* Whether more lines of the text are to be looked at. */
static bool goes_on(const struct look *look)
{
    if (look->ahead->has_losses)
        return true;
    return look->head->overwritten > 0 ? look->n_seen < look->head->n_cpus : look->n_seen < 2;
}

static int look_at_lines(struct look *look, const struct input *in, struct error *error)
{
    uint64_t at = input_offset(in);
    bool is_inside = false; /* of a line that is longer than a piece */
    int64_t n;

    while ((n = input_read_at(in, at, look->piece, PIECE_SIZE, error)) > 0 && goes_on(look)) {
        const uint8_t *p = look->piece, *end = p + n;
        const uint8_t *newline;

        while (p < end &&
               ((newline = memchr(p, '\n', (size_t)(end - p))) || n < (int64_t)PIECE_SIZE)) {
            const uint8_t *line_end = newline ? newline : end;
            int r = is_inside ? 0
                              : look_at_line(look, (const char *)p, (size_t)(line_end - p),
                                             at + (uint64_t)(p - look->piece));

            if (r < 0)
                return r;
            is_inside = false;
            p = line_end + (newline != NULL);
        }
        is_inside |= p == look->piece;
        at += is_inside ? (uint64_t)n : (uint64_t)(p - look->piece);
    }
    return n < 0 ? (int)n : 0;
}

static int compare_offsets(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

int text_ahead_look(struct text_ahead *ahead, const struct input *in, bool is_ticks,
                    const struct text_head *head, struct error *error)
{
    struct look *look = calloc(1, sizeof *look);
    int r;

    if (!look)
        return -ENOMEM;
    *ahead = (struct text_ahead){.only_cpu = CPU_UNKNOWN};
    look->ahead = ahead;
    look->head = head;
    look->is_ticks = is_ticks;
    r = has_losses(look, in, error);
    ahead->has_losses = r > 0;
    if (r > 0 || (r == 0 && head->n_cpus > 1))
        r = look_at_lines(look, in, error);
    if (look->n_seen != 1 || head->n_cpus < 2 || (unsigned)ahead->only_cpu >= head->n_cpus)
        ahead->only_cpu = CPU_UNKNOWN;
    free(look);
    if (ahead->n > 0)
        qsort(ahead->begins, ahead->n, sizeof *ahead->begins, compare_offsets);
    return r;
}

/* The last events of CPUS among the lines of N bytes at P, which are at OFFSET. */
static void find_last_events(struct look *look, const char *p, size_t n, uint64_t offset,
                             const struct cpu_set *cpus)
{
    for (const char *line = p, *end = p + n; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        struct kernel_line read = {.cpu = CPU_UNKNOWN};

        if (read_event(look, line, (size_t)((newline ? newline : end) - line), &read) &&
            !read.is_record && read.cpu >= 0 && cpu_set_has(cpus, (uint32_t)read.cpu))
            look->cpus[read.cpu].last = offset + (uint64_t)(line - p) + 1;
        line = newline ? newline + 1 : end;
    }
}

/* Reads IN from its end to where the last events of WAITING are found. */
static int look_back(struct look *look, const struct input *in, struct cpu_set *waiting,
                     struct error *error)
{
    uint64_t begin = input_offset(in), end = in->size;

    while (end > begin && cpu_set_count(waiting) > 0) {
        uint64_t at = end - begin > PIECE_SIZE ? end - PIECE_SIZE : begin;
        int64_t n = input_read_at(in, at, look->piece, (size_t)(end - at), error);
        const uint8_t *p = look->piece, *newline = NULL;

        if (n < 0)
            return (int)n;
        if (n == 0)
            break;
        if (at > begin)
            newline = memchr(p, '\n', (size_t)n);
        if (newline)
            p = newline + 1;
        /* A line that is as long as a piece tells no event. */
        if (newline || at == begin)
            find_last_events(look, (const char *)p, (size_t)(look->piece + n - p),
                             at + (uint64_t)(p - look->piece), waiting);
        for (uint32_t cpu = cpu_set_next(waiting, 0); cpu < CPU_SET_MAX;
             cpu = cpu_set_next(waiting, cpu + 1))
            if (look->cpus[cpu].last > 0)
                cpu_set_remove(waiting, cpu);
        end = newline && p < look->piece + n ? at + (uint64_t)(p - look->piece) : at;
    }
    return 0;
}

int text_ahead_find_ends(struct text_ahead *ahead, const struct input *in, bool is_ticks,
                         const struct cpu_set *cpus, struct error *error)
{
    struct look *look = calloc(1, sizeof *look);
    struct cpu_set waiting = *cpus;
    uint64_t last = 0;
    int r;

    if (!look)
        return -ENOMEM;
    look->ahead = ahead;
    look->is_ticks = is_ticks;
    r = look_back(look, in, &waiting, error);
    for (uint32_t cpu = cpu_set_next(cpus, 0); cpu < CPU_SET_MAX; cpu = cpu_set_next(cpus, cpu + 1))
        last = MAX(last, look->cpus[cpu].last);
    for (uint32_t cpu = cpu_set_next(cpus, 0); cpu < CPU_SET_MAX && r >= 0;
         cpu = cpu_set_next(cpus, cpu + 1))
        if (look->cpus[cpu].last > 0 && look->cpus[cpu].last < last)
            r = add_begin(ahead, look->cpus[cpu].last - 1);
    free(look);
    if (ahead->n > 0)
        qsort(ahead->begins, ahead->n, sizeof *ahead->begins, compare_offsets);
    return r;
}

void text_ahead_done(struct text_ahead *ahead)
{
    free(ahead->begins);
}
