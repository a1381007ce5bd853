/* SPDX-License-Identifier: MIT */
#pragma once

/* The receiver of the trace of one kernel, piece by piece: files (record/kernel/guest_child.h, guest_store.h), or the
 * live view (live_stream.h, record/live/live_child.c). A session with an agent (guest_session.h) writes to a sink. Between
 * processes, guest_channel.h converts pieces to packets, and packets to pieces.
 *
 * Strings come from the guest and may contain any bytes. Each operation returns 0 or more, or -errno with ERROR. The
 * sink does not accept an operation that is NULL: -EBADMSG. */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A sample of a guest's clock and the host's clock: when the guest's clock showed GUEST, the host's CLOCK_MONOTONIC
 * showed HOST_NS, within ERROR_NS. */
struct guest_pair {
    uint64_t host_ns, guest;
    uint64_t error_ns;
};

struct kernel_sink;

struct kernel_sink_ops {
    /* A file of the kernel's tracefs begins, continues, and ends. It replaces an earlier file of that name. PATH, of
     * LEN bytes, is not checked. */
    int (*file_begin)(struct kernel_sink *sink, const char *path, size_t len, struct error *error);
    int (*file_put)(struct kernel_sink *sink, const void *p, size_t size, struct error *error);
    int (*file_end)(struct kernel_sink *sink, struct error *error);
    /* SIZE bytes of whole ring-buffer pages of CPU, at OFFSET in everything that it sent in this boot. If there is a
     * gap before OFFSET, pages are missing. */
    int (*pages)(struct kernel_sink *sink, uint32_t cpu, uint64_t offset, const void *p,
                 size_t size, struct error *error);
    /* A name ("agent", "release", "machine", "boot_id", "clock", "hz", "problem" or "loss") and its value. */
    int (*fact)(struct kernel_sink *sink, const char *name, const char *value, struct error *error);
    int (*pair)(struct kernel_sink *sink, const struct guest_pair *pair, struct error *error);
    /* The guest has booted again. A trace of another kernel follows, and offsets begin at 0. */
    int (*boot)(struct kernel_sink *sink, struct error *error);
    /* The guest's state went back to an earlier state of the same kernel, for example by QEMU's loadvm. Its clock and
     * its recorded data begin again at that state. Files, facts and offsets continue. */
    int (*rewind)(struct kernel_sink *sink, struct error *error);
};

struct kernel_sink {
    const struct kernel_sink_ops *ops;
    /* Gets the same calls after this sink, unless this sink fails; NULL: none. */
    struct kernel_sink *next;
};

int kernel_sink_file_begin(struct kernel_sink *sink, const char *path, size_t len,
                           struct error *error);
int kernel_sink_file_put(struct kernel_sink *sink, const void *p, size_t size, struct error *error);
int kernel_sink_file_end(struct kernel_sink *sink, struct error *error);
int kernel_sink_pages(struct kernel_sink *sink, uint32_t cpu, uint64_t offset, const void *p,
                      size_t size, struct error *error);
int kernel_sink_fact(struct kernel_sink *sink, const char *name, const char *value,
                     struct error *error);
int kernel_sink_pair(struct kernel_sink *sink, const struct guest_pair *pair, struct error *error);
int kernel_sink_boot(struct kernel_sink *sink, struct error *error);
int kernel_sink_rewind(struct kernel_sink *sink, struct error *error);
