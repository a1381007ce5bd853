/* SPDX-License-Identifier: MIT */
#pragma once

/* The options of a verb as a declaration, from which parsing, --help, the bash completion's check and
 * the man pages' check are made. */

#include <stdio.h>

#include "base/fault.h"
#include "base/macro.h"
#include "base/strings.h"

enum option_kind {
    OPTION_END,     /* behind the last one of a table */
    OPTION_FLAG,    /* bool */
    OPTION_STRING,  /* const char * */
    OPTION_STRINGS, /* struct strings; may be given several times */
    OPTION_LIST,    /* struct strings; the same, and several at once with commas between */
    OPTION_MAYBE,   /* const char *; "" where nothing stands behind it that could be its argument */
    OPTION_NUMBER,  /* uint64_t */
    OPTION_CHOICE,  /* unsigned, an index into `choices` */
    OPTION_PARSED,  /* whatever `parse` makes of it */
    OPTION_HELP,    /* shows the help and ends; no member */
};

struct option {
    enum option_kind kind;
    char letter;                /* 0: none */
    const char *name;           /* without the dashes */
    const char *argument;       /* what stands for it in texts, "GLOB"; NULL of a flag */
    const char *help;           /* NULL: accepted, but not shown: another name of an option */
    size_t offset;              /* of the member in the group's structure */
    const char *const *choices; /* NULL-ended */
    /* 0; -EINVAL with FAULT->what filled with what is wrong about VALUE; -ENOMEM. */
    int (*parse)(void *member, const char *value, struct fault *fault);
};

/* Options that several verbs have in common are a group, whose structure the verb's own holds. */
struct option_group {
    const char *title; /* NULL: behind the last one */
    const struct option *options;
    size_t offset; /* of the group's structure in the verb's */
};

struct command {
    const char *name;
    const char *summary;
    const char *operands; /* "PATH…" */
    const char *about;    /* a paragraph or two, lines ready for an 80-column terminal */
    const struct option_group *groups;
};

/* Fills OPTIONS, the verb's structure, which holds the defaults. Options and operands may be mixed;
 * "--" ends the options, "-" is an operand. True: go on with the operands, *ret_n of them, which are
 * at argv[1]… . False: the work is done, with *ret_status (help was shown, or a usage error told). */
bool options_parse(const struct command *command, int argc, char **argv, void *options, int *ret_n,
                   int *ret_status);

void options_help(const struct command *command, FILE *out);
