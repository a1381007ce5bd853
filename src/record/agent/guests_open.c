/* SPDX-License-Identifier: MIT */
/* How collecting from guests begins, and what is left when it is closed. */
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/macro.h"
#include "record/agent/guest_boot.h"
#include "record/agent/guests_clock.h"
#include "record/agent/guests_inside.h"

/* Descriptors: of one guest, and those that the process has beside them. */
#define OPEN_PER_GUEST 7u
#define OPEN_BESIDE 32u

/* A directory without pages is a trace without events, not one that is damaged. */
int guest_make_first(struct guest *guest, struct error *error)
{
    int fd = guest_store_open_pages(&guest->store, 0, error);

    if (fd >= 0)
        close(fd);
    return fd < 0 && fd != -ENODATA ? fd : 0;
}

static void free_guest(struct guest *guest)
{
    guest_boots_done(guest);
    if (guest->plan.old)
        virtio_trace_guest_done(&guest->old);
    live_stream_done(&guest->live);
    guests_clock_done(guest);
    guest_store_done(&guest->store);
}

/* The end by which GUEST is printed; -1: it is not. */
static int take_live(const struct guest_config *plan)
{
    int fd = plan->live ? *plan->live : -1;

    if (plan->live)
        *plan->live = -1;
    return fd;
}

static int open_old(struct guests *guests, struct guest *guest, struct error *error)
{
    int r = live_stream_init(&guest->live, take_live(&guest->plan));

    if (r < 0)
        return error_set(error, r, NULL, "out of memory");
    guest->store.sink.next = live_stream_sink(&guest->live);
    if (guest->plan.tree)
        r = virtio_trace_guest_copy_tree(guest->plan.tree, &guest->store.sink, error);
    if (r >= 0)
        r = virtio_trace_guest_open(guest->plan.old, guest->plan.cpus, guests->max_size,
                                    &guest->old, error);
    if (r >= 0) {
        guest->was_running = true;
        guest->link = CONNECTION_GIVEN;
    }
    return r;
}

/* Files that this process may have open, or MOST. */
static unsigned open_max(unsigned most)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (unsigned)MIN(limit.rlim_cur, (rlim_t)most)
                                                 : most;
}

/* Each guest's directory, room, channel, file, clock pairs and connection. What does not fit would fail in the midst of it. */
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

/* One of N. */
static int open_guest(struct guests *guests, const struct guest_config *plan, unsigned n,
                      const struct confine_user *user, struct error *error)
{
    struct guest *guest = &guests->guests[guests->n];
    struct guest_child_options options = {
        .user = *user,
        .max_file = guests->max_size,
        .keeps = guests->dir >= 0,
        .live = plan->live ? *plan->live : -1,
        .max_open = open_max(GUEST_CHILD_OPEN_MAX),
    };
    int live, r;

    *guest = (struct guest){.plan = *plan,
                            .channel = -1,
                            .live.fd = -1,
                            .old.control = {.in = -1, .out = -1},
                            .messages_left = GUEST_MESSAGES_MAX};
    guest->wishes = *plan->wishes;
    guest->wishes.max_size = guests->max_size;
    options.wishes = &guest->wishes;
    if (plan->is_host) {
        guest->wishes.clock = "mono";
        guest->wishes.keep_seconds = 0; /* there will be no other connection */
    }
    r = guest_store_open(guests->dir, plan->is_host ? "" : GUEST_PREFIX, plan->name, &guest->store,
                         error);
    if (r < 0)
        return r;
    guest->store.parts_max = guest_store_parts_max(n);
    guests->n++;
    r = guest_boot_begin(guest);
    if (r < 0)
        return error_set(error, r, NULL, "out of memory");
    r = guest_make_first(guest, error);
    if (r < 0)
        return r;
    if (plan->old)
        return open_old(guests, guest, error);
    r = guest_child_start(&options, &guest->pid, &guest->channel, error);
    live = take_live(plan);
    if (live >= 0)
        close(live); /* the child has it */
    return r;
}

int guests_join(int dir, uint64_t max_size, const struct guest_config *plans, unsigned n,
                struct guests *ret_guests, struct error *error)
{
    struct confine_user user = confine_user();
    unsigned n_recorded = n;
    struct guests guests = {.dir = dir, .max_size = max_size};
    int r;

    for (unsigned i = 0; i < n; i++)
        n_recorded = MAX(n_recorded, plans[i].n_guests);
    r = check_open_max(n_recorded, error);
    if (r < 0)
        return r;
    guests.guests = calloc(n, sizeof *guests.guests);
    if (!guests.guests)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    for (unsigned i = 0; r >= 0 && i < n; i++)
        r = open_guest(&guests, &plans[i], n_recorded, &user, error);
    if (r < 0) {
        for (unsigned i = 0; i < guests.n; i++) {
            if (guests.guests[i].n_parts)
                guest_end(&guests.guests[i], r, "");
            free_guest(&guests.guests[i]);
        }
        free(guests.guests);
        return r;
    }
    *ret_guests = guests;
    return 0;
}

void guests_close(struct guests *guests)
{
    guests_end(guests);
    for (unsigned i = 0; i < guests->n; i++)
        free_guest(&guests->guests[i]);
    free(guests->guests);
    *guests = (struct guests){.dir = -1};
}
