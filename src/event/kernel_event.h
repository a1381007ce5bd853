/* SPDX-License-Identifier: MIT */
#pragma once

/* Which event of a Linux kernel a class is, whichever tracer wrote it.
 *
 * The kernel's own tracers, perf and trace-cmd call an event GROUP:NAME. LTTng has no groups. It calls the event NAME,
 * GROUP_NAME or x86_GROUP_NAME; of KVM on x86, kvm_x86_… instead of kvm_…. A number of a thread, which the kernel calls
 * pid, is tid there. What a request does to a disk ("rwbs") is a text of the kernel, and a set of bits of LTTng.
 *
 * Source: include/instrumentation/events of lttng-modules 2.13 to 2.15. */

#include "event/class.h"
#include "event/item.h"

/* A pattern, and a name that it may match. */
struct kernel_event_alias {
    const char *pattern, *name;
};
#define KERNEL_EVENT_ALIASES 3

/* What has to match so that CLASS is an event PATTERN of GROUP: at least one of the aliases. PATTERN may have wildcards, and
 * "A|B"; aliases point into it and into the name of CLASS. Returns how many there are. */
unsigned kernel_event_aliases(const struct event_class *class, const char *group,
                              const char *pattern,
                              struct kernel_event_alias aliases[KERNEL_EVENT_ALIASES]);

/* Whether CLASS is the event NAME of GROUP. NAME may have wildcards (base/glob.h). */
bool kernel_event_is(const struct event_class *class, const char *group, const char *name);

/* The index of the field of CLASS that is called NAME, or else of the one that the kernel calls so. "A|B": of A, or else of B.
 * -1: there is none, or NAME is NULL. */
int kernel_event_field(const struct event_class *class, const char *name);

/* How the kernel calls FIELD of CLASS, or else the field's own name. BUF: room for the name. */
#define KERNEL_FIELD_NAME 64
const char *kernel_event_field_name(const struct event_class *class, const struct field *field,
                                    char buf[KERNEL_FIELD_NAME]);

/* Names of LTTng's bits, with the letters of the kernel's text. */
extern const struct value_names kernel_event_rwbs_names;

/* What the request of ITEM does, by FIELD ("rwbs"): 'R', 'W', 'D' (discard), 'F' (flush), or another letter; 0: not known. A
 * flag that the request flushes first is not what it does. */
char kernel_event_rwbs(const struct item *item, unsigned field);
