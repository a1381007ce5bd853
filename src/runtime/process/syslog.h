/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

/* Sends messages to the socket at PATH; NULL: /dev/log. Connects. Returns 0 or a negative errno. */
int syslog_set_socket(const char *path);
/* Sends a message as LOG_DAEMON, LOG_INFO, with the program's name and process ID. Does not wait:
 * -EAGAIN: the system's log does not accept it now. */
int syslog_send(const char *text, size_t len);
/* Waits up to MS milliseconds until the system's log may accept a message. */
void syslog_wait(unsigned ms);
/* In a child of fork(). */
void syslog_forget(void);
