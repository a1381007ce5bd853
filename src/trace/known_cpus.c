/* SPDX-License-Identifier: MIT */
/* Finds CPUs that were recorded but have no data. The manifest states the CPUs; otherwise events of a kernel name other
 * CPUs, and its machine has vCPUs; otherwise a gap in the numbers of its files shows them. If the recorder stated the
 * length of each file, recorded_files.c finds what is missing instead. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "format/ftrace/ftrace.h"
#include "trace/left_out.h"
#include "trace/open.h"
#include "tracedir/cpu_files.h"

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

/* An empty file has no data either. */
static bool has_data(const struct ftrace_files *files, uint32_t cpu)
{
    struct stat st;

    for (unsigned i = 0; i < files->n_raws; i++)
        if (files->raws[i].cpu == (int)cpu)
            return stat(files->raws[i].path, &st) < 0 || st.st_size > 0;
    return false;
}

/* True if all FILES are copies. Reading a kernel's own files takes the events out of it. */
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

/* A guest has a CPU for each vCPU. */
static void name_vcpus(const struct manifest_source *recorded, struct cpu_set *named)
{
    const struct manifest_vmm *vmm = recorded->vmm;

    for (unsigned i = 0; vmm && i < vmm->n_threads; i++)
        if (vmm->threads[i].vcpu >= 0 && vmm->threads[i].vcpu < (int32_t)LEFT_OUT_CPUS)
            cpu_set_add(named, (uint32_t)vmm->threads[i].vcpu);
}

/* Notes that nothing states which CPUs were recorded. A CPU with a higher number than all others may be missing.
 * -ENOMEM. */
static int note_unstated(struct open_ctx *ctx)
{
    ctx->lost_uncounted = true;
    ctx->trace->lost_uncounted = true;
    return trace_note(ctx->trace,
                      "%s: " MANIFEST_NAME " does not state its files: data of other CPUs may be "
                      "missing",
                      ctx->path);
}

/* True if the manifest states all that examining the events could find: which files there are, and that no switch was
 * filtered. */
static bool states_all(const struct manifest_source *recorded)
{
    return recorded->n_files > 0 && recorded->filters_known && recorded->n_filters == 0;
}

int known_cpus_missing(struct open_ctx *ctx, const struct ftrace_files *files, struct cpu_set *ret,
                       struct left_out *ret_left_out)
{
    struct catalogue catalogue = {0};
    struct left_out left_out = {0};
    struct source **sources = NULL;
    struct error error = {0};
    unsigned n = 0;
    uint32_t last = 0;
    int r;

    *ret = (struct cpu_set){0};
    *ret_left_out = left_out;
    if ((ctx->recorded && (ctx->recorded->pid_filter || states_all(ctx->recorded))) ||
        ctx->is_live || ctx->options->is_live || !are_copies(files))
        return 0;
    r = ftrace_open(files, ctx->path, LAYER_GUEST, &catalogue, &ctx->options->reader, &sources, &n,
                    &error);
    if (left_out_find_in(r, sources, n, &catalogue, &left_out) < 0)
        return -ENOMEM;
    /* What its manifest says is not looked for; but what its filters have left out is not in it. */
    if (ctx->recorded && ctx->recorded->n_files > 0) {
        if (left_out.threads == LEFT_OUT_SWITCHES)
            *ret_left_out = left_out;
        return 0;
    }
    *ret_left_out = left_out;
    if (ctx->recorded)
        name_vcpus(ctx->recorded, &left_out.named);
    if (cpu_set_count(&left_out.named) == 0) {
        /* Files that strata merge took without a directory of a recording are as they are by themselves. */
        if (ctx->recorded && ctx->recorded->complete && ctx->recorded->began.realtime_ns != 0 &&
            note_unstated(ctx) < 0)
            return -ENOMEM;
        for (unsigned i = 0; i < files->n_raws; i++)
            last = MAX(last, (uint32_t)MAX(files->raws[i].cpu, 0));
        for (uint32_t cpu = 0; cpu < MIN(last, LEFT_OUT_CPUS); cpu++)
            cpu_set_add(&left_out.named, cpu);
    }
    for (uint32_t cpu = cpu_set_next(&left_out.named, 0); cpu < LEFT_OUT_CPUS;
         cpu = cpu_set_next(&left_out.named, cpu + 1))
        if (!has_data(files, cpu))
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
    return was_cut ? 0
                   : trace_note(ctx->trace,
                                "%s: there are no data of CPU%s %s, which its events, files or "
                                "vCPUs name: what %s did is unknown",
                                ctx->path, n == 1 ? "" : "s",
                                cpu_set_text(missing, CPU_SET_MAX, text, sizeof text),
                                n == 1 ? "it" : "they");
}

struct lost_cpus {
    struct source source;
    unsigned n; /* 0 after they were lent */
    struct item losses[];
};

static int lost_cpus_next(struct source *source, const struct item **ret_items)
{
    struct lost_cpus *lost = container_of(source, struct lost_cpus, source);
    unsigned n = lost->n;

    lost->n = 0;
    *ret_items = lost->losses;
    return (int)n;
}

static void lost_cpus_free(struct source *source)
{
    free(container_of(source, struct lost_cpus, source));
}

static const struct source_ops lost_cpus_ops = {.next = lost_cpus_next, .free = lost_cpus_free};

int known_cpus_lose(struct open_ctx *ctx, const struct origin *origin,
                    const struct cpu_set *missing, int64_t time)
{
    unsigned n = cpu_set_count(missing);
    struct lost_cpus *lost;

    if (n == 0 || time == TIME_UNKNOWN)
        return 0;
    lost = calloc(1, sizeof *lost + n * sizeof *lost->losses);
    if (!lost)
        return -ENOMEM;
    lost->source.ops = &lost_cpus_ops;
    lost->source.ordered = true;
    for (uint32_t cpu = cpu_set_next(missing, 0); lost->n < n; cpu = cpu_set_next(missing, cpu + 1))
        lost->losses[lost->n++] = (struct item){
            .kind = ITEM_LOSS,
            .cause = LOSS_DROPPED,
            .origin = origin,
            .time = time,
            .since = time,
            .lost = LOST_UNKNOWN,
            .cpu = (int32_t)cpu,
            .pid = PID_UNKNOWN,
            .vcpu = VCPU_UNKNOWN,
            .is_open = true,
        };
    return open_ctx_add(ctx, &lost->source);
}

int known_threads_note(struct open_ctx *ctx, unsigned first, const struct left_out *left_out)
{
    struct catalogue *catalogue = &ctx->trace->catalogue;
    bool is_unsure = left_out->threads == LEFT_OUT_UNSURE || left_out->threads == LEFT_OUT_SWITCHES;

    for (unsigned i = first; i < catalogue->n_origins; i++) {
        struct origin *origin = catalogue->origins[i];

        origin->threads_only |= left_out->threads == LEFT_OUT_SELECTED;
        origin->pid_filter |=
            left_out->threads == LEFT_OUT_FILTERED || left_out->threads == LEFT_OUT_UNSURE;
        origin->lacks_switches |= left_out->threads == LEFT_OUT_SWITCHES;
        origin->lost_uncounted |= is_unsure;
    }
    ctx->trace->lost_uncounted |= is_unsure;
    if (left_out->threads == LEFT_OUT_FILTERED)
        return trace_note(ctx->trace,
                          "%s: the kernel recorded only certain threads, as its events show "
                          "(set_event_pid, trace-cmd record -F or -P): what others did is unknown",
                          ctx->path);
    if (left_out->threads == LEFT_OUT_SWITCHES)
        return trace_note(
            ctx->trace,
            "%s: CPUs go on to another thread %u times without a switch (%u are "
            "there): others were left out (a condition of strata record -e, perf "
            "record --filter, trace-cmd record -f) or lost; what threads and CPUs did is unknown",
            ctx->path, left_out->n_broken, left_out->n_switches);
    if (left_out->threads == LEFT_OUT_UNSURE)
        return trace_note(ctx->trace,
                          "%s: it may have events of only certain threads: %u of %u switches do "
                          "not follow from the previous one; what others did is unknown",
                          ctx->path, left_out->n_broken, left_out->n_switches);
    return 0;
}

void known_bounds_set(struct origin *origin, const struct left_out *left_out)
{
    /* Without switches, a CPU may have nothing to record for long. */
    origin->ends_apart |= left_out->last_begin != 0;
    if (!origin->threads_only)
        origin->lost_begin = MAX(origin->lost_begin, left_out->last_begin);
}
