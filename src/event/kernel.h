/* SPDX-License-Identifier: MIT */
#pragma once

/* What a reader of a Linux kernel's trace knows about this kernel, for exports of the trace. The payload of an event of
 * such an origin is the kernel's own record, from its common fields on. Exceptions are classes without a group, of which
 * only the number is known, and classes with the id 0, which are not the kernel's. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct origin;
struct text;

#define KERNEL_NO_OFFSET UINT16_MAX

struct origin_kernel {
    bool big_endian;
    uint8_t long_size;    /* 4 or 8 */
    uint16_t type_offset; /* offset of the event's number in a record, 2 bytes */
    /* … of common_flags and common_preempt_count, a byte each; KERNEL_NO_OFFSET: it has none */
    uint16_t flags_offset, preempt_offset;
    /* All functions need the source, like origin->task_name. The caller frees the texts, which end with a NUL; -ENOENT:
     * not available. */
    /* The format file of the event ID. */
    int (*format)(const struct origin *origin, uint16_t id, char **ret_text, size_t *ret_len);
    int (*kallsyms)(const struct origin *origin, char **ret_text, size_t *ret_len);
    /* Writes the name of the function that begins at ADDRESS. Returns false if the name is unknown. */
    bool (*put_function)(const struct origin *origin, uint64_t address, struct text *text);
    /* Calls PUT for each constant string that events point to, by ascending address. */
    void (*strings)(const struct origin *origin,
                    void (*put)(void *arg, uint64_t address, const char *s, size_t len), void *arg);
};
