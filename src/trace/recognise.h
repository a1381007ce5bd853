/* SPDX-License-Identifier: MIT */
#pragma once

/* Recognises the format of a trace by its first bytes. */

#include <stdbool.h>
#include <stddef.h>

enum capture_kind {
    CAPTURE_UNKNOWN,
    CAPTURE_SIMPLETRACE,
    CAPTURE_QEMU_LOG,
    CAPTURE_XENTRACE,
    CAPTURE_TRACE_DAT,
    CAPTURE_PERF_DATA,
    CAPTURE_FTRACE_PAGES, /* one CPU's, without anything that decodes them */
    CAPTURE_FTRACE_FOLDER,
    CAPTURE_CTF_FOLDER,
    CAPTURE_KERNEL_TEXT, /* what ftrace and perf print */
    CAPTURE_NO_EVENTS,   /* by the manifest alone */
};

/* By the first N bytes of a file; best a page or more, or all of a shorter file. */
enum capture_kind recognise(const void *head, size_t n);

/* The command that unpacks a file beginning with HEAD ("xz -dc"), or NULL: it is not packed in a way
 * that is known. */
const char *recognise_packed(const void *head, size_t n);

/* What a file beginning with HEAD is, and what shows it, of the formats that are exported and not read; or false. */
bool recognise_exported(const void *head, size_t n, const char **ret_what, const char **ret_viewer);
