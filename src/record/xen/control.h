/* SPDX-License-Identifier: MIT */
#pragma once

/* Hypercalls about Xen's trace buffers and Xen itself.
 *
 * A sysctl carries the version of its interface, and Xen refuses every version but its own: 0x15 in Xen 4.17 to 4.20,
 * 0x16 in 4.21 and 4.22. The layouts used here are the same in all of them, so the version is found by trying, with an
 * operation that changes nothing. A Xen that accepts none of these is asked through its own libxenctrl
 * (record/xen/xenctrl.h).
 *
 *     offset  size  struct xen_sysctl
 *     0       4     command: 2 tbuf_op, 3 physinfo, 4 sched_id, 16 cputopoinfo
 *     4       4     interface's version
 *     8       128   by command; below, offsets are from here
 *
 *     tbuf_op                                   physinfo
 *     0   4   operation: 0 get info,            0   4   threads per core
 *             1 set CPU mask, 2 set event       4   4   cores per socket
 *             mask, 3 set size, 4 enable,       8   4   CPUs online
 *             5 disable                         12  4   largest id a CPU can have
 *     8   8   CPU mask: address of bits         24  4   rate of the time stamp counter, kHz
 *     16  4   CPU mask: number of bits
 *     24  4   event mask                        sched_id
 *     32  8   first frame of the t_info         0   4   which scheduler
 *     40  4   size: of the t_info in bytes;
 *             3: of a buffer in pages           cputopoinfo
 *                                               0   4   number of CPUs
 *                                               8   8   address of {core, socket, node}:32 each
 *
 * Source: Xen's public headers sysctl.h and version.h of 4.17 to 4.22. */

#include "base/cpu_set.h"
#include "record/xen/library.h"
#include "record/xen/xenctrl.h"

struct xen_control {
    struct xen_library *library;
    uint32_t version;           /* of the sysctl interface; 0: `xenctrl` is used instead */
    struct xen_xenctrl xenctrl; /* functions that are the same in all versions */
    void *sysctl;               /* memory that Xen can read and write */
    void *bytes;                /* XEN_CONTROL_BYTES of such memory */
};

struct xen_tbuf_info {
    bool events_known;    /* false with libxenctrl */
    uint32_t events;      /* the event mask; XEN_CONTROL_ALL if unknown */
    uint64_t t_info;      /* first frame of t_info; 0: no buffers yet */
    uint32_t t_info_size; /* bytes */
};

struct xen_physinfo {
    uint32_t cpus_online;
    uint32_t cpu_max; /* largest CPU number */
    uint32_t tsc_khz;
};

/* The event mask that Xen starts with. */
#define XEN_CONTROL_ALL UINT32_C(0x0ffff000)

/* LIBRARY is borrowed. XENCTRL: use libxenctrl even if the sysctl interface is known. -EPERM: Xen refuses this domain;
 * -EPROTO: an unknown interface version, and its libxenctrl is missing. */
int xen_control_init(struct xen_control *ret, struct xen_library *library, bool xenctrl,
                     struct error *error);
void xen_control_done(struct xen_control *control);

/* The functions below return the negative errno that Xen returns. */
/* With libxenctrl, reports no buffers until xen_control_set_size(). */
int xen_control_info(struct xen_control *control, struct xen_tbuf_info *ret);
int xen_control_set_events(struct xen_control *control, uint32_t mask);
/* NULL: all CPUs, as at boot. */
int xen_control_set_cpus(struct xen_control *control, const struct cpu_set *cpus);
/* Succeeds once in the life of a Xen. Tracing is then on. -EBUSY: the buffers have this size; -EINVAL: they have
 * another size. *RET as by xen_control_info(). */
int xen_control_set_size(struct xen_control *control, unsigned pages, struct xen_tbuf_info *ret);
int xen_control_enable(struct xen_control *control);
/* Xen then forgets losses that are not in the records yet. */
int xen_control_disable(struct xen_control *control);
int xen_control_physinfo(struct xen_control *control, struct xen_physinfo *ret);
/* *RET: "credit2" or another name; NULL: an unknown scheduler. */
int xen_control_scheduler(struct xen_control *control, const char **ret);
/* The online CPUs from 0 to N-1. */
int xen_control_online(struct xen_control *control, unsigned n, struct cpu_set *ret);

enum xen_text {
    XEN_TEXT_EXTRA = 1,
    XEN_TEXT_CAPABILITIES = 3,
    XEN_TEXT_COMMANDLINE = 9,
};

/* *RET: major << 16 | minor. */
int xen_control_version(struct xen_control *control, uint32_t *ret);
/* Writes the text to BUF of SIZE bytes, cut to fit. */
int xen_control_text(struct xen_control *control, enum xen_text which, char *buf, size_t size);
