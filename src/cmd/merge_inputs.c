/* SPDX-License-Identifier: MIT */
/* strata merge: what is given, as sources with names; and one look at each. */

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/losses.h"
#include "cmd/cmd.h"
#include "cmd/merge.h"

#define NAME_LEN_MAX 48

static bool find_layer(const char *name, size_t len, enum layer *ret)
{
    char copy[16];

    if (len >= sizeof copy)
        return false;
    memcpy(copy, name, len);
    copy[len] = '\0';
    return layer_by_name(copy, ret) >= 0;
}

int merge_find_source(const struct merge *merge, const char *name, size_t len)
{
    for (unsigned i = 0; i < merge->n_sources; i++)
        if (strlen(merge->sources[i].name) == len && memcmp(merge->sources[i].name, name, len) == 0)
            return (int)i;
    return -ENOENT;
}

static bool is_name(const char *s, size_t len)
{
    if (len == 0 || len > NAME_LEN_MAX || s[0] == '.')
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)s[i]) && !strchr("_.-", s[i]))
            return false;
    return true;
}

/* The last part of PATH without what is behind its last point, and of the characters that names have. */
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
        stem = arena_strdup(arena, "capture");
    return stem;
}

/* WANTED, or with a number behind where another source is called so. */
static const char *free_name(struct merge *merge, const char *wanted)
{
    char name[NAME_LEN_MAX + 16];

    snprintf(name, sizeof name, "%.*s", NAME_LEN_MAX, wanted);
    for (unsigned i = 2; merge_find_source(merge, name, strlen(name)) >= 0; i++)
        snprintf(name, sizeof name, "%.*s-%u", NAME_LEN_MAX, wanted, i);
    return arena_strdup(&merge->arena, name);
}

static int add_source(struct merge *merge, const char *path, const struct manifest_source *recorded,
                      const char *name)
{
    struct merge_source *bigger;

    if (merge->n_sources == MANIFEST_SOURCES_MAX) {
        cli_error("more than %d sources", MANIFEST_SOURCES_MAX);
        return -E2BIG;
    }
    bigger = realloc(merge->sources, (merge->n_sources + 1) * sizeof *bigger);
    if (!bigger)
        return cli_no_memory();
    merge->sources = bigger;
    bigger[merge->n_sources] = (struct merge_source){
        .path = path,
        .recorded = recorded,
        .first = TIME_UNKNOWN,
        .last = TIME_UNKNOWN,
        .counter = {.times = 1, .by = 1},
    };
    bigger[merge->n_sources].name = free_name(merge, name);
    return bigger[merge->n_sources++].name ? 0 : cli_no_memory();
}

/* Each source of a recorded directory. NAME: as the user calls it, or NULL. */
static int add_recorded(struct merge *merge, const char *path, const char *name)
{
    struct manifest *manifest = &merge->manifests[merge->n_manifests];
    struct fault fault = {0};
    unsigned added = 0;
    int r = manifest_read(path, manifest, &fault);

    if (r < 0) {
        cli_fault(&fault);
        return r;
    }
    merge->n_manifests++;
    for (unsigned i = 0; i < manifest->n_sources && r >= 0; i++) {
        const struct manifest_source *source = &manifest->sources[i];
        const char *only = merge->options->open.source;
        char full[2 * NAME_LEN_MAX + 2];

        if (only && strcmp(only, source->name) != 0)
            continue;
        snprintf(full, sizeof full, "%s%s%s", name ? name : "",
                 name && manifest->n_sources > 1 ? "-" : "",
                 name && manifest->n_sources == 1 ? "" : source->name);
        r = add_source(merge, path, source, full);
        added++;
    }
    if (r >= 0 && added == 0) {
        cli_error("%s: has no source%s%s", path, merge->options->open.source ? " " : "",
                  merge->options->open.source ? merge->options->open.source : "");
        r = -ENOENT;
    }
    return r;
}

/* PATH, or NAME=PATH where nothing has that whole name. */
static int add_operand(struct merge *merge, const char *operand)
{
    const char *equals = strchr(operand, '=');
    const char *path = operand;
    const char *name = NULL;
    struct stat st;

    if (equals && stat(operand, &st) < 0) {
        if (!is_name(operand, (size_t)(equals - operand))) {
            cli_error("%s: a name consists of 1 to %d letters, digits and _ . -", operand,
                      NAME_LEN_MAX);
            return -EINVAL;
        }
        name = arena_strndup(&merge->arena, operand, (size_t)(equals - operand));
        path = equals + 1;
        if (!name)
            return cli_no_memory();
    }
    if (strcmp(path, "-") == 0) {
        cli_error("standard input cannot be merged: it is read more than once; save it in a file");
        return -EINVAL;
    }
    if (manifest_probe(path))
        return add_recorded(merge, path, name);
    return add_source(merge, path, NULL, name ? name : stem_of(&merge->arena, path));
}

/* NAME=LAYER. */
static int set_layer(struct merge *merge, const char *given)
{
    const char *equals = strchr(given, '=');
    enum layer layer;
    int i = equals ? merge_find_source(merge, given, (size_t)(equals - given)) : -EINVAL;

    if (!equals || !find_layer(equals + 1, strlen(equals + 1), &layer)) {
        cli_error("--layer=%s: wants NAME=LAYER; layers are vmm, hypervisor, guest, host, program",
                  given);
        return -EINVAL;
    }
    if (i < 0) {
        cli_error("--layer=%s: there is no source of that name", given);
        return -EINVAL;
    }
    merge->sources[i].layer = layer;
    return 0;
}

/* Opens SOURCE alone, in its own time. */
static struct trace *open_source(const struct merge *merge, const struct merge_source *source)
{
    struct open_options options = merge->options->open;
    char *path = (char *)source->path;

    options.events = source->events;
    options.source = source->recorded ? source->recorded->name : NULL;
    options.host_time = false;
    return walk_open(&options, &path, 1);
}

/* What is known of a source before it is read. */
static int look_at(struct merge *merge, struct merge_source *source)
{
    const struct trace_part *part;

    source->trace = open_source(merge, source);
    if (!source->trace)
        return -EINVAL;
    part = &source->trace->parts[0];
    source->layer = part->origin->layer;
    source->on_host_clock = part->on_host_clock;
    source->error_ns = part->host_error_ns;
    if (part->host)
        source->host = arena_strdup(&merge->arena, part->host);
    source->format = arena_strdup(&merge->arena, part->origin->format);
    source->clock.name = arena_strdup(&merge->arena, part->origin->clock.name);
    source->clock.hz = part->origin->clock.hz;
    if (!source->format || !source->clock.name || (part->host && !source->host))
        return cli_no_memory();
    if (part->clock_map && clock_map_copy(part->clock_map, &source->own) < 0)
        return cli_no_memory();
    source->own_file = part->clock_map && source->recorded && source->recorded->clock.pairs;
    if (strcmp(source->clock.name, "line") == 0) {
        cli_error("%s: its events have no times, so nothing can put them among others",
                  source->path);
        return -EINVAL;
    }
    return 0;
}

/* The files of --trace-events for SOURCE: those that are given for all, and those for it by name, NAME=FILE. */
static int choose_events(struct merge *merge, struct merge_source *source)
{
    const struct strings *given = &merge->options->open.events;
    const char **items = arena_alloc(&merge->arena, (given->n + 1) * sizeof *items);

    if (!items)
        return cli_no_memory();
    source->events = (struct strings){.items = items};
    for (unsigned i = 0; i < given->n; i++) {
        const char *equals = strchr(given->items[i], '=');
        int of = equals
                     ? merge_find_source(merge, given->items[i], (size_t)(equals - given->items[i]))
                     : -ENOENT;

        if (of < 0)
            items[source->events.n++] = given->items[i];
        else if (&merge->sources[of] == source)
            items[source->events.n++] = equals + 1;
    }
    return 0;
}

int merge_inputs(struct merge *merge, char **operands, int n)
{
    const struct strings *layers = &merge->options->layers;
    int r = 0;

    merge->manifests = calloc((size_t)n, sizeof *merge->manifests);
    if (!merge->manifests)
        return cli_no_memory();
    for (int i = 0; i < n && r >= 0; i++)
        r = add_operand(merge, operands[i]);
    for (unsigned i = 0; i < merge->n_sources && r >= 0; i++) {
        r = choose_events(merge, &merge->sources[i]);
        if (r >= 0)
            r = look_at(merge, &merge->sources[i]);
    }
    for (unsigned i = 0; i < layers->n && r >= 0; i++)
        r = set_layer(merge, layers->items[i]);
    return r;
}

/* Which sources a side may be of: of the one, or the layer, that stands in front of its event; else of any. */
static int init_side(const struct merge *merge, struct merge_side *side,
                     const struct common_side *given)
{
    const char *colon = strchr(given->event, ':');
    size_t len = colon ? (size_t)(colon - given->event) : 0;
    int named = colon ? merge_find_source(merge, given->event, len) : -ENOENT;
    enum layer layer = LAYER_VMM;
    bool is_layer = named < 0 && colon && find_layer(given->event, len, &layer);
    bool any = false;

    side->side = given;
    side->event = named >= 0 || is_layer ? colon + 1 : given->event;
    side->wanted = calloc(merge->n_sources, sizeof *side->wanted);
    side->marks = calloc(merge->n_sources, sizeof *side->marks);
    if (!side->wanted || !side->marks)
        return cli_no_memory();
    for (unsigned i = 0; i < merge->n_sources; i++) {
        side->wanted[i] =
            named >= 0 ? (unsigned)named == i : !is_layer || merge->sources[i].layer == layer;
        any = any || side->wanted[i];
        common_init(&side->marks[i], given, side->event);
    }
    if (!any) {
        cli_error("--sync: there is no source of the layer %s, which '%s' names", layer_name(layer),
                  given->event);
        return -EINVAL;
    }
    return 0;
}

static int init_syncs(struct merge *merge)
{
    const struct strings *syncs = &merge->options->syncs;
    int r = 0;

    merge->syncs = calloc(syncs->n + 1, sizeof *merge->syncs);
    if (!merge->syncs)
        return cli_no_memory();
    for (unsigned i = 0; i < syncs->n && r >= 0; i++) {
        struct merge_sync *sync = &merge->syncs[i];
        struct fault fault = {0};

        r = common_sync_parse(syncs->items[i], &sync->given, &fault);
        if (r < 0) {
            cli_error("--sync='%s': %s", syncs->items[i], fault.what);
            return r;
        }
        merge->n_syncs++;
        r = init_side(merge, &sync->a, &sync->given.a);
        if (r >= 0)
            r = init_side(merge, &sync->b, &sync->given.b);
    }
    return r;
}

struct scan {
    struct merge *merge;
    unsigned source;
    struct losses losses;
    struct fault fault;
};

static int put(void *arg, const struct item *items, unsigned n)
{
    struct scan *scan = arg;
    struct merge_source *source = &scan->merge->sources[scan->source];
    int r = 0;

    losses_add_all(&scan->losses, items, n);
    for (unsigned i = 0; i < n; i++) {
        if (items[i].kind != ITEM_EVENT)
            continue;
        source->n_events++;
        if (items[i].time == TIME_UNKNOWN)
            continue;
        if (source->first == TIME_UNKNOWN)
            source->first = source->last = items[i].time;
        source->first = MIN(source->first, items[i].time);
        source->last = MAX(source->last, items[i].time);
    }
    for (unsigned i = 0; i < scan->merge->n_syncs && r >= 0; i++) {
        struct merge_side *sides[] = {&scan->merge->syncs[i].a, &scan->merge->syncs[i].b};

        for (size_t j = 0; j < ARRAY_SIZE(sides) && r >= 0; j++) {
            if (!sides[j]->wanted[scan->source])
                continue;
            r = common_look(&sides[j]->marks[scan->source], items, n);
            if (r == -E2BIG)
                fault_plain(&scan->fault, r, source->path,
                            "more than %zu events match '%s': name fewer by --sync", MATCH_MAX,
                            sides[j]->side->event);
        }
    }
    return r;
}

/* Reads a source to its end. What is readable of a damaged one counts. */
static int scan_one(struct merge *merge, unsigned i)
{
    struct trace *trace = merge->sources[i].trace;
    struct text nothing = TEXT_IN_MEMORY;
    struct select_options all = {0};
    struct selection selection;
    struct scan scan = {.merge = merge, .source = i};
    struct walk walk = {.trace = trace,
                        .selection = &selection,
                        .out = &nothing,
                        .losses = &scan.losses,
                        .put = put,
                        .arg = &scan,
                        .put_fault = &scan.fault};
    int r = selection_init(&selection, &all);

    if (r < 0)
        return cli_no_memory();
    if (walk_through(&walk) != EXIT_SUCCESS) {
        r = scan.fault.error;
        merge->damaged = true;
    }
    merge->lost = merge->lost || scan.losses.n > 0;
    selection_done(&selection);
    return r;
}

/* The source that has events of SIDE. */
static int settle(const struct merge *merge, const struct merge_sync *sync, struct merge_side *side)
{
    struct text where = TEXT_IN_MEMORY;
    unsigned n = 0, n_wanted = 0;

    for (unsigned i = 0; i < merge->n_sources; i++) {
        if (!side->wanted[i])
            continue;
        if (side->marks[i].n)
            side->source = i;
        n += side->marks[i].n > 0;
        n_wanted++;
    }
    if (n == 1)
        return 0;
    for (unsigned i = 0; i < merge->n_sources; i++) {
        if (!side->wanted[i] || (n > 0 && side->marks[i].n == 0))
            continue;
        if (where.start)
            text_put_literal(&where, ", ");
        text_put_str(&where, merge->sources[i].name);
    }
    text_put_char(&where, '\0');
    if (n == 0)
        cli_error("--sync='%s': no event '%s'%s%s%s in %s", sync->given.given, side->event,
                  side->side->text ? " matches '" : "", side->side->text ? side->side->text : "",
                  side->side->text ? "'" : "", where.error ? "" : where.start);
    else
        cli_error("--sync='%s': '%s' is in several sources, %s: put the name of one in front, as "
                  "in %s:%s",
                  sync->given.given, side->event, where.error ? "" : where.start,
                  merge->sources[side->source].name, side->event);
    text_done(&where);
    return -EINVAL;
}

int merge_scan(struct merge *merge)
{
    int r = init_syncs(merge);

    for (unsigned i = 0; i < merge->n_sources && r >= 0; i++)
        r = scan_one(merge, i);
    for (unsigned i = 0; i < merge->n_syncs && r >= 0; i++) {
        r = settle(merge, &merge->syncs[i], &merge->syncs[i].a);
        if (r >= 0)
            r = settle(merge, &merge->syncs[i], &merge->syncs[i].b);
        if (r >= 0 && merge->syncs[i].a.source == merge->syncs[i].b.source) {
            cli_error("--sync='%s': both sides are of %s", merge->options->syncs.items[i],
                      merge->sources[merge->syncs[i].a.source].name);
            r = -EINVAL;
        }
    }
    return r;
}
