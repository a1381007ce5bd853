/* SPDX-License-Identifier: MIT */
/* Reads trace.json into a manifest. */

#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/input.h"
#include "base/reopen_cache.h"
#include "tracedir/check.h"

#define FILE_MAX ((size_t)16 << 20)
#define LIST_MAX 65536

/* The first error is kept. From then on every member reads as absent. */
struct reader {
    struct arena *arena;
    const char *name; /* of the file, for messages */
    struct error *error;
    int code;
    char where[48]; /* the object that is being read: "sources[3].xen" */
};

static void complain(struct reader *reader, const char *key, const char *should)
{
    if (reader->code)
        return;
    reader->code = error_set(reader->error, -EINVAL, reader->name, "%s%s%s should be %s",
                             reader->where, reader->where[0] ? "." : "", key, should);
}

static void *no_memory(struct reader *reader)
{
    if (!reader->code)
        reader->code = error_set(reader->error, -ENOMEM, reader->name, "out of memory");
    return NULL;
}

/* Returns a member of the given type. NULL if it is absent, or of another type, which is an error. */
static const json_t *get(struct reader *reader, const json_t *object, const char *key,
                         json_type type, const char *should)
{
    const json_t *value = json_object_get(object, key);

    if (reader->code || !value)
        return NULL;
    if (json_typeof(value) == type)
        return value;
    complain(reader, key, should);
    return NULL;
}

static const char *copy_string(struct reader *reader, const json_t *value)
{
    const char *s =
        arena_strndup(reader->arena, json_string_value(value), json_string_length(value));

    return s ? s : no_memory(reader);
}

static const char *get_string(struct reader *reader, const json_t *object, const char *key)
{
    const json_t *value = get(reader, object, key, JSON_STRING, "a string");

    return value ? copy_string(reader, value) : NULL;
}

static int64_t get_number(struct reader *reader, const json_t *object, const char *key, int64_t max)
{
    const json_t *value = get(reader, object, key, JSON_INTEGER, "a whole number");
    int64_t v = value ? json_integer_value(value) : 0;
    char should[64];

    if (v >= 0 && v <= max)
        return v;
    snprintf(should, sizeof should, "from 0 to %" PRId64, max);
    complain(reader, key, should);
    return 0;
}

/* Returns a list and its length, at most LIST_MAX. NULL if it is absent or empty. */
static const json_t *get_list(struct reader *reader, const json_t *object, const char *key,
                              unsigned *ret_n)
{
    const json_t *list = get(reader, object, key, JSON_ARRAY, "a list");

    *ret_n = 0;
    if (!list || json_array_size(list) == 0)
        return NULL;
    if (json_array_size(list) > LIST_MAX) {
        complain(reader, key, "a list of at most 65536");
        return NULL;
    }
    *ret_n = (unsigned)json_array_size(list);
    return list;
}

static const char *const *get_strings(struct reader *reader, const json_t *object, const char *key,
                                      unsigned *ret_n)
{
    const json_t *list = get_list(reader, object, key, ret_n);
    const char **strings = arena_alloc(reader->arena, (*ret_n + 1) * sizeof *strings);

    if (!strings)
        return no_memory(reader);
    for (unsigned i = 0; i < *ret_n && !reader->code; i++) {
        const json_t *value = json_array_get(list, i);

        if (json_is_string(value))
            strings[i] = copy_string(reader, value);
        else
            complain(reader, key, "a list of strings");
    }
    return strings;
}

static const uint32_t *get_cpus(struct reader *reader, const json_t *object, const char *key,
                                unsigned *ret_n)
{
    const json_t *list = get_list(reader, object, key, ret_n);
    uint32_t *cpus = arena_alloc(reader->arena, (*ret_n + 1) * sizeof *cpus);

    if (!cpus)
        return no_memory(reader);
    for (unsigned i = 0; i < *ret_n && !reader->code; i++) {
        const json_t *value = json_array_get(list, i);
        int64_t cpu = json_is_integer(value) ? json_integer_value(value) : -1;

        if (cpu >= 0 && cpu < MANIFEST_CPUS_MAX)
            cpus[i] = (uint32_t)cpu;
        else
            complain(reader, key, "a list of numbers from 0 to 4095");
    }
    return cpus;
}

static const struct manifest_file *get_files(struct reader *reader, const json_t *object,
                                             unsigned *ret_n)
{
    const json_t *json = get(reader, object, "files", JSON_OBJECT, "an object");
    size_t n = json_object_size(json);
    struct manifest_file *files;
    unsigned i = 0;

    *ret_n = 0;
    if (n > MANIFEST_FILES_MAX) {
        complain(reader, "files", "an object with at most 65536 members");
        return NULL;
    }
    files = arena_alloc(reader->arena, (n + 1) * sizeof *files);
    if (!files)
        return no_memory(reader);
    /* Jansson's iterators change nothing by themselves. */
    for (void *at = json_object_iter((json_t *)(uintptr_t)json); at && !reader->code;
         at = json_object_iter_next((json_t *)(uintptr_t)json, at), i++) {
        const char *path = json_object_iter_key(at);
        const json_t *bytes = json_object_iter_value(at);

        if (!json_is_integer(bytes) || json_integer_value(bytes) < 0)
            complain(reader, "files", "an object of whole numbers from 0");
        files[i].bytes = (uint64_t)json_integer_value(bytes);
        files[i].path = arena_strdup(reader->arena, path);
        if (!files[i].path)
            return no_memory(reader);
    }
    *ret_n = i;
    return files;
}

static const struct manifest_domain *get_domains(struct reader *reader, const json_t *object,
                                                 unsigned *ret_n)
{
    const json_t *list = get_list(reader, object, "domains", ret_n);
    struct manifest_domain *domains = arena_alloc(reader->arena, (*ret_n + 1) * sizeof *domains);

    if (!domains)
        return no_memory(reader);
    for (unsigned i = 0; i < *ret_n && !reader->code; i++) {
        const json_t *value = json_array_get(list, i);

        if (!json_is_integer(json_object_get(value, "id")))
            complain(reader, "domains", "a list of objects with an id each");
        domains[i].id = (uint32_t)get_number(reader, value, "id", UINT16_MAX);
        domains[i].name = get_string(reader, value, "name");
    }
    return domains;
}

static const struct manifest_xen *get_xen(struct reader *reader, const json_t *object)
{
    const json_t *json = get(reader, object, "xen", JSON_OBJECT, "an object");
    struct manifest_xen *xen;

    if (!json)
        return NULL;
    xen = arena_alloc(reader->arena, sizeof *xen);
    if (!xen)
        return no_memory(reader);
    xen->version = get_string(reader, json, "version");
    xen->extra = get_string(reader, json, "extra");
    xen->caps = get_string(reader, json, "caps");
    xen->commandline = get_string(reader, json, "commandline");
    xen->cpu_vendor = get_string(reader, json, "cpu_vendor");
    xen->scheduler = get_string(reader, json, "scheduler");
    xen->cpus = get_cpus(reader, json, "cpus", &xen->n_cpus);
    xen->offline = get_cpus(reader, json, "offline", &xen->n_offline);
    xen->domains = get_domains(reader, json, &xen->n_domains);
    return xen;
}

static const struct manifest_percpu *get_percpu(struct reader *reader, const json_t *object)
{
    const json_t *json = get(reader, object, "percpu", JSON_OBJECT, "an object");
    struct manifest_percpu *percpu;

    if (!json)
        return NULL;
    percpu = arena_alloc(reader->arena, sizeof *percpu);
    if (!percpu)
        return no_memory(reader);
    percpu->buffer = get_string(reader, json, "buffer");
    percpu->cpus = get_cpus(reader, json, "cpus", &percpu->n_cpus);
    return percpu;
}

static const struct manifest_guest *get_guest(struct reader *reader, const json_t *object)
{
    const json_t *json = get(reader, object, "guest", JSON_OBJECT, "an object");
    struct manifest_guest *guest;

    if (!json)
        return NULL;
    guest = arena_alloc(reader->arena, sizeof *guest);
    if (!guest)
        return no_memory(reader);
    guest->agent = get_string(reader, json, "agent");
    guest->agent_pid = (int32_t)get_number(reader, json, "agent_pid", INT32_MAX);
    guest->release = get_string(reader, json, "release");
    guest->machine = get_string(reader, json, "machine");
    guest->boot_id = get_string(reader, json, "boot_id");
    guest->confined = get_string(reader, json, "confined");
    guest->kvm = json_is_true(json_object_get(json, "kvm"));
    guest->is_away = json_is_true(json_object_get(json, "away"));
    return guest;
}

static const struct manifest_thread *get_threads(struct reader *reader, const json_t *object,
                                                 unsigned *ret_n)
{
    const json_t *list = get_list(reader, object, "threads", ret_n);
    struct manifest_thread *threads = arena_alloc(reader->arena, (*ret_n + 1) * sizeof *threads);

    if (!threads)
        return no_memory(reader);
    for (unsigned i = 0; i < *ret_n && !reader->code; i++) {
        const json_t *value = json_array_get(list, i);

        if (!json_is_integer(json_object_get(value, "id")))
            complain(reader, "threads", "a list of objects with an id each");
        threads[i].id = (int32_t)get_number(reader, value, "id", INT32_MAX);
        threads[i].own_id = (int32_t)get_number(reader, value, "own_id", INT32_MAX);
        threads[i].name = get_string(reader, value, "name");
        threads[i].vcpu = json_object_get(value, "vcpu")
                              ? (int32_t)get_number(reader, value, "vcpu", MANIFEST_CPUS_MAX - 1)
                              : -1;
    }
    return threads;
}

static const struct manifest_vmm *get_vmm(struct reader *reader, const json_t *object)
{
    const json_t *json = get(reader, object, "vmm", JSON_OBJECT, "an object");
    struct manifest_vmm *vmm;

    if (!json)
        return NULL;
    vmm = arena_alloc(reader->arena, sizeof *vmm);
    if (!vmm)
        return no_memory(reader);
    vmm->pid = (int32_t)get_number(reader, json, "pid", INT32_MAX);
    vmm->name = get_string(reader, json, "name");
    vmm->uuid = get_string(reader, json, "uuid");
    vmm->program = get_string(reader, json, "program");
    vmm->version = get_string(reader, json, "version");
    vmm->accelerator = get_string(reader, json, "accelerator");
    vmm->command = get_strings(reader, json, "command", &vmm->n_command);
    vmm->threads = get_threads(reader, json, &vmm->n_threads);
    vmm->paused_ns = (uint64_t)get_number(reader, json, "paused_ns", INT64_MAX);
    vmm->stopped_ns = (uint64_t)get_number(reader, json, "stopped_ns", INT64_MAX);
    vmm->exit = get_string(reader, json, "exit");
    vmm->qmp = get_string(reader, json, "qmp");
    return vmm;
}

static const struct manifest_host *get_host(struct reader *reader, const json_t *object)
{
    const json_t *json = get(reader, object, "host", JSON_OBJECT, "an object");
    struct manifest_host *host;

    if (!json)
        return NULL;
    host = arena_alloc(reader->arena, sizeof *host);
    if (!host)
        return no_memory(reader);
    host->boot_id = get_string(reader, json, "boot_id");
    host->name = get_string(reader, json, "name");
    host->recorder = (int32_t)get_number(reader, json, "recorder", INT32_MAX);
    return host;
}

static bool get_bool(struct reader *reader, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (value && !json_is_boolean(value))
        complain(reader, key, "true or false");
    return json_is_true(value);
}

static struct manifest_clock get_clock(struct reader *reader, const json_t *object)
{
    const json_t *json = get(reader, object, "clock", JSON_OBJECT, "an object");

    return (struct manifest_clock){
        .name = get_string(reader, json, "name"),
        .hz = (uint64_t)get_number(reader, json, "hz", INT64_MAX),
        .pairs = get_string(reader, json, "pairs"),
        .host = get_bool(reader, json, "host"),
        .error_ns = get_number(reader, json, "error_ns", INT64_MAX),
    };
}

static struct manifest_moment get_moment(struct reader *reader, const json_t *object,
                                         const char *key)
{
    const json_t *json = get(reader, object, key, JSON_OBJECT, "an object");

    return (struct manifest_moment){
        .realtime_ns = get_number(reader, json, "realtime_ns", INT64_MAX),
        .monotonic_ns = get_number(reader, json, "monotonic_ns", INT64_MAX),
        .tsc = (uint64_t)get_number(reader, json, "tsc", INT64_MAX),
        .error_ns = get_number(reader, json, "error_ns", INT64_MAX),
    };
}

static void get_source(struct reader *reader, const json_t *json, struct manifest_source *source)
{
    source->name = get_string(reader, json, "name");
    source->kind = get_string(reader, json, "kind");
    source->layer = get_string(reader, json, "layer");
    source->path = get_string(reader, json, "path");
    source->events = get_strings(reader, json, "events", &source->n_events);
    source->clock = get_clock(reader, json);
    source->host = get_host(reader, json);
    source->xen = get_xen(reader, json);
    source->percpu = get_percpu(reader, json);
    source->guest = get_guest(reader, json);
    source->vmm = get_vmm(reader, json);
    source->files = get_files(reader, json, &source->n_files);
    source->began = get_moment(reader, json, "began");
    source->ended = get_moment(reader, json, "ended");
    source->came = get_moment(reader, json, "came");
    source->left = get_moment(reader, json, "left");
    source->lost_known = json_object_get(json, "lost") != NULL;
    source->lost = (uint64_t)get_number(reader, json, "lost", INT64_MAX);
    source->lost_at_end = (uint64_t)get_number(reader, json, "lost_at_end", INT64_MAX);
    source->lost_uncounted = get_bool(reader, json, "lost_uncounted");
    source->complete = get_bool(reader, json, "complete");
    source->pid_filter = get_bool(reader, json, "pid_filter");
    source->filters_known = json_object_get(json, "filters") != NULL;
    source->filters = get_strings(reader, json, "filters", &source->n_filters);
    source->problems = get_strings(reader, json, "problems", &source->n_problems);
}

static const struct manifest_snapshot *get_snapshot(struct reader *reader, const json_t *object)
{
    const json_t *json = get(reader, object, "snapshot", JSON_OBJECT, "an object");
    struct manifest_snapshot *snapshot;

    if (!json)
        return NULL;
    snapshot = arena_alloc(reader->arena, sizeof *snapshot);
    if (!snapshot)
        return no_memory(reader);
    snprintf(reader->where, sizeof reader->where, "snapshot");
    *snapshot = (struct manifest_snapshot){
        .reason = get_string(reader, json, "reason"),
        .trigger = get_string(reader, json, "trigger"),
        .what = get_string(reader, json, "what"),
        .time = get_moment(reader, json, "time"),
        .repeats = (uint64_t)get_number(reader, json, "repeats", INT64_MAX),
        .suppressed = (uint64_t)get_number(reader, json, "suppressed", INT64_MAX),
    };
    snapshot->also = get_strings(reader, json, "also", &snapshot->n_also);
    return snapshot;
}

static void get_all(struct reader *reader, const json_t *json, struct manifest *manifest)
{
    const json_t *format = json_object_get(json, "format");
    const json_t *version = json_object_get(json, "version");
    struct manifest_source *sources;
    const json_t *list;
    unsigned n;

    if (!json_is_string(format) || strcmp(json_string_value(format), "strata-trace") != 0) {
        reader->code = error_set(reader->error, -EINVAL, reader->name,
                                 "is not the manifest of a trace: its \"format\" should be "
                                 "\"strata-trace\"");
        return;
    }
    if (!json_is_integer(version) || json_integer_value(version) != 1) {
        reader->code = error_set(reader->error, -EINVAL, reader->name,
                                 "its \"version\" is not 1; a newer strata wrote it");
        return;
    }
    list = get_list(reader, json, "sources", &n);
    if (n > MANIFEST_SOURCES_MAX)
        complain(reader, "sources", "a list of at most 256");
    if (reader->code)
        return;
    sources = arena_alloc(reader->arena, (n + 1) * sizeof *sources);
    if (!sources) {
        no_memory(reader);
        return;
    }
    for (unsigned i = 0; i < n && !reader->code; i++) {
        snprintf(reader->where, sizeof reader->where, "sources[%u]", i);
        if (!json_is_object(json_array_get(list, i))) {
            reader->where[0] = '\0';
            complain(reader, "sources", "a list of objects");
        }
        get_source(reader, json_array_get(list, i), &sources[i]);
    }
    reader->where[0] = '\0';
    manifest->snapshot = get_snapshot(reader, json);
    manifest->sources = sources;
    manifest->n_sources = n;
}

int manifest_parse(const char *text, size_t len, const char *name, struct manifest *ret_manifest,
                   struct error *error)
{
    struct manifest manifest = {0};
    struct reader reader = {.arena = &manifest.arena, .name = name, .error = error};
    json_error_t err;
    json_t *json;

    /* Out of memory, Jansson may report another error or drop a character; only errno shows it. */
    errno = 0;
    json = json_loadb(text, len, JSON_REJECT_DUPLICATES, &err);
    if (errno == ENOMEM) {
        json_decref(json);
        return error_set(error, -ENOMEM, name, "out of memory");
    }
    if (!json)
        return error_on_line(error, -EINVAL, name, err.line > 0 ? (uint32_t)err.line : 1,
                             "is not JSON: %s", err.text);
    get_all(&reader, json, &manifest);
    json_decref(json);
    if (!reader.code)
        reader.code = manifest_check(&manifest, name, error);
    if (reader.code) {
        manifest_done(&manifest);
        return reader.code;
    }
    *ret_manifest = manifest;
    return 0;
}

/* Reads the whole file at PATH, *RET_LEN bytes. */
static int read_all(const char *path, char **ret, size_t *ret_len, struct error *error)
{
    /* Non-blocking: opening must not wait, whatever the path is. */
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    int r;

    if (fd < 0)
        return error_set(error, -errno, path, "cannot open it: %s", strerror(errno));
    if (fstat(fd, &st) < 0)
        r = error_set(error, -errno, path, "%s", strerror(errno));
    else if (!S_ISREG(st.st_mode))
        r = error_set(error, -EINVAL, path, "is not a regular file");
    else if ((uint64_t)st.st_size > FILE_MAX)
        r = error_set(error, -EFBIG, path, "is larger than 16 MB: not a trace's manifest");
    else
        r = input_read_file(fd, (size_t)st.st_size, path, ret, ret_len, error);
    close(fd);
    return r;
}

static char *path_in(const char *dir)
{
    char *path;

    return asprintf(&path, "%s/%s", dir, MANIFEST_NAME) < 0 ? NULL : path;
}

bool manifest_probe(const char *dir)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", dir, MANIFEST_NAME);
    struct stat st;

    return n > 0 && (size_t)n < sizeof path && lstat(path, &st) == 0;
}

int manifest_read_again(const char *dir, struct reopen_cache *cache, struct manifest *ret_manifest,
                        struct error *error)
{
    _cleanup_free_ char *path = path_in(dir);
    _cleanup_free_ char *own = NULL;
    const char *text = path ? reopen_cache_get(cache, path) : NULL;
    size_t len = 0;
    int r;

    if (!path)
        return error_set(error, -ENOMEM, dir, "out of memory");
    if (text)
        return manifest_parse(text, strlen(text), path, ret_manifest, error);
    r = read_all(path, &own, &len, error);
    if (r >= 0)
        r = manifest_parse(own, len, path, ret_manifest, error);
    if (r < 0 || !cache)
        return r;
    own[len] = '\0'; /* JSON has no NUL */
    r = reopen_cache_put(cache, path, own, free);
    if (r >= 0)
        (void)TAKE_PTR(own);
    if (r == -ENOMEM) {
        manifest_done(ret_manifest);
        return error_set(error, r, dir, "out of memory");
    }
    return 0;
}

int manifest_read(const char *dir, struct manifest *ret_manifest, struct error *error)
{
    return manifest_read_again(dir, NULL, ret_manifest, error);
}

void manifest_done(struct manifest *manifest)
{
    arena_done(&manifest->arena);
    *manifest = (struct manifest){0};
}
