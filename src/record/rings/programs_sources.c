/* SPDX-License-Identifier: MIT */

/* What the manifest says of recorded programs: their sources, how wrong their clocks may be, and what is missing. */

#include "base/clock_ns.h"
#include "record/rings/programs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/saturate.h"
#include "base/wide.h"
#include "tracedir/host.h"

#define CLOCK_NS_MAX (INT64_MAX / 8)

/* ---- Clocks ---- */

/* The moment TICKS on the line that the metadata of PROGRAM states. */
static int64_t on_line(const struct program *program, uint64_t ticks)
{
    wide since = wide_sub(wide_of_u64(ticks), wide_of_u64(program->start.ticks));
    wide ns = wide_add(wide_of(program->start.monotonic),
                       wide_div(wide_mul(since, wide_of(NSEC_PER_SEC)), wide_of_u64(program->hz)));

    /* A process may say that it began at any tick. */
    return MAX(MIN(wide_clamp(ns), CLOCK_NS_MAX), -CLOCK_NS_MAX);
}

/* By how much times of PROGRAM may be wrong; 0: not known, there was no reading while it ran. */
static int64_t clock_error(const struct programs *programs, const struct program *program)
{
    const struct clock_samples *samples = &programs->samples;
    int64_t end = program->finished.monotonic_ns ? program->finished.monotonic_ns : INT64_MAX;
    int64_t worst = 0;

    for (unsigned i = 0; i < samples->n; i++) {
        const struct clock_sample *item = &samples->items[i];
        int64_t off;

        /* Those while it ran, and the next one on both sides. */
        if ((i + 1 < samples->n &&
             samples->items[i + 1].pair.monotonic < program->start.monotonic) ||
            (i > 0 && samples->items[i - 1].pair.monotonic > end))
            continue;
        off = on_line(program, item->pair.ticks) - item->pair.monotonic;
        worst = MAX(worst, (off < 0 ? -off : off) + (int64_t)item->error_ns);
    }
    if (!program->ended)
        worst *= 3; /* as refine() says */
    return worst ? worst + (int64_t)(samples->every / 2 * PROGRAM_WANDER_PPM / 1000000) : 0;
}

/* ---- Problems ---- */

static int add_problem(struct arena *arena, const char **list, unsigned *n, const char *text)
{
    list[*n] = arena_strdup(arena, text);
    return list[*n] ? (int)++*n : -ENOMEM;
}

/* What is wrong with processes that have no source: ORPHANS are events of those that got no ring. */
static int put_problems_of_others(const struct programs *programs, uint64_t orphans,
                                  uint32_t n_processes, struct arena *arena, const char **list,
                                  unsigned *n)
{
    char text[sizeof(struct error) + 80], error[sizeof(struct error)];
    int r = 0;

    if (orphans) {
        snprintf(text, sizeof text,
                 "%" PRIu64 " events of %" PRIu32
                 " processes were lost as the processes could make no rings",
                 orphans, n_processes);
        r = add_problem(arena, list, n, text);
    }
    if (programs->slots_unread && r >= 0) {
        snprintf(text, sizeof text,
                 "%u of %u slots of the ring pool are damaged and were passed over",
                 programs->slots_unread, POOL_SLOTS);
        r = add_problem(arena, list, n, text);
    }
    if (programs->n_passed_over && r >= 0) {
        snprintf(
            text, sizeof text,
            "%u more process%s not recorded, because a recording has at most %u: 'strata recover' "
            "saves the events",
            programs->n_passed_over, programs->n_passed_over == 1 ? " was" : "es were",
            programs->max);
        r = add_problem(arena, list, n, text);
    }
    if (programs->unread.code && r >= 0) {
        error_print(&programs->unread, error, sizeof error);
        snprintf(text, sizeof text, "rings of another process could not be read: %s", error);
        r = add_problem(arena, list, n, text);
    }
    return r;
}

/* OTHERS: with the problems of processes that have no source; NULL: they are in another source. */
static int put_problems(const struct program *program, const struct programs *others,
                        uint64_t orphans, uint32_t n_processes, struct arena *arena,
                        struct manifest_source *source)
{
    const struct drain_stats *taken = &program->taken;
    const struct {
        uint64_t count;
        const char *text;
    } losses[] = {
        {taken->no_ring, "events were lost as their threads got no ring"},
        {taken->unwritten, "events were lost as they could not be written"},
        {taken->undecoded,
         "events at least were lost: they cannot be decoded without their description"},
        {taken->damaged, "rings are damaged and were passed over"},
        {taken->kept,
         "events could not be written and are kept in rings: 'strata recover' saves them"},
    };
    const char **list = arena_alloc(arena, (ARRAY_SIZE(losses) + 5) * sizeof *list);
    char text[sizeof program->what + 80];
    unsigned n = 0;
    int r = 0;

    if (!list)
        return -ENOMEM;
    if (program->error) {
        snprintf(text, sizeof text, "it could not be recorded to its end: %s", program->what);
        r = add_problem(arena, list, &n, text);
    }
    for (size_t i = 0; i < ARRAY_SIZE(losses) && r >= 0; i++)
        if (losses[i].count) {
            snprintf(text, sizeof text, "%" PRIu64 " %s", losses[i].count, losses[i].text);
            r = add_problem(arena, list, &n, text);
        }
    if (others && r >= 0)
        r = put_problems_of_others(others, orphans, n_processes, arena, list, &n);
    source->lost_uncounted =
        taken->damaged || taken->kept ||
        (others && (others->slots_unread || others->n_passed_over || others->unread.code));
    source->problems = list;
    source->n_problems = n;
    return MIN(r, 0);
}

/* ---- Sources ---- */

static int put_source(const struct programs *programs, const struct program *program, bool complete,
                      struct arena *arena, struct manifest_source *to)
{
    struct manifest_vmm *vmm = arena_alloc(arena, sizeof *vmm);
    uint32_t n_processes = 0;
    uint64_t orphans = 0;
    struct drain_stats taken = program_taken(program);

    if (program == programs->items[0])
        orphans = programs_no_ring(programs, &n_processes);
    if (!vmm)
        return -ENOMEM;
    *vmm = (struct manifest_vmm){.pid = (int32_t)program->pid, .program = program->program};
    if (program->pid == programs->main_pid) {
        vmm->exit = programs->main_exit;
        vmm->command = programs->main_command;
        while (vmm->command && vmm->command[vmm->n_command])
            vmm->n_command++;
    }
    *to = (struct manifest_source){
        .name = program->name,
        .kind = "ctf",
        .layer = "vmm",
        .path = program->name,
        .clock = {.name = "monotonic",
                  .hz = NSEC_PER_SEC,
                  .host = true,
                  .error_ns = program->counts ? clock_error(programs, program) : 0},
        .host = host_here(),
        .vmm = vmm,
        .filters = programs->filters,
        .n_filters = programs->n_filters,
        .filters_known = programs->n_filters > 0,
        .began = program->began,
        .ended = program->finished,
        .lost_known = program->ended,
        .lost = add_saturated(drain_stats_lost(&taken), orphans),
        .complete = complete && program->ended && program->error == 0,
    };
    return put_problems(program, program == programs->items[0] ? programs : NULL, orphans,
                        n_processes, arena, to);
}

int programs_put_sources(const struct programs *programs, bool complete, struct arena *arena,
                         struct manifest_source **ret, unsigned *ret_n)
{
    struct manifest_source *sources = arena_alloc(arena, (programs->n + 1) * sizeof *sources);
    int r = sources ? 0 : -ENOMEM;

    for (unsigned i = 0; i < programs->n && r >= 0; i++)
        r = put_source(programs, programs->items[i], complete, arena, &sources[i]);
    if (r < 0)
        return r;
    *ret = sources;
    *ret_n = programs->n;
    return 0;
}
