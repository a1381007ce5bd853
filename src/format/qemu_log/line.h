/* SPDX-License-Identifier: MIT */
#pragma once

/* Parses the part of a line of QEMU's log before an event's text: thread, time and name. */

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

/* The last prefix. Lines of one thread within one second begin alike. */
struct log_head_memory {
    char bytes[32]; /* "PID@SEC." */
    unsigned len;   /* 0: none */
    int32_t pid;
    int64_t time; /* of the full second */
};

/* Reads the prefix of the line P … END. Without one, `rest` is P. */
void log_head_read(struct log_head_memory *memory, const char *p, const char *end,
                   struct log_head *ret_head);

/* Skips what newer versions put before a name ("[GUEST] ", "PROGRAM: ", "(TID:THREAD): ", each optional). Returns where
 * a name could begin, or NULL if the line has none of these. Sets *PID from the last one. */
const char *log_head_skip_context(const char *p, const char *end, int32_t *pid);

/* Length of the word at P if it could name an event: a C identifier before a blank or the line's end; 0: none. */
size_t log_head_name(const char *p, const char *end);
