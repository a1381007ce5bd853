/* SPDX-License-Identifier: MIT */
#pragma once

/* Declares the options of a command. Parsing, --help, the bash completion and the section OPTIONS of the manual pages
 * (tests/man_options.c) are made from the declarations. */

#include <stdio.h>

#include "base/error.h"
#include "base/macro.h"
#include "base/strings.h"

enum option_kind {
    OPTION_END,     /* end of a table */
    OPTION_FLAG,    /* bool */
    OPTION_STRING,  /* const char * */
    OPTION_STRINGS, /* struct strings; may be repeated */
    OPTION_LIST,    /* struct strings; may be repeated, or list several separated by commas */
    /* struct strings; repeatable; "" if the next word cannot be its argument, such as NAME=VALUE */
    OPTION_MAYBE,
    OPTION_NUMBER, /* uint64_t */
    OPTION_CHOICE, /* unsigned, an index into `choices` */
    OPTION_PARSED, /* set by `parse` */
    OPTION_HELP,   /* shows the help and exits; no member */
    /* an error that names the new option in `argument` ("--run"); no member. For a letter, `name` is "-x" */
    OPTION_RENAMED,
};

struct cli_option {
    enum option_kind kind;
    char letter;          /* 0: none */
    const char *name;     /* without the dashes */
    const char *argument; /* name of the argument in texts, "GLOB"; NULL for a flag */
    const char *help;     /* a phrase; NULL: another name of an option, accepted but not shown */
    size_t offset;        /* of the member in the group's structure */
    const char *const *choices; /* NULL-ended */
    /* Returns 0; -EINVAL, with the reason why VALUE is invalid in ERROR->what; -ENOMEM. */
    int (*parse)(void *member, const char *value, struct error *error);
    /* Each may be NULL. The help shows the default after its phrase; the manual page shows all of them. */
    const char *default_text;
    const char *page; /* further sentences for the manual page only */
    /* Required and excluded options, checked when all options are read: an error without any of `requires`, or with any
     * of `excludes`: "--on", "--xen or --percpu", "--format=csv". Capital letters stand for any text:
     * "--event=host:EVENT"; "--output=FILE" for any text except "-". */
    const char *requires;
    const char *excludes;
    const char *instead; /* for a flag: what to use instead of an argument */
};

/* Options that several commands share are a group, whose structure is a member of the command's. */
struct option_group {
    /* NULL: end of the list. Consecutive groups with the same title are shown as one. */
    const char *title;
    const struct cli_option *options;
    size_t offset;    /* of the group's structure in the command's */
    const char *page; /* sentences above the options in the manual page, or NULL */
};

struct command {
    const char *name;
    const char *summary;
    const char *operands; /* "PATH…" */
    const char *about;    /* a paragraph or two, lines ready for an 80-column terminal */
    const struct option_group *groups;
    const char *examples; /* NULL, or lines that begin with two blanks */
};

/* Fills OPTIONS, the command's structure, which holds the defaults. Options and operands may be mixed;
 * "--" ends the options, "-" is an operand. True: continue with the operands, *ret_n of them, which are
 * moved to argv[1]… . False: exit with *ret_status (help was shown, or a usage error was reported). */
bool options_parse(const struct command *command, int argc, char **argv, void *options, int *ret_n,
                   int *ret_status);
/* An option that was given, on the command line or in a file. VALUE: NULL, none. */
struct given_option {
    const struct cli_option *option;
    const char *value;
};
/* The same, if N_BEFORE other options were given elsewhere. The rules of options are checked over all of them. */
bool options_parse_beside(const struct command *command, const struct given_option *before,
                          unsigned n_before, int argc, char **argv, void *options, int *ret_n,
                          int *ret_status);

/* ---- For what reads or writes options elsewhere (cli/config.h) ---- */

/* As options_parse(), but sets nothing, and calls VISIT for each option in order with its argument (NULL: none; "": an
 * optional argument was left out). VISIT returns -ENOMEM or 0. */
bool options_visit(const struct command *command, int argc, char **argv,
                   int (*visit)(const struct cli_option *option, const char *value, void *userdata),
                   void *userdata, int *ret_n, int *ret_status);
/* The option NAME, LEN bytes, or NULL. */
const struct cli_option *options_find(const struct command *command, const char *name, size_t len);
/* The option with the most similar name; NULL: none is similar. */
const struct cli_option *options_suggest(const struct command *command, const char *name,
                                         size_t len);
bool options_has_optional_argument(const struct cli_option *option);
/* Sets OPTION of the table in OPTIONS. VALUE is borrowed. Errors as by `parse`. */
int options_set(const struct command *command, void *options, const struct cli_option *option,
                const char *value, struct error *error);

/* True for an option that may be given several times, each time with another argument. */
static inline bool options_is_repeatable(const struct cli_option *option)
{
    return option->kind == OPTION_STRINGS || option->kind == OPTION_LIST ||
           option->kind == OPTION_MAYBE;
}

void options_help(const struct command *command, FILE *out);

/* ---- Options of several commands ---- */

/* The option for all columns of tables. OFFSET: of a bool. */
#define WIDE_OPTION(offset)                                                                  \
    {                                                                                        \
        OPTION_FLAG, 'w', "wide", NULL, "show all columns, however narrow the terminal is",  \
            offset, .page = "strata-analysis(7) says which columns a narrow terminal shows." \
    }
