/* SPDX-License-Identifier: MIT */
/* The CPUs that a recording had, of some of which there may be no data: the manifest says it; else the events of a kernel that
 * name other CPUs do, and where there are none, a gap in the numbers of its files. A recorder that wrote down the length of each
 * file has said it so (recorded_files.c). */
#include <errno.h>
#include <string.h>

#include "event/value.h"
#include "format/ftrace/ftrace.h"
#include "trace/open.h"
#include "tracedir/cpu_files.h"

/* As many events of a kernel are looked through. */
#define EVENTS_MAX (1u << 17)
/* Higher CPUs are not looked for: what is damaged may name any. */
#define NAMED_MAX 1024u

void known_cpus_recorded(const struct open_ctx *ctx, struct cpu_set *ret)
{
    const struct manifest_source *recorded = ctx->recorded;
    const uint32_t *cpus = NULL;
    unsigned n = 0;

    *ret = (struct cpu_set){0};
    /* Where nothing was cut, a CPU without data had no events. */
    if (!recorded || ctx->is_live || ctx->options->is_live ||
        (recorded->complete && !recorded->lost_uncounted && recorded->n_files > 0 && !ctx->is_cut))
        return;
    if (recorded->xen) {
        cpus = recorded->xen->cpus;
        n = recorded->xen->n_cpus;
    } else if (recorded->percpu) {
        cpus = recorded->percpu->cpus;
        n = recorded->percpu->n_cpus;
    }
    for (unsigned i = 0; i < n; i++)
        if (cpus[i] < CPU_SET_MAX)
            cpu_set_add(ret, cpus[i]);
}

/* Adds the CPUs that ITEM names to ONCE, or, if they are in it already, to NAMED. */
static void add_named(const struct item *item, struct cpu_set *once, struct cpu_set *named)
{
    static const char *const fields[] = {"target_cpu", "orig_cpu", "dest_cpu"};

    if (item->kind != ITEM_EVENT || !item->class->group || strcmp(item->class->group, "sched") != 0)
        return;
    for (unsigned i = 0; i < ARRAY_SIZE(fields); i++) {
        int field = event_class_field(item->class, fields[i]);
        struct value value;

        if (field < 0)
            continue;
        value = item_value(item, (unsigned)field);
        if (!value.present || value.u >= NAMED_MAX)
            continue;
        cpu_set_add(cpu_set_has(once, (uint32_t)value.u) ? named : once, (uint32_t)value.u);
    }
}

/* The CPUs that the first events of each of the N SOURCES name. 0, -ENOMEM; of data that cannot be read, those before. */
static int find_in_events(struct source **sources, unsigned n, struct cpu_set *named)
{
    struct cpu_set once = {0};
    int r = 0;

    for (unsigned i = 0; i < n && r != -ENOMEM; i++) {
        unsigned left = EVENTS_MAX / n;
        const struct item *items;

        while (left > 0 && (r = source_next(sources[i], &items)) > 0) {
            unsigned n_items = MIN((unsigned)r, left);

            for (unsigned j = 0; j < n_items; j++)
                add_named(&items[j], &once, named);
            left -= n_items;
        }
    }
    return r == -ENOMEM ? r : 0;
}

static bool has_file(const struct ftrace_files *files, uint32_t cpu)
{
    for (unsigned i = 0; i < files->n_raws; i++)
        if (files->raws[i].cpu == (int)cpu)
            return true;
    return false;
}

/* Whether all FILES are a copy of what a kernel had: reading its own takes the events out of it. */
static bool are_copies(const struct ftrace_files *files)
{
    uint32_t cpu;

    for (unsigned i = 0; i < files->n_raws; i++) {
        const char *slash = strrchr(files->raws[i].path, '/');

        if (!cpu_file_cpu(slash ? slash + 1 : files->raws[i].path, &cpu))
            return false;
    }
    return files->n_raws > 0;
}

int known_cpus_missing(const struct open_ctx *ctx, const struct ftrace_files *files,
                       struct cpu_set *ret)
{
    struct catalogue catalogue = {0};
    struct cpu_set named = {0};
    struct source **sources = NULL;
    struct error error = {0};
    unsigned n = 0;
    uint32_t last = 0;
    int r;

    *ret = (struct cpu_set){0};
    if ((ctx->recorded && ctx->recorded->n_files > 0) || ctx->is_live || ctx->options->is_live ||
        !are_copies(files))
        return 0;
    r = ftrace_open(files, ctx->path, LAYER_GUEST, &catalogue, &ctx->options->reader, &sources, &n,
                    &error);
    /* Why it cannot be opened is reported when it is. */
    if (r >= 0)
        r = find_in_events(sources, n, &named);
    for (unsigned i = 0; i < n; i++)
        source_free(sources[i]);
    free(sources);
    catalogue_done(&catalogue);
    if (r == -ENOMEM)
        return r;
    if (cpu_set_count(&named) == 0) {
        for (unsigned i = 0; i < files->n_raws; i++)
            last = MAX(last, (uint32_t)MAX(files->raws[i].cpu, 0));
        for (uint32_t cpu = 0; cpu < MIN(last, NAMED_MAX); cpu++)
            cpu_set_add(&named, cpu);
    }
    for (uint32_t cpu = cpu_set_next(&named, 0); cpu < NAMED_MAX;
         cpu = cpu_set_next(&named, cpu + 1))
        if (!has_file(files, cpu))
            cpu_set_add(ret, cpu);
    return 0;
}

int known_cpus_note(struct open_ctx *ctx, const struct cpu_set *missing)
{
    unsigned n = cpu_set_count(missing);
    bool was_cut = ctx->is_cut;
    char text[128];

    if (n == 0)
        return 0;
    ctx->is_cut = true;
    ctx->trace->lost_uncounted = true;
    /* What was cut is noted already. */
    return was_cut
               ? 0
               : trace_note(ctx->trace,
                            "%s: CPU%s %s %s recorded, and there are no data of %s: what %s did is "
                            "unknown",
                            ctx->path, n == 1 ? "" : "s",
                            cpu_set_text(missing, CPU_SET_MAX, text, sizeof text),
                            n == 1 ? "was" : "were", n == 1 ? "it" : "them",
                            n == 1 ? "it" : "they");
}
