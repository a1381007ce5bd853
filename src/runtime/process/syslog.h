/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

/* Messages go to the socket at PATH; NULL: /dev/log. Connects; negative errno. */
int syslog_set_socket(const char *path);
/* Sends a message as LOG_DAEMON, LOG_INFO, with the program's name and process ID. Does not wait:
 * -EAGAIN: the system's log does not accept it now. */
int syslog_send(const char *text, size_t len);
/* Waits until it may, MS milliseconds at most. */
void syslog_wait(unsigned ms);
/* In a child of fork(). */
void syslog_forget(void);
