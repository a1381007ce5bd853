/* SPDX-License-Identifier: MIT */
/* strata list: what this user records, and QEMUs that could be recorded. */

#include <dirent.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/shell_word.h"

#include "cli/output.h"
#include "cmd/list.h"
#include "record/qemu/process.h"
#include "record/snapshot.h"
#include "tracedir/manifest.h"
#include "tracedir/registry.h"

/* A recorded process, and its recording. */
struct recorded {
    pid_t pid;
    char *trace;
};

struct recordings {
    struct list *list;
    struct recorded *recorded;
    unsigned n_recorded;
    bool no_memory;
};

/* ---- Recordings ---- */

/* Sources shown in the line of a recording. */
#define SOURCES_SHOWN_MAX 5u

static void note_recorded(struct recordings *recordings, pid_t pid, const char *trace)
{
    struct recorded *bigger =
        realloc(recordings->recorded, (recordings->n_recorded + 1) * sizeof *bigger);
    char *copy = strdup(trace);

    if (bigger)
        recordings->recorded = bigger;
    if (bigger && copy)
        recordings->recorded[recordings->n_recorded++] = (struct recorded){pid, copy};
    else
        free(copy);
    recordings->no_memory |= !bigger || !copy;
}

/* Puts "QEMU 7.2.22 (process 4711)", "tiny-vmm (process 4711)", "guest", "guest web". */
static void put_source(struct text *text, const struct manifest_source *source)
{
    if (source->vmm && source->vmm->version)
        text_printf(text, "QEMU %s", source->vmm->version);
    else if (source->vmm)
        text_put_str(text, source->vmm->program ? source->vmm->program : "a program");
    else
        text_put_str(text, source->layer);
    if (source->vmm && source->vmm->pid)
        text_printf(text, " (process %d)", (int)source->vmm->pid);
    if (!source->vmm && strcmp(source->name, source->layer) != 0)
        text_printf(text, " %s", source->name);
}

static void set_sources(struct table *table, unsigned column, const struct manifest *manifest)
{
    struct text item = TEXT_IN_MEMORY;

    table_list(table, column);
    for (unsigned i = 0; i < manifest->n_sources; i++) {
        if (manifest_source_has_ended(&manifest->sources[i]))
            continue;
        item.next = item.start;
        put_source(&item, &manifest->sources[i]);
        text_put_char(&item, '\0');
        if (!item.error)
            table_list_add(table, item.start);
    }
    text_done(&item);
}

static void write_sources(struct json_writer *w, const struct manifest *manifest)
{
    json_write_array(w);
    for (unsigned i = 0; i < manifest->n_sources; i++) {
        const struct manifest_source *source = &manifest->sources[i];

        if (manifest_source_has_ended(source))
            continue;
        json_write_object(w);
        json_write_key(w, "name");
        json_write_str(w, source->name);
        json_write_key(w, "layer");
        json_write_str(w, source->layer);
        if (source->vmm && source->vmm->program) {
            json_write_key(w, "program");
            json_write_str(w, source->vmm->program);
        }
        if (source->vmm && source->vmm->pid) {
            json_write_key(w, "pid");
            json_write_i64(w, source->vmm->pid);
        }
        json_write_end(w);
    }
    json_write_end(w);
}

/* Counts complete snapshots. Names of incomplete ones begin with a dot. */
static unsigned count_snapshots(const char *trace)
{
    _cleanup_free_ char *path = NULL;
    _cleanup_(closedirp) DIR *dir = NULL;
    const struct dirent *entry;
    unsigned n = 0;

    if (asprintf(&path, "%s/" SNAPSHOTS_DIR, trace) < 0) {
        path = NULL;
        return 0;
    }
    dir = opendir(path);
    while (dir && (entry = readdir(dir))) /* NOLINT(concurrency-mt-unsafe): a stream of its own */
        n += entry->d_name[0] != '.';
    return n;
}

/* Sets "QEMU 7.2.22 (process 4711), host; keeps 5m,2G; 2 snapshots; user strata". */
static void set_recording_remark(struct table *table, const struct registry_recording *recording,
                                 const struct manifest *manifest, unsigned n_snapshots)
{
    struct text *cell = table_cell(table, LIST_REMARK);
    const struct passwd *user;
    unsigned n = 0;

    for (unsigned i = 0; i < manifest->n_sources; i++) {
        if (manifest_source_has_ended(&manifest->sources[i]))
            continue;
        if (n < SOURCES_SHOWN_MAX) {
            text_put_str(cell, n > 0 ? ", " : "");
            put_source(cell, &manifest->sources[i]);
        }
        n++;
    }
    if (n > SOURCES_SHOWN_MAX)
        text_printf(cell, " and %u more", n - SOURCES_SHOWN_MAX);
    if (*recording->limit) {
        text_put_str(cell, "; keeps ");
        text_put_str(cell, recording->limit);
    }
    if (n_snapshots > 0)
        text_printf(cell, "; %u snapshot%s", n_snapshots, n_snapshots == 1 ? "" : "s");
    if (recording->user == geteuid())
        return;
    user = getpwuid(recording->user); /* NOLINT(concurrency-mt-unsafe): there is one thread */
    if (user)
        text_printf(cell, "; user %s", user->pw_name);
    else
        text_printf(cell, "; user %u", (unsigned)recording->user);
}

static int put_recording(const struct registry_recording *recording, void *userdata)
{
    struct recordings *recordings = userdata;
    struct table *table = &recordings->list->table;
    struct manifest manifest = {0};
    unsigned n_snapshots = count_snapshots(recording->trace);

    /* One that begins has none yet. */
    (void)manifest_read(recording->trace, &manifest, NULL);
    list_begin_row(recordings->list, recording->pid, "recording", recording->since_ns);
    table_str(table, LIST_DIRECTORY, recording->trace);
    table_str(table, LIST_WHAT, recording->trace);
    set_sources(table, LIST_SOURCES, &manifest);
    set_recording_remark(table, recording, &manifest, n_snapshots);
    table_u64(table, LIST_USER, recording->user);
    if (*recording->limit)
        table_str(table, LIST_KEEPS, recording->limit);
    table_u64(table, LIST_SNAPSHOTS, n_snapshots);
    write_sources(table_json(table, LIST_SOURCES_JSON), &manifest);
    table_end_row(table);
    for (unsigned i = 0; i < manifest.n_sources; i++) {
        const struct manifest_source *source = &manifest.sources[i];

        if (!manifest_source_has_ended(source) && source->vmm && source->vmm->pid)
            note_recorded(recordings, source->vmm->pid, recording->trace);
    }
    manifest_done(&manifest);
    return 0;
}

/* ---- QEMUs ---- */

static const char *find_trace(const struct recordings *recordings, pid_t pid)
{
    for (unsigned i = 0; i < recordings->n_recorded; i++)
        if (recordings->recorded[i].pid == pid)
            return recordings->recorded[i].trace;
    return NULL;
}

static void set_remark(struct table *table, const char *what, const char *path)
{
    struct text *cell = table_cell(table, LIST_REMARK);

    text_put_str(cell, what);
    text_put_str(cell, path);
}

/* Puts a command with an operand that another user may have chosen. */
static void set_command(struct table *table, const char *command, const char *operand)
{
    struct text *cell = table_cell(table, LIST_REMARK);

    text_put_str(cell, command);
    shell_put_shown_word(cell, operand);
}

static int put_qemu(const struct qemu_process *running, void *userdata)
{
    struct recordings *recordings = userdata;
    struct table *table = &recordings->list->table;
    const char *trace = find_trace(recordings, running->pid);
    const char *slash = strrchr(running->program, '/');

    list_begin_row(recordings->list, running->pid, "qemu", qemu_process_since(running));
    table_str(table, LIST_PROGRAM, running->program);
    table_str(table, LIST_NAME, running->name);
    table_str(table, LIST_DIRECTORY, trace);
    table_list(table, LIST_QMP);
    for (unsigned i = 0; i < running->n_qmp; i++)
        table_list_add(table, running->qmp[i]);
    table_str(table, LIST_WHAT,
              running->name ? running->name
              : slash       ? slash + 1
                            : running->program);
    if (trace)
        set_remark(table, "is recorded into ", trace);
    else if (running->n_qmp > 0)
        set_remark(table, "QMP on ", running->qmp[0]);
    else if (running->libvirt && running->name)
        set_command(table, "libvirt domain; strata record --libvirt ", running->name);
    else if (running->qmp_elsewhere)
        table_str(table, LIST_REMARK,
                  "unreachable: another program, such as libvirt, uses its monitor");
    else
        table_str(table, LIST_REMARK,
                  "unreachable: started without -qmp unix:PATH,server=on,wait=off");
    table_end_row(table);
    return 0;
}

int list_recordings(struct list *list, struct error *error)
{
    struct recordings recordings = {.list = list};
    int r;

    list_begin_kind(list, "RECORDS INTO, WHAT");
    r = registry_foreach(getenv("XDG_RUNTIME_DIR"), put_recording, &recordings);
    list_begin_kind(list, "QEMU, HOW TO REACH IT");
    if (r >= 0)
        r = qemu_process_foreach(put_qemu, &recordings);
    for (unsigned i = 0; i < recordings.n_recorded; i++)
        free(recordings.recorded[i].trace);
    free(recordings.recorded);
    if (recordings.no_memory)
        r = -ENOMEM;
    return r < 0 ? error_set(error, r, "/proc", "cannot read it: %s", strerror(-r)) : 0;
}
