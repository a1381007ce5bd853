/* SPDX-License-Identifier: MIT */
/* Finishes an index: puts the tracks in the order of the file, then writes the sections. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "index/build_internal.h"

/* Tracks nest a few levels deep (tracks/tracks.h), so recursion is bounded. */
// NOLINTBEGIN(misc-no-recursion)

static uint64_t count(const struct build_track *track)
{
    uint64_t n = track->values ? track->values->n : 0;

    if (track->kind == INDEX_EVENTS)
        n += track->events ? track->events->n : 0;
    for (unsigned i = 0; i < track->n_slices; i++)
        n += track->slices[i]->n;
    return n;
}

/* If a track has slices and events, the events get their own track below it. */
static int split_events(struct builder *builder)
{
    unsigned n = builder->n_tracks;

    for (unsigned i = 0; i < n; i++) {
        struct build_track *track = builder->tracks[i];
        struct build_track like = {
            .parent = track,
            .group = track->group,
            .name = "events",
            .kind = INDEX_EVENTS,
            .rank = INT32_MIN + 1,
            .cpu = track->cpu,
            .pid = track->pid,
            .vcpu = track->vcpu,
            .events = track->events,
        };

        if (!track->events || track->kind == INDEX_EVENTS)
            continue;
        if (track->n_slices == 0 && !track->values) {
            track->kind = INDEX_EVENTS;
            continue;
        }
        if (!build_track_new(builder, &like))
            return -ENOMEM;
        track->events = NULL;
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct build_track *x = *(const struct build_track *const *)a;
    const struct build_track *y = *(const struct build_track *const *)b;

    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->serial < y->serial ? -1 : x->serial > y->serial;
}

/* Lists the children of all tracks in order. Returns the first track without a parent. */
static struct build_track *list_children(struct builder *builder)
{
    struct build_track *roots = NULL;

    if (builder->n_tracks > 0)
        qsort(builder->tracks, builder->n_tracks, sizeof(struct build_track *), compare);
    for (unsigned i = builder->n_tracks; i-- > 0;) {
        struct build_track *track = builder->tracks[i];
        struct build_track **list = track->parent ? &track->parent->children : &roots;

        track->next = *list;
        *list = track;
    }
    return roots;
}

/* Removes empty tracks. Replaces a track by its states if it has nothing else. */
static void prune(struct build_track **list)
{
    while (*list) {
        struct build_track *track = *list;
        struct build_track *child;

        prune(&track->children);
        child = track->children;
        if (!child && count(track) == 0) {
            *list = track->next;
            continue;
        }
        if (child && track->kind == INDEX_SLICES && count(track) == 0) {
            if (child->kind == INDEX_STATES && !child->next) {
                child->parent = track->parent;
                child->rank = track->rank;
                child->name = track->name;
                child->next = track->next;
                *list = track = child;
            } else {
                track->kind = INDEX_GROUP;
            }
        }
        list = &track->next;
    }
}

struct tables {
    struct builder *builder;
    struct file_track *tracks;
    struct build_track **sources; /* corresponding to `tracks` */
    struct file_row *rows;
    uint32_t n_tracks, n_rows;
    uint64_t n_nodes, n_values, n_events;
};

static void add_row(struct tables *tables, uint64_t n, uint64_t *total, size_t n_nodes)
{
    tables->rows[tables->n_rows++] = (struct file_row){n, *total};
    *total += n_nodes;
}

static int add_track(struct tables *tables, struct build_track *track)
{
    struct index_names *names = &tables->builder->names;
    struct file_track *file = &tables->tracks[tables->n_tracks];
    int r = index_names_put_text(names, track->name, strlen(track->name), &file->name);

    if (r == 0 && track->unit)
        r = index_names_put_text(names, track->unit, strlen(track->unit), &file->unit);
    if (r < 0)
        return r;
    file->parent = track->parent ? track->parent->number : INDEX_NO_TRACK;
    file->kind = (uint8_t)track->kind;
    file->layer = (uint8_t)track->group->layer;
    file->source = track->group->number;
    file->rank = track->rank;
    file->cpu = track->cpu;
    file->pid = track->pid;
    file->vcpu = track->vcpu;
    file->n = count(track);
    file->first_row = tables->n_rows;
    tables->sources[tables->n_tracks] = track;
    track->number = tables->n_tracks++;
    for (unsigned i = 0; i < track->n_slices; i++) {
        r = slice_row_finish(track->slices[i], &tables->builder->writer);
        if (r < 0)
            return r;
        add_row(tables, track->slices[i]->n, &tables->n_nodes, slice_row_nodes(track->slices[i]));
    }
    if (track->values && (r = value_row_finish(track->values, &tables->builder->writer)) == 0)
        add_row(tables, track->values->n, &tables->n_values, track->values->n_nodes);
    if (track->events && (r = event_row_finish(track->events, &tables->builder->writer)) == 0)
        add_row(tables, track->events->n, &tables->n_events, track->events->n_nodes);
    file->n_rows = tables->n_rows - file->first_row;
    return r;
}

static int add_tracks(struct tables *tables, struct build_track *list)
{
    int r = 0;

    for (; list && r == 0; list = list->next) {
        r = add_track(tables, list);
        if (r == 0)
            r = add_tracks(tables, list->children);
    }
    return r;
}

// NOLINTEND(misc-no-recursion)

static void write_nodes(const struct tables *tables)
{
    struct index_writer *writer = &tables->builder->writer;

    index_writer_begin(writer, SECTION_NODES);
    for (uint32_t i = 0; i < tables->n_tracks; i++)
        for (unsigned depth = 0; depth < tables->sources[i]->n_slices; depth++)
            slice_row_write_nodes(tables->sources[i]->slices[depth], writer);
    index_writer_end(writer, SECTION_NODES);
    index_writer_begin(writer, SECTION_VALUES);
    for (uint32_t i = 0; i < tables->n_tracks; i++) {
        const struct value_row *row = tables->sources[i]->values;

        if (row)
            index_writer_put(writer, row->nodes, row->n_nodes * sizeof *row->nodes);
    }
    index_writer_end(writer, SECTION_VALUES);
    index_writer_begin(writer, SECTION_EVENTS);
    for (uint32_t i = 0; i < tables->n_tracks; i++) {
        const struct event_row *row = tables->sources[i]->events;

        if (row)
            index_writer_put(writer, row->nodes, row->n_nodes * sizeof *row->nodes);
    }
    index_writer_end(writer, SECTION_EVENTS);
}

static int compare_arrows(const void *a, const void *b)
{
    const struct build_arrow *x = a;
    const struct build_arrow *y = b;

    return x->end < y->end ? -1 : x->end > y->end;
}

static int write_arrows(struct builder *builder)
{
    struct index_writer *writer = &builder->writer;
    size_t n = (builder->n_arrows + ARROWS_PER_BEGIN - 1) / ARROWS_PER_BEGIN;
    int64_t *begins = calloc(n + 1, sizeof *begins);

    if (!begins)
        return -ENOMEM;
    if (builder->n_arrows > 0)
        qsort(builder->arrows, builder->n_arrows, sizeof *builder->arrows, compare_arrows);
    index_writer_begin(writer, SECTION_ARROWS);
    for (size_t i = 0; i < builder->n_arrows; i++) {
        const struct build_arrow *from = &builder->arrows[i];
        struct index_arrow arrow;

        memset(&arrow, 0, sizeof arrow);
        arrow.begin = from->begin;
        arrow.end = from->end;
        arrow.from_track = from->from->number;
        arrow.to_track = from->to->number;
        arrow.from_depth = from->from_depth;
        arrow.to_depth = from->to_depth;
        index_writer_put(writer, &arrow, sizeof arrow);
    }
    index_writer_end(writer, SECTION_ARROWS);
    begins[n] = INT64_MAX;
    for (size_t i = builder->n_arrows; i-- > 0;) {
        size_t at = i / ARROWS_PER_BEGIN;

        if (i % ARROWS_PER_BEGIN == ARROWS_PER_BEGIN - 1 || i == builder->n_arrows - 1)
            begins[at] = begins[at + 1];
        begins[at] = MIN(begins[at], builder->arrows[i].begin);
    }
    index_writer_section(writer, SECTION_ARROW_BEGINS, begins, n * sizeof *begins);
    free(begins);
    return 0;
}

static int write_tables(struct tables *tables)
{
    struct builder *builder = tables->builder;
    struct index_writer *writer = &builder->writer;
    const struct index_names *names = &builder->names;

    index_writer_section(writer, SECTION_TRACKS, tables->tracks,
                         tables->n_tracks * sizeof *tables->tracks);
    index_writer_section(writer, SECTION_ROWS, tables->rows, tables->n_rows * sizeof *tables->rows);
    write_nodes(tables);
    if (write_arrows(builder) < 0)
        return -ENOMEM;
    index_writer_section(writer, SECTION_NAMES, names->places, names->n * sizeof *names->places);
    index_writer_section(writer, SECTION_STRINGS, names->strings, names->n_bytes);
    return 0;
}

int build_tracks_finish(struct builder *builder)
{
    struct tables tables = {.builder = builder};
    struct build_track *roots;
    size_t n_rows = 0;
    int r = split_events(builder);

    if (r < 0)
        return r;
    for (unsigned i = 0; i < builder->n_tracks; i++)
        n_rows += builder->tracks[i]->n_slices + 2;
    roots = list_children(builder);
    prune(&roots);
    tables.tracks = calloc(builder->n_tracks + 1, sizeof *tables.tracks);
    tables.sources = calloc(builder->n_tracks + 1, sizeof(struct build_track *));
    tables.rows = calloc(n_rows + 1, sizeof *tables.rows);
    r = tables.tracks && tables.sources && tables.rows ? add_tracks(&tables, roots) : -ENOMEM;
    if (r == 0)
        r = write_tables(&tables);
    free(tables.tracks);
    free(tables.sources);
    free(tables.rows);
    return r;
}
