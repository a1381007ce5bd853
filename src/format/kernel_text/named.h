/* SPDX-License-Identifier: MIT */
#pragma once

/* Texts of events that name each field beside its value, as those of system calls, and of all events with ftrace's option `fields`:
 *
 *     fd: 3, buf: 0x7ffc, count: 0x340       a system call is entered: ftrace, trace-cmd and perf
 *     int fd: 3, char * buf: 0x7ffc "a", …   the same with the option verbose, and of newer kernels
 *     0x340                                  it returns
 *     prev_comm=sh prev_pid=0x2c (44) …      the option `fields`; trace-cmd report -R, of system calls
 *
 * Fields have the names that the kernel's formats have. Source: what Linux 6.18, trace-cmd 3.1 and perf 6.1 print. */

#include "base/arena.h"
#include "event/class.h"
#include "format/kernel_text/line.h"

#define KERNEL_NAMED_MAX 32

struct kernel_named {
    struct kernel_named_field {
        const char *name; /* borrowed, of the line */
        uint8_t name_len;
        char type; /* 'x': a number, hexadecimal; 'd': with a sign; 's': a text */
        uint64_t
            number; /* of a text: where it is in that of the line, and its length in the upper half */
    } fields[KERNEL_NAMED_MAX];
    unsigned n;
};

/* False: the text of LINE is no such one. */
bool kernel_named_read(const struct kernel_line *line, struct kernel_named *ret);
/* The group of such an event; NULL: it is not told. */
const char *kernel_named_group(const struct kernel_line *line);
/* Names and types, "fd:x,buf:x", the same for all events of a class: at BUF. False: there is no room. */
bool kernel_named_put_types(const struct kernel_named *named, char *buf, size_t size);
/* How many bytes the values take, and these at P: the text follows. */
uint32_t kernel_named_put(const struct kernel_named *named, uint8_t *p);
/* The fields, named->n. NULL: out of memory. */
struct field *kernel_named_fields(const struct kernel_named *named, struct arena *arena);
