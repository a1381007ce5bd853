/* SPDX-License-Identifier: MIT */
#pragma once

/* A format while it is compiled into the operations of schema/kernel/text_code.h. */

#include "schema/kernel/format.h"
#include "schema/kernel/print_tree.h"
#include "schema/kernel/text.h"
#include "schema/kernel/text_code.h"

struct kernel_text_compiler {
    struct kernel_compiler base;
    struct kernel_op *ops; /* malloc */
    unsigned n_ops, capacity;
    const struct kernel_event_format *format; /* NULL: packed */
    const struct print_node *node;            /* the next argument, of an event's format */
    unsigned slot, n_slots;                   /* the next one, of a packed format */
    uint32_t least_size;
    bool failed;
    bool is_function; /* of the function tracers, whose addresses are functions */
    char literal[KERNEL_LITERAL_MAX];
    size_t literal_len;
};

/* An argument taken from the list: one of the two. */
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
/* A number that is a plain field, or a cast of one, is read without the detour of an expression. */
void kernel_text_make_direct(struct kernel_text_compiler *c, struct kernel_op *op);
int kernel_text_add_string(struct kernel_text_compiler *c, const struct spec *spec,
                           struct kernel_argument arg, const struct kernel_expr *star);

/* How many of the letters after "%p" belong to the conversion. */
size_t kernel_pointer_letters(const char *p);
/* "%p" and LETTERS. */
int kernel_text_add_pointer(struct kernel_text_compiler *c, const char *letters,
                            struct kernel_argument arg, const struct kernel_expr *star);

/* How the arguments of format P lie in a packed trace_printk(), by the kernel's bstr_printf(). SLOTS has room for
 * KERNEL_SLOTS_MAX. -EINVAL. */
int kernel_slots_plan(const char *p, uint8_t long_size, struct kernel_slot_layout *slots,
                      unsigned *ret_n);
