/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

/* What systemd and the journal want to know of a service. Without them, nothing is done. */

/* Whether standard error is the journal's ($JOURNAL_STREAM): then a line may begin with its priority, as "<3>"; sd-daemon(3). */
bool service_logs_to_journal(void);
/* Sends STATE, lines such as "READY=1", to the service manager at $NOTIFY_SOCKET; sd_notify(3). */
void service_notify(const char *state);
