/* SPDX-License-Identifier: MIT */
#pragma once

/* The guests that `strata record --guest=ENDPOINT` and `strata collect` record. */

#include "record/kernel/guest.h"
#include "record/plan/plan.h"

/* What the recorders of guests borrow. */
struct plan_guest_list {
    struct guest_config *configs;
    unsigned n;
};

/* Sorts the words of --guest: endpoints, and the guest of the recorded QEMU. */
int plan_guests_sort(struct record_plan *plan, struct error *error);
/* Whether there are any endpoints. */
bool plan_guests_are_given(const struct plan_guests *guests);
/* Reads the key, and makes FIFOs where they are missing. VMM: the process of the virtual machine that a single guest is of; 0: not
 * known. *RET is NULL where the plan has no endpoints. */
int plan_guest_list_new(const struct record_plan *plan, pid_t vmm, struct plan_guest_list **ret,
                        struct error *error);
void plan_guest_list_free(struct plan_guest_list *list);
unsigned plan_guest_list_n(const struct plan_guest_list *list);

/* The kind of PLACE, an endpoint without its name; *RET_PLACE: without its kind; *RET_FIFOS: two FIFOs, not a socket. */
enum guest_endpoint_kind plan_guest_kind(const char *place, const char **ret_place,
                                         bool *ret_fifos);
/* The name of the first guest of TEXT, "NAME=ENDPOINT", into NAME; returns the endpoint. N: how many there were before. */
const char *plan_guest_split(const char *text, unsigned n, char *name, size_t size);
