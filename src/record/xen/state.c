/* SPDX-License-Identifier: MIT */
#include "record/xen/state.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Xen's mask after its boot. */
#define EVENTS_AT_BOOT 0x0ffff000u

static int make_parent(const char *path)
{
    char parent[256];
    const char *slash = strrchr(path, '/');

    if (!slash || slash == path || (size_t)(slash - path) >= sizeof parent)
        return 0;
    memcpy(parent, path, (size_t)(slash - path));
    parent[slash - path] = 0;
    return mkdir(parent, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

static void read_state(struct xen_state *state)
{
    char line[128];
    ssize_t n = pread(state->fd, line, sizeof line - 1, 0);
    unsigned events;

    if (n <= 0)
        return;
    line[n] = 0;
    state->found = true;
    state->events = sscanf(line, "strata-xen 1 events %x", &events) == 1 ? events : EVENTS_AT_BOOT;
}

int xen_state_open(struct xen_state *ret, const char *path, struct error *error)
{
    struct xen_state state = {.fd = -1};
    int r = make_parent(path);

    if (r >= 0) {
        state.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (state.fd < 0)
            r = -errno;
    }
    if (r < 0)
        return error_set(error, r, path,
                         "cannot be created, but is needed to restore Xen's settings if this "
                         "process is killed: %s",
                         strerror(-r));
    if (flock(state.fd, LOCK_EX | LOCK_NB) < 0) {
        r = errno == EWOULDBLOCK ? -EBUSY : -errno;
        xen_state_close(&state);
        if (r == -EBUSY)
            return error_set(error, r, "",
                             "another strata is recording from Xen, and only one can at a time; "
                             "its trace and masks were not changed");
        return error_set(error, r, path, "cannot be locked: %s", strerror(-r));
    }
    read_state(&state);
    *ret = state;
    return 0;
}

void xen_state_close(struct xen_state *state)
{
    if (state->fd >= 0)
        close(state->fd);
    state->fd = -1;
}

int xen_state_note(struct xen_state *state, uint32_t events, struct error *error)
{
    char line[64];
    int len = snprintf(line, sizeof line, "strata-xen 1 events 0x%08x\n", (unsigned)events);
    ssize_t n = pwrite(state->fd, line, (size_t)len, 0);
    int r = 0;

    if (n != len)
        r = n < 0 ? -errno : -ENOSPC;
    else if (ftruncate(state->fd, len) < 0 || fsync(state->fd) < 0)
        r = -errno;
    if (r < 0)
        return error_set(error, r, XEN_STATE_PATH,
                         "cannot save Xen's state to restore it later, so nothing was changed: %s",
                         strerror(-r));
    return 0;
}

int xen_state_forget(struct xen_state *state)
{
    return ftruncate(state->fd, 0) < 0 ? -errno : 0;
}
