/* SPDX-License-Identifier: MIT */
/* Opening a guest: its directory and its child; and closing it. */
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/macro.h"
#include "record/kernel/guest_boot.h"
#include "record/kernel/guest_clock.h"
#include "record/kernel/guest_internal.h"

/* Descriptors of one guest, and others of this process. */
#define OPEN_PER_GUEST 7u
#define OPEN_BESIDE 32u
/* From then on a guest without an agent is mentioned: firmware and a kernel start in less, mostly. */
#define GUEST_HINT_NS (10 * NSEC_PER_SEC)

/* With an empty file of pages a directory is a trace without events; without any file it could not be read. */
int guest_make_first_file(struct guest *guest, struct error *error)
{
    int fd = guest_store_open_pages(&guest->store, 0, error);

    if (fd >= 0)
        close(fd);
    return fd < 0 && fd != -ENODATA ? fd : 0;
}

static void free_guest(struct guest *guest)
{
    guest_boots_done(guest);
    if (guest->config.virtio_trace)
        virtio_trace_guest_done(&guest->virtio);
    live_stream_done(&guest->live);
    guest_clock_done(guest);
    guest_store_done(&guest->store);
}

/* The sending end of the stream to the live view; -1: the guest is not shown. */
static int take_live_stream(const struct guest_config *config)
{
    int fd = config->live ? *config->live : -1;

    if (config->live)
        *config->live = -1;
    return fd;
}

static int open_virtio_trace(struct guest *guest, struct error *error)
{
    int r = live_stream_init(&guest->live, take_live_stream(&guest->config));

    if (r < 0)
        return error_set(error, r, NULL, "out of memory");
    guest->store.sink.next = live_stream_sink(&guest->live);
    if (guest->config.tracefs_copy)
        r = virtio_trace_guest_copy_tree(guest->config.tracefs_copy, &guest->store.sink, error);
    if (r >= 0)
        r = virtio_trace_guest_open(guest->config.virtio_trace, guest->config.cpus,
                                    guest->trace.max_size, &guest->virtio, error);
    if (r >= 0) {
        guest->was_running = true;
        guest->connection = CONNECTION_GIVEN;
    }
    return r;
}

/* Files that this process may have open, up to MOST. */
static unsigned open_max(unsigned most)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (unsigned)MIN(limit.rlim_cur, (rlim_t)most)
                                                 : most;
}

/* Of each guest: its directory, reserved room, channel, file, clock pairs and connection. Checked first: else it would
 * fail while it records. */
static int check_open_max(unsigned n, struct error *error)
{
    unsigned most = open_max(UINT32_MAX);
    unsigned needed = MAX(n * OPEN_PER_GUEST + OPEN_BESIDE, 2 * GUEST_CHILD_OPEN_MIN);

    if (needed <= most)
        return 0;
    return error_set(error, -EMFILE, NULL,
                     "%u guest%s need %u open files, and the limit is %u; raise it (ulimit -n)", n,
                     n == 1 ? "" : "s", needed, most);
}

/* One of N guests of the recording. */
static int open_guest(int dir, unsigned n, struct guest *guest, struct error *error)
{
    struct guest_config *config = &guest->config;
    struct guest_child_options options = {
        .config = &guest->trace,
        .user = sandbox_user(),
        .max_file = guest->trace.max_size,
        .keeps = dir >= 0,
        .live = config->live ? *config->live : -1,
        .max_open = open_max(GUEST_CHILD_OPEN_MAX),
    };
    int live, r = guest_boot_begin(guest);

    if (r < 0)
        return error_set(error, r, NULL, "out of memory");
    r = check_open_max(n, error);
    if (r >= 0)
        r = guest_store_open(dir, config->is_host ? "" : GUEST_PREFIX, config->name, &guest->store,
                             error);
    if (r < 0)
        return r;
    guest->store.boots_max = guest_store_boots_max(n);
    guest->store.drops_when_full = guest->trace.drops_when_full;
    r = guest_make_first_file(guest, error);
    if (r < 0)
        return r;
    if (config->virtio_trace)
        return open_virtio_trace(guest, error);
    r = guest_child_start(&options, &guest->pid, &guest->channel, error);
    live = take_live_stream(config);
    if (live >= 0)
        close(live); /* the child has it */
    return r;
}

int guest_open(int dir, uint64_t max_size, const struct guest_config *config, struct guest *guest,
               struct error *error)
{
    int r;

    *guest = (struct guest){.config = *config,
                            .trace = *config->trace,
                            .store = {.dir = -1, .file = -1, .room = -1, .pairs = -1},
                            .channel = -1,
                            .live.fd = -1,
                            .virtio.control = {.in = -1, .out = -1},
                            .messages_left = GUEST_MESSAGES_MAX};
    guest->trace.max_size = max_size;
    if (config->is_host) {
        guest->trace.clock = "mono";
        guest->trace.keep_seconds = 0; /* its connection cannot be made again */
    } else if (!config->virtio_trace) {
        guest->hint_at = clock_ns(CLOCK_MONOTONIC) + GUEST_HINT_NS;
    }
    r = open_guest(dir, MAX(config->n_guests, 1u), guest, error);
    if (r < 0) {
        if (guest->n_boots)
            guest_end(guest, r, "");
        guest->ended = true;
        free_guest(guest);
    }
    return r;
}

void guest_close(struct guest *guest)
{
    guest_end_early(guest);
    free_guest(guest);
}
