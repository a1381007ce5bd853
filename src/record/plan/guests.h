/* SPDX-License-Identifier: MIT */
#pragma once

/* The guests that `strata record --guest=ENDPOINT` and `strata collect` record. */

#include "record/kernel/guest.h"
#include "record/plan/plan.h"

/* Settings that the recorders of guests borrow. */
struct plan_guest_list {
    struct guest_config *configs;
    unsigned n;
};

/* Sorts the words of --guest into endpoints and the guest of the recorded QEMU. */
int plan_guests_sort(struct record_plan *plan, struct error *error);
/* True if there are endpoints. */
bool plan_guests_are_given(const struct plan_guests *guests);
/* Reads the key, and creates missing FIFOs. VMM: the process of the virtual machine, if there is one guest; 0: unknown.
 * *RET is NULL if the plan has no endpoints. */
int plan_guest_list_new(const struct record_plan *plan, pid_t vmm, struct plan_guest_list **ret,
                        struct error *error);
void plan_guest_list_free(struct plan_guest_list *list);
unsigned plan_guest_list_n(const struct plan_guest_list *list);

/* The kind of PLACE, an endpoint without its name. *RET_PLACE: the endpoint without its kind; *RET_FIFOS: true if it is
 * two FIFOs, not a socket. */
enum guest_endpoint_kind plan_guest_kind(const char *place, const char **ret_place,
                                         bool *ret_fifos);
/* Copies the name of the first guest in TEXT ("NAME=ENDPOINT") to NAME, and returns the endpoint. N: number of guests
 * before it. */
const char *plan_guest_split(const char *text, unsigned n, char *name, size_t size);
