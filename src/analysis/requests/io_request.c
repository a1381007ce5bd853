/* SPDX-License-Identifier: MIT */
/* Names of requests, and their begins and ends. */

#include <inttypes.h>
#include <stdio.h>

#include "analysis/requests/io_tracker.h"

int64_t io_request_begin(const struct io_request *request)
{
    unsigned first = 0;

    while (first < IO_COMPLETED && request->at[first] == TIME_UNKNOWN)
        first++;
    return request->at[first];
}

int64_t io_request_end(const struct io_request *request)
{
    unsigned last = IO_COMPLETED;

    while (last > 0 && request->at[last] == TIME_UNKNOWN)
        last--;
    return request->at[last];
}

const char *io_stage_name(enum io_point point)
{
    static const char *const names[] = {
        [IO_ISSUED] = "queue",    [IO_KICKED] = "kick",      [IO_HANDLED] = "dispatch",
        [IO_SUBMITTED] = "vmm",   [IO_WORKED] = "backend",   [IO_RETURNED] = "done",
        [IO_NOTIFIED] = "notify", [IO_INTERRUPT] = "inject", [IO_COMPLETED] = "guest",
    };

    return names[point];
}

const char *io_kind_name(enum io_kind kind)
{
    static const char *const names[] = {"read", "write", "flush", "discard", "other"};

    return names[kind];
}

const char *io_request_stage(const struct io_request *request, unsigned point)
{
    bool is_first = point == IO_INTERRUPT ||
                    (point == IO_COMPLETED && request->at[IO_INTERRUPT] == TIME_UNKNOWN);

    return is_first && !request->vmm ? "device" : io_stage_name((enum io_point)point);
}

const char *io_device_text(char buf[IO_DEVICE_SIZE], enum layer layer, uint64_t device)
{
    if (layer == LAYER_VMM)
        snprintf(buf, IO_DEVICE_SIZE, "0x%" PRIx64, device);
    else /* as the kernel packs it: 20 bits of the minor number */
        snprintf(buf, IO_DEVICE_SIZE, "%" PRIu64 ",%" PRIu64, device >> 20, device & 0xfffff);
    return buf;
}
