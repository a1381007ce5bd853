/* SPDX-License-Identifier: MIT */
#pragma once

/* The state while a format is compiled into the operations of schema/kernel/text_code.h. */

#include "schema/kernel/format.h"
#include "schema/kernel/print_tree.h"
#include "schema/kernel/text.h"
#include "schema/kernel/text_code.h"

struct kernel_text_compiler {
    struct kernel_compiler base;
    struct kernel_op *ops; /* malloc */
    unsigned n_ops, capacity;
    const struct kernel_event_format *format; /* NULL: packed */
    const struct print_node *node;            /* next argument of an event's format */
    unsigned slot, n_slots;                   /* next argument of a packed format */
    uint32_t least_size;
    bool failed;
    bool is_function; /* an event of the function tracers: addresses are functions */
    char literal[KERNEL_LITERAL_MAX];
    size_t literal_len;
};

/* An argument from the list: a node or a slot. */
struct kernel_argument {
    const struct print_node *node;
    unsigned slot;
    bool there;
};

const struct kernel_expr *kernel_text_number(struct kernel_text_compiler *c,
                                             struct kernel_argument arg);
/* Adds OP after the literal text so far. -ENOMEM. */
int kernel_text_add_op(struct kernel_text_compiler *c, struct kernel_op op);
int kernel_text_add_literal(struct kernel_text_compiler *c, const char *s, size_t len);
/* Makes OP read a number that is a plain field, or a cast of one, directly without an expression. */
void kernel_text_make_direct(struct kernel_text_compiler *c, struct kernel_op *op);
int kernel_text_add_string(struct kernel_text_compiler *c, const struct spec *spec,
                           struct kernel_argument arg, const struct kernel_expr *star);

/* The number of letters after "%p" that belong to the conversion. */
size_t kernel_pointer_letters(const char *p);
/* Adds the conversion "%p" with LETTERS. */
int kernel_text_add_pointer(struct kernel_text_compiler *c, const char *letters,
                            struct kernel_argument arg, const struct kernel_expr *star);

/* Determines the layout of the arguments of format P in a packed trace_printk(), as written by the kernel's
 * bstr_printf(). SLOTS must have room for KERNEL_SLOTS_MAX. -EINVAL. */
int kernel_slots_plan(const char *p, uint8_t long_size, struct kernel_slot_layout *slots,
                      unsigned *ret_n);
