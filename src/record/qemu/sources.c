/* SPDX-License-Identifier: MIT */
#include "record/qemu/sources.h"

#include <stdio.h>
#include <string.h>

#include "record/agent/guests_manifest.h"
#include "tracedir/host.h"

/* How it ended, and why as far as it told. */
static const char *exit_text(const struct qemu_recording *recording, char *buf, size_t size)
{
    char end[64];

    if (!recording->child.ended || recording->child.foreign)
        return NULL;
    child_end_text(&recording->child, end, sizeof end);
    if (recording->monitor.shutdown[0])
        snprintf(buf, size, "%s (%s)", end, recording->monitor.shutdown);
    else
        snprintf(buf, size, "%s", end);
    return buf;
}

/* That of the threads of vCPUs: "CPU 0/KVM". */
static const char *accelerator(const struct qemu_monitor *monitor)
{
    for (unsigned i = 0; i < monitor->n_threads; i++) {
        const char *name = monitor->threads[i].name;
        const char *slash = name && strncmp(name, "CPU ", 4) == 0 ? strchr(name, '/') : NULL;

        if (name && strncmp(name, "ALL CPUs/", 9) == 0)
            slash = name + 8;
        if (slash && strcmp(slash, "/TCG") == 0)
            return "tcg";
        if (slash && strcmp(slash, "/KVM") == 0)
            return "kvm";
    }
    return NULL;
}

static const char *version(const struct qemu_recording *recording)
{
    const char *version = recording->monitor.version;

    return version[0] == '\0'                  ? recording->settings.probe->version
           : strncmp(version, "QEMU ", 5) == 0 ? version + 5
                                               : version;
}

static void put_vmm(const struct qemu_recording *recording, bool final, char *buf, size_t size,
                    struct manifest_vmm *vmm)
{
    *vmm = (struct manifest_vmm){
        .pid = recording->monitor.pid,
        .program = recording->settings.program,
        .version = version(recording),
        .accelerator = accelerator(&recording->monitor),
        .command = recording->settings.command,
        .n_command = recording->settings.n_command,
        .threads = recording->monitor.threads,
        .n_threads = recording->monitor.n_threads,
        .exit = exit_text(recording, buf, size),
        .qmp = final ? NULL : recording->control,
    };
}

static void put_source(const struct qemu_recording *recording, bool final,
                       const struct manifest_vmm *vmm, struct manifest_source *source)
{
    static const char *const declarations[] = {VMM_DECLARATIONS};
    const struct qemu_log_pipe *log = &recording->log;

    *source = (struct manifest_source){
        .name = "vmm",
        .layer = "vmm",
        .host = host_here(),
        .vmm = vmm,
        .began = recording->began,
        .ended = recording->ended,
        .complete = final,
        .problems = recording->problems,
        .n_problems = recording->n_problems,
    };
    if (recording->has_declarations) {
        source->events = declarations;
        source->n_events = ARRAY_SIZE(declarations);
    }
    if (recording->settings.probe->backend == VMM_BACKEND_SIMPLE) {
        source->kind = "simpletrace";
        source->path = VMM_SIMPLE;
        source->clock =
            (struct manifest_clock){.name = "monotonic", .hz = 1000000000, .host = true};
    } else {
        source->kind = "qemu-log";
        source->path = VMM_LOG;
        if (recording->settings.probe->backend == VMM_BACKEND_LOG)
            source->clock =
                (struct manifest_clock){.name = "realtime", .hz = 1000000000, .pairs = VMM_PAIRS};
        source->lost_known = final;
        source->lost = log->lost_lines;
        source->lost_at_end = log->lost_lines;
    }
}

/* What QEMU itself, and what it started, had in rings: QEMU's own tells of it as a whole. */
static int put_rings(const struct qemu_recording *recording, bool final,
                     const struct manifest_vmm *vmm, struct arena *arena,
                     struct manifest_source **ret, unsigned *ret_n)
{
    int r = programs_put_sources(&recording->programs, final, arena, ret, ret_n);

    for (unsigned i = 0; r >= 0 && i < *ret_n; i++) {
        struct manifest_source *source = &(*ret)[i];
        const char **problems;

        /* One that has not come has none: then what was started tells. */
        if (source->vmm->pid != recording->monitor.pid && (recording->monitor.pid || i > 0))
            continue;
        problems =
            arena_alloc(arena, (source->n_problems + recording->n_problems + 1) * sizeof *problems);
        if (!problems)
            return -ENOMEM;
        for (unsigned j = 0; j < source->n_problems; j++)
            problems[j] = source->problems[j];
        for (unsigned j = 0; j < recording->n_problems; j++)
            problems[source->n_problems + j] = recording->problems[j];
        source->problems = problems;
        source->n_problems += recording->n_problems;
        source->vmm = vmm;
    }
    return r;
}

int qemu_sources_write(const struct qemu_recording *recording, bool final, struct error *error)
{
    struct manifest manifest = {0};
    struct manifest_source *sources, *kernels = NULL, *rings = NULL;
    unsigned n_kernels = 0, n_rings = 0, n = 0;
    struct manifest_vmm vmm;
    char end[160];
    int r = 0;

    put_vmm(recording, final, end, sizeof end, &vmm);
    if (recording->guests.n > 0)
        r = guests_put_sources(&recording->guests, final, &manifest.arena, &kernels, &n_kernels);
    if (r >= 0 && recording->takes_rings)
        r = put_rings(recording, final, &vmm, &manifest.arena, &rings, &n_rings);
    sources =
        r < 0 ? NULL : arena_alloc(&manifest.arena, (n_kernels + n_rings + 1) * sizeof *sources);
    if (!sources) {
        manifest_done(&manifest);
        return error_set(error, -ENOMEM, NULL, "out of memory");
    }
    if (n_rings == 0)
        put_source(recording, final, &vmm, &sources[n++]);
    for (unsigned i = 0; i < n_rings; i++)
        sources[n++] = rings[i];
    for (unsigned i = 0; i < n_kernels; i++)
        sources[n++] = kernels[i];
    manifest.sources = sources;
    manifest.n_sources = n;
    r = manifest_write(recording->path, &manifest, error);
    manifest_done(&manifest);
    return r;
}
