/* SPDX-License-Identifier: MIT */
/* strata sql: answers questions about a trace, in SQL. */
#include "cmd/sql/sql.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/input.h"
#include "cli/duration.h"
#include "cli/output.h"
#include "cli/size.h"
#include "cmd/cmd.h"
#include "cmd/span_rules.h"
#include "cmd/walk.h"
#include "query/print_rows.h"
#include "report/losses_text.h"
#include "report/trace_view.h"

#define OUT_SIZE ((size_t)64 * 1024)
#define SQL_FILE_MAX ((size_t)4 << 20)

struct sql_options {
    struct open_options open;
    struct strings commands, pairs, pair_files;
    const char *file, *named;
    unsigned format; /* enum table_format */
    bool list, spreadsheet;
    uint64_t limit_memory, limit_time; /* in bytes and ns; 0: unlimited */
};

#define MEMBER(m) offsetof(struct sql_options, m)

static const struct cli_option query_options[] = {
    {OPTION_STRINGS, 'c', "command", "SQL", "run these statements", MEMBER(commands),
     .page = "Statements are separated by ';'."},
    {OPTION_STRING, 0, "file", "FILE", "run the statements of FILE", MEMBER(file),
     .page = "'-' is standard input."},
    {OPTION_STRING, 'q', "query", "NAME", "run a query that ships with Strata", MEMBER(named)},
    {OPTION_FLAG, 'l', "list", NULL, "list the queries that ship with Strata", MEMBER(list),
     .page = "With --format=json or csv, also show their SQL."},
    {OPTION_STRINGS, 'p', "pair", "RULE",
     "also make spans by RULE, as in strata latency: 'begin(key) -> end(key)'", MEMBER(pairs)},
    {OPTION_STRINGS, 0, "pairs", "FILE", "the same for the rules of a file, one per line",
     MEMBER(pair_files)},
    {OPTION_RENAMED, 'f', "-f", "--file"},
    {OPTION_END},
};

static const struct cli_option output_options[] = {
    {OPTION_CHOICE, 0, "format", "text|json|csv", "output format", MEMBER(format),
     .choices = table_formats, .default_text = "text",
     .page =
         "JSON has an object per row and line, without the columns that are NULL. CSV has a header "
         "line per query. Blobs are hexadecimal digits."},
    {OPTION_FLAG, 0, "spreadsheet", NULL, "in CSV, write ' before a text that is a formula",
     MEMBER(spreadsheet),
     .page = "A spreadsheet would run a text that begins with one of '= + - @'."},
    {OPTION_END},
};

static const struct cli_option limit_options[] = {
    {OPTION_PARSED, 0, "limit-memory", "SIZE", "stop a query that needs more memory",
     MEMBER(limit_memory), NULL, size_parse, .default_text = "1G",
     .page = "Memory of the readers of the tables does not count. Sorting large results uses "
             "temporary files."},
    {OPTION_PARSED, 0, "limit-time", "SECONDS", "stop after SECONDS", MEMBER(limit_time), NULL,
     duration_parse_period, .page = "This is the time of all statements together."},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"Queries", query_options, 0},
    {"Output", output_options, 0},
    {"Limits", limit_options, 0, .page = "Set limits for a query that you did not write."},
    {"Reading", open_option_table, MEMBER(open)},
    {"Help", help_option_table, 0},
    {NULL},
};

const struct command sql_command = {
    .name = "sql",
    .summary = "ask questions about a trace in SQL",
    .operands = "PATH...",
    .about = "Answers SQL queries from one or more traces. Nothing is imported: the tables are\n"
             "read from the traces.\n\n"
             "Tables: event, span, state, loss, clock, source, thread, cpu, and one for each\n"
             "layer and event, such as guest_sched_switch. Times are nanoseconds.\n\n"
             "Without -c, -f and -q, reads queries from the terminal (.help shows how) or\n"
             "from standard input.",
    .groups = groups,
    .examples = "  strata sql -c 'SELECT name, count(*) FROM span GROUP BY name' trace\n"
                "  strata sql -q slowest trace\n"
                "  strata sql trace",
};

/* ---- Signals ---- */

static volatile sig_atomic_t stopped, out_of_time;

static void handle_interrupt(int signal)
{
    (void)signal;
    stopped = 1;
}

static void handle_alarm(int signal)
{
    (void)signal;
    out_of_time = 1;
    stopped = 1;
}

/* The limits are for all statements together. */
static void set_limits(const struct sql_options *options)
{
    const struct sigaction action = {.sa_handler = handle_alarm};
    const struct itimerval timer = {
        .it_value = {(time_t)(options->limit_time / NSEC_PER_SEC),
                     (suseconds_t)(options->limit_time % NSEC_PER_SEC / 1000)}};

    if (options->limit_memory)
        (void)sqlite3_hard_heap_limit64(
            (sqlite3_int64)MIN(options->limit_memory, (uint64_t)INT64_MAX));
    if (!options->limit_time)
        return;
    sigaction(SIGALRM, &action, NULL);
    (void)setitimer(ITIMER_REAL, &timer, NULL);
}

bool sql_take_stopped(void)
{
    bool was = stopped;

    stopped = 0;
    return was;
}

/* ---- Statements ---- */

/* Reports losses once, until a query has read more. */
static void report_losses(struct sql_session *session)
{
    const struct losses *losses = query_losses(session->query);
    struct text text = TEXT_IN_MEMORY;

    if (!losses_any(losses) || losses->n + 1 == session->n_losses)
        return;
    session->n_losses = losses->n + 1;
    losses_put(losses, &text);
    if (text.start && text_len(&text) > 0 && !text.error)
        cli_error("%.*s; counts and sums of the answer may be too low", (int)text_len(&text),
                  text.start);
    text_done(&text);
}

static void note_hint(void *arg, const char *path, const char *hint)
{
    struct sql_session *session = arg;
    _cleanup_(text_done) struct text text = TEXT_IN_MEMORY;
    const char *kept;

    text_printf(&text, "%s: %s", path, hint);
    text_put_char(&text, '\0');
    if (text.error)
        return;
    for (unsigned i = 0; i < session->hints.n; i++)
        if (strcmp(session->hints.items[i], text.start) == 0)
            return;
    kept = arena_strdup(&session->arena, text.start);
    if (kept)
        (void)strings_add(&session->hints, kept);
}

static void report_hints(struct sql_session *session)
{
    for (; session->n_hints < session->hints.n; session->n_hints++)
        cli_error("%s", session->hints.items[session->n_hints]);
}

static unsigned count_lines(const char *from, const char *to)
{
    unsigned n = 0;

    for (; from < to; from++)
        n += *from == '\n';
    return n;
}

static void end_progress(void *arg)
{
    struct progress *progress = arg;

    progress_erase(progress);
    progress->on = false;
}

static int print_rows(struct sql_session *session, sqlite3_stmt *statement, struct error *error)
{
    const struct query_printing printing = {.query = session->query,
                                            .out = &session->out,
                                            .format = session->format,
                                            .spreadsheet = session->spreadsheet,
                                            .begin = end_progress,
                                            .arg = &session->progress};

    return query_print_rows(&printing, statement, error);
}

/* Runs the first statement of *SQL, and advances *SQL. */
static int run_one(struct sql_session *session, const char **sql, const char *name, unsigned *line,
                   struct error *error)
{
    sqlite3_stmt *statement = NULL;
    const char *tail;
    int r;

    progress_start(&session->progress, isatty(STDERR_FILENO));
    r = query_prepare(session->query, *sql, name, *line, &statement, &tail, error);
    if (r == 0 && statement)
        r = print_rows(session, statement, error);
    progress_erase(&session->progress);
    session->progress.on = false;
    sqlite3_finalize(statement);
    if (r < 0)
        return r;
    *line += count_lines(*sql, tail);
    *sql = tail;
    return 0;
}

int sql_run(struct sql_session *session, const char *sql, const char *name)
{
    const struct error *problem;
    struct error error = {0};
    unsigned line = 1;
    int status = EXIT_SUCCESS;
    int r = 0;

    while (r == 0 && *sql && !session->out.error)
        r = run_one(session, &sql, name, &line, &error);
    text_flush(&session->out);
    if (session->out.error)
        return EXIT_FAILURE;
    if (r == -EINTR && out_of_time)
        cli_error("the query took longer than --limit-time and was stopped");
    else if (r == -EINTR)
        cli_error("query stopped");
    else if (r == -ENOMEM && session->has_memory_limit)
        cli_error("the query needs more memory than --limit-memory");
    else if (r < 0)
        (void)cli_print_failure(&error, r);
    problem = query_problem(session->query);
    if (problem->code) {
        cli_print_error(problem);
        cli_error("the answer covers only what precedes this error");
        status = EXIT_FAILURE;
    }
    if (r < 0)
        return EXIT_FAILURE;
    report_hints(session);
    report_losses(session);
    return status;
}

static const struct named_query *find_named(const char *name)
{
    for (const struct named_query *query = named_queries; query->name; query++)
        if (strcmp(query->name, name) == 0)
            return query;
    return NULL;
}

int sql_list_named(struct sql_session *session)
{
    static const struct table_column columns[] = {
        {.title = "NAME", .width = -15, .name = "name"},
        {.title = "WHAT", .name = "about"},
        {.name = "sql"},
    };
    static const struct table_form form = {.columns = columns, .n = ARRAY_SIZE(columns)};
    struct table table;

    table_begin(&table, &session->out, session->format, &form);
    for (const struct named_query *query = named_queries; query->name; query++) {
        table_str(&table, 0, query->name);
        table_str(&table, 1, query->about);
        table_str(&table, 2, query->sql);
        table_end_row(&table);
    }
    return table_end(&table);
}

/* ---- The command ---- */

struct reopening {
    const struct open_options *options;
    char **paths;
    int n;
};

static struct trace *open_again(void *arg, struct error *error)
{
    const struct reopening *reopening = arg;
    struct trace_options trace_options;
    struct trace *trace;

    open_options_apply(reopening->options, &trace_options);
    error_clear(error);
    if (trace_open((const char *const *)reopening->paths, (unsigned)reopening->n, &trace_options,
                   &trace, error) < 0)
        return NULL;
    return trace;
}

static void show_progress(void *arg, const struct trace *trace)
{
    struct sql_session *session = arg;
    uint64_t done, total;

    if (!session->progress.on || !progress_is_due(&session->progress))
        return;
    trace_progress(trace, &done, &total);
    progress_show(&session->progress, done, total);
}

static int run_file(struct sql_session *session, const char *path)
{
    struct error error = {0};
    struct text sql = TEXT_IN_MEMORY;
    struct input in;
    int status = EXIT_FAILURE;
    int r = input_open_whole(&in, path, SQL_FILE_MAX, "a file of queries", &error);

    if (r < 0)
        return cli_print_failure(&error, r);
    text_put(&sql, (const char *)input_at(&in), input_buffered(&in));
    text_put(&sql, "", 1);
    input_done(&in);
    if (sql.error)
        (void)cli_no_memory();
    else
        status = sql_run(session, sql.start, strcmp(path, "-") == 0 ? "standard input" : path);
    text_done(&sql);
    return status;
}

static int run_queries(const struct sql_options *options, struct sql_session *session)
{
    int status = EXIT_SUCCESS;

    for (unsigned i = 0; i < options->commands.n && status == EXIT_SUCCESS; i++)
        status = sql_run(session, options->commands.items[i], "-c");
    if (options->named && status == EXIT_SUCCESS)
        status = sql_run(session, find_named(options->named)->sql, options->named);
    if (options->file && status == EXIT_SUCCESS)
        status = run_file(session, options->file);
    if (options->commands.n > 0 || options->named || options->file)
        return status;
    return session->is_terminal ? sql_shell(session) : run_file(session, "-");
}

static int run(const struct sql_options *options, struct reopening *reopening,
               struct span_rules_user *pairs)
{
    struct sql_session session = {.format = (enum table_format)options->format,
                                  .spreadsheet = options->spreadsheet,
                                  .has_memory_limit = options->limit_memory > 0,
                                  .is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)};
    const struct sigaction action = {.sa_handler = handle_interrupt};
    struct trace *trace = walk_open(&options->open, reopening->paths, reopening->n);
    struct query_options query = {
        .open = open_again,
        .arg = reopening,
        .trace = trace,
        .duration = duration_text,
        .temporary_dir = environment_temporary_dir(),
        .rules = pairs->rules.rules,
        .n_rules = pairs->rules.n,
        .n_given = pairs->rules.n - pairs->n_builtin,
        .progress = show_progress,
        .progress_arg = &session,
        .hint = note_hint,
        .hint_arg = &session,
        .stopped = &stopped,
    };
    struct error error = {0};
    bool incomplete, is_lossy;
    int status = EXIT_FAILURE;
    int r;

    if (!trace)
        return EXIT_FAILURE;
    query.errors = trace_has_errors(trace);
    query.origin_number = trace->n_inputs > 1 ? trace_view_input_of : NULL;
    incomplete = trace->n_missing > 0;
    is_lossy = trace->lost_counted || trace->lost_uncounted;
    if (query_open(&query, &session.query, &error) < 0) {
        cli_print_error(&error);
        trace_free(trace);
        return EXIT_FAILURE;
    }
    if (output_open(&session.out, session.format == TABLE_TEXT ? OUTPUT_TEXT : OUTPUT_DATA,
                    OUT_SIZE) < 0) {
        (void)cli_no_memory();
    } else {
        sigaction(SIGINT, &action, NULL);
        set_limits(options);
        status = run_queries(options, &session);
        r = text_flush(&session.out);
        if (r < 0)
            status = cli_output_error(r);
        else if (status == EXIT_SUCCESS && incomplete)
            status = EXIT_FAILURE;
        else if (status == EXIT_SUCCESS && options->open.strict &&
                 (is_lossy || query_losses(session.query)->n > 0))
            status = EXIT_LOSSES;
        text_done(&session.out);
    }
    query_close(session.query);
    strings_done(&session.hints);
    arena_done(&session.arena);
    return status;
}

/* A trace is read several times, so pipes are refused. */
static int check_paths(char **paths, int n)
{
    struct stat st;

    for (int i = 0; i < n; i++) {
        /* As with sqlite3, where the statement follows the database. */
        if (strchr(paths[i], ' ') && stat(paths[i], &st) < 0 && errno == ENOENT)
            return cli_usage_error("sql", "'%s' is not a trace; a query requires -c: -c '%s'",
                                   paths[i], paths[i]);
        if (strcmp(paths[i], "-") == 0 ||
            (stat(paths[i], &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
            return cli_usage_error("sql",
                                   "%s: a pipe can be read once, and queries read a trace "
                                   "several times; save it to a file first",
                                   paths[i]);
    }
    return EXIT_SUCCESS;
}

static int list_named(const struct sql_options *options)
{
    struct sql_session session = {.format = (enum table_format)options->format};
    int r;

    if (output_open(&session.out, session.format == TABLE_TEXT ? OUTPUT_TEXT : OUTPUT_DATA,
                    OUT_SIZE) < 0)
        return cli_no_memory();
    r = sql_list_named(&session);
    if (r < 0) {
        text_done(&session.out);
        return cli_no_memory();
    }
    r = text_flush(&session.out);
    text_done(&session.out);
    return r < 0 ? cli_output_error(r) : EXIT_SUCCESS;
}

/* Reads the built-in rules, the user's, and the given ones. */
static int read_rules(const struct sql_options *options, struct span_rules_user *pairs)
{
    static const struct strings none;
    struct error error = {0};
    int r = span_rules_init(pairs, &error);

    if (r >= 0)
        r = span_rules_user_read(pairs, NULL, 0, &none, &none, &error);
    if (r >= 0)
        r = span_rules_user_read(pairs, NULL, 0, &options->pairs, &options->pair_files, &error);
    return r < 0 ? cli_print_failure(&error, r) : EXIT_SUCCESS;
}

static int check(const struct sql_options *options, char **paths, int n)
{
    int status;

    if (n == 0)
        return cli_usage_error("sql", "no trace file given");
    if (options->named && !find_named(options->named))
        return cli_usage_error("sql", "no query is called '%s' (strata sql --list shows them)",
                               options->named);
    status = span_rules_check_syntax("sql", &options->pairs);
    return status == EXIT_SUCCESS ? check_paths(paths, n) : status;
}

int cmd_sql(int argc, char **argv)
{
    struct sql_options options = {0};
    struct span_rules_user pairs = {0};
    int status = EXIT_FAILURE;
    int n;

    if (options_parse(&sql_command, argc, argv, &options, &n, &status)) {
        struct reopening reopening = {&options.open, argv + 1, n};

        if (options.list && n == 0)
            status = list_named(&options);
        else
            status = check(&options, argv + 1, n);
        if (status == EXIT_SUCCESS && !(options.list && n == 0)) {
            status = read_rules(&options, &pairs);
            if (status == EXIT_SUCCESS)
                status = run(&options, &reopening, &pairs);
        }
    }
    span_rules_user_done(&pairs);
    strings_done(&options.commands);
    strings_done(&options.pairs);
    strings_done(&options.pair_files);
    open_options_done(&options.open);
    return status;
}
