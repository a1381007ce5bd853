/* SPDX-License-Identifier: MIT */
/* strata ctl --qmp: the same for a QEMU, by its monitor. QEMU's messages are shown unchanged. */

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/options.h"
#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/ctl/ctl.h"
#include "control/qmp.h"
#include "record/qemu/leftover.h"
#include "record/qemu/process.h"

struct target {
    struct qmp *qmp;
    struct libvirt_domain *domain; /* NULL if it has none */
    pid_t pid;                     /* of QEMU; 0 if unknown */
    struct text out;
    enum table_format format;
};

static int tell(int r, const struct error *error)
{
    if (r == -EREMOTE)
        cli_error("QEMU says: %s", error->what);
    else
        cli_print_error(error);
    return EXIT_FAILURE;
}

static int no_utf8(const char *text)
{
    cli_error("'%s' is not valid UTF-8", text);
    return EXIT_FAILURE;
}

/* Gets the events that match the pattern, at least one; otherwise returns the exit status. */
static int get_events(struct target *target, const char *pattern, json_t **ret)
{
    json_t *arguments = json_pack("{s:s}", "name", pattern);
    struct error error = {0};
    json_t *events;
    int r;

    if (!arguments)
        return no_utf8(pattern);
    r = qmp_execute(target->qmp, "trace-event-get-state", arguments, &events, &error);
    if (r < 0)
        return tell(r, &error);
    if (json_array_size(events) == 0) {
        cli_error("no event matches '%s'", pattern);
        json_decref(events);
        return EXIT_FAILURE;
    }
    *ret = events;
    return EXIT_SUCCESS;
}

static int list(void *p, unsigned n, char **arguments)
{
    struct target *target = p;
    _cleanup_(json_decrefp) json_t *events = NULL;
    const json_t *event;
    struct table table;
    int status;
    size_t i;

    status = get_events(target, n ? arguments[0] : "*", &events);
    if (status != EXIT_SUCCESS)
        return status;
    table_begin(&table, &target->out, target->format, &ctl_event_form);
    json_array_foreach(events, i, event)
    {
        const char *state = json_string_value(json_object_get(event, "state"));
        const char *name = json_string_value(json_object_get(event, "name"));

        if (!state || !name)
            continue;
        table_str(&table, CTL_STATE,
                  strcmp(state, "enabled") == 0    ? "on"
                  : strcmp(state, "disabled") == 0 ? "off"
                                                   : state);
        table_str(&table, CTL_EVENT, name);
        table_end_row(&table);
    }
    return table_end(&table) < 0 ? cli_output_error(-ENOMEM) : EXIT_SUCCESS;
}

static int switch_events(struct target *target, unsigned n, char **patterns, bool on)
{
    for (unsigned i = 0; i < n; i++) {
        _cleanup_(json_decrefp) json_t *events = NULL, *result = NULL;
        struct error error = {0};
        json_t *arguments;
        int status, r;

        /* QEMU takes a pattern that matches nothing for well done. */
        status = get_events(target, patterns[i], &events);
        if (status != EXIT_SUCCESS)
            return status;
        arguments = json_pack("{s:s, s:b, s:b}", "name", patterns[i], "enable", on ? 1 : 0,
                              "ignore-unavailable", strpbrk(patterns[i], "*?") != NULL);
        if (!arguments)
            return no_utf8(patterns[i]);
        r = qmp_execute(target->qmp, "trace-event-set-state", arguments, &result, &error);
        if (r < 0)
            return tell(r, &error);
    }
    return EXIT_SUCCESS;
}

static int switch_on(void *p, unsigned n, char **arguments)
{
    return switch_events(p, n, arguments, true);
}

static int switch_off(void *p, unsigned n, char **arguments)
{
    return switch_events(p, n, arguments, false);
}

/* Runs a command of the human monitor, whose lines end in \r\n. FAILS: any output is an error message. */
static int human(struct target *target, const char *line, bool fails)
{
    _cleanup_free_ char *said = NULL;
    struct error error = {0};
    size_t len = 0;
    int r;

    r = qmp_human(target->qmp, line, &said, &error);
    if (r < 0)
        return tell(r, &error);
    for (const char *p = said; *p; p++)
        if (*p != '\r')
            said[len++] = *p;
    while (len > 0 && said[len - 1] == '\n')
        len--;
    said[len] = '\0';
    /* An old QEMU, or one without the backend `simple`, knows no trace-file. */
    if (len > 0 && (fails || strncmp(said, "unknown command:", 16) == 0)) {
        cli_error("QEMU says: %s", said);
        return EXIT_FAILURE;
    }
    if (len > 0) {
        text_put(&target->out, said, len);
        text_put_char(&target->out, '\n');
    }
    return EXIT_SUCCESS;
}

static int flush(void *p, unsigned n, char **arguments)
{
    (void)n;
    (void)arguments;
    return human(p, "trace-file flush", true);
}

static int file(void *p, unsigned n, char **arguments)
{
    char line[PATH_MAX + 64];
    int len;

    if (n == 0)
        return human(p, "trace-file", false);
    if (n == 1 && (strcmp(arguments[0], "on") == 0 || strcmp(arguments[0], "off") == 0)) {
        len = snprintf(line, sizeof line, "trace-file %s", arguments[0]);
    } else if (n == 2 && strcmp(arguments[0], "set") == 0) {
        const char *path = arguments[1];
        char here[PATH_MAX] = "";

        if (*path != '/' && !getcwd(here, sizeof here)) {
            cli_error("the working directory: %s", strerror(errno));
            return EXIT_FAILURE;
        }
        if (strpbrk(path, "\"\\\n") || strpbrk(here, "\"\\\n")) {
            cli_error("QEMU's monitor accepts no path with a quote, backslash or newline");
            return EXIT_FAILURE;
        }
        len =
            snprintf(line, sizeof line, "trace-file set \"%s%s%s\"", here, *here ? "/" : "", path);
    } else {
        return cli_usage_error("ctl", "invalid arguments; usage: file [on|off|set PATH]");
    }
    if (len >= (int)sizeof line) {
        cli_error("the path is too long");
        return EXIT_FAILURE;
    }
    return human(p, line, true);
}

static int monitor(void *p, unsigned n, char **arguments)
{
    struct text line = TEXT_IN_MEMORY;
    int status;

    for (unsigned i = 0; i < n; i++) {
        if (i)
            text_put_char(&line, ' ');
        text_put_str(&line, arguments[i]);
    }
    text_put_char(&line, '\0');
    status = human(p, line.start, false);
    text_done(&line);
    return status;
}

/* Puts the values of `info`: a line for each in text, one row in other formats. */
static int put_info(struct target *target, const char *const values[3])
{
    static const char *const labels[] = {"version", "name", "status"};
    static const struct table_column columns[] = {
        {.name = "version"}, {.name = "name"}, {.name = "status"}};
    static const struct table_form form = {columns, ARRAY_SIZE(columns)};
    struct table table;

    if (target->format == TABLE_TEXT) {
        for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
            if (values[i]) {
                text_printf_safe(&target->out, "%-10s  %s", labels[i], values[i]);
                text_put_char(&target->out, '\n');
            }
        return EXIT_SUCCESS;
    }
    table_begin(&table, &target->out, target->format, &form);
    for (unsigned i = 0; i < ARRAY_SIZE(labels); i++)
        table_str(&table, i, values[i]);
    table_end_row(&table);
    return table_end(&table) < 0 ? cli_output_error(-ENOMEM) : EXIT_SUCCESS;
}

static int info(void *p, unsigned n, char **arguments)
{
    struct target *target = p;
    _cleanup_(json_decrefp) json_t *name = NULL, *status = NULL;
    const char *values[3] = {qmp_version(target->qmp)};
    struct error error = {0};
    int r;

    (void)n;
    (void)arguments;
    r = qmp_execute(target->qmp, "query-name", NULL, &name, &error);
    if (r >= 0)
        r = qmp_execute(target->qmp, "query-status", NULL, &status, &error);
    if (r < 0 && r != -EREMOTE)
        return tell(r, &error);
    values[1] = json_string_value(json_object_get(name, "name"));
    values[2] = json_string_value(json_object_get(status, "status"));
    return put_info(target, values);
}

/* Restores what a killed recorder has left. */
static int restore(void *p, unsigned n, char **arguments)
{
    struct target *target = p;
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    pid_t pid = target->pid;
    struct qemu_restore left = {0};
    struct error error = {0};
    bool any = false;
    int claim, r;

    (void)n;
    (void)arguments;
    if (pid <= 0) {
        cli_error("cannot see which process serves this monitor; run this as its user, or as root");
        return EXIT_FAILURE;
    }
    r = qemu_process_claim(pid, runtime, &claim, &error);
    if (r < 0)
        return tell(r, &error);
    r = qemu_leftover_find(runtime, pid, &left);
    if (r < 0)
        r = error_set(&error, r, NULL, "out of memory");
    else
        r = qemu_leftover_undo(&left, target->qmp, target->domain, runtime, true, &any, &error);
    qemu_restore_done(&left);
    close(claim);
    if (r < 0)
        return tell(r, &error);
    if (!any)
        cli_message("strata: no killed recorder has left anything in this QEMU");
    return EXIT_SUCCESS;
}

const struct ctl_command ctl_qmp_commands[] = {
    {"list", "[PATTERN]", 0, 1, list, .is_table = true},
    {"on", "PATTERN...", 1, UINT_MAX, switch_on},
    {"off", "PATTERN...", 1, UINT_MAX, switch_off},
    {"flush", "", 0, 0, flush},
    {"file", "[on|off|set PATH]", 0, 2, file},
    {"monitor", "LINE", 1, UINT_MAX, monitor},
    {"restore", "", 0, 0, restore},
    {"info", "", 0, 0, info, .is_table = true},
    {NULL, NULL, 0, 0, NULL},
};

/* After this time a user is told what strata waits for. */
#define GREETING_NOTICE_MS 1000

static int open_monitor(const struct qmp_endpoint *monitor, struct qmp **ret)
{
    _cleanup_(qmp_freep) struct qmp *qmp = NULL;
    struct error error = {0};
    char why[128];
    int r = monitor->connect(monitor, &qmp, &error);

    if (r >= 0 && !qmp_greets_within(qmp, GREETING_NOTICE_MS))
        cli_error("%s: QEMU's monitor does not answer: %s; waiting up to %d seconds", monitor->name,
                  monitor->silence(monitor, why, sizeof why), QMP_TIMEOUT_S);
    if (r >= 0)
        r = qmp_greet(qmp, &error);
    if (r < 0)
        cli_print_error(&error);
    else
        *ret = TAKE_PTR(qmp);
    return r;
}

int ctl_monitor(const struct qmp_endpoint *monitor, pid_t pid, struct libvirt_domain *domain,
                const struct ctl_request *request)
{
    const struct ctl_command *command = ctl_find(ctl_qmp_commands, "a QEMU", request);
    _cleanup_(qmp_freep) struct qmp *qmp = NULL;
    struct target target = {0};

    if (!command)
        return EXIT_USAGE;
    if (open_monitor(monitor, &qmp) < 0)
        return EXIT_FAILURE;
    target.qmp = qmp;
    target.pid = pid ? pid : qmp_peer(qmp);
    target.domain = domain;
    target.format = request->format;
    if (ctl_open(&target.out, request->format) < 0)
        return EXIT_FAILURE;
    return ctl_end(&target.out, command->function(&target, request->n - 1, request->words + 1));
}

int ctl_qmp(const char *socket, const struct ctl_request *request)
{
    const struct qmp_endpoint monitor = qmp_socket_endpoint(socket);

    return ctl_monitor(&monitor, 0, NULL, request);
}
