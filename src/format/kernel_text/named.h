/* SPDX-License-Identifier: MIT */
#pragma once

/* Parses texts that have a name for each value: texts of system calls, and of all events with ftrace's option `fields`:
 *
 *     fd: 3, buf: 0x7ffc, count: 0x340       a system call is entered: ftrace, trace-cmd and perf
 *     int fd: 3, char * buf: 0x7ffc "a", …   the same with the option verbose, and of newer kernels
 *     0x340                                  it returns
 *     prev_comm=sh prev_pid=0x2c (44) …      the option `fields`; trace-cmd report -R, of system calls
 *
 * Fields have the same names as in the kernel's formats. Source: output of Linux 6.18, trace-cmd 3.1 and perf 6.1. */

#include "base/arena.h"
#include "event/class.h"
#include "format/kernel_text/line.h"

#define KERNEL_NAMED_MAX 32

struct kernel_named {
    struct kernel_named_field {
        const char *name; /* borrowed from the line */
        uint8_t name_len;
        char type; /* 'x': a hexadecimal number; 'd': a signed number; 's': a text */
        /* For a text: its offset in the text of the line, and its length in the upper half. */
        uint64_t number;
    } fields[KERNEL_NAMED_MAX];
    unsigned n;
};

/* Returns false if the text of LINE does not have this form. */
bool kernel_named_read(const struct kernel_line *line, struct kernel_named *ret);
/* The group of such an event; NULL: unknown. */
const char *kernel_named_group(const struct kernel_line *line);
/* Writes names and types to BUF ("fd:x,buf:x"), which are the same for all events of a class. Returns false if there is
 * no room. */
bool kernel_named_put_types(const struct kernel_named *named, char *buf, size_t size);
/* Writes the values to P and returns their size in bytes. The text follows them. */
uint32_t kernel_named_put(const struct kernel_named *named, uint8_t *p);
/* The fields, named->n of them. NULL: out of memory. */
struct field *kernel_named_fields(const struct kernel_named *named, struct arena *arena);
