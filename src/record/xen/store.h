/* SPDX-License-Identifier: MIT */
#pragma once

/* Asks xenstored for the names of Xen's domains, and notices when domains come or go.
 *
 * No Xen library is used for this, because Xen's library waits forever if no xenstored answers. A message, in both
 * directions:
 *
 *     offset  size  what
 *     0       4     type: 1 directory, 2 read, 4 watch, 15 a watch's event, 16 error
 *     4       4     request's number, which the answer repeats
 *     8       4     transaction: 0
 *     12      4     L, bytes that follow: at most 4096
 *     16      L     strings, each with its NUL (a value that is read has none)
 *
 * Source: Xen's public header io/xs_wire.h and its docs/misc/xenstore.txt. */

#include "base/error.h"

struct xen_store;

/* Connects to xenstored's socket. -ENOENT: no socket. Does not try /dev/xen/xenbus, which leads to a xenstored in
 * another domain: if none answers, Linux blocks the writer uninterruptibly. */
int xen_store_open(struct xen_store **ret);
void xen_store_free(struct xen_store *store);

/* True if domains have come or gone since the last xen_store_domains(). Does not wait. */
bool xen_store_changed(struct xen_store *store);

/* Calls FUNCTION for each domain, with its name, or "" if it has none. -ETIMEDOUT: no answer came within a second, and
 * later calls do not wait either; or the first negative result of FUNCTION. */
int xen_store_domains(struct xen_store *store,
                      int (*function)(void *userdata, uint32_t id, const char *name),
                      void *userdata);
