/* SPDX-License-Identifier: MIT */
#pragma once

/* Access to the trace buffers through the libxenctrl of exactly the running Xen version (libxenctrl.so.4.17, …), for a
 * Xen whose sysctl interface is newer than record/xen/control.h knows. The types of its functions have been the same
 * since Xen 4.11. Without switching tracing on, it cannot tell the event mask, nor whether and where there are
 * buffers. */

#include "base/cpu_set.h"

struct xen_xenctrl {
    void *handle; /* of dlopen() */
    void *xch;

    int (*close)(void *xch);
    int (*enable)(void *xch, unsigned long pages, unsigned long *frame, unsigned long *size);
    int (*disable)(void *xch);
    int (*set_cpus)(void *xch, uint8_t *mask);
    int (*set_events)(void *xch, uint32_t mask);
    int (*physinfo)(void *xch, void *info);
    int (*sched_id)(void *xch, int *id);
};

/* VERSION is major << 16 | minor. -ELIBACC: no such library; -EIO: it cannot be opened. */
int xen_xenctrl_open(struct xen_xenctrl *ret, uint32_t version, struct error *error);
void xen_xenctrl_close(struct xen_xenctrl *xenctrl);

/* The functions below return a negative errno on failure. */
/* Creates the buffers if there are none, starts tracing, and returns where their description is. */
int xen_xenctrl_enable(struct xen_xenctrl *xenctrl, unsigned pages, uint64_t *ret_frame,
                       uint32_t *ret_size);
int xen_xenctrl_disable(struct xen_xenctrl *xenctrl);
int xen_xenctrl_set_events(struct xen_xenctrl *xenctrl, uint32_t mask);
/* NULL: all. */
int xen_xenctrl_set_cpus(struct xen_xenctrl *xenctrl, const struct cpu_set *cpus);
/* The first N words of the sysctl's structure. */
int xen_xenctrl_physinfo(struct xen_xenctrl *xenctrl, uint32_t *words, unsigned n);
int xen_xenctrl_scheduler(struct xen_xenctrl *xenctrl, uint32_t *ret);
