/* SPDX-License-Identifier: MIT */
#pragma once

/* Which of Xen's events are to be recorded: what a person says, as the mask that Xen can test by itself
 * and as a set of numbers where that mask lets more through than was asked for.
 *
 * Xen's mask is a word in the shape of an event's number. An event passes when it has a class bit (16-27)
 * in common with the mask and a subclass bit (12-15) as well; the number within the subclass does not
 * count. So a mask says "these classes, and of each of them these subclasses": all of sched together
 * with vmexit and vmentry alone cannot be said. (Tested on Xen 4.17; see strata-xentrace(5).)
 *
 * Not thread-safe. */

#include "schema/xen/table.h"

#define XEN_MASK_ALL UINT32_C(0x0ffff000)

struct xen_event_mask {
    uint32_t mask;  /* the smallest that lets through all that is chosen */
    uint64_t *bits; /* a bit for each number that is chosen: see xen_event_mask.c */
};

/* Nothing is chosen yet. -ENOMEM. */
int xen_event_mask_init(struct xen_event_mask *choice);
void xen_event_mask_done(struct xen_event_mask *choice);

/* Adds what the words of TEXT, separated by commas, mean:
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
 * -EINVAL with ERROR: a word means nothing. Words before it are added. */
int xen_event_mask_add(struct xen_event_mask *choice, const struct xen_table *table,
                       const char *text, struct error *error);
/* Adds what a mask of Xen's lets through; the mask will be it, bit for bit, if nothing else is added.
 * -EINVAL with ERROR: that is nothing. */
int xen_event_mask_add_mask(struct xen_event_mask *choice, uint32_t mask, struct error *error);

/* Whether an event (without the header's other bits) is chosen. */
bool xen_event_mask_has(const struct xen_event_mask *choice, uint32_t event);
/* Whether the mask lets through what is chosen and nothing else. */
bool xen_event_mask_is_exact(const struct xen_event_mask *choice);
/* The mask to record with, so that what is chosen has times: Xen stamps no handlers of hvm exits, and nothing
 * of guest, shadow and most of mem; a reader takes the time of the last stamped record of the CPU. Where none
 * of the mask is stamped, this is it with hvm_entryexit, or else sched_min, besides. */
uint32_t xen_event_mask_stamped_mask(const struct xen_event_mask *choice);
/* Whether MASK lets EVENT through: Xen's test. */
bool xen_mask_passes(uint32_t mask, uint32_t event);
