/* SPDX-License-Identifier: MIT */
/* Writes a manifest to trace.json. */

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/utf8.h"
#include "tracedir/check.h"

/* These functions return a new reference, or NULL if out of memory. Jansson's setters fail with NULL, so only the last
 * result is checked. */

static json_t *json_of(const char *s)
{
    struct text text = TEXT_IN_MEMORY;
    const char *end = s + strlen(s);
    json_t *json;

    if (!utf8_find_wrong(s, strlen(s)))
        return json_string(s);
    while (s < end) {
        uint32_t character;
        size_t n = utf8_decode(s, (size_t)(end - s), &character);

        if (n)
            text_put(&text, s, n);
        else
            text_put_literal(&text, "\xef\xbf\xbd");
        s += n ? n : 1;
    }
    json = text.error ? NULL : json_stringn(text.start, text_len(&text));
    text_done(&text);
    return json;
}

/* Sets nothing if the value is unknown. */
static int set_string(json_t *object, const char *key, const char *s)
{
    return s ? json_object_set_new(object, key, json_of(s)) : 0;
}

static int set_number(json_t *object, const char *key, int64_t v)
{
    return v ? json_object_set_new(object, key, json_integer(v)) : 0;
}

static int set_strings(json_t *object, const char *key, const char *const *strings, unsigned n)
{
    json_t *list = json_array();
    int r = 0;

    for (unsigned i = 0; i < n; i++)
        r |= json_array_append_new(list, json_of(strings[i]));
    return json_object_set_new(object, key, list) | r;
}

static int set_cpus(json_t *object, const char *key, const uint32_t *cpus, unsigned n)
{
    json_t *list = json_array();
    int r = 0;

    for (unsigned i = 0; i < n; i++)
        r |= json_array_append_new(list, json_integer(cpus[i]));
    return json_object_set_new(object, key, list) | r;
}

static int set_files(json_t *object, const struct manifest_file *files, unsigned n)
{
    json_t *json = json_object();
    int r = 0;

    for (unsigned i = 0; i < n; i++)
        r |= json_object_set_new(json, files[i].path,
                                 json_integer((int64_t)MIN(files[i].bytes, (uint64_t)INT64_MAX)));
    return json_object_set_new(object, "files", json) | r;
}

static int set_domains(json_t *object, const struct manifest_domain *domains, unsigned n)
{
    json_t *list = json_array();
    int r = 0;

    for (unsigned i = 0; i < n; i++) {
        json_t *domain = json_object();

        r |= json_object_set_new(domain, "id", json_integer(domains[i].id));
        r |= set_string(domain, "name", domains[i].name);
        r |= json_array_append_new(list, domain);
    }
    return json_object_set_new(object, "domains", list) | r;
}

static int set_xen(json_t *object, const struct manifest_xen *xen)
{
    json_t *json = json_object();
    int r = 0;

    r |= set_string(json, "version", xen->version);
    r |= set_string(json, "extra", xen->extra);
    r |= set_string(json, "caps", xen->caps);
    r |= set_string(json, "commandline", xen->commandline);
    r |= set_string(json, "cpu_vendor", xen->cpu_vendor);
    r |= set_string(json, "scheduler", xen->scheduler);
    r |= set_cpus(json, "cpus", xen->cpus, xen->n_cpus);
    r |= set_cpus(json, "offline", xen->offline, xen->n_offline);
    r |= set_domains(json, xen->domains, xen->n_domains);
    return json_object_set_new(object, "xen", json) | r;
}

static int set_percpu(json_t *object, const struct manifest_percpu *percpu)
{
    json_t *json = json_object();
    int r = set_string(json, "buffer", percpu->buffer);

    r |= set_cpus(json, "cpus", percpu->cpus, percpu->n_cpus);
    return json_object_set_new(object, "percpu", json) | r;
}

static int set_guest(json_t *object, const struct manifest_guest *guest)
{
    json_t *json = json_object();
    int r = set_string(json, "agent", guest->agent);

    r |= set_number(json, "agent_pid", guest->agent_pid);
    r |= set_string(json, "release", guest->release);
    r |= set_string(json, "machine", guest->machine);
    r |= set_string(json, "boot_id", guest->boot_id);
    r |= set_string(json, "confined", guest->confined);
    if (guest->kvm)
        r |= json_object_set_new(json, "kvm", json_true());
    if (guest->is_away)
        r |= json_object_set_new(json, "away", json_true());
    return json_object_set_new(object, "guest", json) | r;
}

static int set_threads(json_t *object, const struct manifest_thread *threads, unsigned n)
{
    json_t *list = json_array();
    int r = 0;

    for (unsigned i = 0; i < n; i++) {
        json_t *thread = json_object();

        r |= json_object_set_new(thread, "id", json_integer(threads[i].id));
        if (threads[i].own_id)
            r |= json_object_set_new(thread, "own_id", json_integer(threads[i].own_id));
        r |= set_string(thread, "name", threads[i].name);
        if (threads[i].vcpu >= 0)
            r |= json_object_set_new(thread, "vcpu", json_integer(threads[i].vcpu));
        r |= json_array_append_new(list, thread);
    }
    return json_object_set_new(object, "threads", list) | r;
}

static int set_vmm(json_t *object, const struct manifest_vmm *vmm)
{
    json_t *json = json_object();
    int r = set_number(json, "pid", vmm->pid);

    r |= set_string(json, "name", vmm->name);
    r |= set_string(json, "uuid", vmm->uuid);
    r |= set_string(json, "program", vmm->program);
    r |= set_string(json, "version", vmm->version);
    r |= set_string(json, "accelerator", vmm->accelerator);
    if (vmm->n_command)
        r |= set_strings(json, "command", vmm->command, vmm->n_command);
    if (vmm->n_threads)
        r |= set_threads(json, vmm->threads, vmm->n_threads);
    r |= set_number(json, "paused_ns", (int64_t)vmm->paused_ns);
    r |= set_number(json, "stopped_ns", (int64_t)vmm->stopped_ns);
    r |= set_string(json, "exit", vmm->exit);
    r |= set_string(json, "qmp", vmm->qmp);
    return json_object_set_new(object, "vmm", json) | r;
}

static int set_host(json_t *object, const struct manifest_host *host)
{
    json_t *json = json_object();
    int r = set_string(json, "boot_id", host->boot_id);

    r |= set_string(json, "name", host->name);
    r |= set_number(json, "recorder", host->recorder);
    return json_object_set_new(object, "host", json) | r;
}

static int set_clock(json_t *object, const struct manifest_clock *clock)
{
    json_t *json;
    int r;

    if (!clock->name && clock->hz == 0 && !clock->pairs && !clock->host)
        return 0;
    json = json_object();
    r = set_string(json, "name", clock->name);
    r |= set_number(json, "hz", (int64_t)MIN(clock->hz, (uint64_t)INT64_MAX));
    r |= set_string(json, "pairs", clock->pairs);
    if (clock->host) {
        r |= json_object_set_new(json, "host", json_true());
        r |= set_number(json, "error_ns", clock->error_ns);
    }
    return json_object_set_new(object, "clock", json) | r;
}

static int set_moment(json_t *object, const char *key, const struct manifest_moment *moment)
{
    json_t *json;
    int r;

    if (moment->realtime_ns == 0 && moment->monotonic_ns == 0 && moment->tsc == 0 &&
        moment->error_ns == 0)
        return 0;
    json = json_object();
    r = set_number(json, "realtime_ns", moment->realtime_ns);
    r |= set_number(json, "monotonic_ns", moment->monotonic_ns);
    r |= set_number(json, "tsc", (int64_t)MIN(moment->tsc, (uint64_t)INT64_MAX));
    r |= set_number(json, "error_ns", moment->error_ns);
    return json_object_set_new(object, key, json) | r;
}

static int append_source(json_t *list, const struct manifest_source *source)
{
    json_t *json = json_object();
    int r = 0;

    r |= set_string(json, "name", source->name);
    r |= set_string(json, "kind", source->kind);
    r |= set_string(json, "layer", source->layer);
    r |= set_string(json, "path", source->path);
    if (source->n_events)
        r |= set_strings(json, "events", source->events, source->n_events);
    r |= set_clock(json, &source->clock);
    if (source->host)
        r |= set_host(json, source->host);
    if (source->xen)
        r |= set_xen(json, source->xen);
    if (source->percpu)
        r |= set_percpu(json, source->percpu);
    if (source->guest)
        r |= set_guest(json, source->guest);
    if (source->vmm)
        r |= set_vmm(json, source->vmm);
    if (source->n_files)
        r |= set_files(json, source->files, source->n_files);
    r |= set_moment(json, "began", &source->began);
    r |= set_moment(json, "ended", &source->ended);
    r |= set_moment(json, "came", &source->came);
    r |= set_moment(json, "left", &source->left);
    if (source->lost_known)
        r |= json_object_set_new(json, "lost",
                                 json_integer((int64_t)MIN(source->lost, (uint64_t)INT64_MAX)));
    r |= set_number(json, "lost_at_end", (int64_t)MIN(source->lost_at_end, (uint64_t)INT64_MAX));
    if (source->lost_uncounted)
        r |= json_object_set_new(json, "lost_uncounted", json_true());
    r |= json_object_set_new(json, "complete", json_boolean(source->complete));
    if (source->pid_filter)
        r |= json_object_set_new(json, "pid_filter", json_true());
    if (source->filters_known)
        r |= set_strings(json, "filters", source->filters, source->n_filters);
    if (source->n_problems)
        r |= set_strings(json, "problems", source->problems, source->n_problems);
    return json_array_append_new(list, json) | r;
}

static int set_snapshot(json_t *object, const struct manifest_snapshot *snapshot)
{
    json_t *json = json_object();
    int r = set_string(json, "reason", snapshot->reason);

    r |= set_string(json, "trigger", snapshot->trigger);
    r |= set_string(json, "what", snapshot->what);
    r |= set_moment(json, "time", &snapshot->time);
    r |= set_number(json, "repeats", (int64_t)MIN(snapshot->repeats, (uint64_t)INT64_MAX));
    if (snapshot->n_also)
        r |= set_strings(json, "also", snapshot->also, snapshot->n_also);
    r |= set_number(json, "suppressed", (int64_t)MIN(snapshot->suppressed, (uint64_t)INT64_MAX));
    return json_object_set_new(object, "snapshot", json) | r;
}

static int put_bytes(const char *bytes, size_t n, void *text)
{
    text_put(text, bytes, n);
    return 0;
}

int manifest_put(const struct manifest *manifest, const char *name, struct text *text,
                 struct error *error)
{
    json_t *json;
    json_t *list;
    int r = manifest_check(manifest, name, error);

    if (r < 0)
        return r;
    json = json_object();
    list = json_array();
    r |= json_object_set_new(json, "format", json_string("strata-trace"));
    r |= json_object_set_new(json, "version", json_integer(1));
    for (unsigned i = 0; i < manifest->n_sources; i++)
        r |= append_source(list, &manifest->sources[i]);
    r |= json_object_set_new(json, "sources", list);
    if (manifest->snapshot)
        r |= set_snapshot(json, manifest->snapshot);
    if (r == 0)
        r = json_dump_callback(json, put_bytes, text, JSON_INDENT(2));
    json_decref(json);
    if (r == 0)
        text_put_char(text, '\n');
    if (r != 0 || text->error)
        return error_set(error, -ENOMEM, name, "out of memory");
    return 0;
}

/* True if all sources are complete. While one records, do not wait for the disk, because buffers could overflow
 * meanwhile. */
static bool is_final(const struct manifest *manifest)
{
    for (unsigned i = 0; i < manifest->n_sources; i++)
        if (!manifest->sources[i].complete)
            return false;
    return true;
}

/* Writes TEXT to NEW_NAME in the directory DIR and renames it over the old file. SYNC: so that it survives a crash of
 * the machine. */
static int replace(int dir, const char *new_name, struct text *text, bool sync)
{
    int fd = openat(dir, new_name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    int r;

    if (fd < 0)
        return -errno;
    r = write_all(fd, text->start, (size_t)(text->next - text->start));
    /* The name must not reach the disk before the bytes do. */
    if (r == 0 && sync && fsync(fd) < 0 && errno != EINVAL && errno != EROFS)
        r = -errno;
    if (close(fd) < 0 && r == 0)
        r = -errno;
    if (r == 0 && renameat(dir, new_name, dir, MANIFEST_NAME) < 0)
        r = -errno;
    if (r < 0)
        unlinkat(dir, new_name, 0);
    return r;
}

int manifest_write(const char *directory, const struct manifest *manifest, struct error *error)
{
    struct text text = TEXT_IN_MEMORY;
    int r = manifest_put(manifest, directory, &text, error);
    int dir;

    if (r == 0) {
        dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        r = dir < 0 ? -errno : replace(dir, "." MANIFEST_NAME ".new", &text, is_final(manifest));
        if (r < 0)
            error_set(error, r, directory, "cannot write " MANIFEST_NAME ": %s", strerror(-r));
        if (dir >= 0)
            close(dir);
    }
    text_done(&text);
    return r;
}
