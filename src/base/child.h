/* SPDX-License-Identifier: MIT */
#pragma once

/* A program that is run as a child: with our terminal, and ended when we are. */

#include <signal.h>
#include <sys/types.h>

#include "base/error.h"

struct child {
    pid_t pid;  /* 0: none */
    int end;    /* readable when it has ended (a pidfd); -1: that is not to be had */
    int status; /* as of waitpid(), when it has ended */
    bool ended;
    bool foreign; /* not ours: it is only watched, and how it ends is not known */
};

struct child_how {
    const char *program; /* a path; NULL: argv[0], looked for in $PATH */
    const char *const *argv;
    const char *const *environment; /* NULL: ours */
    const char *variable;           /* "NAME=VALUE", set in it besides; NULL: none */
    int keep;                       /* a descriptor that it inherits besides; 0: none */
    int in, out, err;               /* -1: ours; else what becomes 0, 1, 2 */
    const sigset_t *mask;           /* its blocked signals; NULL: ours */
    int end_signal;                 /* it gets this one when we die before it; 0: none */
};

/* Signals that we ignore or catch are as by default in it. The caller has one thread. -errno: it cannot be
 * executed, and ERROR says why. */
int child_start(const struct child_how *how, struct child *ret, struct error *error);
/* A process that is no child: it is watched, and never ended by us. -ESRCH: there is none, or it cannot be watched. */
int child_adopt(pid_t pid, struct child *ret);
/* Whether it has ended; does not wait. */
bool child_has_ended(struct child *child);
/* Waits for its end, NS at most. */
bool child_wait(struct child *child, uint64_t ns);
/* From now on a descendant that loses its parent becomes our child (PR_SET_CHILD_SUBREAPER). */
void child_adopt_orphans(void);
/* The numbers of our children that have not ended, MAX at most, in RET; returns how many. 0 as well where the kernel
 * does not list them. */
unsigned child_list(pid_t *ret, unsigned max);
/* Our children at one moment: those that come later descend from what was started since. */
#define CHILDREN_MAX 256u
struct children {
    pid_t pids[CHILDREN_MAX];
    unsigned n;
};
void children_list(struct children *ret);
/* How many children we have now that are not among BEFORE, nor CHILD: what a child that has ended left, after
 * child_adopt_orphans(). */
unsigned children_count_orphans(const struct children *before, const struct child *child);
/* To it, while it runs. */
void child_signal(const struct child *child, int signal);
/* To one that was adopted all the same. False: it has ended, or we may not. */
bool child_signal_adopted(const struct child *child, int signal);
/* Ends it if it runs (SIGKILL), and forgets it. */
void child_done(struct child *child);

/* What a shell would say: its exit status, or 128 and the signal. */
int child_exit_status(const struct child *child);
/* "status 1", "killed by signal 9 (Killed)" */
const char *child_end_text(const struct child *child, char *buf, size_t size);
