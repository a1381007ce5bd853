/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

/* Talks to systemd and the journal if the program runs as a service. Otherwise, does nothing. */

/* True if standard error is the journal ($JOURNAL_STREAM). Then a line may begin with its priority, such as "<3>";
 * sd-daemon(3). */
bool service_logs_to_journal(void);
/* Sends STATE, lines such as "READY=1", to the service manager at $NOTIFY_SOCKET; sd_notify(3). */
void service_notify(const char *state);
