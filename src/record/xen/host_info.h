/* SPDX-License-Identifier: MIT */
#pragma once

/* What is recorded of a Xen beside its events, so that decoding them needs no guess. */

#include "record/percpu/trace_buffers.h"
#include "record/xen/control.h"

struct xen_facts;

/* CONTROL is borrowed. Names of domains are found if xenstored answers. */
int xen_facts_new(struct xen_control *control, struct xen_facts **ret);
void xen_facts_free(struct xen_facts *facts);

/* Which CPUs have buffers is known now. */
void xen_facts_buffers(struct xen_facts *facts, const struct trace_buffers *buffers);

/* Whether domains have come or gone. Does not wait. */
bool xen_facts_changed(struct xen_facts *facts);
/* As describe() of struct trace_buffers_ops. Asks for the domains' names, and keeps those that have gone. */
int xen_facts_describe(struct xen_facts *facts, struct arena *arena, struct manifest_source *ret);
