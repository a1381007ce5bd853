/* SPDX-License-Identifier: MIT */
#pragma once

/* strata record --config, which takes options from a file, and --print-config, which prints them. */

#include "cli/config.h"
#include "record/plan/plan.h"

/* The directory of names without a '/': NAME.conf. */
#define RECORD_CONFIG_DIR "/etc/strata"

struct record_config_options {
    struct strings files; /* --config */
    bool prints, prints_command;
};

extern const struct cli_option record_config_options[];

/* The options and words of a command line and of the files that it names. The words are what is recorded. */
struct record_config {
    struct config config;
    struct given_option *given; /* options in the files */
    unsigned n_given;
    char **words;        /* operands, then the command, terminated by NULL */
    int n;               /* number of operands */
    int n_command;       /* -1 without a command */
    struct strings copy; /* of argv */
};

/* Reads ARGV of COMMAND, which is not modified, and the files that it names, into OPTIONS. Words of the command line
 * replace words of the files. False: exit with *RET_STATUS, because help or an error was printed. RECORD_CONFIG borrows
 * from ARGV. Free it in any case. */
bool record_config_read(const struct command *command, int argc, char **argv, void *options,
                        struct record_config *ret, int *ret_status);
/* Prints the configuration as OPTIONS request, and as comments what strata chose itself in PLAN. An exit status. */
int record_config_print(const struct record_config_options *options,
                        const struct record_config *config, const struct record_plan *plan);
void record_config_done(struct record_config *config);
