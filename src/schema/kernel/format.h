/* SPDX-License-Identifier: MIT */
#pragma once

/* A kernel's event format file:
 *
 *   name: sched_switch
 *   ID: 319
 *   format:
 *   	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
 *   	…
 *   (an empty line ends the common fields, another one the event's own)
 *   print fmt: "prev_comm=%s …", REC->prev_comm, …
 *
 * The text comes from the traced kernel and is hostile. It is accepted only in the form that kernels write: a field per
 * line, with limited number and length. schema/kernel/print_parse.h parses the text after "print fmt:".
 *
 * Source: Linux Documentation/trace/events.rst and kernel/trace/trace_events.c, f_show(). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

enum kernel_field_flag {
    FIELD_IS_ARRAY = 1,    /* declared with brackets */
    FIELD_IS_DYNAMIC = 2,  /* __data_loc or __rel_loc: a word with the position of its bytes */
    FIELD_IS_STRING = 4,   /* an array whose type has char, u8 or s8 in its name */
    FIELD_IS_POINTER = 8,  /* declared with a star */
    FIELD_IS_SIGNED = 16,  /* "signed:1;" */
    FIELD_IS_LONG = 32,    /* its type has long in its name */
    FIELD_IS_RELATIVE = 64 /* __rel_loc: counted from the end of the word */
};

struct kernel_field {
    const char *name;
    const char *type; /* as declared, with the brackets: "char[16]", "__data_loc char[]" */
    uint32_t offset;
    uint32_t size;
    /* Size of an array's elements; 0: unknown. Other fields: the size of the field. */
    uint32_t element_size;
    uint32_t flags; /* enum kernel_field_flag */
};

/* Names, types and fields are in the arena, `print` is in the text. */
struct kernel_event_format {
    const char *name;
    uint16_t id;
    const struct kernel_field *fields; /* the common ones first */
    unsigned n_common;
    unsigned n_fields; /* including the common fields */
    const char *print; /* text after "print fmt:"; NULL: none */
    size_t print_len;
    uint32_t print_line; /* its line in the text, from 1 */
};

/* Parses LEN bytes at TEXT into ARENA. PATH is only for ERROR. -EBADMSG: not a format; -ENOMEM. */
int kernel_format_parse(struct arena *arena, const char *text, size_t len, uint8_t long_size,
                        const char *path, struct kernel_event_format *ret_format,
                        struct error *error);

/* Finds the field NAME, LEN bytes; NULL: none. COMMON: first searches the fields that all events have. */
const struct kernel_field *kernel_format_find(const struct kernel_event_format *format,
                                              const char *name, size_t len, bool common);

/* The number after "ID:"; -1: none. */
int kernel_format_id(const char *text, size_t len);
/* Finds the field NAME. Returns false if there is none. */
bool kernel_format_field(const char *text, size_t len, const char *name, uint32_t *ret_offset,
                         uint32_t *ret_size);
