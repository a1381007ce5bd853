/* SPDX-License-Identifier: MIT */
/* TSP: annotations, which mark where events were lost, and bookmarks. */

#include <string.h>

#include "serve/tsp/tsp.h"

#define LOST "Lost events"
#define BOOKMARKS "Bookmarks"
/* The marker set with a category of losses for each source. */
#define BY_SOURCE "strata.losses-by-source"
#define CATEGORY_MAX 256
#define ANNOTATIONS_MAX 10000u

static const char *const annotated[] = {TSP_TIMELINE, TSP_EVENTS_OVER_TIME, TSP_COUNTERS, NULL};
static const char *const all[] = {TSP_TIMELINE, TSP_EVENTS_OVER_TIME, TSP_COUNTERS,
                                  TSP_TABLE,    TSP_STATISTICS,       NULL};

static bool is_annotated(const char *output)
{
    for (const char *const *name = annotated; *name; name++)
        if (strcmp(*name, output) == 0)
            return true;
    return false;
}

void tsp_marker_sets(struct exchange *x)
{
    struct json_writer *w = &x->answer.json;

    if (!tsp_check_experiment(x))
        return;
    tsp_begin(x, "COMPLETED");
    json_write_array(w);
    json_write_object(w);
    tsp_put(w, "id", BY_SOURCE);
    tsp_put(w, "name", "Lost events by source");
    json_write_end(w);
    json_write_end(w);
    tsp_end(x);
}

/* ---- categories ---- */

/* The source's own track above TRACK. */
static uint32_t root_of(const struct index *index, uint32_t track)
{
    while (index_track(index, track)->parent != INDEX_NO_TRACK)
        track = index_track(index, track)->parent;
    return track;
}

/* True if events of the source with track ROOT were lost. */
static bool has_losses(const struct index *index, uint32_t root)
{
    if (index_track(index, root)->parent != INDEX_NO_TRACK)
        return false;
    for (uint32_t i = 0; i < index_summary(index)->n_tracks; i++)
        if (index_track(index, i)->kind == INDEX_LOSSES && root_of(index, i) == root)
            return true;
    return false;
}

static void name_category(const struct index *index, uint32_t root, char ret[CATEGORY_MAX])
{
    struct text text = TEXT_IN_MEMORY;
    size_t len;

    text_printf(&text, LOST ": ");
    text_put_str(&text, index_track(index, root)->name);
    len = text.error || !text.start ? 0 : MIN(text_len(&text), (size_t)CATEGORY_MAX - 1);
    if (len > 0)
        memcpy(ret, text.start, len);
    /* Not within a character. */
    while (len == CATEGORY_MAX - 1 && len > 0 && ((unsigned char)ret[len - 1] & 0xc0) == 0x80)
        len--;
    if (len > 0 && (unsigned char)ret[len - 1] >= 0xc0)
        len--;
    ret[len] = '\0';
    text_done(&text);
}

void tsp_annotation_categories(struct exchange *x)
{
    const struct index *index = x->generation->index;
    const char *set = request_value(&x->request, "markerSetId");
    struct json_writer *w = &x->answer.json;
    char name[CATEGORY_MAX];

    if (!tsp_check_output(x, 6, all))
        return;
    tsp_begin(x, "COMPLETED");
    json_write_object(w);
    json_write_key(w, "annotationCategories");
    json_write_array(w);
    if (is_annotated(x->request.parts[6])) {
        if (!set || strcmp(set, BY_SOURCE) != 0)
            json_write_str(w, LOST);
        for (uint32_t i = 0; set && i < index_summary(index)->n_tracks; i++) {
            if (strcmp(set, BY_SOURCE) != 0 || !has_losses(index, i))
                continue;
            name_category(index, i, name);
            json_write_str(w, name);
        }
        json_write_str(w, BOOKMARKS);
    }
    json_write_end(w);
    json_write_end(w);
    tsp_end(x);
}

/* Without categories, all are requested. */
static bool is_requested(const struct tsp_query *query, const char *category)
{
    const json_t *categories = json_object_get(query->parameters, "requested_marker_categories");

    if (!json_is_array(categories))
        return true;
    for (size_t i = 0; i < json_array_size(categories); i++) {
        const char *name = json_string_value(json_array_get(categories, i));

        if (name && strcmp(name, category) == 0)
            return true;
    }
    return false;
}

/* ---- annotations ---- */

static void put_annotation(struct exchange *x, int64_t begin, int64_t end, const char *label,
                           const char *style)
{
    struct json_writer *w = &x->answer.json;

    json_write_object(w);
    tsp_put_number(w, "entryId", -1); /* of the whole chart: it concerns all tracks of the source */
    tsp_put(w, "type", "CHART");
    tsp_put_number(w, "time", begin);
    tsp_put_number(w, "duration", end - begin);
    tsp_put(w, "label", label);
    tsp_put_style(w, style);
    json_write_end(w);
}

static int put_track(struct exchange *x, const struct tsp_query *query, uint32_t number,
                     unsigned *n)
{
    const struct index *index = x->generation->index;
    const struct index_track *track = index_track(index, number);
    struct index_slices slices = {0};
    int r = 0;

    for (unsigned depth = 0; depth < track->n_depths && r == 0; depth++)
        r = index_slices(index, number, depth, query->start, query->end, query->resolution,
                         &slices);
    for (unsigned i = 0; r == 0 && i < slices.n && *n < ANNOTATIONS_MAX; i++, (*n)++)
        put_annotation(x, slices.slices[i].begin, slices.slices[i].end,
                       index_name(index, slices.slices[i].name), "lost");
    index_slices_done(&slices);
    return r;
}

/* Writes a member CATEGORY with the losses of the source with track ROOT; INDEX_NO_TRACK: of all sources. */
static int put_losses(struct exchange *x, const struct tsp_query *query, const char *category,
                      uint32_t root, unsigned *n)
{
    const struct index *index = x->generation->index;
    int r = 0;

    json_write_key(&x->answer.json, category);
    json_write_array(&x->answer.json);
    for (uint32_t i = 0; r == 0 && i < index_summary(index)->n_tracks; i++)
        if (index_track(index, i)->kind == INDEX_LOSSES &&
            (root == INDEX_NO_TRACK || root_of(index, i) == root))
            r = put_track(x, query, i, n);
    json_write_end(&x->answer.json);
    return r;
}

static int put_losses_by_source(struct exchange *x, const struct tsp_query *query, unsigned *n)
{
    const struct index *index = x->generation->index;
    char name[CATEGORY_MAX];
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < index_summary(index)->n_tracks; i++) {
        if (!has_losses(index, i))
            continue;
        name_category(index, i, name);
        if (is_requested(query, name))
            r = put_losses(x, query, name, i, n);
    }
    return r;
}

static void put_bookmark(struct exchange *x, const struct tsp_bookmark *bookmark)
{
    put_annotation(x, bookmark->start, bookmark->end, bookmark->name, "bookmark");
}

static int put_categories(struct exchange *x, const struct tsp_query *query)
{
    const char *set = json_string_value(json_object_get(query->parameters, "requested_marker_set"));
    unsigned n = 0;
    int r = 0;

    if (set && strcmp(set, BY_SOURCE) == 0)
        r = put_losses_by_source(x, query, &n);
    else if (is_requested(query, LOST))
        r = put_losses(x, query, LOST, INDEX_NO_TRACK, &n);
    if (r == 0 && is_requested(query, BOOKMARKS)) {
        json_write_key(&x->answer.json, BOOKMARKS);
        json_write_array(&x->answer.json);
        tsp_bookmarks_between(x, query->start, query->end, put_bookmark);
        json_write_end(&x->answer.json);
    }
    return r;
}

void tsp_annotations(struct exchange *x)
{
    struct json_writer *w = &x->answer.json;
    struct tsp_query query;
    int r = 0;

    if (!tsp_check_output(x, 6, all) || tsp_query_read(x, TSP_NEEDS_RANGE, &query) < 0)
        return;
    tsp_begin(x, "COMPLETED");
    json_write_object(w);
    json_write_key(w, "annotations");
    json_write_object(w);
    if (is_annotated(x->request.parts[6]))
        r = put_categories(x, &query);
    tsp_query_done(&query);
    if (r < 0) {
        answer_failure(&x->answer, r, NULL);
        return;
    }
    json_write_end(w);
    json_write_end(w);
    tsp_end(x);
}
