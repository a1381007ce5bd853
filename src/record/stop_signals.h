/* SPDX-License-Identifier: MIT */
#pragma once

/* The signals that end a recording: SIGINT, SIGQUIT, SIGTERM, SIGHUP and SIGALRM, as a descriptor to poll. A child that
 * has our terminal gets one that the terminal sends as well, one that another process sends us it does not. */

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct stop_signal {
    int number;
    bool is_alone; /* sent to this process alone */
};

struct stop_signals {
    int fd;          /* readable when one may have come: stop_signals_pending() tells */
    sigset_t before; /* the signals that were blocked: what a child is to have blocked */
    bool leads_session;
    sigset_t ignored;        /* they count only if a process sends them */
    struct stop_signal next; /* was taken from fd, and is not read; number 0: none */
};

/* Blocks them, and ignores SIGPIPE, which write() reports as well. SIGHUP that is ignored (nohup(1)) stays so. A script
 * has SIGINT and SIGQUIT ignored in what it starts with &. With KEEP_IGNORED, an ignored signal counts only if a process
 * sends it, and not from the terminal. It is read as SIGTERM then, because our children ignore it, too. One at a time in a
 * process, for the main thread. -errno. */
int stop_signals_open(bool keep_ignored, struct stop_signals *ret);
/* What has come since is dropped. */
void stop_signals_close(struct stop_signals *signals);
/* Whether one has come that was not read yet. */
bool stop_signals_pending(struct stop_signals *signals);
/* 1: one was read; 0: there is none. */
int stop_signals_read(struct stop_signals *signals, struct stop_signal *ret);
/* Sleeps for NS. True: one has come, and is not read. */
bool stop_signals_sleep(struct stop_signals *signals, uint64_t ns);
/* Sleeps until UNTIL (CLOCK_MONOTONIC, ns), or until FD, if it is not -1, is readable. True: as stop_signals_sleep(). */
bool stop_signals_wait(struct stop_signals *signals, int fd, uint64_t until);
