/* SPDX-License-Identifier: MIT */
#pragma once

/* Facts about a Xen that are recorded besides its events, so that decoding needs no guess. */

#include "record/percpu/trace_buffers.h"
#include "record/xen/control.h"

struct xen_host_info;

/* CONTROL is borrowed. Domain names are included if xenstored answers. */
int xen_host_info_new(struct xen_control *control, struct xen_host_info **ret);
void xen_host_info_free(struct xen_host_info *facts);

/* Call when it is known which CPUs have buffers. */
void xen_host_info_buffers(struct xen_host_info *facts, const struct trace_buffers *buffers);

/* True if domains have come or gone. Does not wait. */
bool xen_host_info_changed(struct xen_host_info *facts);
/* Implements describe() of struct trace_buffers_ops. Asks for the domains' names, and keeps domains that have gone. */
int xen_host_info_describe(struct xen_host_info *facts, struct arena *arena,
                           struct manifest_source *ret);
