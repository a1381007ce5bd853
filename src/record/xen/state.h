/* SPDX-License-Identifier: MIT */
#pragma once

/* What a recorder found in Xen before it changed it, kept where the next one finds it if this one is
 * killed. The same file is the lock that keeps two of ours apart. It is text, of one line:
 *
 *     strata-xen 1 events 0x0ffff000
 *
 * and empty while nothing is changed. */

#include "base/error.h"

#define XEN_STATE_PATH "/run/strata/xen"

struct xen_state {
    int fd;
    bool found;      /* another recorder was killed, and left what follows */
    uint32_t events; /* the event mask as it was */
};

/* Opens (creates) and locks the file PATH. -EBUSY: another process has it locked. Invalid contents
 * count as all events, with which Xen starts. */
int xen_state_open(struct xen_state *ret, const char *path, struct error *error);
void xen_state_close(struct xen_state *state);

/* Notes that the mask was EVENTS; on the disk when it returns. */
int xen_state_note(struct xen_state *state, uint32_t events, struct error *error);
/* All is as it was. */
int xen_state_forget(struct xen_state *state);
