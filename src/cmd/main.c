/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/suggest.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/version.h"
#include "cmd/cmd.h"
#include "event/program.h"

struct verb {
    const char *name;
    cmd_function function;
    /* NULL: name of an old tool, which is not listed with the verbs */
    const struct command *command;
};

static const struct verb verbs[] = {
#if STRATA_READING
    {"agent", cmd_agent, &agent_command},
    {"collect", cmd_collect, &collect_command},
    {"ctl", cmd_ctl, &ctl_command},
    {"diff", cmd_diff, &diff_command},
    {"exits", cmd_exits, &exits_command},
    {"export", cmd_export, &export_command},
#endif
    {"gen", cmd_gen, &gen_command},
#if STRATA_READING
    {"info", cmd_info, &info_command},
    {"io", cmd_io, &io_command},
    {"irq", cmd_irq, &irq_command},
    {"latency", cmd_latency, &latency_command},
    {"list", cmd_list, &list_command},
    {"merge", cmd_merge, &merge_command},
    {"path", cmd_path, &path_command},
    {"record", cmd_record, &record_command},
    {"recover", cmd_recover, &recover_command},
    {"report", cmd_report, &report_command},
    {"sched", cmd_sched, &sched_command},
    {"serve", cmd_serve, &serve_command},
    {"sql", cmd_sql, &sql_command},
    {"stat", cmd_stat, &stat_command},
    {"summary", cmd_summary, &summary_command},
    {"top", cmd_top, &top_command},
    {"view", cmd_view, &view_command},
    {"simpletrace", cmd_simpletrace, NULL},
#endif
    {"tracetool", cmd_tracetool, NULL},
#if STRATA_READING
    {"xentrace", cmd_xentrace, NULL},
    {"xentrace_format", cmd_xentrace_format, NULL},
#endif
    {NULL, NULL, NULL},
};

static const struct verb *find_verb(const char *name)
{
    for (const struct verb *verb = verbs; verb->name; verb++)
        if (strcmp(verb->name, name) == 0)
            return verb;
    return NULL;
}

static void print_help(FILE *out)
{
    fputs("Usage: strata COMMAND [OPTION...] [ARGUMENT...]\n\nCommands:\n", out);
    for (const struct verb *verb = verbs; verb->name; verb++)
        if (verb->command)
            fprintf(out, "  %-10s %s\n", verb->name, verb->command->summary);
    fputs("\nOld tools, as commands or as links to strata:\n  ", out);
    for (const struct verb *verb = verbs; verb->name; verb++)
        if (!verb->command)
            fprintf(out, "%s%s", verb->name, verb[1].name ? ", " : "\n");
    fputs("\nRun 'strata help COMMAND' for details.\n", out);
}

/* Finds the verb for a name from a shell, perf, trace-cmd, LTTng or babeltrace2. NULL if it is unknown. */
static const char *find_other_name(const char *name)
{
    static const char *const others[][2] = {
        {"attach", "record --attach"},
        {"convert", "export"},
        {"create", "record"},
        {"dump", "report"},
        {"hist", "stat"},
        {"kvm", "exits"},
        {"listen", "collect"},
        {"ls", "list"},
        {"query", "sql"},
        {"script", "report"},
        {"show", "report"},
        {"start", "record"},
        {"trace", "record"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        if (strcmp(others[i][0], name) == 0)
            return others[i][1];
    return NULL;
}

static int no_such_verb(const char *name)
{
    const char *names[ARRAY_SIZE(verbs) + 2] = {"help", "version"};
    const char *near = find_other_name(name);

    for (size_t i = 0; verbs[i].name; i++)
        names[i + 2] = verbs[i].name;
    if (!near)
        near = suggest_find(name, strlen(name), names);
    if (near)
        cli_error("unknown command '%s'; did you mean '%s'?", name, near);
    else if (access(name, F_OK) == 0)
        cli_error("unknown command '%s'; to show a trace: strata report %s", name, name);
    else
        cli_error("unknown command '%s'; 'strata help' lists the commands", name);
    return EXIT_USAGE;
}

static int help(const char *name)
{
    const struct verb *verb;

    if (!name || strcmp(name, "help") == 0 || strcmp(name, "version") == 0) {
        print_help(stdout);
        return EXIT_SUCCESS;
    }
    verb = find_verb(name);
    if (!verb)
        return no_such_verb(name);
    if (!verb->command) {
        char option[] = "--help";
        char *argv[] = {(char *)verb->name, option, NULL};

        return verb->function(2, argv);
    }
    options_help(verb->command, stdout);
    return EXIT_SUCCESS;
}

/* Occupies closed standard descriptors, so that no trace or temporary file gets one and then messages. Using them still
 * fails. */
static void hold_standard_descriptors(void)
{
    static const int useless[] = {O_WRONLY, O_RDONLY, O_RDONLY};

    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", useless[fd]) != fd)
            _exit(EXIT_FAILURE);
}

/* For the main thread. Threads that libc starts get as much. */
#define STACK_MIN_KIB 512

static bool has_stack(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur >= (rlim_t)STACK_MIN_KIB * 1024)
        return true;
    cli_error("the stack is limited to %ju KiB, and %d are needed; raise the limit: ulimit -s 8192",
              (uintmax_t)limit.rlim_cur / 1024, STACK_MIN_KIB);
    return false;
}

static int run(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *called = argc > 0 ? (slash ? slash + 1 : argv[0]) : "strata";
    const struct verb *verb = find_verb(called);

    if (verb && !verb->command)
        return has_stack() ? verb->function(argc, argv) : EXIT_FAILURE;

    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0)
        return help(argc > 2 && argv[1][0] != '-' ? argv[2] : NULL);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0 ||
        strcmp(argv[1], "version") == 0) {
        cli_print_version();
        return EXIT_SUCCESS;
    }
    verb = find_verb(argv[1]);
    if (!verb)
        return no_such_verb(argv[1]);
    return has_stack() ? verb->function(argc - 1, argv + 1) : EXIT_FAILURE;
}

int strata_main(int argc, char **argv)
{
    int status;

    hold_standard_descriptors();
    /* write() reports a file that grows too large, too, and what is incomplete can then be removed. */
    signal(SIGXFSZ, SIG_IGN);
    status = run(argc, argv);
    /* Help and the like; events go another way. */
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout))
        status = cli_output_error(errno ? -errno : -EIO);
    return status;
}
