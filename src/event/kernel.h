/* SPDX-License-Identifier: MIT */
#pragma once

/* What the reader of a Linux kernel's trace can tell of that kernel, for who writes such a trace anew. An
 * event of such an origin has as its payload the kernel's own record, from its common fields on, but
 * for those of a class without a group, of which nothing but the number is known. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct origin;

struct origin_kernel {
    bool big_endian;
    uint8_t long_size;    /* 4 or 8 */
    uint16_t type_offset; /* of the event's number in a record, 2 bytes */
    /* All need the source, as origin->task_name does. Texts are from malloc, with a NUL behind; -ENOENT:
     * there is none. */
    /* The format file of the event ID. */
    int (*format)(const struct origin *origin, uint16_t id, char **ret_text, size_t *ret_len);
    int (*kallsyms)(const struct origin *origin, char **ret_text, size_t *ret_len);
    /* Calls PUT for each constant string that events point to, ascending by address. */
    void (*strings)(const struct origin *origin,
                    void (*put)(void *arg, uint64_t address, const char *s, size_t len), void *arg);
};
