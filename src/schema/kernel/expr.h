/* SPDX-License-Identifier: MIT */
#pragma once

/* The C expressions in a kernel's print format ("(REC->flags & 0x80) ? … : …"), compiled from the tree that
 * schema/kernel/print_parse.c builds. All arithmetic is in unsigned 64 bits, fields are zero-extended, and casts to the
 * common short types truncate. The text must be the same as by trace-cmd and perf, which compute in this way. */

#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/macro.h"
#include "schema/kernel/print_tree.h"

struct kernel_events;
struct kernel_event_format;

/* The event over which expressions and operations run. */
struct kernel_run {
    const uint8_t *data;
    uint32_t size;
    bool swap;
    const struct kernel_slot *slots; /* of a packed trace_printk() */
};

/* An argument of a packed trace_printk(). */
struct kernel_slot {
    uint64_t v;
    const char *s; /* a string of LEN bytes, or NULL: a number */
    uint32_t len;
};

enum kernel_expr_kind {
    EXPR_CONST,       /* value */
    EXPR_FIELD,       /* size bytes at offset */
    EXPR_MASK,        /* a & value */
    EXPR_ELEMENT,     /* element a of an array at offset, size bytes each; & value */
    EXPR_DYN_ELEMENT, /* an element of the array to which the word at offset points */
    EXPR_DYN_LENGTH,  /* size of that array in bytes */
    EXPR_DYN_PLACE,   /* offset of that array in the event */
    EXPR_CONDITION,   /* a ? b : c */
    EXPR_OPERATION,   /* a op b */
    EXPR_SLOT,        /* argument number `offset` */
};

/* A __data_loc or __rel_loc field: a word with the position of its bytes. */
struct kernel_dynamic {
    uint32_t offset;
    uint8_t size; /* of the word; 2: without a length */
    bool relative;
};

struct kernel_expr {
    uint8_t kind;
    uint8_t op;
    uint8_t size;
    uint32_t offset;
    struct kernel_dynamic dynamic;
    uint64_t value;
    const struct kernel_expr *a, *b, *c;
};

struct kernel_compiler {
    struct arena *arena;
    struct kernel_events *events;
    uint8_t long_size;
    bool out_of_memory;
    bool divides_by_zero; /* by a constant */
};

/* Compiles NODE, which may be NULL. Never returns NULL: an unknown expression becomes 0; C notes that memory is out. */
const struct kernel_expr *kernel_expr_compile(struct kernel_compiler *c,
                                              const struct print_node *node);
const struct kernel_expr *kernel_expr_const(struct kernel_compiler *c, uint64_t v);
const struct kernel_expr *kernel_expr_slot(struct kernel_compiler *c, unsigned slot);
struct kernel_dynamic kernel_dynamic_of(const struct kernel_field *field);
/* Evaluates NODE, which consists of constants. Unknown names count as 0. The result is signed, unlike expressions over
 * events. */
int64_t kernel_constant(const struct print_node *node);

/* The value of a constant whose name kernels leave in formats. Returns false if it is unknown. */
bool kernel_word_value(const char *word, int64_t *ret);

uint64_t kernel_expr_eval_slowly(const struct kernel_expr *expr, const struct kernel_run *run);

/* Loads an unsigned number; 0 if the event ends before it. */
static inline uint64_t kernel_load(const struct kernel_run *run, uint64_t offset, unsigned size)
{
    if (unlikely(offset > run->size || size > run->size - offset))
        return 0;
    return load_uint(run->data + offset, size, run->swap);
}

static inline uint64_t kernel_expr_eval(const struct kernel_expr *expr,
                                        const struct kernel_run *run)
{
    if (likely(expr->kind == EXPR_FIELD))
        return kernel_load(run, expr->offset, expr->size);
    return kernel_expr_eval_slowly(expr, run);
}

/* Finds the bytes of a dynamic field, clipped to the event: OFFSET + LEN is at most its size. */
void kernel_dynamic_find(const struct kernel_dynamic *dynamic, const struct kernel_run *run,
                         uint32_t *ret_offset, uint32_t *ret_len);
