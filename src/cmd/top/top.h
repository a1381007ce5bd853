/* SPDX-License-Identifier: MIT */
#pragma once

/* strata top: what its files share. */

#include <sys/types.h>

#include "top/driver.h"
#include "top/layout.h"

struct top_options {
    bool batch;
    uint64_t iterations; /* 0: unlimited */
    uint64_t period_ns;
    unsigned sort; /* enum top_sort */
};

/* ---- Commands of `strata ctl` (ctl.c) ---- */

struct top_ctl; /* a running command */

/* Runs `strata ctl DIR WORDS...`, WORDS terminated by NULL; AS_CSV: its output is CSV. MASK: the blocked signals of the
 * process. A negative errno with ERROR. */
int top_ctl_start(const char *dir, const char *const *words, bool as_csv, const sigset_t *mask,
                  struct top_ctl **ret, struct error *error);
int top_ctl_fd(const struct top_ctl *ctl);
/* Call when FD is readable. 1 if it has ended, with its output; 0: not yet. */
int top_ctl_step(struct top_ctl *ctl, bool *ret_ok, const char **ret_text);
struct top_ctl *top_ctl_free(struct top_ctl *ctl);
/* Parses the CSV of `list`. -ENOMEM. */
int top_switches_parse(const char *text, struct top_switches *ret);
void top_switches_done(struct top_switches *switches);

/* ---- Front ends: an exit status; errors are printed ---- */

int top_batch(struct top_driver *driver, const struct top_options *options);
int top_terminal(struct top_driver *driver, const struct top_options *options);
