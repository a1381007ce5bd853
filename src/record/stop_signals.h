/* SPDX-License-Identifier: MIT */
#pragma once

/* The signals that end a recording: SIGINT, SIGQUIT, SIGTERM, SIGHUP and SIGALRM, as a descriptor to poll. A child that
 * has our terminal gets one that the terminal sends as well, one that another process sends us it does not. */

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct stop_signals {
    int fd;          /* readable when one has come */
    sigset_t before; /* the signals that were blocked: what a child is to have blocked */
    bool leads_session;
};

struct stop_signal {
    int number;
    bool is_alone; /* sent to this process alone */
};

/* Blocks them, and ignores SIGPIPE, which write() reports as well. SIGHUP that is ignored (nohup(1)) stays so;
 * with KEEP_IGNORED the others, too (a shell ignores SIGINT and SIGQUIT for what it starts with &). One at a time in a
 * process. -errno. */
int stop_signals_open(bool keep_ignored, struct stop_signals *ret);
/* What has come since is dropped. */
void stop_signals_close(struct stop_signals *signals);
/* Whether one has come that was not read yet. */
bool stop_signals_pending(const struct stop_signals *signals);
/* 1: one was read; 0: there is none. */
int stop_signals_read(const struct stop_signals *signals, struct stop_signal *ret);
/* Sleeps for NS. True: one has come, and is not read. */
bool stop_signals_sleep(const struct stop_signals *signals, uint64_t ns);
