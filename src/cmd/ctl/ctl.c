/* SPDX-License-Identifier: MIT */
/* strata ctl: controls a traced program, or a QEMU, while it runs. */

#include "cmd/ctl/ctl.h"

#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cmd/cmd.h"

#define OUT_SIZE ((size_t)64 * 1024)

struct ctl_options {
    const char *qmp;
    unsigned format; /* enum table_format */
};

static const struct cli_option ctl_option_table[] = {
    {OPTION_STRING, 0, "qmp", "SOCKET", "control the QEMU that serves QMP on this UNIX socket",
     offsetof(struct ctl_options, qmp), NULL, NULL},
    {OPTION_CHOICE, 'f', "format", "text|json|csv", "format of lists and other output",
     offsetof(struct ctl_options, format), .choices = table_formats, .default_text = "text",
     .page = "It applies to list, info and status, and to stats and file of a program that links "
             "libstrata. The other commands print text only. JSON is one object per line."},
    {OPTION_HELP, 'h', "help", NULL, "show this help", 0, NULL, NULL},
    {OPTION_END, 0, NULL, NULL, NULL, 0, NULL, NULL},
};

static const struct option_group groups[] = {
    {"Options", ctl_option_table, 0},
    {NULL, NULL, 0},
};

const struct command ctl_command = {
    .name = "ctl",
    .summary = "control a traced program, a QEMU or a recording",
    .operands = "PID|NAME|DIR COMMAND [ARGUMENT...]",
    .about = "Controls a program that links libstrata ('strata list' shows them), a QEMU with\n"
             "a QMP socket, or the recording into DIR:\n"
             "\n"
             "    list [PATTERN]              list events and whether they are on\n"
             "    on PATTERN..., off PATTERN...   switch events on or off\n"
             "    flush                       write out everything that was emitted\n"
             "    file [on|off|set PATH]      show, switch or move the trace file\n"
             "    info                        show what the target is, and its state\n"
             "\n"
             "For a program that links libstrata:\n"
             "\n"
             "    set OPTIONS...              set trace options (strata-trace(7))\n"
             "    snapshot DIR                write the content of the rings to a CTF trace\n"
             "    stats                       show what was dropped, by event and ring\n"
             "\n"
             "For a QEMU:\n"
             "\n"
             "    monitor LINE                run a command of the human monitor\n"
             "    restore                     undo what a killed 'strata record --attach' left\n"
             "\n"
             "For a recording:\n"
             "\n"
             "    status                      show what is recorded so far\n"
             "    snapshot [NAME]             save what is kept as a trace, DIR/snapshots/NAME",
    .groups = groups,
    .examples = "  strata ctl 4711 on 'blk_*'\n"
                "  strata ctl --qmp /run/vm.qmp list 'virtio_*'\n"
                "  strata ctl -f json 4711 list | jq -r 'select(.state == \"on\").event'\n"
                "  strata ctl trace status",
};

#define COMMANDS_MAX 32

bool ctl_has_command(const struct ctl_command *commands, const char *name)
{
    for (const struct ctl_command *command = commands; command->name; command++)
        if (strcmp(command->name, name) == 0)
            return true;
    return false;
}

bool ctl_suggest(const struct ctl_command *const *tables, const char *word)
{
    const char *names[COMMANDS_MAX];
    const char *near;
    unsigned n = 0;

    for (; *tables; tables++) {
        if (ctl_has_command(*tables, word))
            return false;
        for (const struct ctl_command *command = *tables; command->name; command++)
            if (n < COMMANDS_MAX - 1)
                names[n++] = command->name;
    }
    names[n] = NULL;
    near = suggest_find(word, strlen(word), names);
    if (near)
        cli_usage_error(ctl_command.name, "unknown command '%s'; did you mean '%s'?", word, near);
    return near != NULL;
}

/* Reports what TARGET accepts instead of WORD. */
static void report_unknown(const char *word, const char *target, const struct ctl_command *commands)
{
    const struct ctl_command *const tables[] = {commands, NULL};
    char all[256] = "";

    if (ctl_suggest(tables, word))
        return;
    for (unsigned i = 0; commands[i].name; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? ", " : "",
                 commands[i].name);
    cli_usage_error(ctl_command.name, "unknown command '%s': this is %s, which accepts %s", word,
                    target, all);
}

const struct ctl_command *ctl_find(const struct ctl_command *commands, const char *target,
                                   const struct ctl_request *request)
{
    char *const *words = request->words;
    unsigned n = request->n;

    for (const struct ctl_command *command = commands; command->name; command++) {
        if (strcmp(command->name, words[0]) != 0)
            continue;
        if (n - 1 >= command->min && n - 1 <= command->max &&
            (command->is_table || request->format == TABLE_TEXT))
            return command;
        if (!command->is_table && request->format != TABLE_TEXT)
            cli_usage_error(
                ctl_command.name,
                "%s prints text only; --format is for list, info and status, and for stats and "
                "file of a program",
                command->name);
        else if (n - 1 > command->max && command->max > 0)
            cli_usage_error(ctl_command.name, "too many arguments; usage: %s %s", command->name,
                            command->arguments);
        else if (command->max == 0)
            cli_usage_error(ctl_command.name, "%s accepts no arguments", command->name);
        else
            cli_usage_error(ctl_command.name, "invalid arguments; usage: %s %s", command->name,
                            command->arguments);
        return NULL;
    }
    report_unknown(words[0], target, commands);
    return NULL;
}

static const struct table_column event_columns[CTL_EVENT_COLUMNS] = {
    [CTL_STATE] = {.title = "", .width = -(int)sizeof "unavailable", .name = "state"},
    [CTL_EVENT] = {.title = "", .name = "event"},
    [CTL_WHERE] = {.title = ""},
    [CTL_FILE] = {.name = "file"},
    [CTL_LINE] = {.name = "line"},
    [CTL_CONDITION] = {.name = "condition"},
};
const struct table_form ctl_event_form = {event_columns, CTL_EVENT_COLUMNS};

int ctl_open(struct text *out, enum table_format format)
{
    int r = output_open(out, format == TABLE_TEXT ? OUTPUT_TEXT : OUTPUT_DATA, OUT_SIZE);

    if (r < 0)
        cli_no_memory();
    return r;
}

int ctl_end(struct text *out, int status)
{
    int r = text_flush(out);

    text_done(out);
    return r < 0 ? cli_output_error(r) : status;
}

int cmd_ctl(int argc, char **argv)
{
    struct ctl_options options = {0};
    struct ctl_request request;
    int n, status;

    if (!options_parse(&ctl_command, argc, argv, &options, &n, &status))
        return status;
    request = (struct ctl_request){
        .words = argv + 1, .n = (unsigned)n, .format = (enum table_format)options.format};
    if (options.qmp && n < 1)
        return cli_usage_error(ctl_command.name, "no command given (for example: list)");
    if (options.qmp)
        return ctl_qmp(options.qmp, &request);
    if (n < 1)
        return cli_usage_error(ctl_command.name, "no program given ('strata list' shows them)");
    if (n < 2)
        return cli_usage_error(ctl_command.name, "no command given (for example: list)");
    request.words++;
    request.n--;
    return ctl_any(argv[1], &request);
}
