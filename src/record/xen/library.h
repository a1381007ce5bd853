/* SPDX-License-Identifier: MIT */
#pragma once

/* The libraries by which a program in Xen's control domain talks to Xen. They are opened when they are needed, so that
 * the same binary starts without Xen and works with every version of Xen. They are the layer below libxenctrl:
 * libxencall.so.1, libxenevtchn.so.1 and libxenforeignmemory.so.1, of Xen 4.8 and later. Their interfaces are stable.
 * The interface of libxenctrl changes with each version of Xen, and its functions for trace buffers cannot tell the
 * earlier event mask. */

#include <stdarg.h>

#include "base/error.h"

struct xen_logger;

struct xen_library {
    void *handles[3]; /* of dlopen() */

    void *call;    /* hypercalls */
    void *evtchn;  /* event channels */
    void *foreign; /* memory of other domains */

    int (*call1)(void *call, unsigned op, uint64_t a);
    int (*call2)(void *call, unsigned op, uint64_t a, uint64_t b);
    void *(*alloc)(void *call, size_t size);
    void (*free)(void *call, void *buffer);
    int (*call_close)(void *call);

    int (*evtchn_fd)(void *evtchn);
    int (*evtchn_bind_virq)(void *evtchn, unsigned virq);
    int (*evtchn_unbind)(void *evtchn, unsigned port);
    int (*evtchn_pending)(void *evtchn);
    int (*evtchn_unmask)(void *evtchn, unsigned port);
    int (*evtchn_close)(void *evtchn);

    void *(*foreign_map)(void *foreign, uint32_t domain, int protection, size_t pages,
                         const unsigned long frames[], int errors[]);
    int (*foreign_unmap)(void *foreign, void *at, size_t pages);
    int (*foreign_close)(void *foreign);
};

/* -ENODEV: not on Xen; -EPERM: not in its control domain; -EACCES: not root; -ELIBACC: the libraries are missing; each
 * with ERROR. */
int xen_library_open(struct xen_library *ret, struct error *error);
void xen_library_close(struct xen_library *library);
