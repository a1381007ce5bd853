/* SPDX-License-Identifier: MIT */
/* strata list: what this user traces, and could. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/duration.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/list.h"
#include "control/client.h"
#include "print/json.h"

#define OUT_SIZE ((size_t)64 * 1024)

struct list_options {
    unsigned format;
};

static const char *const formats[] = {"text", "json", NULL};

static const struct option list_option_table[] = {
    {OPTION_CHOICE, 'f', "format", "text|json", "output format; json is one object per line (text)",
     offsetof(struct list_options, format), .choices = formats},
    {OPTION_HELP, 'h', "help", NULL, "show this help", 0, NULL, NULL},
    {OPTION_END, 0, NULL, NULL, NULL, 0, NULL, NULL},
};

static const struct option_group groups[] = {
    {"Options", list_option_table, 0},
    {NULL, NULL, 0},
};

const struct command list_command = {
    .name = "list",
    .summary = "list traced programs, recordings and QEMUs",
    .operands = "",
    .about = "Lists this user's programs that link libstrata, with their events, sinks and\n"
             "losses; the running recordings, with their directory and sources; and the QEMUs,\n"
             "with the socket that 'strata record --attach' uses. 'strata ctl' controls all of\n"
             "them.",
    .groups = groups,
    .examples = "  strata list\n"
                "  strata list -f json | jq .pid",
};

static void put_row(struct text *out, const struct client_program *program)
{
    char events[48], since[32];

    text_printf(out, "%7ld  ", (long)program->pid);
    if (!program->name) {
        text_put_literal(out, "(does not answer)\n");
        return;
    }
    text_put_str(out, date_text(since, sizeof since, (int64_t)program->since));
    snprintf(events, sizeof events, "%" PRIu64 "/%" PRIu64, program->events_on, program->events);
    text_printf_safe(out, "  %11s %12" PRIu64 "  %s", events, program->dropped + program->unwritten,
                     program->name);
    for (size_t i = 0; i < program->n_sinks; i++) {
        text_put_str(out, i ? ", " : "  ");
        text_put_safe_str(out, program->sinks[i].name);
        if (strcmp(program->sinks[i].path, "-") != 0) {
            text_put_char(out, ' ');
            text_put_safe_str(out, program->sinks[i].path);
        }
        if (strcmp(program->sinks[i].state, "open") != 0)
            text_printf(out, " (%s)", program->sinks[i].state);
    }
    text_put_char(out, '\n');
}

static void put_json(struct text *out, const struct client_program *program)
{
    text_printf(out, "{\"pid\":%ld,\"kind\":\"program\"", (long)program->pid);
    if (!program->name) {
        text_put_literal(out, ",\"answers\":false}\n");
        return;
    }
    text_put_literal(out, ",\"answers\":true,\"program\":");
    json_put_str(out, program->name);
    text_put_literal(out, ",\"version\":");
    json_put_str(out, program->version);
    text_printf(
        out, ",\"since_ns\":%" PRIu64 ",\"events_on\":%" PRIu64 ",\"events\":%" PRIu64 ",\"mode\":",
        program->since, program->events_on, program->events);
    json_put_str(out, program->mode);
    text_printf(out,
                ",\"rings\":%" PRIu64 ",\"ring_bytes\":%" PRIu64 ",\"dropped\":%" PRIu64
                ",\"unwritten\":%" PRIu64 ",\"sinks\":[",
                program->rings, program->ring_bytes, program->dropped, program->unwritten);
    for (size_t i = 0; i < program->n_sinks; i++) {
        const struct client_sink *sink = &program->sinks[i];

        text_put_str(out, i ? ",{\"name\":" : "{\"name\":");
        json_put_str(out, sink->name);
        text_put_literal(out, ",\"state\":");
        json_put_str(out, sink->state);
        text_printf(out, ",\"lost\":%" PRIu64, sink->lost);
        if (strcmp(sink->path, "-") != 0) {
            text_put_literal(out, ",\"path\":");
            json_put_str(out, sink->path);
        }
        text_put_char(out, '}');
    }
    text_put_literal(out, "]}\n");
}

int cmd_list(int argc, char **argv)
{
    struct list_options options = {0};
    struct client_program *programs;
    struct error error = {0};
    struct text out;
    size_t n_programs;
    int n, r, status;

    if (!options_parse(&list_command, argc, argv, &options, &n, &status))
        return status;
    if (n > 0)
        return cli_usage_error(list_command.name, "unknown argument '%s'", argv[1]);
    if (client_list(getenv("XDG_RUNTIME_DIR"), &programs, &n_programs, &error) < 0) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    if (output_open(&out, options.format ? OUTPUT_DATA : OUTPUT_TEXT, OUT_SIZE) < 0) {
        cli_error("out of memory");
        client_list_free(programs, n_programs);
        return EXIT_FAILURE;
    }
    if (options.format == 0 && n_programs > 0)
        text_put_literal(&out,
                         "    PID  SINCE                 ON/EVENTS         LOST  PROGRAM, SINKS\n");
    for (size_t i = 0; i < n_programs; i++)
        if (options.format == 0)
            put_row(&out, &programs[i]);
        else
            put_json(&out, &programs[i]);
    client_list_free(programs, n_programs);
    status = EXIT_SUCCESS;
    if (list_recordings(&out, options.format == 1, &error) < 0) {
        cli_print_error(&error);
        status = EXIT_FAILURE;
    }
    if (status == EXIT_SUCCESS && options.format == 0 && text_total(&out) == 0)
        cli_message("strata: this user has no traced programs, no recordings and no QEMUs");
    r = text_flush(&out);
    text_done(&out);
    return r < 0 ? cli_output_error(r) : status;
}
