/* SPDX-License-Identifier: MIT */
#pragma once

/* The trace buffers of the Xen that this runs on, in its control domain, as root.
 *
 * Xen gives nothing away of whether tracing was on, nor of its CPU mask, and has no owner of the buffers.
 * So "restored" means: the event mask as it was found, all CPUs (as Xen starts with), and tracing off. That
 * no other program reads the buffers is known by their virtual interrupt, VIRQ_TBUF, to which Xen binds one
 * program at a time. */

#include "record/percpu/trace_buffers.h"

/* XENCTRL: by libxenctrl, even where that is not needed (record/xen/control.h). -ENODEV, -EPERM, -EACCES, -ELIBACC as xen_library_open(); -EBUSY: somebody else records from Xen, and
 * nothing was changed; -EPROTO: a Xen that is not known here. */
int xen_buffers_open(bool xenctrl, struct trace_buffers **ret, struct error *error);
