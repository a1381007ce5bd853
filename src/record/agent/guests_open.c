/* SPDX-License-Identifier: MIT */
/* How collecting from guests begins, and what is left when it is closed. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macro.h"
#include "record/agent/guest_boot.h"
#include "record/agent/guests_clock.h"
#include "record/agent/guests_inside.h"
#include "record/agent/guests_manifest.h"

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

static int open_dir(const char *path, int *ret_dir, struct error *error)
{
    int directory;

    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return error_set(error, -errno, path, "cannot make the directory: %s", strerror(errno));
    directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return error_set(error, -errno, path, "cannot open the directory: %s", strerror(errno));
    if (!dir_is_empty(directory, ".")) {
        close(directory);
        return error_set(error, -EEXIST, path,
                         "holds something already; name a directory that is new");
    }
    *ret_dir = directory;
    return 0;
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
    guest->store.live = &guest->live;
    if (guest->plan.tree)
        r = virtio_trace_guest_copy_tree(guest->plan.tree, &guest->store, error);
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
int guests_check_open_max(unsigned n, struct error *error)
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
        .keeps = guests->path != NULL,
        .live = plan->live ? *plan->live : -1,
        .max_open = open_max(GUEST_CHILD_OPEN_MAX),
    };
    int live, r;

    *guest = (struct guest){.plan = *plan,
                            .channel = -1,
                            .live.fd = -1,
                            .old.control = {.in = -1, .out = -1},
                            .messages_left = GUEST_MESSAGES_MAX};
    guest->wishes = plan->wishes ? *plan->wishes : guests->wishes;
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

/* No IS_PART: PATH is made, and is theirs. */
static int open_all(bool is_part, int directory, const char *path,
                    const struct trace_config *wishes, uint64_t max_size,
                    const struct guest_config *plans, unsigned n_configs, struct guests *ret_guests,
                    struct error *error)
{
    struct confine_user user = confine_user();
    unsigned n = n_configs; /* of the recording */
    struct guests guests = {
        .dir = directory, .is_part = is_part, .wishes = *wishes, .max_size = max_size, .spare = -1};
    int r;

    for (unsigned i = 0; i < n_configs; i++)
        n = MAX(n, plans[i].n_guests);
    r = guests_check_open_max(n, error);
    if (r < 0)
        return r;
    guests.path = path ? strdup(path) : NULL;
    guests.guests = calloc(n_configs, sizeof *guests.guests);
    if ((path && !guests.path) || !guests.guests)
        r = error_set(error, -ENOMEM, NULL, "out of memory");
    else if (!guests.is_part && path)
        r = open_dir(path, &guests.dir, error);
    for (unsigned i = 0; r >= 0 && i < n_configs; i++)
        r = open_guest(&guests, &plans[i], n, &user, error);
    if (r < 0) {
        for (unsigned i = 0; i < guests.n; i++) {
            if (guests.guests[i].n_parts)
                guest_end(&guests.guests[i], r, "");
            free_guest(&guests.guests[i]);
        }
        if (guests.dir >= 0 && !guests.is_part)
            close(guests.dir);
        free(guests.guests);
        free(guests.path);
        return r;
    }
    *ret_guests = guests;
    return 0;
}

int guests_open(const char *path, const struct trace_config *wishes, uint64_t max_size,
                const struct guest_config *plans, unsigned n, struct guests *ret_guests,
                struct error *error)
{
    return open_all(false, -1, path, wishes, max_size, plans, n, ret_guests, error);
}

int guests_join(int directory, const char *path, const struct trace_config *wishes,
                uint64_t max_size, const struct guest_config *plans, unsigned n,
                struct guests *ret_guests, struct error *error)
{
    return open_all(true, directory, path, wishes, max_size, plans, n, ret_guests, error);
}

int guests_close(struct guests *guests, struct error *error)
{
    int r = 0;

    guests_end(guests);
    if (!guests->is_part && guests->path)
        r = guests_write_manifest(guests, true, error);
    for (unsigned i = 0; i < guests->n; i++)
        free_guest(&guests->guests[i]);
    if (!guests->is_part && guests->dir >= 0)
        close(guests->dir);
    free(guests->guests);
    free(guests->path);
    *guests = (struct guests){.dir = -1, .spare = -1};
    return r;
}
