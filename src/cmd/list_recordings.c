/* SPDX-License-Identifier: MIT */
/* strata list: what this user records, and the QEMUs that he could. */
#include <inttypes.h>
#include <string.h>

#include "cli/duration.h"
#include "cli/output.h"
#include "cmd/list.h"
#include "print/json.h"
#include "record/qemu/running.h"
#include "tracedir/manifest.h"
#include "tracedir/registry.h"

/* A recorded QEMU, and where to. */
struct recorded {
    pid_t pid;
    char *trace;
};

struct list {
    struct text *out;
    bool json;
    bool any; /* the table under way has a row */
    struct recorded *recorded;
    unsigned n_recorded;
    bool no_memory;
};

/* In front of a table's first row. */
static void put_head(struct list *list, const char *head)
{
    if (!list->any && !list->json) {
        if (text_len(list->out) > 0)
            text_put_char(list->out, '\n');
        text_put_str(list->out, head);
    }
    list->any = true;
}

static void put_since(struct list *list, pid_t pid, int64_t since_ns)
{
    char since[32];

    text_printf(list->out, "%7ld  %s  ", (long)pid, date_text(since, sizeof since, since_ns));
}

/* ---- Recordings ---- */

static void note_recorded(struct list *list, pid_t pid, const char *trace)
{
    struct recorded *bigger =
        realloc(list->recorded, (list->n_recorded + 1) * sizeof *list->recorded);
    char *copy = strdup(trace);

    if (bigger)
        list->recorded = bigger;
    if (bigger && copy)
        list->recorded[list->n_recorded++] = (struct recorded){pid, copy};
    else
        free(copy);
    list->no_memory |= !bigger || !copy;
}

/* "QEMU 7.2.22 (process 4711)", "tiny-vmm (process 4711)", "guest", "guest web" */
static void put_what(struct text *out, const struct manifest_source *source)
{
    if (source->vmm && source->vmm->version)
        text_printf_safe(out, "QEMU %s", source->vmm->version);
    else if (source->vmm)
        text_put_safe_str(out, source->vmm->program ? source->vmm->program : "a program");
    else
        text_put_safe_str(out, source->layer);
    if (source->vmm && source->vmm->pid)
        text_printf(out, " (process %d)", (int)source->vmm->pid);
    if (!source->vmm && strcmp(source->name, source->layer) != 0)
        text_printf_safe(out, " %s", source->name);
}

static void put_source_json(struct text *out, const struct manifest_source *source)
{
    text_put_literal(out, "{\"name\":");
    json_put_str(out, source->name);
    text_put_literal(out, ",\"layer\":");
    json_put_str(out, source->layer);
    if (source->vmm && source->vmm->program) {
        text_put_literal(out, ",\"program\":");
        json_put_str(out, source->vmm->program);
    }
    if (source->vmm && source->vmm->pid)
        text_printf(out, ",\"pid\":%d", (int)source->vmm->pid);
    text_put_char(out, '}');
}

static int put_recording(const struct registry_recording *recording, void *userdata)
{
    struct list *list = userdata;
    struct text *out = list->out;
    struct manifest manifest = {0};
    bool first = true;

    /* One that begins has none yet. */
    (void)manifest_read(recording->trace, &manifest, NULL);
    put_head(list, "    PID  SINCE                RECORDS INTO, WHAT\n");
    if (list->json) {
        text_printf(out,
                    "{\"pid\":%ld,\"kind\":\"recording\",\"since_ns\":%" PRId64 ",\"directory\":",
                    (long)recording->pid, recording->since_ns);
        json_put_str(out, recording->trace);
        text_put_literal(out, ",\"sources\":[");
    } else {
        put_since(list, recording->pid, recording->since_ns);
        text_put_safe_str(out, recording->trace);
    }
    for (unsigned i = 0; i < manifest.n_sources; i++) {
        const struct manifest_source *source = &manifest.sources[i];

        if (manifest_source_has_ended(source))
            continue;
        if (source->vmm && source->vmm->pid)
            note_recorded(list, source->vmm->pid, recording->trace);
        text_put_str(out, list->json ? (first ? "" : ",") : (first ? "  " : ", "));
        (list->json ? put_source_json : put_what)(out, source);
        first = false;
    }
    text_put_str(out, list->json ? "]}\n" : "\n");
    manifest_done(&manifest);
    return 0;
}

/* ---- QEMUs ---- */

static const char *find_trace(const struct list *list, pid_t pid)
{
    for (unsigned i = 0; i < list->n_recorded; i++)
        if (list->recorded[i].pid == pid)
            return list->recorded[i].trace;
    return NULL;
}

static void put_qemu_json(struct text *out, const struct qemu_running *running, const char *trace)
{
    text_printf(out, "{\"pid\":%ld,\"kind\":\"qemu\",\"since_ns\":%" PRId64 ",\"program\":",
                (long)running->pid, qemu_running_since(running));
    json_put_str(out, running->program);
    if (running->name) {
        text_put_literal(out, ",\"name\":");
        json_put_str(out, running->name);
    }
    text_put_literal(out, ",\"qmp\":[");
    for (unsigned i = 0; i < running->n_qmp; i++) {
        text_put_str(out, i ? "," : "");
        json_put_str(out, running->qmp[i]);
    }
    text_put_char(out, ']');
    if (trace) {
        text_put_literal(out, ",\"directory\":");
        json_put_str(out, trace);
    }
    text_put_literal(out, "}\n");
}

static int put_qemu(const struct qemu_running *running, void *userdata)
{
    struct list *list = userdata;
    struct text *out = list->out;
    const char *trace = find_trace(list, running->pid);
    const char *slash = strrchr(running->program, '/');

    put_head(list, "    PID  SINCE                QEMU, HOW TO REACH IT\n");
    if (list->json) {
        put_qemu_json(out, running, trace);
        return 0;
    }
    put_since(list, running->pid, qemu_running_since(running));
    text_put_safe_str(out, running->name ? running->name : slash ? slash + 1 : running->program);
    if (trace)
        text_printf_safe(out, "  is recorded into %s", trace);
    else if (running->n_qmp > 0)
        text_printf_safe(out, "  QMP on %s", running->qmp[0]);
    else if (running->qmp_elsewhere)
        text_put_literal(out, "  unreachable: another program, such as libvirt, uses its monitor");
    else
        text_put_literal(out, "  unreachable: started without -qmp unix:PATH,server=on,wait=off");
    text_put_char(out, '\n');
    return 0;
}

int list_recordings(struct text *out, bool json, struct error *error)
{
    struct list list = {.out = out, .json = json};
    int r = registry_foreach(getenv("XDG_RUNTIME_DIR"), put_recording, &list);

    list.any = false;
    if (r >= 0)
        r = qemu_running_foreach(put_qemu, &list);
    for (unsigned i = 0; i < list.n_recorded; i++)
        free(list.recorded[i].trace);
    free(list.recorded);
    if (list.no_memory)
        r = -ENOMEM;
    return r < 0 ? error_set(error, r, "/proc", "cannot read it: %s", strerror(-r)) : 0;
}
