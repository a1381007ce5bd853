/* SPDX-License-Identifier: MIT */
#pragma once

/* What both dialects do with the program's tracing, and how they word what they refuse. */

#include <stdbool.h>

#include "monitor/buffer.h"

enum event_state {
    EVENT_DISABLED,
    EVENT_ENABLED,
    EVENT_UNAVAILABLE, /* compiled out */
};

typedef void (*event_function)(const char *name, enum event_state state, void *userdata);

/* Calls FUNCTION for the event NAME, of LEN bytes, or for those that it matches by `*` and `?`.
 * FUNCTION must not call libstrata. False: PROBLEM says what is wrong with the name. */
bool control_get_state(const char *name, size_t len, event_function function, void *userdata,
                       struct buffer *problem);
bool control_set_state(const char *name, size_t len, bool on, bool ignore_unavailable,
                       struct buffer *problem);

/* Appends what the rings hold, as lines, to TEXT. */
bool control_show(struct buffer *text, struct buffer *problem);

/* `trace-file`, and QEMU's `logfile` for lines of text. PROBLEM gets whole sentences. */
bool control_file_status(struct buffer *text, struct buffer *problem);
bool control_file_set_enabled(bool on, struct buffer *problem);
bool control_file_set(const char *path, struct buffer *problem);
bool control_flush(struct buffer *problem);
bool control_log_file(const char *path, struct buffer *problem);
