/* SPDX-License-Identifier: MIT */
#pragma once

/* The trace buffers of the Xen on which this runs, in its control domain, as root.
 *
 * Xen does not tell whether tracing was on, nor its CPU mask, and its buffers have no owner. So "restored" means: the
 * event mask as it was found, all CPUs (as Xen starts with), and tracing off. Another program that reads the buffers is
 * detected by their virtual interrupt, VIRQ_TBUF, which Xen binds to one program at a time. */

#include "record/percpu/trace_buffers.h"

/* XENCTRL: use libxenctrl, even if it is not needed (record/xen/control.h). -ENODEV, -EPERM, -EACCES, -ELIBACC as
 * xen_library_open(); -EBUSY: another program records from Xen, and nothing was changed; -EPROTO: an unknown Xen
 * interface. */
int xen_buffers_open(bool xenctrl, struct trace_buffers **ret, struct error *error);
