/* SPDX-License-Identifier: MIT */
/* Prints the declarations of the options of all verbs (cli/options.h), for tests/man_options.py: a line each for a verb, a group
 * and an option, with tabs between the fields. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "cli/options.h"
#include "cmd/cmd.h"

static const struct command *const commands[] = {
    &agent_command,   &collect_command, &ctl_command,   &diff_command,  &exits_command,
    &export_command,  &gen_command,     &info_command,  &io_command,    &irq_command,
    &latency_command, &list_command,    &merge_command, &path_command,  &record_command,
    &recover_command, &report_command,  &sched_command, &serve_command, &sql_command,
    &stat_command,    &summary_command, &top_command,   &view_command,
};

static const char *text(const char *s)
{
    return s ? s : "";
}

/* An argument may have a line end, for the help. */
static void print_argument(const char *argument)
{
    for (const char *p = text(argument); *p; p++)
        if (*p != '\n')
            putchar(*p);
}

static void print_option(const struct cli_option *option)
{
    printf("option\t%c\t%s\t", option->letter ? option->letter : ' ', option->name);
    print_argument(option->argument);
    printf("\t%s\t%s\t%s\t%s\t%s\t%s\n",
           options_has_optional_argument(option) ? "optional"
           : option->kind == OPTION_LIST         ? "list"
           : options_is_repeatable(option)       ? "repeatable"
                                                 : "",
           option->help, text(option->page), text(option->default_text), text(option->requires),
           text(option->excludes));
}

int main(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
        printf("verb\t%s\n", commands[i]->name);
        for (const struct option_group *group = commands[i]->groups; group->title; group++) {
            if (group == commands[i]->groups || strcmp(group->title, group[-1].title) != 0)
                printf("group\t%s\t%s\n", group->title, text(group->page));
            for (const struct cli_option *option = group->options; option->kind != OPTION_END;
                 option++)
                if (option->help && option->kind != OPTION_RENAMED)
                    print_option(option);
        }
    }
    return EXIT_SUCCESS;
}
