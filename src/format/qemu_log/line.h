/* SPDX-License-Identifier: MIT */
#pragma once

/* What precedes an event's text on a line of QEMU's log: thread, time and name. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_prefix {
    LOG_PREFIX_NONE,
    LOG_PREFIX_PID, /* PID@SEC.USEC: */
    LOG_PREFIX_ISO, /* an ISO 8601 time */
};

struct log_head {
    enum log_prefix prefix;
    int64_t time;     /* ns since 1970, with a prefix */
    int32_t pid;      /* or PID_UNKNOWN */
    const char *rest; /* after the prefix */
};

/* The prefix that was read last: lines that come within one second from one thread begin alike. */
struct log_head_memory {
    char bytes[32]; /* "PID@SEC." */
    unsigned len;   /* 0: none */
    int32_t pid;
    int64_t time; /* of the full second */
};

/* Reads the prefix of the line P … END. Without one, `rest` is P. */
void log_head_read(struct log_head_memory *memory, const char *p, const char *end,
                   struct log_head *ret_head);

/* Where a name could begin after what newer versions put in front ("[GUEST] ", "PROGRAM: ",
 * "(TID:THREAD): ", each or none), or NULL: there is nothing of it. Sets *PID from the last. */
const char *log_head_skip_context(const char *p, const char *end, int32_t *pid);

/* Bytes of the word at P that could name an event: a C identifier with a blank or the line's end
 * after it; 0: none. */
size_t log_head_name(const char *p, const char *end);
