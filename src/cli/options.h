/* SPDX-License-Identifier: MIT */
#pragma once

/* The options of a command as a declaration. Parsing, --help, the bash completion and the section OPTIONS of the manual
 * pages (tests/man_options.c) are made from it. */

#include <stdio.h>

#include "base/error.h"
#include "base/macro.h"
#include "base/strings.h"

enum option_kind {
    OPTION_END,     /* after the last one of a table */
    OPTION_FLAG,    /* bool */
    OPTION_STRING,  /* const char * */
    OPTION_STRINGS, /* struct strings; may be repeated */
    OPTION_LIST,    /* struct strings; may be repeated, or list several separated by commas */
    OPTION_MAYBE, /* struct strings; repeatable; "" if the next word cannot be its argument, as NAME=VALUE can */
    OPTION_NUMBER,  /* uint64_t */
    OPTION_CHOICE,  /* unsigned, an index into `choices` */
    OPTION_PARSED,  /* set by `parse` */
    OPTION_HELP,    /* shows the help and exits; no member */
    OPTION_RENAMED, /* an error that says what it is called now: `argument`, as "--run"; no member. Of a letter alone `name`
                       is "-x" */
};

struct cli_option {
    enum option_kind kind;
    char letter;          /* 0: none */
    const char *name;     /* without the dashes */
    const char *argument; /* its name in texts, "GLOB"; NULL for a flag */
    const char *help;     /* a phrase; NULL: another name of an option, accepted but not shown */
    size_t offset;        /* of the member in the group's structure */
    const char *const *choices; /* NULL-ended */
    /* 0; -EINVAL, with the reason why VALUE is invalid in ERROR->what; -ENOMEM. */
    int (*parse)(void *member, const char *value, struct error *error);
    /* Each may be NULL. Help has the default after its phrase; the manual page has all of them. */
    const char *default_text;
    const char *page; /* sentences that only the page has, after the phrase of the help */
    /* An error without one of these, or with one of those: "--on", "--xen or --percpu", "--format=csv". In capital letters is what
     * may be any text: "--event=host:EVENT"; "--output=FILE", but for "-". Checked when all options are read. */
    const char *requires;
    const char *excludes;
    const char *instead; /* of a flag: what is used in place of an argument */
};

/* Options that several commands share are a group, whose structure is a member of the command's. */
struct option_group {
    const char *
        title; /* NULL: after the last one. Groups with the same title, one after the other, are shown as one */
    const struct cli_option *options;
    size_t offset;    /* of the group's structure in the command's */
    const char *page; /* NULL, or sentences that the manual page has above the options */
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
/* The same where N_BEFORE others were given elsewhere: what options require and exclude is checked of all. */
bool options_parse_beside(const struct command *command, const struct given_option *before,
                          unsigned n_before, int argc, char **argv, void *options, int *ret_n,
                          int *ret_status);

/* ---- For what reads or writes options elsewhere (cli/config.h) ---- */

/* As options_parse(), but calls VISIT for each option in order, with its argument (NULL: none; "": one that can be without), and
 * sets nothing. VISIT returns -ENOMEM or 0. */
bool options_visit(const struct command *command, int argc, char **argv,
                   int (*visit)(const struct cli_option *option, const char *value, void *userdata),
                   void *userdata, int *ret_n, int *ret_status);
/* The option NAME, LEN bytes; NULL: there is none. */
const struct cli_option *options_find(const struct command *command, const char *name, size_t len);
/* The option that is most similar to NAME; NULL: none is. */
const struct cli_option *options_suggest(const struct command *command, const char *name,
                                         size_t len);
bool options_has_optional_argument(const struct cli_option *option);
/* Sets OPTION, of the table, in OPTIONS. VALUE is borrowed. Errors as `parse` has them. */
int options_set(const struct command *command, void *options, const struct cli_option *option,
                const char *value, struct error *error);

/* True for an option that may be given several times, each time with another argument. */
static inline bool options_is_repeatable(const struct cli_option *option)
{
    return option->kind == OPTION_STRINGS || option->kind == OPTION_LIST ||
           option->kind == OPTION_MAYBE;
}

void options_help(const struct command *command, FILE *out);

/* ---- Of several commands ---- */

/* Tables have all columns. OFFSET: of a bool. */
#define WIDE_OPTION(offset)                                                                  \
    {                                                                                        \
        OPTION_FLAG, 'w', "wide", NULL, "show all columns, however narrow the terminal is",  \
            offset, .page = "strata-analysis(7) says which columns a narrow terminal shows." \
    }
