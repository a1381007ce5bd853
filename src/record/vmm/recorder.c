/* SPDX-License-Identifier: MIT */
#include "record/vmm/recorder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/child.h"
#include "base/clock_ns.h"
#include "base/macro.h"
#include "record/recording.h"
#include "record/vmm/threads.h"
#include "tracedir/host.h"

/* While threads of vCPUs are missing, the process is looked at again, after twice the time before. */
#define LOOK_FIRST_NS (NSEC_PER_SEC / 4)
#define LOOK_LAST_NS (64 * NSEC_PER_SEC)

struct vmm_recorder {
    struct recorder recorder;
    struct vmm_recorder_settings settings;
    struct child child;
    struct vmm_threads threads;
    struct manifest_moment began, ended;
    uint64_t look_at; /* CLOCK_MONOTONIC, ns; UINT64_MAX: no more */
    uint64_t look_ns;
    bool is_stopping, is_several;
};

static struct vmm_recorder *self_of(struct recorder *recorder)
{
    return container_of(recorder, struct vmm_recorder, recorder);
}

static const struct vmm_recorder *const_self_of(const struct recorder *recorder)
{
    return const_container_of(recorder, struct vmm_recorder, recorder);
}

/* Whether a thread of each vCPU is known. */
static bool is_complete(const struct vmm_recorder *self)
{
    unsigned n_vms, n_vcpus;
    char path[64];

    snprintf(path, sizeof path, "/proc/%ld/fd", (long)self->settings.process->pid);
    return vmm_count_fds(path, &n_vms, &n_vcpus) >= 0 && n_vcpus > 0 &&
           vmm_threads_vcpus(&self->threads) >= n_vcpus;
}

static int look(struct vmm_recorder *self)
{
    pid_t pid = self->settings.process->pid;
    int r = vmm_threads_update(&self->threads, pid, self->settings.kvm);

    if (self->threads.n_vms > 1 && !self->is_several)
        recorder_problem(&self->recorder,
                         "process %ld has %u virtual machines: vCPUs of the same number are shown "
                         "as one",
                         (long)pid, self->threads.n_vms);
    self->is_several = self->threads.n_vms > 1;
    recorder_changed(&self->recorder);
    return r;
}

static int start(struct recorder *recorder, struct error *error)
{
    struct vmm_recorder *self = self_of(recorder);
    long pid = self->settings.process->pid;
    int r = child_adopt((pid_t)pid, &self->child);

    if (r < 0)
        return error_set(error, r, NULL, "cannot watch process %ld; it may have ended", pid);
    r = look(self);
    if (r < 0)
        return error_set(error, r, NULL, "the threads of process %ld cannot be read: %s", pid,
                         strerror(-r));
    self->began = host_moment();
    self->look_ns = LOOK_FIRST_NS;
    self->look_at = clock_ns(CLOCK_MONOTONIC) + self->look_ns;
    return 0;
}

static void poll_fds(struct recorder *recorder, struct recorder_wait *wait)
{
    struct vmm_recorder *self = self_of(recorder);

    recorder_wait_fd(wait, self->child.end, POLLIN);
    recorder_wait_until(wait, self->look_at);
}

static int step(struct recorder *recorder, const struct pollfd *fds, unsigned n, uint64_t now,
                struct error *error)
{
    struct vmm_recorder *self = self_of(recorder);

    (void)fds;
    (void)n;
    (void)error;
    if (child_has_ended(&self->child) || self->is_stopping)
        return 0;
    if (now < self->look_at)
        return 1;
    /* Where memory is short, what was known is kept. */
    (void)look(self);
    self->look_ns *= 2;
    self->look_at =
        is_complete(self) || self->look_ns > LOOK_LAST_NS ? UINT64_MAX : now + self->look_ns;
    return 1;
}

static uint64_t stop(struct recorder *recorder, const struct recorder_stop *stop, uint64_t now)
{
    (void)stop;
    (void)now;
    self_of(recorder)->is_stopping = true;
    return UINT64_MAX;
}

static int finish(struct recorder *recorder, struct error *error)
{
    struct vmm_recorder *self = self_of(recorder);

    (void)error;
    /* A vCPU may have been plugged meanwhile. */
    if (!child_has_ended(&self->child))
        (void)look(self);
    self->ended = host_moment();
    if (self->child.ended)
        recorder_happened(recorder,
                          &(struct recorder_event){.kind = RECORDER_EVENT_END,
                                                   .text = "ended",
                                                   .status = -1,
                                                   .time = (uint64_t)self->ended.monotonic_ns});
    return 0;
}

static int sources(const struct recorder *recorder, struct arena *arena,
                   struct recorder_sources *ret)
{
    const struct vmm_recorder *self = const_self_of(recorder);
    const struct vmm_process *process = self->settings.process;
    const struct vmm_threads *known = &self->threads;
    struct manifest_source *source = arena_alloc(arena, sizeof *source);
    struct manifest_vmm *vmm = arena_alloc(arena, sizeof *vmm);
    struct manifest_thread *threads = arena_alloc(arena, (known->n + 1) * sizeof *threads);

    if (!source || !vmm || !threads)
        return -ENOMEM;
    for (unsigned i = 0; i < known->n; i++)
        threads[i] = (struct manifest_thread){
            .id = known->items[i].id, .name = known->items[i].name, .vcpu = known->items[i].vcpu};
    *vmm = (struct manifest_vmm){
        .pid = process->pid,
        .program = process->program,
        .accelerator = "kvm",
        .command = process->command,
        .n_command = process->n_command,
        .threads = threads,
        .n_threads = known->n,
        .exit = self->child.ended ? "ended" : NULL,
    };
    *source = (struct manifest_source){
        .name = self->settings.name,
        .kind = MANIFEST_NO_EVENTS,
        .layer = "vmm",
        .path = self->settings.name,
        .clock = {.name = "monotonic", .hz = NSEC_PER_SEC, .host = true},
        .host = host_here(),
        .vmm = vmm,
        .began = self->began,
        .ended = self->ended,
        .lost_known = true,
        .complete = recorder->state == RECORDER_FINISHED && recorder->error.code == 0,
    };
    *ret = (struct recorder_sources){source, 1, 0};
    return 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static void summarize(const struct recorder *recorder, struct recorder_summary *summary)
{
    const struct vmm_recorder *self = const_self_of(recorder);
    const struct vmm_process *process = self->settings.process;
    unsigned n = vmm_threads_vcpus(&self->threads);

    text_printf(&summary->result, "%s (process %ld)%s, recorded into %s\n",
                base_name(process->program), (long)process->pid,
                self->child.ended ? " has ended" : "", summary->dir);
    if (n > 0)
        text_printf(&summary->notes, "  %-6s threads of %u vCPU%s\n", recorder->name, n,
                    n == 1 ? "" : "s");
    else
        text_printf(&summary->notes,
                    "  %-6s threads of its vCPUs only by the kernel's events (kvm:kvm_entry)\n",
                    recorder->name);
    for (unsigned i = 0; i < recorder->n_problems; i++)
        text_printf(&summary->notes, "  %s: %s\n", recorder->name, recorder->problems[i]);
}

static void free_recorder(struct recorder *recorder)
{
    struct vmm_recorder *self = self_of(recorder);

    child_done(&self->child);
    vmm_threads_done(&self->threads);
    free(self);
}

static const struct recorder_ops ops = {
    .start = start,
    .poll = poll_fds,
    .step = step,
    .stop = stop,
    .finish = finish,
    .sources = sources,
    .summarize = summarize,
    .free = free_recorder,
};

int vmm_recorder_new(const struct vmm_recorder_settings *settings, struct recorder **ret)
{
    struct vmm_recorder *self = calloc(1, sizeof *self);

    if (!self)
        return -ENOMEM;
    self->recorder.ops = &ops;
    self->recorder.name = settings->name;
    self->recorder.is_primary = true;
    self->settings = *settings;
    self->child.end = -1;
    self->look_at = UINT64_MAX;
    *ret = &self->recorder;
    return 0;
}
