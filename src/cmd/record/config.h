/* SPDX-License-Identifier: MIT */
#pragma once

/* strata record --config: the command line of a file, and --print-config, which writes it. */

#include "cli/config.h"
#include "record/plan/plan.h"

/* Where a name without a '/' is looked up: NAME.conf. */
#define RECORD_CONFIG_DIR "/etc/strata"

struct record_config_options {
    struct strings files; /* --config */
    bool prints, prints_command;
};

extern const struct cli_option record_config_options[];

/* Options of a command line and of the files that it names, and its words: what is to be recorded. */
struct record_config {
    struct config config;
    struct given_option *given; /* the options of the files */
    unsigned n_given;
    char **words;        /* the operands, then the command, ended by NULL */
    int n;               /* operands */
    int n_command;       /* -1: there is none */
    struct strings copy; /* of argv */
};

/* Reads ARGV of COMMAND, which stays as it is, and the files that it names; sets what they have in OPTIONS. Words of the command
 * line are in place of those of the files. False: exit with *RET_STATUS; help was printed, or an error. RECORD_CONFIG borrows
 * from ARGV, and is to be freed in any case. */
bool record_config_read(const struct command *command, int argc, char **argv, void *options,
                        struct record_config *ret, int *ret_status);
/* Prints it as OPTIONS ask, and of PLAN, as comments, what they leave to strata. An exit status. */
int record_config_print(const struct record_config_options *options,
                        const struct record_config *config, const struct record_plan *plan);
void record_config_done(struct record_config *config);
