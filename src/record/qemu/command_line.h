/* SPDX-License-Identifier: MIT */
#pragma once

/* What QEMU's command line says, as a list: its options, and the sections of the files of -readconfig, which are lines
 *
 *     # a comment
 *     [group]             or [group "id"]
 *       key = "value"
 *
 * An option and a section that say the same give the same settings: -device virtserialport,id=p and [device "p"] with
 * driver = "virtserialport". The rules are those of QEMU's manual, and were tried with QEMU 7.2:
 *
 *   - An option begins with '-' or '--'. The word behind it is its value, unless that is an option, too. Behind options that
 *     need a text (-append), the next word is never an option.
 *   - In "word,key=value,flag,noflag", a comma in a value is doubled. `word` is the value of the key that the option
 *     implies. A flag is "on", and "off" with "no" in front.
 *   - The value of -device, -object, -chardev and -mon may be JSON. JSON that only QEMU can read (quotes that are ') gives
 *     one setting without a key.
 *   - The value of other options is one word, commas included: also of -readconfig.
 *   - In a file, a value ends with the next '"'. A comma is not doubled.
 *
 * The parser tolerates everything: QEMU itself reports what is wrong. */

#include <stdbool.h>

#include "base/arena.h"

struct qemu_setting {
    unsigned object; /* the settings of one option, or of one section, have the same number */
    const char *
        group; /* the option without '-' ("machine" for -M, "qmp" for -qmp-pretty), or the section */
    const char *id;    /* of the object; NULL */
    const char *key;   /* NULL: the value is `word`, which has no keys */
    const char *value; /* NULL: no value follows the option */
    const char *word;  /* the value of the whole option, from argv; NULL: none, or in a file */
};

struct qemu_command_line {
    const struct qemu_setting
        *settings; /* sorted by `object`; in the arena, with strings in the arena or argv */
    unsigned n;
};

/* Opens the file PATH of a -readconfig for reading; -1: it cannot be read. */
typedef int qemu_config_fn(void *userdata, const char *path);

/* Reads the N words of ARGV from the second one on. OPEN NULL: files are not read. Of a file that is missing, is not
 * a regular file (only QEMU may read a pipe), or is longer than 1 MiB, nothing is known. -ENOMEM. */
int qemu_command_line_read(const char *const *argv, unsigned n, qemu_config_fn *open,
                           void *userdata, struct arena *arena, struct qemu_command_line *ret);

/* For -readconfig of a QEMU that has this process's working directory and root. USERDATA is not used. */
int qemu_config_open(void *userdata, const char *path);

/* The first setting of the next object, behind all of that of setting I. */
unsigned qemu_next_object(const struct qemu_command_line *line, unsigned i);
/* The last value of KEY in the object of setting I; NULL: it has none. */
const char *qemu_object_value(const struct qemu_command_line *line, unsigned i, const char *key);
/* The first setting of the object GROUP, ID; NULL: there is none. */
const struct qemu_setting *qemu_find_object(const struct qemu_command_line *line, const char *group,
                                            const char *id);
/* True for the value of a flag that is on. */
bool qemu_value_is_on(const char *value);
