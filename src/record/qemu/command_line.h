/* SPDX-License-Identifier: MIT */
#pragma once

/* Parses QEMU's command line into a list of settings: its options, and the sections of the files of -readconfig, which
 * are lines
 *
 *     # a comment
 *     [group]             or [group "id"]
 *       key = "value"
 *
 * An option and a section with the same meaning give the same settings: -device virtserialport,id=p and [device "p"]
 * with driver = "virtserialport". The rules are from QEMU's manual, and were tried with QEMU 7.2:
 *
 *   - An option begins with '-' or '--'. The next word is its value, unless it is an option too. After options that
 *     need a text (-append), the next word is never an option.
 *   - In "word,key=value,flag,noflag", a comma in a value is doubled. `word` is the value of the key that the option
 *     implies. A flag is "on", and "off" with the prefix "no".
 *   - The value of -device, -object, -chardev and -mon may be JSON. JSON that only QEMU can read (strings in single
 *     quotes) gives one setting without a key.
 *   - The value of any other option, also of -readconfig, is one word including its commas.
 *   - In a file, a value ends at the next '"'. A comma is not doubled.
 *
 * The parser accepts every input; QEMU itself reports errors. */

#include <stdbool.h>

#include "base/arena.h"

struct qemu_setting {
    unsigned object; /* number shared by the settings of one option or section */
    /* The option without '-' ("machine" for -M, "qmp" for -qmp-pretty), or the section. */
    const char *group;
    const char *id;    /* of the object, or NULL */
    const char *key;   /* NULL: the value is `word`, without keys */
    const char *value; /* NULL: the option has no value */
    const char *word;  /* the whole value of the option, from argv; NULL: none, or in a file */
};

struct qemu_command_line {
    /* Sorted by `object`; in the arena, with strings in the arena or argv. */
    const struct qemu_setting *settings;
    unsigned n;
};

/* Opens the file PATH of a -readconfig for reading. Returns -1 if it cannot be read. */
typedef int qemu_config_fn(void *userdata, const char *path);

/* Parses the N words of ARGV after the first. OPEN NULL: files are not read. A file gives no settings if it is missing,
 * is not a regular file (only QEMU may read a pipe), or is longer than 1 MiB. -ENOMEM. */
int qemu_command_line_read(const char *const *argv, unsigned n, qemu_config_fn *open,
                           void *userdata, struct arena *arena, struct qemu_command_line *ret);

/* For a QEMU with the working directory and root of this process. USERDATA is not used. */
int qemu_config_open(void *userdata, const char *path);

/* The index of the first setting after the object of setting I. */
unsigned qemu_next_object(const struct qemu_command_line *line, unsigned i);
/* The last value of KEY in the object of setting I, or NULL. */
const char *qemu_object_value(const struct qemu_command_line *line, unsigned i, const char *key);
/* The first setting of the object GROUP, ID, or NULL. */
const struct qemu_setting *qemu_find_object(const struct qemu_command_line *line, const char *group,
                                            const char *id);
/* True if VALUE is the value of a flag that is on. */
bool qemu_value_is_on(const char *value);
