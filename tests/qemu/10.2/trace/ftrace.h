/* SPDX-License-Identifier: MIT */
#pragma once

#define MAX_TRACE_STRLEN 512

extern int trace_marker_fd;

G_GNUC_PRINTF(1, 2) void ftrace_write(const char *fmt, ...);
