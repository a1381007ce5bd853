/* SPDX-License-Identifier: MIT */
#pragma once

/* The text of a kernel's event format, looked at before libtraceevent sees it.
 *
 *   name: sched_switch
 *   ID: 319
 *   format:
 *   	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
 *   	…
 *   (an empty line ends the common fields, another one the event's own)
 *   print fmt: "prev_comm=%s …", REC->prev_comm, …
 *
 * libtraceevent's parser is recursive and follows pointers that only a well-formed text sets: one in
 * ten thousand garbled formats crashes it. What a guest sends is hostile, so it is given only what
 * has the shape that kernels write: fields by line, and a print format that our own grammar accepts
 * (schema/kernel/print_check.c). A print format that it does not accept is left out; those are, but
 * for hostile ones, the ones that libtraceevent rejects as well. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A new text (malloc, with a NUL) that is safe to parse; *RET_PRINT: its print format is the
 * original's, else there is none. -EBADMSG: the fields are not understood; -ENOMEM. */
int kernel_format_prepare(const char *text, size_t len, char **ret_text, size_t *ret_len,
                          bool *ret_print);

/* The number behind "ID:"; -1: none. */
int kernel_format_id(const char *text, size_t len);
/* Where the field NAME lies; false: there is none. */
bool kernel_format_field(const char *text, size_t len, const char *name, uint32_t *ret_offset,
                         uint32_t *ret_size);

/* Whether the N bytes at P, what stands behind "print fmt:", are of the grammar. HAS_FIELD tells
 * whether the event has a field of that name. */
bool kernel_print_check(const char *p, size_t n,
                        bool (*has_field)(const void *arg, const char *name, size_t len),
                        const void *arg);
