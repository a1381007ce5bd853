/* SPDX-License-Identifier: MIT */
/* TSP: annotations, which mark where events were lost. */

#include <string.h>

#include "serve/tsp.h"

#define CATEGORY "Lost events"
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

void tsp_annotation_categories(struct exchange *x)
{
    struct json_writer *w = &x->answer.json;

    if (!tsp_check_output(x, 6, all))
        return;
    tsp_begin(x, "COMPLETED");
    json_write_object(w);
    json_write_key(w, "annotationCategories");
    json_write_array(w);
    if (is_annotated(x->request.parts[6]))
        json_write_str(w, CATEGORY);
    json_write_end(w);
    json_write_end(w);
    tsp_end(x);
}

/* No categories: all. */
static bool is_requested(const struct tsp_query *query)
{
    const json_t *categories = json_object_get(query->parameters, "requested_marker_categories");

    if (!json_is_array(categories))
        return true;
    for (size_t i = 0; i < json_array_size(categories); i++) {
        const char *name = json_string_value(json_array_get(categories, i));

        if (name && strcmp(name, CATEGORY) == 0)
            return true;
    }
    return false;
}

static int put_losses(struct exchange *x, const struct tsp_query *query, uint32_t number,
                      unsigned *n)
{
    const struct index *index = x->generation->index;
    const struct index_track *track = index_track(index, number);
    struct json_writer *w = &x->answer.json;
    struct index_slices slices = {0};
    int r = 0;

    for (unsigned depth = 0; depth < track->n_depths && r == 0; depth++)
        r = index_slices(index, number, depth, query->start, query->end, query->resolution,
                         &slices);
    for (unsigned i = 0; r == 0 && i < slices.n && *n < ANNOTATIONS_MAX; i++, (*n)++) {
        const struct index_slice *slice = &slices.slices[i];

        json_write_object(w);
        tsp_put_number(
            w, "entryId",
            -1); /* of the whole chart: what happened is unknown on all tracks of the source */
        tsp_put(w, "type", "CHART");
        tsp_put_number(w, "time", slice->begin);
        tsp_put_number(w, "duration", slice->end - slice->begin);
        tsp_put(w, "label", index_name(index, slice->name));
        tsp_put_style(w, "lost");
        json_write_end(w);
    }
    index_slices_done(&slices);
    return r;
}

void tsp_annotations(struct exchange *x)
{
    const struct index *index = x->generation->index;
    struct json_writer *w = &x->answer.json;
    struct tsp_query query;
    unsigned n = 0;
    int r = 0;

    if (!tsp_check_output(x, 6, all) || tsp_query_read(x, TSP_NEEDS_RANGE, &query) < 0)
        return;
    tsp_begin(x, "COMPLETED");
    json_write_object(w);
    json_write_key(w, "annotations");
    json_write_object(w);
    if (is_annotated(x->request.parts[6]) && is_requested(&query)) {
        json_write_key(w, CATEGORY);
        json_write_array(w);
        for (uint32_t i = 0; r == 0 && i < index_summary(index)->n_tracks; i++)
            if (index_track(index, i)->kind == INDEX_LOSSES)
                r = put_losses(x, &query, i, &n);
        json_write_end(w);
    }
    tsp_query_done(&query);
    if (r < 0) {
        answer_failure(&x->answer, r, NULL);
        return;
    }
    json_write_end(w);
    json_write_end(w);
    tsp_end(x);
}
