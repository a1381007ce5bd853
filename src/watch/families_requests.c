/* SPDX-License-Identifier: MIT */
/* Metrics of disk requests. */

#include <errno.h>

#include "watch/families_internal.h"

struct request_series {
    struct metric_sample *duration, *bytes;
};

static struct request_series *add_series(struct families *families, uint64_t key,
                                         const struct io_request *request)
{
    struct request_series *series = arena_alloc(&families->window, sizeof *series);
    char device[IO_DEVICE_SIZE];
    const char *const values[] = {family_source_of(request->origin)->machine,
                                  layer_name(request->origin->layer), device,
                                  io_kind_name(request->kind)};

    io_device_text(device, request->origin->layer, request->device);
    if (!series ||
        metric_sample(families->family[FAMILY_REQUESTS], values, &series->duration) < 0 ||
        metric_sample(families->family[FAMILY_REQUEST_BYTES], values, &series->bytes) < 0 ||
        map_put(&families->requests_by_key, key, series) < 0)
        return NULL;
    return series;
}

static int put_request(void *arg, const struct io_request *request)
{
    struct families *families = arg;
    uint64_t key = family_key((uintptr_t)request->origin, request->device, request->kind);
    struct request_series *series = map_get(&families->requests_by_key, key);
    unsigned first = 0, last = IO_COMPLETED;

    if (!series)
        series = add_series(families, key, request);
    if (!series)
        return -ENOMEM;
    while (request->at[first] == TIME_UNKNOWN)
        first++;
    while (request->at[last] == TIME_UNKNOWN)
        last--;
    metric_observe(series->duration,
                   family_seconds(families, ticks_between(request->at[first], request->at[last])));
    metric_add(series->bytes, (double)request->sectors * 512);
    return 0;
}

int family_requests_init(struct families *families, const struct clock *clock)
{
    static const struct io_tracker_ops ops = {.request = put_request};

    return io_tracker_init(&families->requests, clock, &ops, families);
}

int family_requests_close(struct families *families)
{
    return family_add_unpaired(families, OF_REQUESTS, families->requests.counts.fates);
}
