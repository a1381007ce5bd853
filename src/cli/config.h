/* SPDX-License-Identifier: MIT */
#pragma once

/* Converts the command line of a verb to a configuration file, and back.
 *
 *     # a comment, also after ';'
 *     output = /var/lib/strata/vm
 *     flight = 5m,2G
 *     host                                an option without an argument; of a flag also 'attach = yes' or 'no'
 *     guest = web=vsock:3:4727            may be repeated where the option may
 *     filter = " blanks at an end "       \" \\ \n \t
 *     operands = 4711 4712
 *     command = qemu-system-x86_64 -m 2048 \
 *               -name 'a name'            words, quoted as a shell has them
 *
 * A line is the long name of an option, '=' and its argument, which is everything up to the end of the line. A
 * backslash at the end continues the line. The table of the verb's options (cli/options.h) determines the options and
 * their arguments, so each new option is also valid in a file. Not thread-safe. */

#include "base/arena.h"
#include "base/text.h"
#include "cli/options.h"

#define CONFIG_MAX_BYTES ((size_t)1 << 20)

struct config_entry {
    const struct cli_option *option;
    const char *value; /* NULL: none */
    const char *path;  /* file of the entry; NULL: command line */
    uint32_t line;
};

/* All strings are in the arena, or are literals. */
struct config {
    struct arena arena;
    struct config_entry *entries;
    unsigned n, room;
    struct strings operands, command;
    bool has_command; /* "--" was given, or `command` */
};

void config_done(struct config *config);

/* Adds the entries of TEXT, LEN bytes. PATH is for messages, and borrowed. -EINVAL with ERROR: the line, what is wrong,
 * and what to do; -ENOMEM. */
int config_parse(const struct command *command, const char *text, size_t len, const char *path,
                 struct config *config, struct error *error);
/* The same for the file PATH. -errno with ERROR. */
int config_read(const struct command *command, const char *path, struct config *config,
                struct error *error);
/* Adds an option of the command line. -ENOMEM. */
int config_add(struct config *config, const struct cli_option *option, const char *value);
/* Adds words to OPERANDS or COMMAND of a config, with copies in its arena. -ENOMEM. */
int config_add_words(struct config *config, struct strings *words, unsigned n, char *const *items);

/* Sets the entries of the files in OPTIONS, the verb's structure, which then borrows from CONFIG. -EINVAL with ERROR:
 * the line and what is wrong; -ENOMEM. */
int config_set(const struct command *command, struct config *config, void *options,
               struct error *error);

/* True if an option determines how the command line itself is read or printed, so that it cannot be in a file. */
bool config_is_about_itself(const struct cli_option *option);
/* Print CONFIG as a file, or as one line for a shell, without options about the command line itself. */
void config_print(const struct config *config, const char *verb, struct text *out);
void config_print_command(const struct config *config, const char *verb, struct text *out);
