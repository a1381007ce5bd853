/* SPDX-License-Identifier: MIT */
/* strata ctl for a program that links libstrata. */

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/glob.h"
#include "base/suggest.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/ctl/ctl.h"
#include "control/client.h"
#include "report/program_info.h"
#include "report/program_stats.h"

struct target {
    struct client *client;
    pid_t pid;
    struct text out;
    enum table_format format;
};

/* ---- Which program ---- */

static int find_named(const char *name, pid_t *ret)
{
    struct client_program *programs;
    const char **names;
    struct error error = {0};
    char pids[256] = "";
    size_t n, found = 0;
    const char *near;
    int r;

    r = client_list(getenv("XDG_RUNTIME_DIR"), &programs, &n, &error);
    if (r < 0) {
        cli_print_error(&error);
        return r;
    }
    names = calloc(n + 1, sizeof *names);
    for (size_t i = 0, k = 0; i < n && names; i++) {
        size_t len = strlen(pids);

        if (!programs[i].name)
            continue;
        names[k++] = programs[i].name;
        if (strcmp(programs[i].name, name) != 0)
            continue;
        found++;
        *ret = programs[i].pid;
        snprintf(pids + len, sizeof pids - len, "%s%ld", len ? ", " : "", (long)programs[i].pid);
    }
    near = names ? suggest_find(name, strlen(name), names) : NULL;
    if (found > 1)
        cli_error("%zu programs are called '%s'; give a process ID: %s", found, name, pids);
    else if (found == 0 && near)
        cli_error("no traced program is called '%s'; did you mean '%s'?", name, near);
    else if (found == 0)
        cli_error("no traced program is called '%s'; 'strata list' shows them", name);
    free(names);
    client_list_free(programs, n);
    return found == 1 ? 0 : -ENOENT;
}

static int find_pid(const char *which, pid_t *ret)
{
    char *end;
    long pid = strtol(which, &end, 10);

    if (*which < '0' || *which > '9' || *end)
        return find_named(which, ret);
    if (pid < 1 || pid > INT_MAX) {
        cli_error("no process %s", which);
        return -ESRCH;
    }
    *ret = (pid_t)pid;
    return 0;
}

/* ---- Asking ---- */

/* Reports an error; returns the exit status. Splits the program's message SAID into lines. */
static int tell(int r, char *said, const struct error *error)
{
    char *line;

    if (r != -EREMOTE)
        cli_print_error(error);
    while (r == -EREMOTE && (line = client_line(&said)))
        cli_error("%s", line);
    return EXIT_FAILURE;
}

/* Sends "WORD ARGUMENT". *ret is the answer, allocated. Prints the error on failure. */
static int ask(struct target *target, const char *word, const char *argument, char **ret)
{
    _cleanup_free_ char *request = NULL;
    struct error error = {0};
    char *answer = NULL;
    int r;

    if (asprintf(&request, "%s%s%s", word, argument ? " " : "", argument ? argument : "") < 0) {
        request = NULL;
        cli_no_memory();
        return -ENOMEM;
    }
    r = client_ask(target->client, request, &answer, &error);
    if (r < 0) {
        tell(r, answer, &error);
        free(answer);
        return r;
    }
    *ret = answer;
    return 0;
}

/* Sends a command, and shows the resulting messages. */
static int ask_to(struct target *target, const char *word, const char *argument)
{
    _cleanup_free_ char *answer = NULL;
    char *rest, *line;

    if (ask(target, word, argument, &answer) < 0)
        return EXIT_FAILURE;
    rest = answer;
    while ((line = client_line(&rest)))
        cli_error("%s", line);
    return EXIT_SUCCESS;
}

/* PATH as an absolute path, because the program has another working directory. */
static char *absolute(const char *path)
{
    _cleanup_free_ char *here = NULL;
    char *full;

    if (*path == '/')
        return strdup(path);
    here = getcwd(NULL, 0);
    if (!here || asprintf(&full, "%s/%s", here, path) < 0)
        return NULL;
    return full;
}

static int ask_with_path(struct target *target, const char *word, const char *path, char **ret)
{
    _cleanup_free_ char *full = absolute(path);

    if (!full || !*path) {
        cli_error(full ? "a path must have a name" : "the working directory: %s", strerror(errno));
        return -EINVAL;
    }
    return ask(target, word, full, ret);
}

/* ---- Commands ---- */

/* Splits a line of `events`. */
static void split_event(char *line, const char **ret_state, const char **ret_name,
                        const char **ret_line, const char **ret_file)
{
    *ret_state = client_word(&line);
    (void)client_word(&line); /* its number */
    *ret_line = client_word(&line);
    *ret_name = client_word(&line);
    *ret_file = line;
}

static int no_such_event(struct target *target, const char *pattern)
{
    _cleanup_free_ char *all = NULL;
    _cleanup_free_ const char **names = NULL;
    const char *near = NULL, *unused;
    char *rest, *line;
    size_t n = 0;

    if (glob_is_pattern(pattern)) {
        cli_error("no event matches '%s'", pattern);
        return EXIT_FAILURE;
    }
    if (ask(target, "events", NULL, &all) < 0)
        return EXIT_FAILURE;
    for (const char *p = all; *p; p++)
        n += *p == '\n';
    names = calloc(n + 1, sizeof *names);
    rest = all;
    for (size_t i = 0; names && i < n && (line = client_line(&rest)); i++)
        split_event(line, &unused, &names[i], &unused, &unused);
    if (names)
        near = suggest_pattern(pattern, names);
    if (near)
        cli_error("trace event '%s' does not exist; did you mean '%s'?", pattern, near);
    else
        cli_error("trace event '%s' does not exist", pattern);
    return EXIT_FAILURE;
}

static void put_where(struct text *cell, const char *file, const char *line, const char *condition)
{
    text_put_str(cell, file);
    text_put_char(cell, ':');
    text_put_str(cell, line);
    if (!condition)
        return;
    text_put_literal(cell, "  if ");
    text_put_str(cell, condition);
}

static int list(void *p, unsigned n, char **arguments)
{
    struct target *target = p;
    _cleanup_free_ char *answer = NULL;
    struct table table;
    char *rest, *line;

    if (ask(target, "events", n ? arguments[0] : NULL, &answer) < 0)
        return EXIT_FAILURE;
    if (!*answer && n)
        return no_such_event(target, arguments[0]);
    table_begin(&table, &target->out, target->format, &ctl_event_form);
    rest = answer;
    while ((line = client_line(&rest))) {
        const char *state, *name, *number, *file;
        char *condition = strchr(line, '\t');

        if (condition)
            *condition++ = '\0';
        split_event(line, &state, &name, &number, &file);
        table_str(&table, CTL_STATE, state);
        table_str(&table, CTL_EVENT, name);
        table_str(&table, CTL_FILE, file);
        table_u64(&table, CTL_LINE, strtoul(number, NULL, 10));
        table_str(&table, CTL_CONDITION, condition);
        put_where(table_cell(&table, CTL_WHERE), file, number, condition);
        table_end_row(&table);
    }
    return table_end(&table) < 0 ? cli_output_error(-ENOMEM) : EXIT_SUCCESS;
}

/* Checks that an event matches PATTERN, which may be followed by ": CONDITION", and that one of them can be switched.
 * Otherwise the program would only remember the request for future events. */
static int check_pattern(struct target *target, const char *pattern)
{
    _cleanup_free_ char *answer = NULL;
    _cleanup_free_ char *name = strndup(pattern, strcspn(pattern, ": \t"));
    const char *state, *unused;
    bool found = false;
    char *rest, *line;

    if (!name) {
        cli_no_memory();
        return -ENOMEM;
    }
    if (!*name) {
        cli_error("'%s' is neither a name nor a pattern", pattern);
        return -EINVAL;
    }
    if (ask(target, "events", name, &answer) < 0)
        return -EIO;
    if (!*answer) {
        no_such_event(target, name);
        return -ENOENT;
    }
    rest = answer;
    while (!found && (line = client_line(&rest))) {
        split_event(line, &state, &unused, &unused, &unused);
        found = strcmp(state, "unavailable") != 0;
    }
    if (found)
        return 0;
    cli_error("trace event '%s' is not traceable: it is compiled out", name);
    return -EPERM;
}

/* In options, a comma in a value is doubled. */
static char *make_option(const char *pattern, bool on)
{
    char *option = malloc(2 * strlen(pattern) + sizeof "enable=-"), *at;

    if (!option)
        return NULL;
    at = stpcpy(option, on ? "enable=" : "enable=-");
    for (; *pattern; pattern++) {
        if (*pattern == ',')
            *at++ = ',';
        *at++ = *pattern;
    }
    *at = '\0';
    return option;
}

/* Checks all patterns first, so that a mistake in one changes nothing. */
static int switch_events(struct target *target, unsigned n, char **patterns, bool on)
{
    int status = EXIT_SUCCESS;

    for (unsigned i = 0; i < n; i++)
        if (check_pattern(target, patterns[i]) < 0)
            status = EXIT_FAILURE;
    for (unsigned i = 0; i < n && status == EXIT_SUCCESS; i++) {
        _cleanup_free_ char *option = make_option(patterns[i], on);

        if (!option)
            return cli_no_memory();
        status = ask_to(target, "options", option);
    }
    return status;
}

static int switch_on(void *p, unsigned n, char **arguments)
{
    return switch_events(p, n, arguments, true);
}

static int switch_off(void *p, unsigned n, char **arguments)
{
    return switch_events(p, n, arguments, false);
}

static int set(void *p, unsigned n, char **arguments)
{
    int status = EXIT_SUCCESS;

    for (unsigned i = 0; i < n && status == EXIT_SUCCESS; i++)
        status = ask_to(p, "options", arguments[i]);
    return status;
}

static int flush(void *p, unsigned n, char **arguments)
{
    _cleanup_free_ char *answer = NULL;

    (void)n;
    (void)arguments;
    return ask(p, "flush", NULL, &answer) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int snapshot(void *p, unsigned n, char **arguments)
{
    struct target *target = p;
    _cleanup_free_ char *answer = NULL;
    char *rest, *line;

    (void)n;
    if (ask_with_path(target, "snapshot", arguments[0], &answer) < 0)
        return EXIT_FAILURE;
    rest = answer;
    while ((line = client_line(&rest)))
        if (strcmp(client_word(&line), "folder") == 0) {
            text_put_safe_str(&target->out, line);
            text_put_char(&target->out, '\n');
        }
    return EXIT_SUCCESS;
}

static int file(void *p, unsigned n, char **arguments)
{
    struct target *target = p;
    _cleanup_free_ char *answer = NULL;
    int r;

    if (n == 2 && strcmp(arguments[0], "set") == 0)
        r = ask_with_path(target, "file set", arguments[1], &answer);
    else if (n == 1 && (strcmp(arguments[0], "on") == 0 || strcmp(arguments[0], "off") == 0))
        r = ask(target, "file", arguments[0], &answer);
    else if (n == 0)
        r = ask(target, "file", NULL, &answer);
    else
        return cli_usage_error("ctl", "invalid arguments; usage: file [on|off|set PATH]");
    if (r < 0)
        return EXIT_FAILURE;
    if (n > 0)
        return EXIT_SUCCESS;
    return ctl_put_file(&target->out, target->format, answer) < 0 ? cli_output_error(-ENOMEM)
                                                                  : EXIT_SUCCESS;
}

static int info(void *p, unsigned n, char **arguments)
{
    struct target *target = p;
    struct client_program program;
    struct error error = {0};
    int r;

    (void)n;
    (void)arguments;
    r = client_hello(target->client, &program, &error);
    if (r < 0)
        return tell(r, NULL, &error);
    r = print_program_info(&program, target->format, &target->out);
    client_program_done(&program);
    return r < 0 ? cli_output_error(-ENOMEM) : EXIT_SUCCESS;
}

static int stats(void *p, unsigned n, char **arguments)
{
    struct target *target = p;
    _cleanup_free_ char *answer = NULL;

    (void)n;
    (void)arguments;
    if (ask(target, "stats", NULL, &answer) < 0)
        return EXIT_FAILURE;
    return ctl_put_stats(&target->out, target->format, answer) < 0 ? cli_output_error(-ENOMEM)
                                                                   : EXIT_SUCCESS;
}

const struct ctl_command ctl_process_commands[] = {
    {"list", "[PATTERN]", 0, 1, list, .is_table = true},
    {"on", "PATTERN...", 1, UINT_MAX, switch_on},
    {"off", "PATTERN...", 1, UINT_MAX, switch_off},
    {"set", "OPTIONS...", 1, UINT_MAX, set},
    {"flush", "", 0, 0, flush},
    {"file", "[on|off|set PATH]", 0, 2, file, .is_table = true},
    {"snapshot", "DIR", 1, 1, snapshot},
    {"stats", "", 0, 0, stats, .is_table = true},
    {"info", "", 0, 0, info, .is_table = true},
    {NULL, NULL, 0, 0, NULL},
};

int ctl_process(const char *which, const struct ctl_request *request)
{
    const struct ctl_command *command;
    _cleanup_(client_freep) struct client *client = NULL;
    struct target target = {0};
    struct error error = {0};

    if (find_pid(which, &target.pid) < 0)
        return EXIT_FAILURE;
    if (client_open(getenv("XDG_RUNTIME_DIR"), target.pid, &client, &error) < 0) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    command = ctl_find(ctl_process_commands, "a program that links libstrata", request);
    if (!command)
        return EXIT_USAGE;
    target.client = client;
    target.format = request->format;
    if (ctl_open(&target.out, request->format) < 0)
        return EXIT_FAILURE;
    return ctl_end(&target.out, command->function(&target, request->n - 1, request->words + 1));
}
