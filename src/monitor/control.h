/* SPDX-License-Identifier: MIT */
#pragma once

/* Controls the program's tracing for both dialects, with the messages for refused requests. */

#include <stdbool.h>

#include "monitor/buffer.h"

enum event_state {
    EVENT_DISABLED,
    EVENT_ENABLED,
    EVENT_UNAVAILABLE, /* compiled out */
};

typedef void (*event_function)(const char *name, enum event_state state, void *userdata);

/* Calls FUNCTION for the event NAME, LEN bytes, or for all events that it matches by `*` and `?`. FUNCTION must not
 * call libstrata. Returns false if NAME is invalid; PROBLEM says why. */
bool control_get_state(const char *name, size_t len, event_function function, void *userdata,
                       struct buffer *problem);
bool control_set_state(const char *name, size_t len, bool on, bool ignore_unavailable,
                       struct buffer *problem);

/* Appends the content of the rings to TEXT, as lines. */
bool control_show(struct buffer *text, struct buffer *problem);

/* `trace-file`, and QEMU's `logfile` for lines of text. PROBLEM gets whole sentences. */
bool control_file_status(struct buffer *text, struct buffer *problem);
bool control_file_set_enabled(bool on, struct buffer *problem);
bool control_file_set(const char *path, struct buffer *problem);
bool control_flush(struct buffer *problem);
bool control_log_file(const char *path, struct buffer *problem);
