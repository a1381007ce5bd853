/* SPDX-License-Identifier: MIT */
#pragma once

/* The events that each analysis uses, in each layer: what `strata record --for` records, and what an analysis asks for
 * if a trace has none of its events. */

#include "base/error.h"
#include "base/strings.h"
#include "base/text.h"
#include "event/catalogue.h"

/* Lists of events as `strata record` accepts them, terminated by NULL. A list is NULL if the analysis uses no events of
 * the layer. */
struct event_set {
    const char *name;
    const char *events;       /* what the trace must have, in words, with names of events */
    const char *const *host;  /* patterns GROUP:NAME of a host's kernel */
    const char *const *guest; /* of a guest's kernel */
    const char *const *vmm;   /* patterns of QEMU's events */
    const char *const *xen;   /* classes, subclasses and events of Xen */
};

/* Terminated by an entry without a name. */
extern const struct event_set event_sets[];

/* Events that are recorded without --event and --for: they show how a machine is doing, and cost almost nothing. A QEMU
 * or a kernel may lack some. */
extern const struct event_set event_set_usual;

/* Puts "no VM exits are in this trace (...); record with ..." for the analysis called NAME. SELECTED: "" or the options
 * that left out a part of the trace, which may have such events: "..., as far as --pid selects it". Names events of
 * CLASSES without a format, which may be such events. */
void event_set_put_missing(const char *name, const char *selected, const struct catalogue *classes,
                           struct text *text);

/* The analysis that uses EVENT ("[LAYER:][GROUP:]NAME", one kernel's or QEMU's) first of all its events, as --for has it; NULL: none
 * does. */
const char *event_set_analysis(const char *event);

/* The events of several analyses, each once. Strings are borrowed. */
struct needed_events {
    struct strings host, guest, vmm, xen;
};

/* NAMES: "exits,sched". -EINVAL with ERROR, which lists the analyses; -ENOMEM. */
int needed_events_find(const char *names, struct needed_events *ret_events, struct error *error);
void needed_events_done(struct needed_events *events);
