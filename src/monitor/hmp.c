/* SPDX-License-Identifier: MIT */
#include "monitor/hmp.h"

#include <string.h>

#include "monitor/control.h"
#include "monitor/hmp_words.h"

struct command;

struct call {
    const char *name; /* of the program */
    const struct command *command;
    struct argument arguments[ARGUMENTS_MAX];
    struct buffer *out;
    bool quit;
};

struct command {
    const char *name; /* "NAME" or "NAME|OTHER" */
    struct argument_spec specs[ARGUMENTS_MAX + 1];
    const char *parameters;
    const char *help;
    void (*function)(struct call *call);
};

static void do_help(struct call *call);

static void put_help(const struct command *command, const char *group, struct buffer *out)
{
    buffer_printf(out, "%s%s %s -- %s\n", group, command->name, command->parameters, command->help);
}

/* What was refused, as a line. */
static void say_problem(struct call *call, struct buffer *problem)
{
    if (problem->len) {
        buffer_put(call->out, problem->bytes, problem->len);
        buffer_text(call->out, "\n");
    }
    call->out->broken |= problem->broken;
    buffer_done(problem);
}

/* No program of ours has vCPUs that events are switched for one by one. */
static bool refuse_vcpu(struct call *call, const struct argument *vcpu)
{
    if (vcpu->given)
        buffer_printf(call->out, "invalid vCPU index %d\n", vcpu->number);
    return vcpu->given;
}

static void put_state(const char *name, enum event_state state, void *userdata)
{
    buffer_printf(userdata, "%s : state %d\n", name, state == EVENT_ENABLED);
}

static void do_info_trace(struct call *call)
{
    struct buffer problem = {0};

    (void)control_show(call->out, &problem);
    say_problem(call, &problem);
}

static void do_info_trace_events(struct call *call)
{
    const char *name = call->arguments[0].given ? call->arguments[0].text : "*";
    struct buffer problem = {0};

    if (refuse_vcpu(call, &call->arguments[1]))
        return;
    (void)control_get_state(name, strlen(name), put_state, call->out, &problem);
    say_problem(call, &problem);
}

static void do_info_version(struct call *call)
{
    buffer_printf(call->out, "%s (%s)\n", STRATA_VERSION, call->name);
}

static void do_trace_event(struct call *call)
{
    const char *name = call->arguments[0].text;
    struct buffer problem = {0};

    if (refuse_vcpu(call, &call->arguments[2]))
        return;
    (void)control_set_state(name, strlen(name), call->arguments[1].on, true, &problem);
    say_problem(call, &problem);
}

static void do_trace_file(struct call *call)
{
    const char *what = call->arguments[0].given ? call->arguments[0].text : NULL;
    const struct argument *path = &call->arguments[1];
    struct buffer problem = {0};

    if (!what) {
        (void)control_file_status(call->out, &problem);
    } else if (strcmp(what, "on") == 0 || strcmp(what, "off") == 0) {
        (void)control_file_set_enabled(strcmp(what, "on") == 0, &problem);
    } else if (strcmp(what, "flush") == 0) {
        (void)control_flush(&problem);
    } else if (strcmp(what, "set") == 0) {
        if (path->given)
            (void)control_file_set(path->text, &problem);
    } else {
        buffer_printf(call->out, "unexpected argument \"%s\"\n", what);
        put_help(call->command, "", call->out);
    }
    say_problem(call, &problem);
}

static void do_log_file(struct call *call)
{
    struct buffer problem = {0};

    (void)control_log_file(call->arguments[0].text, &problem);
    say_problem(call, &problem);
}

static void do_quit(struct call *call)
{
    call->quit = true;
}

static const struct command info_commands[] = {
    {"trace", {{ARGUMENT_NONE}}, "", "show the newest events in the trace buffer", do_info_trace},
    {"trace-events",
     {{ARGUMENT_STRING, true}, {ARGUMENT_NUMBER, true}},
     "[name] [vcpu]",
     "show available trace-events & their state (name: event name pattern; vcpu: none here has "
     "any)",
     do_info_trace_events},
    {"version", {{ARGUMENT_NONE}}, "", "show the version of Strata", do_info_version},
    {0},
};

static const struct command commands[] = {
    {"help|?", {{ARGUMENT_REST, true}}, "[cmd]", "show the help", do_help},
    {"info", {{ARGUMENT_REST, true}}, "[subcommand]", "show various information", NULL},
    {"logfile",
     {{ARGUMENT_FILE}},
     "filename",
     "write lines of text (backend log) to 'filename'",
     do_log_file},
    {"quit|q", {{ARGUMENT_NONE}}, "", "end this session; the program goes on", do_quit},
    {"trace-event",
     {{ARGUMENT_STRING}, {ARGUMENT_ON_OFF}, {ARGUMENT_NUMBER, true}},
     "name on|off [vcpu]",
     "switch a trace event, or those that match (vcpu: none here has any)",
     do_trace_event},
    {"trace-file",
     {{ARGUMENT_STRING, true}, {ARGUMENT_FILE, true}},
     "on|off|flush|set [arg]",
     "switch or flush the trace file, or set another one; without arguments, show it",
     do_trace_file},
    {0},
};

static bool has_name(const struct command *command, const char *word)
{
    const char *names = command->name;
    size_t len = strlen(word);

    for (;;) {
        size_t n = strcspn(names, "|");

        if (n == len && memcmp(names, word, len) == 0)
            return true;
        if (!names[n])
            return false;
        names += n + 1;
    }
}

static const struct command *find(const struct command *list, const char *word)
{
    for (; list->name; list++)
        if (has_name(list, word))
            return list;
    return NULL;
}

static void put_all_help(const struct command *list, const char *group, struct buffer *out)
{
    for (; list->name; list++)
        put_help(list, group, out);
}

static void do_help(struct call *call)
{
    char *at = call->arguments[0].text;
    const char *word = hmp_next_word(&at);
    const char *second = hmp_next_word(&at);

    if (!*word)
        put_all_help(commands, "", call->out);
    else if (strcmp(word, "info") == 0 && !*second)
        put_all_help(info_commands, "info ", call->out);
    else if (strcmp(word, "info") == 0 && find(info_commands, second))
        put_help(find(info_commands, second), "info ", call->out);
    else if (strcmp(word, "info") != 0 && find(commands, word))
        put_help(find(commands, word), "", call->out);
    else
        buffer_printf(call->out, "unknown command: '%s%s%s'\n", word, *second ? " " : "", second);
}

bool hmp_command(char *line, const char *name, struct buffer *out)
{
    struct call call = {.name = name, .out = out};
    const struct command *command;
    const char *group = "";
    char *at = line;
    const char *word = hmp_next_word(&at);

    if (!*word)
        return false;
    command = find(commands, word);
    if (command && !command->function) {
        group = "info ";
        word = hmp_next_word(&at);
        if (!*word) {
            put_all_help(info_commands, group, out);
            return false;
        }
        command = find(info_commands, word);
    }
    if (!command) {
        buffer_printf(out, "unknown command: '%s%s'\n", group, word);
        return false;
    }
    if (!hmp_read_arguments(at, command->name, command->specs, call.arguments, out)) {
        buffer_printf(out, "Try \"help %s%s\" for more information\n", group, word);
        return false;
    }
    call.command = command;
    command->function(&call);
    return call.quit;
}

void hmp_put_lines(struct buffer *out, const struct buffer *text)
{
    const char *at = text->len ? text->bytes : "";
    const char *end = at + text->len;

    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((newline ? newline : end) - at);

        buffer_put(out, at, n);
        if (newline)
            buffer_put(out, "\r\n", 2);
        at += n + (newline != NULL);
    }
    out->broken |= text->broken;
}
