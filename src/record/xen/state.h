/* SPDX-License-Identifier: MIT */
#pragma once

/* Saves what a recorder found in Xen before it changed it, so that the next recorder can restore it if this recorder is
 * killed. The file is also the lock that keeps two recorders apart. It is text, of one line:
 *
 *     strata-xen 1 events 0x0ffff000
 *
 * and empty while nothing is changed. */

#include "base/error.h"

#define XEN_STATE_PATH "/run/strata/xen"

struct xen_state {
    int fd;
    bool found;      /* an earlier recorder was killed and left the following state */
    uint32_t events; /* the earlier event mask */
};

/* Opens, or creates, and locks the file PATH. -EBUSY: another process has locked it. Invalid contents count as all
 * events, the mask with which Xen starts. */
int xen_state_open(struct xen_state *ret, const char *path, struct error *error);
void xen_state_close(struct xen_state *state);

/* Saves the earlier mask EVENTS. It is on the disk when this returns. */
int xen_state_note(struct xen_state *state, uint32_t events, struct error *error);
/* Empties the file, because everything is restored. */
int xen_state_forget(struct xen_state *state);
