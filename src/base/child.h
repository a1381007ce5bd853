/* SPDX-License-Identifier: MIT */
#pragma once

/* Child processes, which are started on our terminal and end when we end. */

#include <signal.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/oom.h"

struct child {
    pid_t pid;  /* 0: none */
    int end;    /* pidfd, readable when the process has ended; -1: the kernel has none */
    int status; /* of waitpid(), once it has ended */
    bool ended;
    bool foreign;           /* not our child: only watched */
    bool is_status_unknown; /* it has ended with an unknown status */
    struct oom_watch watch; /* since it was started or adopted */
    enum oom_verdict
        oom; /* if SIGKILL or something unknown has ended it: whether memory was exhausted */
    uint64_t oom_kills; /* processes that the kernel has killed for that reason in this time */
};

struct child_how {
    const char *program; /* a path; NULL: argv[0], searched for in $PATH */
    const char *const *argv;
    const char *const *environment; /* NULL: inherit ours */
    const char *variable;           /* "NAME=VALUE" to set in addition; NULL: none */
    int keep;                       /* a further descriptor that the child inherits; 0: none */
    int in, out, err;               /* the child's 0, 1 and 2; -1: inherit ours */
    const sigset_t *mask;           /* blocked signals of the child; NULL: inherit ours */
    int end_signal;                 /* sent to the child if we end first; 0: none */
    pid_t root_of; /* the process whose files and rights it has (base/process_root.h); 0: ours */
    bool
        keep_capabilities; /* a program of Strata: it keeps our ambient and inheritable capabilities */
    bool new_session; /* it leads a session, without a terminal and the signals of a terminal */
};

/* Starts a child, in which signals that we ignore or catch have their default action. The caller must have only one
 * thread. -errno with ERROR: the program cannot be executed. */
int child_start(const struct child_how *how, struct child *ret, struct error *error);
/* Watches a process that is not our child; it is never killed by child_done(). -ESRCH: it does not
 * exist or cannot be watched. */
int child_adopt(pid_t pid, struct child *ret);
/* True if it has ended; does not wait. */
bool child_has_ended(struct child *child);
/* Looks up again how an ended adopted process has ended. For a while, or for ever, the kernel may show this only to its
 * parent. */
void child_find_status(struct child *child);
/* Waits up to NS nanoseconds for its end. */
bool child_wait(struct child *child, uint64_t ns);
/* Makes descendants that lose their parent our children from now on (PR_SET_CHILD_SUBREAPER). */
void child_adopt_orphans(void);
/* Lists up to MAX of our children that have not ended; returns how many. Also 0 if the kernel does not
 * list children. */
unsigned child_list(pid_t *ret, unsigned max);
/* A snapshot of our children. */
#define CHILDREN_MAX 256u
struct children {
    pid_t pids[CHILDREN_MAX];
    unsigned n;
};
/* -errno with ERROR: without them, children that were there before would count as orphans. */
int children_list(struct children *ret, struct error *error);
/* Counts our children that are not in BEFORE, not CHILD and not helpers. After child_adopt_orphans(), these are the
 * processes that CHILD left running when it ended. */
unsigned children_count_orphans(const struct children *before, const struct child *child);
/* Makes PID a helper: a child of ours that leads its session (child_how.new_session, or setsid()). Processes that it leaves
 * running are helpers, too. At most CHILD_HELPERS_MAX at once; only for the main thread. */
#define CHILD_HELPERS_MAX 32u
void child_add_helper(pid_t pid);
/* The helper has ended. */
void child_remove_helper(pid_t pid);
/* Sends SIGNAL if the child runs. Does nothing to an adopted process. */
void child_signal(const struct child *child, int signal);
/* Sends SIGNAL to an adopted process. False: it has ended, or we may not. */
bool child_signal_adopted(const struct child *child, int signal);
/* Kills the child (SIGKILL) if it runs, and frees its resources. */
void child_done(struct child *child);

/* The exit status as a shell reports it: the status, or 128 plus the signal. */
int child_exit_status(const struct child *child);
/* "status 1", "killed by signal 9 (Killed)", and whether memory was exhausted; "ended": the status is unknown */
#define CHILD_END_SIZE 96
const char *child_end_text(const struct child *child, char *buf, size_t size);
