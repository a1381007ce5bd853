/* SPDX-License-Identifier: MIT */
#pragma once

/* Which events an analysis uses, at every layer: what `strata record --for` records, and what an analysis asks for that
 * finds none of its events. */

#include "base/error.h"
#include "base/strings.h"

/* What to do about missing events, behind "; ". ANALYSIS is a literal. */
#define NEEDS_HINT(analysis)                     \
    "record with 'strata record --for " analysis \
    "' and --host, --guest, --xen or '-- qemu-system-...'"

/* Lists of events, as `strata record` accepts them; ended by NULL. NULL: it uses none of that layer. */
struct analysis_needs {
    const char *name;
    const char *const *host;  /* patterns GROUP:NAME of a host's kernel */
    const char *const *guest; /* of a guest's kernel */
    const char *const *vmm;   /* patterns of QEMU's events */
    const char *const *xen;   /* classes, subclasses and events of Xen */
};

/* Ended by one without a name. */
extern const struct analysis_needs analysis_needs[];

/* The events of several analyses, each once. Strings are borrowed. */
struct needed_events {
    struct strings host, guest, vmm, xen;
};

/* NAMES: "exits,sched". -EINVAL with ERROR, which names the analyses; -ENOMEM. */
int needed_events_find(const char *names, struct needed_events *ret_events, struct error *error);
void needed_events_done(struct needed_events *events);
