/* SPDX-License-Identifier: MIT */
#include "monitor/qmp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/control.h"
#include "monitor/hmp.h"
#include "monitor/qmp_arguments.h"

#define ARGUMENTS_MAX_QMP 4

struct call {
    struct qmp *qmp;
    const json_t *arguments; /* as the command wants them; NULL: none */
    struct buffer problem;   /* why it was refused */
    const char *class;       /* of the problem */
    bool quit;
};

struct command {
    const char *name;
    /* What it returns, NULL: a problem, or no memory. */
    json_t *(*function)(struct call *call);
    struct qmp_argument arguments[ARGUMENTS_MAX_QMP + 1];
};

/* ---- Replies ---- */

static int put_bytes(const char *bytes, size_t n, void *out)
{
    buffer_put(out, bytes, n);
    return 0;
}

/* MESSAGE, which may be NULL for want of memory, as a line. */
static void put_message(json_t *message, struct buffer *out)
{
    if (!message || json_dump_callback(message, put_bytes, out, JSON_ENSURE_ASCII) < 0)
        out->broken = true;
    buffer_put(out, "\r\n", 2);
    json_decref(message);
}

static json_t *error_value(const char *class, const char *text, size_t len)
{
    struct buffer clean = {0};
    json_t *value;

    buffer_put_clean(&clean, text, len);
    value = clean.broken ? NULL
                         : json_pack("{s:s, s:o}", "class", class, "desc",
                                     json_stringn(clean.len ? clean.bytes : "", clean.len));
    buffer_done(&clean);
    return value;
}

void qmp_malformed(const char *what, size_t len, struct buffer *out)
{
    put_message(json_pack("{s:o}", "error", error_value("GenericError", what, len)), out);
}

static json_t *version_value(const struct qmp *qmp)
{
    unsigned major = 0;
    unsigned minor = 0;
    unsigned micro = 0;

    (void)sscanf(STRATA_VERSION, "%u.%u.%u", &major, &minor, &micro);
    return json_pack("{s:{s:i, s:i, s:i}, s:s+}", "qemu", "micro", (int)micro, "minor", (int)minor,
                     "major", (int)major, "package", qmp->name, " (Strata " STRATA_VERSION ")");
}

void qmp_greet(const struct qmp *qmp, struct buffer *out)
{
    put_message(json_pack("{s:{s:o, s:[]}}", "QMP", "version", version_value(qmp), "capabilities"),
                out);
}

/* ---- Commands ---- */

static json_t *refuse(struct call *call, const char *class, const char *text)
{
    call->class = class;
    buffer_text(&call->problem, text);
    return NULL;
}

static json_t *do_capabilities(struct call *call)
{
    json_t *enable = json_object_get(call->arguments, "enable");
    size_t i;
    json_t *name;

    if (call->qmp->negotiated)
        return refuse(call, "CommandNotFound",
                      "Capabilities negotiation is already complete, command ignored");
    json_array_foreach(enable, i, name)
    {
        if (!json_is_string(name))
            return refuse(call, "GenericError",
                          "Invalid parameter type for 'enable', expected: array of strings");
        if (strcmp(json_string_value(name), "oob") == 0)
            return refuse(call, "GenericError", "Capability oob not available");
        buffer_text(&call->problem, "Parameter 'enable' does not accept value '");
        buffer_put(&call->problem, json_string_value(name), json_string_length(name));
        return refuse(call, "GenericError", "'");
    }
    call->qmp->negotiated = true;
    return json_object();
}

/* No program of ours has vCPUs that events are switched for one by one. */
static bool refuse_vcpu(struct call *call)
{
    json_t *vcpu = json_object_get(call->arguments, "vcpu");

    if (vcpu)
        buffer_printf(&call->problem, "invalid vCPU index %u", (unsigned)json_integer_value(vcpu));
    return vcpu != NULL;
}

static void add_state(const char *name, enum event_state state, void *userdata)
{
    json_t **list = userdata;
    json_t *event = json_pack("{s:s, s:b, s:s}", "name", name, "vcpu", 0, "state",
                              state == EVENT_ENABLED    ? "enabled"
                              : state == EVENT_DISABLED ? "disabled"
                                                        : "unavailable");

    if (*list && json_array_append_new(*list, event) < 0) {
        json_decref(*list);
        *list = NULL;
    }
}

static json_t *do_get_state(struct call *call)
{
    const json_t *name = json_object_get(call->arguments, "name");
    json_t *list;

    if (refuse_vcpu(call))
        return NULL;
    list = json_array();
    if (!control_get_state(json_string_value(name), json_string_length(name), add_state, &list,
                           &call->problem)) {
        json_decref(list);
        return NULL;
    }
    return list;
}

static json_t *do_set_state(struct call *call)
{
    const json_t *name = json_object_get(call->arguments, "name");

    if (refuse_vcpu(call) ||
        !control_set_state(json_string_value(name), json_string_length(name),
                           json_is_true(json_object_get(call->arguments, "enable")),
                           json_is_true(json_object_get(call->arguments, "ignore-unavailable")),
                           &call->problem))
        return NULL;
    return json_object();
}

/* cpu-index is taken, as clients send it always, and is of no consequence. */
static json_t *do_human(struct call *call)
{
    const json_t *line = json_object_get(call->arguments, "command-line");
    char *copy = strdup(json_string_value(line));
    struct buffer text = {0};
    struct buffer lines = {0};
    struct buffer clean = {0};
    json_t *result = NULL;

    if (!copy)
        return NULL;
    call->quit = hmp_command(copy, call->qmp->name, &text);
    hmp_put_lines(&lines, &text);
    buffer_put_clean(&clean, lines.bytes, lines.len);
    if (!lines.broken && !clean.broken)
        result = json_stringn(clean.len ? clean.bytes : "", clean.len);
    buffer_done(&clean);
    buffer_done(&lines);
    buffer_done(&text);
    free(copy);
    return result;
}

static json_t *do_version(struct call *call)
{
    return version_value(call->qmp);
}

static json_t *do_name(struct call *call)
{
    return json_pack("{s:s}", "name", call->qmp->name);
}

static json_t *do_quit(struct call *call)
{
    call->quit = true;
    return json_object();
}

static json_t *do_commands(struct call *call);

static const struct command commands[] = {
    {"human-monitor-command",
     do_human,
     {{"command-line", JSON_STRING, false}, {"cpu-index", JSON_INTEGER, true}}},
    {"qmp_capabilities", do_capabilities, {{"enable", JSON_ARRAY, true}}},
    {"query-commands", do_commands, {{0}}},
    {"query-name", do_name, {{0}}},
    {"query-version", do_version, {{0}}},
    {"quit", do_quit, {{0}}},
    {"trace-event-get-state",
     do_get_state,
     {{"name", JSON_STRING, false}, {"vcpu", JSON_INTEGER, true}}},
    {"trace-event-set-state",
     do_set_state,
     {{"name", JSON_STRING, false},
      {"enable", JSON_TRUE, false},
      {"ignore-unavailable", JSON_TRUE, true},
      {"vcpu", JSON_INTEGER, true}}},
    {0},
};

static json_t *do_commands(struct call *call)
{
    json_t *list = json_array();

    (void)call;
    for (const struct command *command = commands; command->name; command++)
        if (json_array_append_new(list, json_pack("{s:s}", "name", command->name)) < 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

/* ---- Requests ---- */

static bool key_is(const char *key, size_t len, const char *name)
{
    return strlen(name) == len && memcmp(key, name, len) == 0;
}

/* Whether MESSAGE is a request at all. */
static bool check_request(json_t *message, struct buffer *problem)
{
    for (void *iter = json_object_iter(message); iter;
         iter = json_object_iter_next(message, iter)) {
        const char *key = json_object_iter_key(iter);
        size_t len = json_object_iter_key_len(iter);
        const json_t *value = json_object_iter_value(iter);

        if (key_is(key, len, "id"))
            continue;
        if (key_is(key, len, "execute") && !json_is_string(value)) {
            buffer_text(problem, "QMP input member 'execute' must be a string");
        } else if (key_is(key, len, "arguments") && !json_is_object(value)) {
            buffer_text(problem, "QMP input member 'arguments' must be an object");
        } else if (!key_is(key, len, "execute") && !key_is(key, len, "arguments")) {
            buffer_text(problem, "QMP input member '");
            buffer_put(problem, key, len);
            buffer_text(problem, "' is unexpected");
        }
        if (problem->len)
            return false;
    }
    if (!json_object_get(message, "execute"))
        buffer_text(problem, "QMP input lacks member 'execute'");
    return problem->len == 0;
}

static json_t *execute(struct call *call, json_t *message)
{
    const json_t *execute = json_object_get(message, "execute");
    const char *name = json_string_value(execute);
    const struct command *command = commands;

    if (!call->qmp->negotiated && strcmp(name, "qmp_capabilities") != 0)
        return refuse(call, "CommandNotFound",
                      "Expecting capabilities negotiation with 'qmp_capabilities'");
    while (command->name && !key_is(name, json_string_length(execute), command->name))
        command++;
    if (!command->name) {
        buffer_text(&call->problem, "The command ");
        buffer_put(&call->problem, name, json_string_length(execute));
        return refuse(call, "CommandNotFound", " has not been found");
    }
    call->arguments = json_object_get(message, "arguments");
    if (!qmp_check_arguments(call->arguments, command->arguments, &call->problem))
        return NULL;
    return command->function(call);
}

bool qmp_request(struct qmp *qmp, json_t *message, struct buffer *out)
{
    struct call call = {.qmp = qmp, .class = "GenericError"};
    json_t *id = json_object_get(message, "id");
    json_t *result = NULL;
    json_t *reply;

    if (!json_is_object(message))
        buffer_text(&call.problem, "QMP input must be a JSON object");
    else if (check_request(message, &call.problem))
        result = execute(&call, message);
    if (result)
        reply = json_pack("{s:o, s:O*}", "return", result, "id", id);
    else if (call.problem.len)
        reply = json_pack("{s:O*, s:o}", "id", id, "error",
                          error_value(call.class, call.problem.bytes, call.problem.len));
    else
        reply = NULL;
    out->broken |= call.problem.broken;
    buffer_done(&call.problem);
    put_message(reply, out);
    return call.quit;
}
