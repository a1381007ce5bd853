/* SPDX-License-Identifier: MIT */
/* Names the given traces as sources, and collects what is known of each source before it is read. */

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "merge/internal.h"
#include "tracedir/machine.h"

#define NAME_LEN_MAX 48

static bool is_name(const char *s, size_t len)
{
    if (len == 0 || len > NAME_LEN_MAX || s[0] == '.')
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)s[i]) && !strchr("_.-", s[i]))
            return false;
    return true;
}

/* The last part of PATH without its suffix, with '-' for characters that names cannot have. */
static char *stem_of(struct arena *arena, const char *path)
{
    size_t len = strlen(path);
    const char *start;
    const char *point;
    char *stem;

    while (len > 1 && path[len - 1] == '/')
        len--;
    for (start = path + len; start > path && start[-1] != '/'; start--)
        ;
    len -= (size_t)(start - path);
    point = memrchr(start, '.', len);
    if (point && point > start)
        len = (size_t)(point - start);
    len = MIN(len, (size_t)NAME_LEN_MAX);
    stem = arena_strndup(arena, start, len);
    for (size_t i = 0; stem && i < len; i++)
        if (!is_name(&stem[i], 1) && !(i > 0 && stem[i] == '.'))
            stem[i] = '-';
    if (stem && len == 0)
        stem = arena_strdup(arena, "trace");
    return stem;
}

/* Appends a number to NAME if another source has that name. */
static const char *make_unique(struct merge *merge, const char *name)
{
    char unique[NAME_LEN_MAX + 16];

    snprintf(unique, sizeof unique, "%.*s", NAME_LEN_MAX, name);
    for (unsigned i = 2; merge_find_source(merge, unique, strlen(unique)) >= 0; i++)
        snprintf(unique, sizeof unique, "%.*s-%u", NAME_LEN_MAX, name, i);
    return arena_strdup(&merge->arena, unique);
}

/* NAME NULL: there was not enough memory for it. */
static int add_source(struct merge *merge, const char *path, const struct manifest_source *recorded,
                      const char *name)
{
    struct merge_source *bigger;

    if (merge->n_sources == MANIFEST_SOURCES_MAX)
        return error_set(&merge->error, -E2BIG, NULL, "more than %d sources", MANIFEST_SOURCES_MAX);
    bigger = realloc(merge->sources, (merge->n_sources + 1) * sizeof *bigger);
    if (!bigger)
        return merge_no_memory(merge);
    merge->sources = bigger;
    bigger[merge->n_sources] = (struct merge_source){
        .path = path,
        .recorded = recorded,
        .first = TIME_UNKNOWN,
        .last = TIME_UNKNOWN,
        .counter = {.multiplier = 1, .divisor = 1},
    };
    bigger[merge->n_sources].name = name ? make_unique(merge, name) : NULL;
    return bigger[merge->n_sources++].name ? 0 : merge_no_memory(merge);
}

/* The name of SOURCE's virtual machine, as a part of a source's name. NULL if it has none, or if out of memory. */
static char *machine_part(struct merge *merge, const struct manifest *manifest,
                          const struct manifest_source *source)
{
    char name[MACHINE_NAME_SIZE];
    size_t len;

    if ((strcmp(source->layer, "vmm") != 0 && strcmp(source->layer, "guest") != 0) ||
        !machine_has_name(manifest, source, name, sizeof name))
        return NULL;
    len = MIN(strlen(name), (size_t)NAME_LEN_MAX / 2);
    for (size_t i = 0; i < len; i++)
        if (!is_name(&name[i], 1) && !(i > 0 && name[i] == '.'))
            name[i] = '-';
    /* An earlier merge may have called it so. */
    if (strncmp(source->name, name, len) == 0 && source->name[len] == '-')
        return NULL;
    return arena_strndup(&merge->arena, name, len);
}

/* The merged directory may have monitors of several machines, or of a machine that has moved. */
static int32_t monitor_of(const struct manifest *manifest, const struct manifest_source *source)
{
    const struct manifest_vmm *vmm =
        strcmp(source->layer, "guest") == 0 ? machine_vmm_of_guest(manifest, source) : NULL;

    return vmm ? vmm->pid : 0;
}

/* Adds each source of a trace directory. GIVEN: the user's name for the directory; NULL: sources are named by their
 * virtual machines. */
static int add_recorded(struct merge *merge, const char *path, const char *given)
{
    struct manifest *manifest = &merge->manifests[merge->n_manifests];
    const char *wanted = merge->config->open.source;
    unsigned added = 0;
    int r = manifest_read(path, manifest, &merge->error);

    if (r < 0)
        return error_set(&merge->error, r, path, "%s", strerror(-r));
    merge->n_manifests++;
    for (unsigned i = 0; i < manifest->n_sources && r >= 0; i++) {
        const struct manifest_source *source = &manifest->sources[i];
        const char *machine;
        char full[2 * NAME_LEN_MAX + 2];
        bool is_alone;

        if (wanted && strcmp(wanted, source->name) != 0)
            continue;
        machine = given ? given : machine_part(merge, manifest, source);
        is_alone = given && manifest->n_sources == 1;
        snprintf(full, sizeof full, "%s%s%s", machine ? machine : "",
                 machine && !is_alone ? "-" : "", is_alone ? "" : source->name);
        r = add_source(merge, path, source, full);
        if (r >= 0)
            merge->sources[merge->n_sources - 1].monitor = monitor_of(manifest, source);
        added++;
    }
    if (r >= 0 && added == 0 && wanted)
        return error_set(&merge->error, -ENOENT, path, "no source '%s'", wanted);
    if (r >= 0 && added == 0)
        return error_set(&merge->error, -ENOENT, path, "has no sources");
    return r;
}

/* True if PATH is of a source that was added before, under this path or another. */
static bool is_given(const struct merge *merge, const char *path)
{
    struct stat st, other;

    if (stat(path, &st) < 0)
        return false;
    for (unsigned i = 0; i < merge->n_sources; i++)
        if (stat(merge->sources[i].path, &other) == 0 && other.st_dev == st.st_dev &&
            other.st_ino == st.st_ino)
            return true;
    return false;
}

/* Adds PATH, or NAME=PATH if no file has that whole name. */
static int add_operand(struct merge *merge, const char *operand)
{
    const char *equals = strchr(operand, '=');
    const char *path = operand;
    const char *name = NULL;
    struct stat st;

    if (equals && stat(operand, &st) < 0) {
        if (!is_name(operand, (size_t)(equals - operand)))
            return error_set(&merge->error, -EINVAL, NULL,
                             "invalid name in '%s'; use 1 to %d letters, digits, '_', '.' and '-'",
                             operand, NAME_LEN_MAX);
        name = arena_strndup(&merge->arena, operand, (size_t)(equals - operand));
        path = equals + 1;
        if (!name)
            return merge_no_memory(merge);
    }
    if (strcmp(path, "-") == 0)
        return error_set(&merge->error, -EINVAL, NULL,
                         "cannot merge standard input, which is read more than once; save it "
                         "in a file");
    if (!name && is_given(merge, path))
        return error_set(&merge->error, -EINVAL, path,
                         "was given twice; to have it twice, name it: NAME=%s", path);
    if (manifest_probe(path))
        return add_recorded(merge, path, name);
    return add_source(merge, path, NULL, name ? name : stem_of(&merge->arena, path));
}

/* Parses NAME=LAYER. */
static int set_layer(struct merge *merge, const char *given)
{
    const char *equals = strchr(given, '=');
    enum layer layer;
    int i = equals ? merge_find_source(merge, given, (size_t)(equals - given)) : -EINVAL;

    if (!equals || !merge_find_layer(equals + 1, strlen(equals + 1), &layer))
        return error_set(&merge->error, -EINVAL, NULL,
                         "invalid --layer '%s'; use NAME=LAYER with vmm, hypervisor, guest, host "
                         "or program",
                         given);
    if (i < 0)
        return error_set(&merge->error, -EINVAL, NULL, "--layer=%s: no source has that name",
                         given);
    merge->sources[i].layer = layer;
    return 0;
}

static int add_trace_notes(struct merge *merge, const struct trace *trace)
{
    int r = 0;

    for (unsigned i = 0; i < trace->n_notes && r >= 0; i++)
        r = merge_add_note(merge, "%s", trace->notes[i]);
    return r >= 0 && trace->hint ? merge_add_note(merge, "%s", trace->hint) : r;
}

/* Opens SOURCE alone, in its own time. */
static int open_source(struct merge *merge, struct merge_source *source)
{
    struct trace_options options = merge->config->open;
    int r;

    options.events = source->events.items;
    options.n_events = source->events.n;
    options.source = source->recorded ? source->recorded->name : NULL;
    options.host_time = false;
    options.stated_clocks = true;
    r = trace_open(&source->path, 1, &options, &source->trace, &merge->error);
    return r < 0 ? r : add_trace_notes(merge, source->trace);
}

/* Sets what is known of a source before it is read. */
static int init_source(struct merge *merge, struct merge_source *source)
{
    const struct trace_input *input;
    int r = open_source(merge, source);

    if (r < 0)
        return r;
    input = &source->trace->inputs[0];
    source->layer = input->origin->layer;
    source->on_host_clock = input->on_host_clock;
    source->error_ns = input->host_error_ns;
    if (input->host)
        source->host = arena_strdup(&merge->arena, input->host);
    source->format = arena_strdup(&merge->arena, input->origin->format);
    source->clock.name = arena_strdup(&merge->arena, input->origin->clock.name);
    source->clock.hz = input->origin->clock.hz;
    if (!source->format || !source->clock.name || (input->host && !source->host))
        return merge_no_memory(merge);
    if (input->clock_map && clock_map_copy(input->clock_map, &source->host_map) < 0)
        return merge_no_memory(merge);
    source->has_pairs_file = input->clock_map && source->recorded && source->recorded->clock.pairs;
    /* Of a recorded log that is empty, the recorder knows the clock (host_time_find()). */
    if (strcmp(source->clock.name, "line") == 0 && !input->clock_map && !source->on_host_clock)
        return error_set(&merge->error, -EINVAL, source->path,
                         "its events have no times, so they cannot be put on a timeline");
    return 0;
}

/* Chooses the files of --trace-events for SOURCE: files for all sources, and files for its name (NAME=FILE). */
static int choose_events(struct merge *merge, struct merge_source *source)
{
    const struct trace_options *given = &merge->config->open;
    const char **items = arena_alloc(&merge->arena, (given->n_events + 1) * sizeof *items);

    if (!items)
        return merge_no_memory(merge);
    source->events = (struct strings){.items = items};
    for (unsigned i = 0; i < given->n_events; i++) {
        const char *equals = strchr(given->events[i], '=');
        int of =
            equals ? merge_find_source(merge, given->events[i], (size_t)(equals - given->events[i]))
                   : -ENOENT;

        if (of < 0)
            items[source->events.n++] = given->events[i];
        else if (&merge->sources[of] == source)
            items[source->events.n++] = equals + 1;
    }
    return 0;
}

int merge_add_traces(struct merge *merge, char **operands, int n)
{
    const struct strings *layers = &merge->config->layers;
    int r = 0;

    merge->manifests = calloc((size_t)n, sizeof *merge->manifests);
    if (!merge->manifests)
        return merge_no_memory(merge);
    for (int i = 0; i < n && r >= 0; i++)
        r = add_operand(merge, operands[i]);
    for (unsigned i = 0; i < merge->n_sources && r >= 0; i++) {
        r = choose_events(merge, &merge->sources[i]);
        if (r >= 0)
            r = init_source(merge, &merge->sources[i]);
    }
    for (unsigned i = 0; i < layers->n && r >= 0; i++)
        r = set_layer(merge, layers->items[i]);
    return r;
}
