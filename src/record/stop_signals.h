/* SPDX-License-Identifier: MIT */
#pragma once

/* The signals that end a recording (SIGINT, SIGQUIT, SIGTERM, SIGHUP and SIGALRM), as a descriptor to poll. A child on
 * the same terminal also gets a signal that the terminal sends. It does not get a signal that another process sends to
 * this process. */

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct stop_signal {
    int number;
    bool is_alone; /* sent only to this process */
};

struct stop_signals {
    int fd;          /* readable when a signal may have come; see stop_signals_pending() */
    sigset_t before; /* the signals that were blocked before; a child must block only these */
    bool leads_session;
    sigset_t ignored;        /* these signals count only if a process sends them */
    struct stop_signal next; /* read from `fd` and not returned yet; number 0: none */
};

/* Blocks the signals, and ignores SIGPIPE, because write() reports EPIPE. An ignored SIGHUP (nohup(1)) stays ignored. A
 * script ignores SIGINT and SIGQUIT in commands that it starts with &. With KEEP_IGNORED, such an ignored signal counts
 * only if a process sends it, not the terminal. It is then read as SIGTERM, because our children ignore it too. Only
 * one may be open in a process, in the main thread. -errno. */
int stop_signals_open(bool keep_ignored, struct stop_signals *ret);
/* Drops signals that have come and were not read. */
void stop_signals_close(struct stop_signals *signals);
/* True if a signal has come and was not read yet. */
bool stop_signals_pending(struct stop_signals *signals);
/* Returns 1 if a signal was read, 0 if there is none. */
int stop_signals_read(struct stop_signals *signals, struct stop_signal *ret);
/* Sleeps for NS. Returns true if a signal has come; the signal is not read. */
bool stop_signals_sleep(struct stop_signals *signals, uint64_t ns);
/* Sleeps until UNTIL (CLOCK_MONOTONIC, ns) or until FD, if it is not -1, is readable. Returns as
 * stop_signals_sleep(). */
bool stop_signals_wait(struct stop_signals *signals, int fd, uint64_t until);
