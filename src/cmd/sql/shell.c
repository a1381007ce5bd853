/* SPDX-License-Identifier: MIT */
/* The shell of strata sql. Lines are edited by libedit, with a history and completion of tables, columns and keywords.
 * A statement ends with ';'. */
#include <ctype.h>
#include <editline/readline.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/strings.h"
#include "cmd/cmd.h"
#include "cmd/sql/sql.h"

#define HISTORY_MAX 1000

static const char help[] =
    ".help            this\n"
    ".tables [GLOB]   tables and views\n"
    ".schema TABLE    its columns\n"
    ".queries         queries that ship with Strata\n"
    ".run NAME        run one of them\n"
    ".format FORMAT   text, json or csv\n"
    ".quit            end, as the end of input does\n"
    "A statement ends with ';' and may have several lines. Ctrl-C stops it.\n";

static const char *const keywords[] = {
    "SELECT",    "FROM",        "WHERE",      "GROUP BY", "ORDER BY",  "LIMIT",    "JOIN",
    "LEFT JOIN", "ON",          "AS",         "AND",      "OR",        "NOT",      "NULL",
    "IS",        "IN",          "GLOB",       "LIKE",     "WITH",      "DISTINCT", "HAVING",
    "BETWEEN",   "CASE",        "WHEN",       "count(",   "sum(",      "min(",     "max(",
    "avg(",      "percentile(", "histogram(", "hex(",     "duration(", NULL};
static const char *const commands[] = {".help", ".tables", ".schema", ".queries",
                                       ".run",  ".format", ".quit",   NULL};

/* ---- Completion; readline's functions need global variables ---- */

static struct sql_session *shell;
static struct strings words; /* tables, and columns of those that were completed */
static struct arena word_arena;
static bool has_words;

static void add_word(void *arg, const char *word)
{
    (void)arg;
    for (unsigned i = 0; i < words.n; i++)
        if (strcasecmp(words.items[i], word) == 0)
            return;
    word = arena_strdup(&word_arena, word);
    if (word)
        (void)strings_add(&words, word);
}

static void add_column(void *arg, const char *column, const char *type)
{
    (void)type;
    add_word(arg, column);
}

/* Adds the columns of all tables in the line. */
static void add_columns_of_line(const char *line)
{
    unsigned n = words.n;

    for (unsigned i = 0; i < n; i++) {
        struct error error = {0};

        if (strcasestr(line, words.items[i]))
            (void)query_columns(shell->query, words.items[i], add_column, NULL, &error);
    }
}

static char *next_match(const char *start, int state)
{
    static unsigned at;
    size_t len = strlen(start);
    unsigned n_keywords = ARRAY_SIZE(keywords) - 1;
    unsigned n_commands = ARRAY_SIZE(commands) - 1;

    if (state == 0)
        at = 0;
    while (at < words.n + n_keywords + n_commands) {
        unsigned i = at++;
        const char *word = i < words.n                ? words.items[i]
                           : i < words.n + n_keywords ? keywords[i - words.n]
                                                      : commands[i - words.n - n_keywords];

        if (strncasecmp(word, start, len) == 0)
            return strdup(word);
    }
    return NULL;
}

static char **complete(const char *start, int from, int to)
{
    static const char *const usual[] = {"event", "span", "state", "path", "blame"};
    struct error error = {0};

    (void)from;
    (void)to;
    rl_attempted_completion_over = 1; /* no file names */
    if (!has_words) {
        has_words = true;
        (void)query_tables(shell->query, add_word, NULL, &error);
        for (unsigned i = 0; i < ARRAY_SIZE(usual); i++)
            (void)query_columns(shell->query, usual[i], add_column, NULL, &error);
    }
    add_columns_of_line(rl_line_buffer ? rl_line_buffer : "");
    return rl_completion_matches(start, next_match);
}

/* ---- The history: $XDG_STATE_HOME/strata/sql-history, or ~/.local/state/… ---- */

static bool history_path(char *path, size_t size)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n;

    if (state && *state)
        n = snprintf(path, size, "%s/strata", state);
    else if (home && *home)
        n = snprintf(path, size, "%s/.local/state/strata", home);
    else
        return false;
    if (n < 0 || (size_t)n + sizeof "/sql-history" > size)
        return false;
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return false;
    memcpy(path + n, "/sql-history", sizeof "/sql-history");
    return true;
}

/* ---- Commands ---- */

struct table_list {
    struct text *out;
    const char *glob;
};

static void put_table(void *arg, const char *name)
{
    const struct table_list *list = arg;

    if (!*list->glob || sqlite3_strglob(list->glob, name) == 0) {
        text_put_str(list->out, name);
        text_put_char(list->out, '\n');
    }
}

static void put_column(void *arg, const char *column, const char *type)
{
    struct text *out = arg;

    text_printf(out, "  %-24s %s\n", column, type && *type ? type : "any");
}

static void set_format(struct sql_session *session, const char *name)
{
    for (unsigned i = 0; table_formats[i]; i++)
        if (strcmp(table_formats[i], name) == 0) {
            session->format = (enum table_format)i;
            return;
        }
    cli_error("invalid format '%s' (formats: text, json, csv)", name);
}

/* A signal before the statement does not stop it. */
static void run(struct sql_session *session, const char *sql, const char *name)
{
    (void)sql_take_stopped();
    (void)sql_run(session, sql, name);
}

static void run_named(struct sql_session *session, const char *name)
{
    for (const struct named_query *query = named_queries; query->name; query++)
        if (strcmp(query->name, name) == 0) {
            run(session, query->sql, name);
            return;
        }
    cli_error("no query is called '%s'; .queries shows them", name);
}

/* Runs LINE, which begins with a dot. False for .quit. */
static bool run_command(struct sql_session *session, char *line)
{
    struct error error = {0};
    char *argument = line + strcspn(line, " \t");
    int r = 0;

    if (*argument)
        *argument++ = '\0';
    argument += strspn(argument, " \t");
    argument[strcspn(argument, " \t;")] = '\0';
    if (strcmp(line, ".quit") == 0 || strcmp(line, ".exit") == 0 || strcmp(line, ".q") == 0)
        return false;
    if (strcmp(line, ".help") == 0)
        text_put_str(&session->out, help);
    else if (strcmp(line, ".tables") == 0)
        r = query_tables(session->query, put_table, &(struct table_list){&session->out, argument},
                         &error);
    else if (strcmp(line, ".schema") == 0 && !*argument)
        cli_error("no table given; .tables lists them");
    else if (strcmp(line, ".schema") == 0)
        r = query_columns(session->query, argument, put_column, &session->out, &error);
    else if (strcmp(line, ".queries") == 0)
        r = sql_list_named(session);
    else if (strcmp(line, ".run") == 0)
        run_named(session, argument);
    else if (strcmp(line, ".format") == 0)
        set_format(session, argument);
    else
        cli_error("unknown command '%s'; .help lists them", line);
    text_flush(&session->out);
    if (r < 0 && r != -EINTR)
        (void)cli_print_failure(&error, r);
    return true;
}

static bool is_blank(const char *s)
{
    return s[strspn(s, " \t\n;")] == '\0';
}

int sql_shell(struct sql_session *session)
{
    struct text statement = TEXT_IN_MEMORY;
    char path[4096];
    bool has_history = history_path(path, sizeof path);
    bool goes_on = true;

    shell = session;
    rl_initialize();
    rl_readline_name = "strata";
    rl_attempted_completion_function = complete;
    rl_basic_word_break_characters = " \t\n\"'`@$><=;|&{(,+-*/";
    using_history();
    stifle_history(HISTORY_MAX);
    if (has_history)
        (void)read_history(path);
    cli_message("SQL over the trace: .tables lists tables, .help says more.");
    while (goes_on) {
        char *line = readline(text_len(&statement) ? "    ...> " : "strata> ");

        if (!line && sql_take_stopped()) {
            text_put_char(&session->out, '\n');
            text_flush(&session->out);
            statement.next = statement.start;
            continue;
        }
        if (!line) { /* Ctrl-D */
            text_put_char(&session->out, '\n');
            text_flush(&session->out);
            break;
        }
        if (text_len(&statement) == 0 && line[0] == '.') {
            add_history(line);
            goes_on = run_command(session, line);
        } else if (text_len(&statement) > 0 || !is_blank(line)) {
            text_put_str(&statement, line);
            text_put(&statement, "\n", 2);
            statement.next--;
            if (!statement.error && sqlite3_complete(statement.start)) {
                statement.start[text_len(&statement) - 1] = '\0';
                add_history(statement.start);
                run(session, statement.start, "query");
                statement.next = statement.start;
            }
        }
        free(line);
        goes_on = goes_on && !statement.error && !session->out.error;
    }
    if (has_history)
        (void)write_history(path);
    strings_done(&words);
    arena_done(&word_arena);
    text_done(&statement);
    return EXIT_SUCCESS;
}
