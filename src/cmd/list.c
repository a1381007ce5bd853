/* SPDX-License-Identifier: MIT */
/* strata list: what this user traces, and could trace. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/date.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/list.h"
#include "control/client.h"
#include "report/program_info.h"

#define OUT_SIZE ((size_t)64 * 1024)

struct list_options {
    unsigned format; /* enum table_format */
};

static const struct cli_option list_option_table[] = {
    {OPTION_CHOICE, 'f', "format", "text|json|csv", "output format; json is one object per line",
     offsetof(struct list_options, format), .choices = table_formats, .default_text = "text"},
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
             "losses; the running recordings, with their directory and sources, those of\n"
             "services also for root; and the QEMUs, with the socket that 'strata record\n"
             "--attach' uses. 'strata ctl' controls all of them.",
    .groups = groups,
    .examples = "  strata list\n"
                "  strata list -f json | jq .pid",
};

/* ---- The table ---- */

static const struct table_column data_columns[LIST_COLUMNS] = {
    [LIST_PID] = {.title = "PID", .width = 7, .name = "pid"},
    [LIST_KIND] = {.name = "kind"},
    [LIST_ANSWERS] = {.name = "answers"},
    [LIST_SINCE] = {.title = "SINCE", .width = -21},
    [LIST_SINCE_NS] = {.name = "since_ns"},
    [LIST_PROGRAM] = {.name = "program"},
    [LIST_NAME] = {.name = "name"},
    [LIST_DIRECTORY] = {.name = "directory"},
    [LIST_VERSION] = {.name = "version"},
    [LIST_EVENTS_ON] = {.name = "events_on"},
    [LIST_EVENTS] = {.name = "events"},
    [LIST_MODE] = {.name = "mode"},
    [LIST_RINGS] = {.name = "rings"},
    [LIST_RING_BYTES] = {.name = "ring_bytes"},
    [LIST_DROPPED] = {.name = "dropped"},
    [LIST_UNWRITTEN] = {.name = "unwritten"},
    [LIST_SINKS] = {.name = "sinks", .csv_only = true},
    [LIST_SINKS_JSON] = {.name = "sinks", .json_only = true},
    [LIST_SOURCES] = {.name = "sources", .csv_only = true},
    [LIST_SOURCES_JSON] = {.name = "sources", .json_only = true},
    [LIST_USER] = {.name = "user"},
    [LIST_KEEPS] = {.name = "keeps"},
    [LIST_SNAPSHOTS] = {.name = "snapshots"},
    [LIST_QMP] = {.name = "qmp"},
};

static void begin_table(struct list *list, enum table_format format)
{
    const struct table_form form = {list->columns, LIST_COLUMNS, .silent_if_empty = true};

    table_begin(&list->table, list->out, format, &form);
}

static void end_table(struct list *list)
{
    int r = table_end(&list->table);

    if (r < 0)
        list->error = r;
}

void list_begin_kind(struct list *list, const char *what)
{
    if (list->table.format != TABLE_TEXT)
        return;
    end_table(list);
    list->columns[LIST_WHAT] = (struct table_column){.title = what};
    list->columns[LIST_REMARK] = (struct table_column){.title = ""};
    begin_table(list, TABLE_TEXT);
    list->any = false;
}

void list_begin_row(struct list *list, pid_t pid, const char *kind, int64_t since_ns)
{
    char since[32];

    if (list->table.format == TABLE_TEXT && !list->any && text_total(list->out) > 0)
        text_put_char(list->out, '\n');
    list->any = true;
    table_i64(&list->table, LIST_PID, pid);
    table_str(&list->table, LIST_KIND, kind);
    if (since_ns == 0)
        return;
    table_i64(&list->table, LIST_SINCE_NS, since_ns);
    table_str(&list->table, LIST_SINCE, date_text(since, sizeof since, since_ns));
}

/* ---- Programs ---- */

static void put_program(struct list *list, const struct client_program *program)
{
    struct table *table = &list->table;

    list_begin_row(list, program->pid, "program", program->name ? (int64_t)program->since : 0);
    table_bool(table, LIST_ANSWERS, program->name);
    if (program->name) {
        table_str(table, LIST_PROGRAM, program->name);
        table_str(table, LIST_VERSION, program->version);
        table_u64(table, LIST_EVENTS_ON, program->events_on);
        table_u64(table, LIST_EVENTS, program->events);
        text_printf(table_cell(table, LIST_EVENTS_TEXT), "%" PRIu64 "/%" PRIu64, program->events_on,
                    program->events);
        table_str(table, LIST_MODE, program->mode);
        table_u64(table, LIST_RINGS, program->rings);
        table_u64(table, LIST_RING_BYTES, program->ring_bytes);
        table_u64(table, LIST_LOST, program->dropped + program->unwritten);
        table_u64(table, LIST_DROPPED, program->dropped);
        table_u64(table, LIST_UNWRITTEN, program->unwritten);
        program_set_sinks(table, LIST_SINKS, program);
        program_set_sinks(table, LIST_REMARK, program);
        program_write_sinks(table_json(table, LIST_SINKS_JSON), program);
    }
    table_str(table, LIST_WHAT, program->name ? program->name : "(does not answer)");
    table_end_row(table);
}

static int list_programs(struct list *list, struct error *error)
{
    struct client_program *programs;
    size_t n;
    int r = client_list(getenv("XDG_RUNTIME_DIR"), &programs, &n, error);

    if (r < 0)
        return r;
    list_begin_kind(list, "PROGRAM, SINKS");
    for (size_t i = 0; i < n; i++)
        put_program(list, &programs[i]);
    client_list_free(programs, n);
    return 0;
}

/* ---- The command ---- */

static int list_all(struct list *list, enum table_format format)
{
    struct error error = {0};
    int r;

    memcpy(list->columns, data_columns, sizeof list->columns);
    list->columns[LIST_EVENTS_TEXT] = (struct table_column){.title = "ON/EVENTS", .width = 11};
    list->columns[LIST_LOST] = (struct table_column){.title = "LOST", .width = 12};
    begin_table(list, format);
    r = list_programs(list, &error);
    list->columns[LIST_EVENTS_TEXT].title = list->columns[LIST_LOST].title = NULL;
    if (r >= 0)
        r = list_recordings(list, &error);
    end_table(list);
    if (r < 0)
        cli_print_error(&error);
    else if (list->error)
        return cli_output_error(list->error);
    else if (format == TABLE_TEXT && text_total(list->out) == 0)
        cli_message("strata: this user has no traced programs, no recordings and no QEMUs");
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int cmd_list(int argc, char **argv)
{
    struct list_options options = {0};
    struct text out;
    struct list list = {.out = &out};
    int n, r, status;

    if (!options_parse(&list_command, argc, argv, &options, &n, &status))
        return status;
    if (n > 0)
        return cli_usage_error(list_command.name, "unknown argument '%s'", argv[1]);
    if (output_open(&out, options.format == TABLE_TEXT ? OUTPUT_TEXT : OUTPUT_DATA, OUT_SIZE) < 0)
        return cli_no_memory();
    status = list_all(&list, (enum table_format)options.format);
    r = text_flush(&out);
    text_done(&out);
    return r < 0 ? cli_output_error(r) : status;
}
