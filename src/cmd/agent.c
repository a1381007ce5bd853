/* SPDX-License-Identifier: MIT */
/* strata agent: the guest's agent, which is a program of its own. */

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/options.h"
#include "cmd/cmd.h"

#define AGENT "strata-agent"

static const struct cli_option agent_option_table[] = {
    {OPTION_HELP, 'h', "help", NULL, "show this help", 0},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"Options", agent_option_table, 0},
    {NULL},
};

const struct command agent_command = {
    .name = "agent",
    .summary = "trace this kernel for a host",
    .operands = "[ARGUMENT...]",
    .about = "Runs strata-agent, the program that is copied into guests, with these arguments.\n"
             "'strata-agent --help' and strata-agent(8) describe them.",
    .groups = groups,
};

int cmd_agent(int argc, char **argv)
{
    char path[PATH_MAX];
    char *slash;
    ssize_t n;

    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        options_help(&agent_command, stdout);
        return EXIT_SUCCESS;
    }
    argv[0] = (char *)AGENT;
    n = readlink("/proc/self/exe", path, sizeof path - sizeof AGENT);
    if (n > 0) {
        path[n] = '\0';
        slash = strrchr(path, '/');
        if (slash) {
            memcpy(slash + 1, AGENT, sizeof AGENT);
            execv(path, argv);
        }
    }
    execvp(AGENT, argv);
    cli_error("cannot run " AGENT ", which is neither beside strata nor in PATH: %s",
              strerror(errno));
    return EXIT_FAILURE;
}
