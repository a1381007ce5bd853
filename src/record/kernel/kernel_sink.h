/* SPDX-License-Identifier: MIT */
#pragma once

/* Where the trace of one kernel goes, piece by piece: into files (record/kernel/guest_child.h, guest_store.h), or to the
 * live view (live_stream.h, record/live/view.c). A session with an agent (guest_session.h) is given one; between
 * processes, guest_channel.h makes packets of the pieces, and pieces of the packets.
 *
 * Strings are the guest's: of any bytes, but those that end with a NUL. Each operation returns 0 or more, or -errno with
 * ERROR. An operation that is NULL is one that the sink does not accept: -EBADMSG. */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A sample of a guest's clock and the host's: when the guest's showed GUEST, CLOCK_MONOTONIC of the host showed HOST_NS,
 * to within ERROR_NS. */
struct guest_pair {
    uint64_t host_ns, guest;
    uint64_t error_ns;
};

struct kernel_sink;

struct kernel_sink_ops {
    /* A file of the kernel's tracefs begins, goes on, and ends. It replaces what was sent before by that name. PATH, of LEN
     * bytes, is not checked. */
    int (*file_begin)(struct kernel_sink *sink, const char *path, size_t len, struct error *error);
    int (*file_put)(struct kernel_sink *sink, const void *p, size_t size, struct error *error);
    int (*file_end)(struct kernel_sink *sink, struct error *error);
    /* SIZE bytes of whole ring-buffer pages of CPU, at OFFSET of all that it sent in this boot. A gap before OFFSET is of
     * pages that are missing. */
    int (*pages)(struct kernel_sink *sink, uint32_t cpu, uint64_t offset, const void *p,
                 size_t size, struct error *error);
    /* "agent", "release", "machine", "boot_id", "clock", "hz", or "problem" or "loss", and its value. */
    int (*fact)(struct kernel_sink *sink, const char *name, const char *value, struct error *error);
    int (*pair)(struct kernel_sink *sink, const struct guest_pair *pair, struct error *error);
    /* The guest has booted again: what follows is a trace of another kernel. Offsets begin at 0. */
    int (*boot)(struct kernel_sink *sink, struct error *error);
    /* The guest's state went back to an earlier one of the same kernel, as by QEMU's loadvm: its clock and what it recorded
     * since then begin again. Files, facts and offsets go on. */
    int (*rewind)(struct kernel_sink *sink, struct error *error);
};

struct kernel_sink {
    const struct kernel_sink_ops *ops;
    struct kernel_sink
        *next; /* is given the same after this one, unless this one fails; NULL: none */
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
