/* SPDX-License-Identifier: MIT */
#pragma once

/* Names that a kernel lists with its trace: symbols (`/proc/kallsyms`), constant strings (`printk_formats`) and tasks
 * (`saved_cmdlines`). The three texts have one entry per line. They are not trusted. They are kept unchanged, with an
 * index. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_symbols;

/* Reads TEXT in the format of /proc/kallsyms, up to the first invalid line. Takes ownership of TEXT (from malloc, LEN
 * bytes and a NUL), even on failure. -ENOMEM. */
int kernel_symbols_new(char *text, size_t len, struct kernel_symbols **ret_symbols);
void kernel_symbols_free(struct kernel_symbols *symbols);
/* The symbol that contains ADDRESS, and its start; NULL: none. Not ended by a NUL. */
const char *kernel_symbols_find(struct kernel_symbols *symbols, uint64_t address, size_t *ret_len,
                                uint64_t *ret_start);
/* The address of the symbol NAME, the lowest if there are several; 0: none. */
uint64_t kernel_symbols_address(struct kernel_symbols *symbols, const char *name);

/* A sorted table of number and string: printk_formats and saved_cmdlines. */
struct kernel_strings {
    struct kernel_string {
        uint64_t key;
        const char *s; /* NUL-ended, in `text` */
        uint32_t len;
    } * entries;
    size_t n_entries;
    char *text; /* owned */
};

/* Both take ownership of TEXT (from malloc, LEN bytes and a NUL), even on failure. Invalid lines are skipped.
 * -ENOMEM. */
int kernel_strings_read_printk(char *text, size_t len, struct kernel_strings *ret);
int kernel_strings_read_cmdlines(char *text, size_t len, struct kernel_strings *ret);
void kernel_strings_done(struct kernel_strings *strings);
const struct kernel_string *kernel_strings_find(const struct kernel_strings *strings, uint64_t key);
