/* SPDX-License-Identifier: MIT */
/* strata top: the longest disk requests that ended in a window, and the longest that are open. */

#include "analysis/requests/io_tracker.h"
#include "base/macro.h"
#include "base/ticks.h"
#include "top/model.h"

/* Gets the first and the last known point of a request. */
static void find_ends(const struct io_request *request, int64_t *ret_begin, int64_t *ret_end)
{
    int64_t begin = TIME_UNKNOWN, end = TIME_UNKNOWN;

    for (unsigned i = 0; i < IO_POINTS; i++) {
        int64_t at = request->at[i];

        if (at == TIME_UNKNOWN)
            continue;
        if (begin == TIME_UNKNOWN)
            begin = at;
        end = at;
    }
    *ret_begin = begin;
    *ret_end = end;
}

static struct top_request describe(struct top_model *model, const struct io_request *request)
{
    struct top_request found = {.error_ns = request->error_ns,
                                .source = top_model_source(model, request->origin),
                                .kind = request->kind,
                                .device = request->device,
                                .sector = request->sector,
                                .sectors = request->sectors,
                                .is_vmm = request->origin->layer == LAYER_VMM};

    find_ends(request, &found.begin, &found.end);
    return found;
}

/* Inserts a request into LIST, which has the longest first. */
static void keep(struct top_request *list, unsigned *n, const struct top_request *request)
{
    int64_t duration = ticks_between(request->begin, request->end);
    unsigned at = *n;

    while (at > 0 && ticks_between(list[at - 1].begin, list[at - 1].end) < duration)
        at--;
    if (at == TOP_SLOWEST)
        return;
    if (*n < TOP_SLOWEST)
        (*n)++;
    for (unsigned i = *n - 1; i > at; i--)
        list[i] = list[i - 1];
    list[at] = *request;
}

static int put_request(void *arg, const struct io_request *request)
{
    struct top_model *model = arg;
    struct top_request found = describe(model, request);

    if (found.begin == TIME_UNKNOWN || found.end <= model->from)
        return 0;
    keep(model->requests[model->slot], &model->n_requests[model->slot], &found);
    return 0;
}

const struct io_tracker_ops top_requests_ops = {.request = put_request};

static void put_open(void *arg, const struct io_request *request)
{
    struct top_model *model = arg;
    struct top_request found = describe(model, request);

    if (found.begin == TIME_UNKNOWN)
        return;
    found.end = model->to;
    found.is_open = true;
    keep(model->open, &model->n_open, &found);
}

void top_requests_put_open(struct top_model *model)
{
    model->n_open = 0;
    io_tracker_foreach_open(&model->io, put_open, model);
}
