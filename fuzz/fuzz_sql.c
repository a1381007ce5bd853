/* SPDX-License-Identifier: MIT */
/* Queries (query/): the input is SQL, which is asked of a small trace of QEMU. Each statement is stopped after a while. A
 * statement that is not refused gives rows, and an error has a text. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "query/query.h"
#include "trace/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROWS_MAX 300
#define STEPS 20000 /* of SQLite's machine, times 10 */

static char trace_path[] = "/tmp/strata-fuzz-trace-XXXXXX";
static char events_path[] = "/tmp/strata-fuzz-events-XXXXXX";
static struct span_rule rule;

static void put(FILE *file, const void *bytes, size_t size)
{
    if (fwrite(bytes, size, 1, file) != 1)
        abort();
}

static void put_u64(FILE *file, uint64_t v)
{
    put(file, &v, sizeof v);
}

static void put_u32(FILE *file, uint32_t v)
{
    put(file, &v, sizeof v);
}

static void remove_files(void)
{
    unlink(trace_path);
    unlink(events_path);
}

static FILE *make_file(char *path)
{
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

    if (!file)
        abort();
    return file;
}

/* Begins and ends with texts and numbers, in the format of format/simpletrace/. */
static void make_trace(void)
{
    static const char *const names[] = {"job_begin", "job_end"};
    static struct arena arena;
    struct error error;
    FILE *file = make_file(events_path);

    fputs("job_begin(uint64_t id, const char *what) \"%\"PRIu64\" %s\"\njob_end(uint64_t id) "
          "\"%\"PRIu64\n",
          file);
    fclose(file);
    file = make_file(trace_path);
    put_u64(file, UINT64_MAX);
    put_u64(file, UINT64_C(0xF2B177CB0AA429B4));
    put_u64(file, 4);
    for (uint32_t i = 0; i < 2; i++) {
        put_u64(file, 0);
        put_u64(file, i);
        put_u32(file, (uint32_t)strlen(names[i]));
        put(file, names[i], strlen(names[i]));
    }
    for (uint32_t i = 0; i < 60; i++) {
        put_u64(file, 1);
        put_u64(file, i % 2);
        put_u64(file, 1000 + i * 10);
        put_u32(file, i % 2 ? 32 : 24 + 8 + 4 + 3);
        put_u32(file, 7 + i % 3);
        put_u64(file, UINT64_MAX - i / 2);
        if (i % 2 == 0) {
            put_u32(file, 3);
            put(file, "a'b", 3);
        }
    }
    fclose(file);
    atexit(remove_files);
    if (span_rule_parse("job: job_begin(id) -> job_end(id)", NULL, &arena, &rule, &error) < 0)
        abort();
}

static struct trace *open_trace(void *arg, struct error *error)
{
    const char *path = trace_path, *events = events_path;
    const struct trace_options options = {.events = &events, .n_events = 1};
    struct trace *trace;

    (void)arg;
    error_clear(error);
    return trace_open(&path, 1, &options, &trace, error) < 0 ? NULL : trace;
}

static const char *duration(char *buf, size_t size, const struct clock *clock, uint64_t ticks)
{
    (void)clock;
    snprintf(buf, size, "%lluns", (unsigned long long)ticks);
    return buf;
}

static int give_up(void *arg)
{
    unsigned *left = arg;

    return *left == 0 || --*left == 0;
}

static void ask(struct query *query, const char *sql)
{
    struct error error = {0};

    while (*sql) {
        sqlite3_stmt *statement;
        unsigned left = STEPS;
        int r = query_prepare(query, sql, "input", 1, &statement, &sql, &error);

        if (r < 0) {
            if (!error.what[0])
                abort();
            return;
        }
        if (!statement)
            continue;
        sqlite3_limit(sqlite3_db_handle(statement), SQLITE_LIMIT_LENGTH, 100000);
        sqlite3_progress_handler(sqlite3_db_handle(statement), 10, give_up, &left);
        if (!sqlite3_stmt_readonly(statement))
            abort();
        for (int rows = 0; rows < ROWS_MAX; rows++) {
            r = query_step(query, statement, &error);
            if (r <= 0)
                break;
            for (int i = 0; i < sqlite3_column_count(statement); i++)
                (void)sqlite3_column_text(statement, i);
        }
        sqlite3_progress_handler(sqlite3_db_handle(statement), 0, NULL, NULL);
        sqlite3_finalize(statement);
        if (r < 0)
            return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct query_options options = {.open = open_trace,
                                    .duration = duration,
                                    .temporary_dir = "/tmp",
                                    .rules = &rule,
                                    .n_rules = 1};
    struct error error = {0};
    struct query *query;
    char *sql;

    if (!rule.n_steps)
        make_trace();
    options.trace = open_trace(NULL, &error);
    sql = malloc(size + 1);
    if (!options.trace || !sql || query_open(&options, &query, &error) < 0)
        abort();
    memcpy(sql, data, size);
    sql[size] = '\0';
    ask(query, sql);
    query_close(query);
    free(sql);
    return 0;
}
