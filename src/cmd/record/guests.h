/* SPDX-License-Identifier: MIT */
#pragma once

/* Guests that `strata record --guest=ENDPOINT` and `strata collect` record: each is a recorder of its own. */

#include "cli/options.h"

struct record_guest_options {
    struct strings words; /* of --guest: endpoints, or events of the guest of a QEMU */
    /* Endpoints: of --guest, and as strata collect has them. */
    struct strings endpoints, ports, fifos, tcps, vsocks, olds;
    struct strings kvms;
    const char *key, *kvm_files;
    struct strings events, filters;
    const char *clock;
    uint64_t queue, keep, level, cpus;
    const char *tracefs;
    bool kallsyms;
};

#define RECORD_GUESTS_DEFAULT \
    {                         \
        .keep = 60            \
    }

/* What strata record and strata collect spell alike. */
extern const struct cli_option record_guest_options[];

/* The guest of the QEMU that is recorded is the first of the guests that have no name of their own. */
#define RECORD_GUEST_OF_QEMU "guest"

struct record_options;
struct record_run;
struct record_guests;

void record_guest_options_done(struct record_guest_options *options);
/* Sorts the words of --guest: what has a '/' or a '=' is an endpoint; else it is events, and *RET_EVENTS, as far as
 * there are any. -ENOMEM. */
int record_guests_sort(struct record_guest_options *options, const char **ret_events);
/* Whether there are any endpoints. */
bool record_guests_are_given(const struct record_guest_options *options);
/* Makes the list of guests. An exit status. */
int record_guests_choose(struct record_run *run);
void record_guests_free(struct record_guests *guests);
unsigned record_guests_count(const struct record_run *run);
const char *record_guests_name(const struct record_run *run, unsigned i);
/* Adds a recorder for each. LEADS: they are what the recording is about. An exit status. */
int record_guests_add(struct record_run *run, bool is_primary);

/* The name of the first guest of TEXT, "NAME=ENDPOINT", into NAME; returns the endpoint. N: how many there were before. */
const char *record_guests_split(const char *text, unsigned n, char *name, size_t size);
