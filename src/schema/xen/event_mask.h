/* SPDX-License-Identifier: MIT */
#pragma once

/* Selects the Xen events to record. It converts the user's words to the mask that Xen can test and, if that mask passes
 * more events, to the exact set of event numbers.
 *
 * Xen's mask has the layout of an event's number. An event passes if it has a class bit (16-27) in common with the mask
 * and a subclass bit (12-15); the number within the subclass does not count. So a mask selects classes, and the same
 * subclasses in each of them: it cannot select all of sched but only vmexit and vmentry. This was tested on Xen 4.17;
 * see strata-xentrace(5).
 *
 * Not thread-safe. */

#include "schema/xen/table.h"

#define XEN_MASK_ALL UINT32_C(0x0ffff000)

struct xen_event_mask {
    uint32_t mask;  /* the smallest mask that passes every selected event */
    uint64_t *bits; /* a bit for each selected number: see event_mask.c */
};

/* Starts with nothing selected. -ENOMEM. */
int xen_event_mask_init(struct xen_event_mask *choice);
void xen_event_mask_done(struct xen_event_mask *choice);

/* Adds the events of the words in TEXT, separated by commas:
 *
 *     all                      every event
 *     gen sched dom0op hvm mem pv shadow hw guest                         a class
 *     sched_min sched_class sched_verbose dom0_domops hvm_entryexit hvm_handler hvm_emul
 *     pv_entry pv_subcall hw_pm hw_irq                                    a subclass
 *     0x8f000                  what this mask lets through
 *     0x82010, 0x800f123       one event by its number (bits 0-11 are not all zero)
 *     vmexit, csched2_*        events of TABLE by name, with wildcards
 *     sched:switch*            the same within a class
 *
 * -EINVAL with ERROR: an unknown word. The words before it are added. */
int xen_event_mask_add(struct xen_event_mask *choice, const struct xen_table *table,
                       const char *text, struct error *error);
/* Adds everything that a Xen mask passes. If nothing else is added, `mask` will be exactly MASK. -EINVAL with ERROR: it
 * passes nothing. */
int xen_event_mask_add_mask(struct xen_event_mask *choice, uint32_t mask, struct error *error);

/* True if an event (without the header's other bits) is selected. */
bool xen_event_mask_has(const struct xen_event_mask *choice, uint32_t event);
/* True if `mask` passes the selected events and no others. */
bool xen_event_mask_is_exact(const struct xen_event_mask *choice);
/* The mask for recording so that selected events get times. Xen does not stamp handlers of hvm exits, nor anything of
 * guest, shadow and most of mem. For these, a reader uses the time of the CPU's last stamped record. If no selected
 * event is stamped, adds hvm_entryexit or, if that is not possible, sched_min. */
uint32_t xen_event_mask_stamped_mask(const struct xen_event_mask *choice);
/* Xen's test: true if MASK passes EVENT. */
bool xen_mask_passes(uint32_t mask, uint32_t event);
