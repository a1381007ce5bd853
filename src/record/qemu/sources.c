/* SPDX-License-Identifier: MIT */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "record/qemu/internal.h"
#include "tracedir/host.h"

const char *qemu_exit_text(const struct qemu_recorder *self, char *buf, size_t size)
{
    char end[CHILD_END_SIZE];

    if (self->stop_reason)
        return self->stop_reason;
    if (!self->child.ended)
        return NULL;
    child_end_text(&self->child, end, sizeof end);
    if (self->monitor.shutdown[0])
        snprintf(buf, size, "%s (%s)", end, self->monitor.shutdown);
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

static const char *version(const struct qemu_recorder *self)
{
    const char *version = self->monitor.version;

    return version[0] == '\0'                  ? self->settings.probe->version
           : strncmp(version, "QEMU ", 5) == 0 ? version + 5
                                               : version;
}

/* What its sources point to. */
struct entry {
    struct manifest_vmm vmm;
    char exit[CHILD_END_SIZE + 80];
    char log_end[200];
    const char *problems[1];
};

/* UNTIL: up to when how long the machine stood still is known; 0: it is not. */
static void put_vmm(const struct qemu_recorder *self, bool final, uint64_t until,
                    struct entry *entry)
{
    entry->vmm = (struct manifest_vmm){
        .pid = self->monitor.pid,
        .name = self->settings.name,
        .uuid = self->settings.uuid,
        .program = self->settings.program,
        .version = version(self),
        .accelerator = accelerator(&self->monitor),
        .command = self->settings.command,
        .n_command = self->settings.n_command,
        .threads = self->monitor.threads,
        .n_threads = self->monitor.n_threads,
        .paused_ns = until ? qemu_paused_ns(self, until) : 0,
        .stopped_ns = until ? qemu_stopped_ns(self, until) : 0,
        .exit = qemu_exit_text(self, entry->exit, sizeof entry->exit),
        .qmp = final ? NULL : self->control,
    };
}

static void put_source(const struct qemu_recorder *self, bool final, struct entry *entry,
                       struct manifest_source *source)
{
    static const char *const declarations[] = {VMM_DECLARATIONS};
    const struct qemu_log_input *log = &self->log;

    *source = (struct manifest_source){
        .name = "vmm",
        .layer = "vmm",
        .host = host_here(),
        .vmm = &entry->vmm,
        .began = self->began,
        .ended = self->ended,
        .complete = final,
    };
    if (self->has_declarations) {
        source->events = declarations;
        source->n_events = ARRAY_SIZE(declarations);
    }
    if (self->settings.probe->backend == VMM_BACKEND_SIMPLE) {
        source->kind = "simpletrace";
        source->path = VMM_SIMPLE;
        source->clock =
            (struct manifest_clock){.name = "monotonic", .hz = 1000000000, .host = true};
    } else {
        source->kind = "qemu-log";
        source->path = VMM_LOG;
        if (self->settings.probe->backend == VMM_BACKEND_LOG)
            source->clock =
                (struct manifest_clock){.name = "realtime", .hz = 1000000000, .pairs = VMM_PAIRS};
        source->lost_known = final;
        source->lost = log->lost_lines;
        source->lost_at_end = log->lost_lines - log->stated_lines;
        /* At the end qemu_note_problems() has it, with the number of lines. */
        if (!final && qemu_log_input_has_ended(log)) {
            snprintf(entry->log_end, sizeof entry->log_end,
                     "QEMU's log ends after %" PRIu64 " bytes: %s; later lines are lost",
                     (uint64_t)log->bytes,
                     log->error == -EFBIG ? "--max-size or the limit of a file's size is reached"
                                          : strerror(-log->error));
            entry->problems[0] = entry->log_end;
            source->problems = entry->problems;
            source->n_problems = 1;
        } else if (!final && log->lost_lines > 0) {
            entry->problems[0] = VMM_LOG_DROPPED;
            source->problems = entry->problems;
            source->n_problems = 1;
        }
    }
}

/* The rings of QEMU and of the processes that it started. QEMU's source has the facts about the virtual machine. */
static int put_rings(const struct qemu_recorder *self, bool final, const struct manifest_vmm *vmm,
                     struct arena *arena, struct recorder_sources *ret)
{
    int r = programs_put_sources(&self->programs, final, arena, &ret->items, &ret->n);

    for (unsigned i = 0; r >= 0 && i < ret->n; i++) {
        /* Without a QEMU, the first source has the facts. */
        if (ret->items[i].vmm->pid != self->monitor.pid && (self->monitor.pid || i > 0))
            continue;
        ret->items[i].vmm = vmm;
        ret->about = i;
    }
    return r;
}

int qemu_sources(const struct recorder *recorder, struct arena *arena, struct recorder_sources *ret)
{
    const struct qemu_recorder *self = qemu_const_self(recorder);
    bool final = recorder->state == RECORDER_FINISHED;
    struct recorder_sources rings = {0};
    struct manifest_source *items;
    struct entry *entry = arena_alloc(arena, sizeof *entry);
    int r = entry ? 0 : -ENOMEM;

    if (r >= 0)
        put_vmm(self, final, final ? (uint64_t)self->ended.monotonic_ns : ret->until, entry);
    if (r >= 0 && self->reads_rings)
        r = put_rings(self, final, &entry->vmm, arena, &rings);
    items = r < 0 ? NULL : rings.n > 0 ? rings.items : arena_alloc(arena, sizeof *items);
    if (!items)
        return -ENOMEM;
    if (rings.n == 0)
        put_source(self, final, entry, &items[0]);
    *ret = (struct recorder_sources){.items = items, .n = MAX(rings.n, 1u), .about = rings.about};
    return 0;
}
