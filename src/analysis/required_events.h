/* SPDX-License-Identifier: MIT */
#pragma once

/* Which events an analysis uses, at every layer: what `strata record --for` records, and what an analysis asks for that
 * finds none of its events. */

#include "base/error.h"
#include "base/strings.h"
#include "base/text.h"
#include "event/catalogue.h"

/* Lists of events, as `strata record` accepts them; ended by NULL. NULL: it uses none of that layer. */
struct required_events {
    const char *name;
    const char *events;       /* what the trace must have, in words, with the names of events */
    const char *const *host;  /* patterns GROUP:NAME of a host's kernel */
    const char *const *guest; /* of a guest's kernel */
    const char *const *vmm;   /* patterns of QEMU's events */
    const char *const *xen;   /* classes, subclasses and events of Xen */
};

/* Ended by one without a name. */
extern const struct required_events required_events[];

/* What is recorded without --event and --for: what shows how a machine is doing, and costs next to nothing. A QEMU or a
 * kernel may lack some. */
extern const struct required_events required_events_usual;

/* "no VM exits are in this trace (...); record with ...": of the analysis called NAME. SELECTED: the options that left
 * out a part of the trace, where such events may be: "..., as far as --pid selects it"; "": none did. Events of CLASSES without
 * a format may be such events, and are named. */
void required_events_put_missing(const char *name, const char *selected,
                                 const struct catalogue *classes, struct text *text);

/* The events of several analyses, each once. Strings are borrowed. */
struct needed_events {
    struct strings host, guest, vmm, xen;
};

/* NAMES: "exits,sched". -EINVAL with ERROR, which names the analyses; -ENOMEM. */
int needed_events_find(const char *names, struct needed_events *ret_events, struct error *error);
void needed_events_done(struct needed_events *events);
