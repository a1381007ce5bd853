/* SPDX-License-Identifier: MIT */
#pragma once

/* Recognises the format of a trace by its first bytes. */

#include <stdbool.h>
#include <stddef.h>

enum input_format {
    INPUT_FORMAT_UNKNOWN,
    INPUT_FORMAT_SIMPLETRACE,
    INPUT_FORMAT_QEMU_LOG,
    INPUT_FORMAT_XENTRACE,
    INPUT_FORMAT_TRACE_DAT,
    INPUT_FORMAT_PERF_DATA,
    INPUT_FORMAT_FTRACE_PAGES, /* of one CPU, without formats to decode them */
    INPUT_FORMAT_FTRACE_DIR,
    INPUT_FORMAT_CTF_DIR,
    INPUT_FORMAT_KERNEL_TEXT, /* what ftrace and perf print */
    INPUT_FORMAT_NO_EVENTS,   /* the manifest alone describes it */
};

/* Recognises the first N bytes of a file. Give a page or more, or all of a shorter file. */
enum input_format recognise(const void *head, size_t n);

/* Returns the command that unpacks a file beginning with HEAD ("xz -dc"), or NULL if no known compression is found. */
const char *recognise_packed(const void *head, size_t n);

/* True if a file beginning with HEAD has a format that strata exports but cannot read. Returns what it is, and what
 * shows it. */
bool recognise_exported(const void *head, size_t n, const char **ret_what, const char **ret_viewer);
