/* SPDX-License-Identifier: MIT */
#pragma once

/* A session: the state of one conversation in one of the dialects, without a transport. */

#include "monitor/buffer.h"
#include "strata/monitor.h"

struct strata_monitor_session;

int session_new(enum strata_monitor_dialect dialect, const char *name, const char *prompt,
                struct strata_monitor_session **ret);
/* Handles at most one request in BYTES, so that replies do not pile up. Returns how many bytes were used: all of them
 * if they have no complete request. */
size_t session_read(struct strata_monitor_session *session, const char *bytes, size_t n);
/* The output of the session; the caller removes what it has written. */
struct buffer *session_out(struct strata_monitor_session *session);
/* 0: running; 1: ended; -ENOMEM. */
int session_status(const struct strata_monitor_session *session);
