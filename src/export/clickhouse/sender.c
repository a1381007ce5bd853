/* SPDX-License-Identifier: MIT */
#include "export/clickhouse/sender.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock_ns.h"

#define FIRST_PAUSE_MS 200
#define LONGEST_PAUSE_MS 5000
#define MUTATION_POLL_MS 200
#define RUNNING_POLL_MS 100

const struct native_column sender_columns[SENDER_COLUMNS] = {
    {.name = "host", .type = "String"},
    {.name = "trace", .type = "FixedString(16)"},
    {.name = "block", .type = "UInt64"},
    {.name = "day", .type = "Date"},
};

static void put_string_literal(struct text *sql, const char *s)
{
    text_put_char(sql, '\'');
    for (; *s; s++) {
        if (*s == '\'' || *s == '\\')
            text_put_char(sql, '\\');
        text_put_char(sql, *s);
    }
    text_put_char(sql, '\'');
}

static void put_identifier(struct text *sql, const char *s)
{
    text_put_char(sql, '`');
    for (; *s; s++) {
        if (*s == '`' || *s == '\\')
            text_put_char(sql, '\\');
        text_put_char(sql, *s);
    }
    text_put_char(sql, '`');
}

static void put_columns(struct text *sql, const struct sender_table *table, bool types)
{
    text_put_literal(sql, " (");
    for (unsigned i = 0; i < table->block.n_columns; i++) {
        text_put_str(sql, i ? ", " : "");
        put_identifier(sql, table->block.columns[i].name);
        if (types) {
            text_put_char(sql, ' ');
            text_put_str(sql, table->block.columns[i].type);
        }
    }
    text_put_char(sql, ')');
}

static void put_create(struct text *sql, const struct sender_table *table, const char *database,
                       const char *suffix)
{
    text_put_literal(sql, "CREATE TABLE IF NOT EXISTS ");
    put_identifier(sql, database);
    text_put_literal(sql, ".`");
    text_put_str(sql, table->name);
    text_put_str(sql, suffix);
    text_put_char(sql, '`');
    put_columns(sql, table, true);
    text_put_literal(sql, " ENGINE = ReplacingMergeTree PARTITION BY day ORDER BY (");
    text_put_str(sql, table->order);
    text_put_char(sql, ')');
}

static void put_create_distributed(struct text *sql, const struct sender_table *table,
                                   const char *database, const char *cluster)
{
    text_put_literal(sql, "CREATE TABLE IF NOT EXISTS ");
    put_identifier(sql, database);
    text_put_char(sql, '.');
    put_identifier(sql, table->name);
    put_columns(sql, table, true);
    text_put_literal(sql, " ENGINE = Distributed(");
    put_identifier(sql, cluster);
    text_put_literal(sql, ", ");
    put_identifier(sql, database);
    text_put_literal(sql, ", `");
    text_put_str(sql, table->name);
    text_put_literal(sql, "_shard`, cityHash64(host))");
}

void sender_put_schema(const struct sender_table *tables, unsigned n_tables, const char *database,
                       const char *cluster, struct text *out)
{
    text_put_literal(out, "CREATE DATABASE IF NOT EXISTS ");
    put_identifier(out, database);
    text_put_literal(out, ";\n");
    for (unsigned i = 0; i < n_tables; i++) {
        put_create(out, &tables[i], database, cluster ? "_shard" : "");
        text_put_literal(out, ";\n");
        if (cluster) {
            put_create_distributed(out, &tables[i], database, cluster);
            text_put_literal(out, ";\n");
        }
    }
}

static int no_memory(struct error *error)
{
    return error_set(error, -ENOMEM, NULL, "out of memory");
}

/* Waits before repeating what began at SINCE and failed with ERROR. False if no time is left, or if the user stops
 * it. */
static bool wait_to_retry(const struct sender *sender, uint64_t since, unsigned *pause_ms,
                          struct error *error)
{
    uint64_t tried_ms = (clock_ns(CLOCK_MONOTONIC) - since) / 1000000;
    char text[sizeof error->what + sizeof error->path + 64];

    if (tried_ms >= sender->options.retry_s * 1000ull)
        return false;
    if (sender->options.report && *pause_ms == FIRST_PAUSE_MS) {
        error_print(error, text, sizeof text);
        sender->options.report(sender->options.report_arg, text);
    }
    /* The last try is when the time is over. A signal ends it early. */
    poll(NULL, 0, (int)MIN(*pause_ms, sender->options.retry_s * 1000ull - tried_ms));
    if (sender->options.stop && *sender->options.stop)
        return false;
    *pause_ms = MIN(*pause_ms * 2, LONGEST_PAUSE_MS);
    error_clear(error);
    return true;
}

/* As clickhouse_query(), but repeats it while the error may pass. */
static int query(struct sender *sender, const struct text *sql, bool in_database,
                 struct text *ret_answer, struct error *error)
{
    uint64_t since = clock_ns(CLOCK_MONOTONIC);
    unsigned pause_ms = FIRST_PAUSE_MS;
    int r;

    if (sql->error)
        return no_memory(error);
    do {
        r = clickhouse_query(sender->options.clickhouse, sql->start, in_database, ret_answer,
                             error);
    } while (r == -EAGAIN && wait_to_retry(sender, since, &pause_ms, error));
    return r;
}

/* Returns the next line of ANSWER, at *AT, split at its tab; or NULL. *RET_SECOND is "" without a tab. Modifies the
 * answer. */
static char *next_line(struct text *answer, size_t *at, char **ret_second)
{
    char *line = answer->start + *at;
    char *end, *tab;

    if (*at >= text_len(answer))
        return NULL;
    end = memchr(line, '\n', text_len(answer) - *at);
    if (!end)
        return NULL; /* cut, or no answer of ClickHouse's */
    *end = '\0';
    *at += (size_t)(end - line) + 1;
    tab = strchr(line, '\t');
    if (tab)
        *tab = '\0';
    *ret_second = tab ? tab + 1 : end;
    return line;
}

static int fail_of_schema(const struct sender *sender, const struct sender_table *table,
                          const char *what, const char *column, struct error *error)
{
    const struct clickhouse *clickhouse = sender->options.clickhouse;

    return error_set(error, -EEXIST, clickhouse_server(clickhouse),
                     "the table %s.%s is not of this version: %s '%.80s'; give another database",
                     clickhouse_database(clickhouse), table->name, what, column);
}

/* Compares the server's columns of TABLE. *RET_EXISTS: it has any. */
static int check_columns(const struct sender *sender, const struct sender_table *table,
                         struct text *answer, bool *ret_exists, struct error *error)
{
    char *name, *type;
    size_t at = 0;
    unsigned n = 0;

    while ((name = next_line(answer, &at, &type))) {
        const struct native_column *column = &table->block.columns[n];

        if (n == table->block.n_columns)
            return fail_of_schema(sender, table, "it has the column", name, error);
        if (strcmp(name, column->name) != 0)
            return fail_of_schema(sender, table, "it does not have the column", column->name,
                                  error);
        if (strcmp(type, column->type) != 0)
            return fail_of_schema(sender, table, "another type of the column", name, error);
        n++;
    }
    if (n > 0 && n < table->block.n_columns)
        return fail_of_schema(sender, table, "it does not have the column",
                              table->block.columns[n].name, error);
    *ret_exists = n > 0;
    return 0;
}

static int look_at_table(struct sender *sender, const struct sender_table *table, bool *ret_exists,
                         struct error *error)
{
    struct text sql = TEXT_IN_MEMORY, answer = TEXT_IN_MEMORY;
    int r;

    text_put_literal(&sql, "SELECT name, type FROM system.columns WHERE database = ");
    put_string_literal(&sql, clickhouse_database(sender->options.clickhouse));
    text_put_literal(&sql, " AND table = ");
    put_string_literal(&sql, table->name);
    text_put_literal(&sql, " FORMAT TabSeparated");
    text_put_char(&sql, '\0');
    r = query(sender, &sql, false, &answer, error);
    if (r == 0)
        r = check_columns(sender, table, &answer, ret_exists, error);
    text_done(&sql);
    text_done(&answer);
    return r;
}

/* Makes TABLE if it is missing. */
static int make_table(struct sender *sender, const struct sender_table *table, struct error *error)
{
    const char *database = clickhouse_database(sender->options.clickhouse);
    struct text sql = TEXT_IN_MEMORY;
    bool exists;
    int r = look_at_table(sender, table, &exists, error);

    if (r < 0 || exists)
        return r;
    put_create(&sql, table, database, "");
    text_put_char(&sql, '\0');
    r = query(sender, &sql, false, NULL, error);
    if (r == 0)
        r = look_at_table(sender, table, &exists, error);
    if (r == 0 && !exists)
        r = error_set(error, -EPROTO, clickhouse_server(sender->options.clickhouse),
                      "the table %s.%s was made and is not there", database, table->name);
    text_done(&sql);
    return r;
}

/* Makes the database if it is missing. A user without that right can still send to an existing database. */
static int make_database(struct sender *sender, struct error *error)
{
    const char *database = clickhouse_database(sender->options.clickhouse);
    struct text sql = TEXT_IN_MEMORY, answer = TEXT_IN_MEMORY;
    int r;

    text_put_literal(&sql, "SELECT count() FROM system.databases WHERE name = ");
    put_string_literal(&sql, database);
    text_put_literal(&sql, " FORMAT TabSeparated");
    text_put_char(&sql, '\0');
    r = query(sender, &sql, false, &answer, error);
    if (r == 0 && text_len(&answer) != 2)
        r = error_set(error, -EPROTO, clickhouse_server(sender->options.clickhouse),
                      "does not answer as ClickHouse does");
    if (r == 0 && answer.start[0] == '0') {
        sql.next = sql.start;
        text_put_literal(&sql, "CREATE DATABASE IF NOT EXISTS ");
        put_identifier(&sql, database);
        text_put_char(&sql, '\0');
        r = query(sender, &sql, false, NULL, error);
    }
    text_done(&sql);
    text_done(&answer);
    return r;
}

static int fail_of_variant(const struct sender *sender, const struct sender_table *table,
                           struct error *error)
{
    return error_set(error, -EEXIST, clickhouse_server(sender->options.clickhouse),
                     "%s.%s already has rows of this trace, sent with other options or by another "
                     "version; --replace removes them first",
                     clickhouse_database(sender->options.clickhouse), table->name);
}

/* Stores that the server has N rows of block number BLOCK. */
static int keep_found(const struct sender *sender, struct sender_table *table, uint64_t block,
                      uint64_t n, struct error *error)
{
    if (block >> 32 != sender->options.variant || (uint32_t)block == UINT32_MAX)
        return fail_of_variant(sender, table, error);
    block = (uint32_t)block;
    if (block >= table->n_blocks_found) {
        size_t room = (size_t)block + 1;
        uint64_t *bigger = realloc(table->found, room * sizeof *bigger);

        if (!bigger)
            return no_memory(error);
        memset(bigger + table->n_blocks_found, 0, (room - table->n_blocks_found) * sizeof *bigger);
        table->found = bigger;
        table->n_blocks_found = (uint32_t)room;
    }
    table->found[block] = n;
    return 0;
}

static void put_where(const struct sender *sender, struct text *sql)
{
    text_put_literal(sql, " WHERE host = ");
    put_string_literal(sql, sender->options.host);
    text_put_literal(sql, " AND trace = ");
    put_string_literal(sql, sender->options.trace);
}

/* Waits until no INSERT of the trace runs on the server (C2). */
static int wait_for_inserts(struct sender *sender, struct error *error)
{
    uint64_t since = clock_ns(CLOCK_MONOTONIC);
    struct text sql = TEXT_IN_MEMORY;
    bool is_running = true;
    int r = 0;

    text_put_literal(&sql, "SELECT count() FROM system.processes WHERE query_id LIKE 'strata-");
    text_put_str(&sql, sender->options.trace);
    text_put_literal(&sql, "-%' FORMAT TabSeparated");
    text_put_char(&sql, '\0');
    while (r == 0 && is_running) {
        struct text answer = TEXT_IN_MEMORY;

        r = query(sender, &sql, false, &answer, error);
        is_running = text_len(&answer) == 0 || answer.start[0] != '0';
        text_done(&answer);
        if (r < 0 || !is_running)
            break;
        if (sender->options.stop && *sender->options.stop)
            r = error_set(error, -EINTR, NULL, "stopped by a signal");
        else if (clock_ns(CLOCK_MONOTONIC) - since > sender->options.retry_s * NSEC_PER_SEC)
            r = error_set(error, -EBUSY, clickhouse_server(sender->options.clickhouse),
                          "another program sends this trace; wait until it has ended");
        else
            poll(NULL, 0, RUNNING_POLL_MS);
    }
    text_done(&sql);
    return r;
}

/* Reads how many rows of each block, or only of BLOCK if it is not NULL, the server has. */
static int find_blocks(struct sender *sender, struct sender_table *table, const uint32_t *block,
                       struct error *error)
{
    struct text sql = TEXT_IN_MEMORY, answer = TEXT_IN_MEMORY;
    char *number, *n;
    size_t at = 0;
    int r;

    text_put_literal(&sql, "SELECT block, count() FROM ");
    put_identifier(&sql, table->name);
    put_where(sender, &sql);
    if (block) {
        text_put_literal(&sql, " AND block = ");
        text_put_u64(&sql, (uint64_t)sender->options.variant << 32 | *block);
    }
    text_put_literal(&sql, " GROUP BY block ORDER BY block DESC FORMAT TabSeparated");
    text_put_char(&sql, '\0');
    r = query(sender, &sql, true, &answer, error);
    while (r == 0 && (number = next_line(&answer, &at, &n)))
        r = keep_found(sender, table, strtoull(number, NULL, 10), strtoull(n, NULL, 10), error);
    text_done(&sql);
    text_done(&answer);
    return r;
}

int sender_open(struct sender *sender, const struct sender_options *options,
                struct sender_table *tables, unsigned n_tables, struct error *error)
{
    int r;

    *sender = (struct sender){
        .options = *options, .tables = tables, .n_tables = n_tables, .data = TEXT_IN_MEMORY};
    clickhouse_stop_by(options->clickhouse, options->stop);
    r = make_database(sender, error);
    for (unsigned i = 0; i < n_tables && r == 0; i++)
        r = make_table(sender, &tables[i], error);
    if (r == 0)
        r = wait_for_inserts(sender, error);
    for (unsigned i = 0; i < n_tables && r == 0; i++)
        r = find_blocks(sender, &tables[i], NULL, error);
    sender->is_complete = r == 0 && tables[n_tables - 1].n_blocks_found > 0;
    return r;
}

void sender_done(struct sender *sender)
{
    for (unsigned i = 0; i < sender->n_tables; i++)
        free(sender->tables[i].found);
    text_done(&sender->data);
}

/* True if the server has block number BLOCK with N rows. -EEXIST if it has another number of rows. */
static int has_block(const struct sender *sender, const struct sender_table *table, uint32_t block,
                     uint64_t n, struct error *error)
{
    uint64_t found = block < table->n_blocks_found ? table->found[block] : 0;

    if (found == 0)
        return 0;
    /* A multiple: copies of another sender that are not merged yet. */
    return found % n == 0 ? 1 : fail_of_variant(sender, table, error);
}

/* Fills the first columns, which are the same in all rows of the block. */
static int fill_columns(const struct sender *sender, struct sender_table *table)
{
    struct native_column *columns = table->block.columns;
    uint64_t block = (uint64_t)sender->options.variant << 32 | table->next_block;
    size_t host_len = strlen(sender->options.host);

    for (uint64_t i = 0; i < table->block.n_rows; i++) {
        native_put_string(&columns[0].values, sender->options.host, host_len);
        text_put(&columns[1].values, sender->options.trace, SENDER_TRACE_LEN);
        native_put_u64(&columns[2].values, block);
        native_put_u16(&columns[3].values, table->day);
    }
    for (unsigned i = 0; i < SENDER_COLUMNS; i++)
        if (columns[i].values.error)
            return columns[i].values.error;
    return 0;
}

static int insert(struct sender *sender, struct sender_table *table, struct error *error)
{
    struct text sql = TEXT_IN_MEMORY, id = TEXT_IN_MEMORY;
    unsigned pause_ms = FIRST_PAUSE_MS;
    uint64_t since = clock_ns(CLOCK_MONOTONIC);
    uint64_t n = table->block.n_rows;
    int r, found = 0;

    text_put_literal(&sql, "INSERT INTO ");
    put_identifier(&sql, table->name);
    put_columns(&sql, table, false);
    text_put_literal(&sql, " FORMAT Native");
    text_put_char(&sql, '\0');
    text_printf(&id, "strata-%s-%s-%" PRIx32 "-%" PRIu32, sender->options.trace, table->name,
                sender->options.variant, table->next_block);
    text_put_char(&id, '\0');
    sender->data.next = sender->data.start;
    if (fill_columns(sender, table) < 0 || native_block_put(&table->block, &sender->data) < 0 ||
        sql.error || id.error) {
        r = no_memory(error);
    } else {
        do {
            r = clickhouse_insert(sender->options.clickhouse, sql.start, id.start, &sender->data,
                                  error);
            if (r != -EAGAIN || !wait_to_retry(sender, since, &pause_ms, error))
                break;
            r = wait_for_inserts(sender, error);
            if (r == 0)
                r = find_blocks(sender, table, &table->next_block, error);
            if (r == 0)
                r = found = has_block(sender, table, table->next_block, n, error);
        } while (r == 0);
    }
    text_done(&sql);
    text_done(&id);
    return found > 0 ? 0 : r;
}

int sender_flush(struct sender *sender, struct sender_table *table, struct error *error)
{
    uint64_t n = table->block.n_rows;
    int r;

    if (n == 0)
        return 0;
    r = has_block(sender, table, table->next_block, n, error);
    if (r > 0)
        table->n_found += n;
    else if (r == 0) {
        r = insert(sender, table, error);
        table->n_sent += r == 0 ? n : 0;
    }
    if (r < 0)
        return r;
    table->next_block++;
    native_block_clear(&table->block);
    return 0;
}

/* Merges the parts of TABLE for the days in ANSWER, with lines "DAY\tROWS". */
static int merge_days(struct sender *sender, const struct sender_table *table, struct text *answer,
                      struct error *error)
{
    char *day, *unused;
    size_t at = 0;
    int r = 0;

    while (r == 0 && (day = next_line(answer, &at, &unused))) {
        struct text sql = TEXT_IN_MEMORY;

        text_put_literal(&sql, "OPTIMIZE TABLE ");
        put_identifier(&sql, table->name);
        text_put_literal(&sql, " PARTITION ");
        put_string_literal(&sql, day);
        text_put_literal(&sql, " FINAL");
        text_put_char(&sql, '\0');
        r = query(sender, &sql, true, NULL, error);
        text_done(&sql);
    }
    return r;
}

int sender_settle(struct sender *sender, struct error *error)
{
    int r = 0;

    for (unsigned i = 0; i + 1 < sender->n_tables && r == 0; i++) {
        struct sender_table *table = &sender->tables[i];
        struct text sql = TEXT_IN_MEMORY, answer = TEXT_IN_MEMORY;
        uint64_t n = 0;

        text_put_literal(&sql, "SELECT day, count() FROM ");
        put_identifier(&sql, table->name);
        put_where(sender, &sql);
        text_put_literal(&sql, " GROUP BY day FORMAT TabSeparated");
        text_put_char(&sql, '\0');
        r = query(sender, &sql, true, &answer, error);
        for (const char *p = answer.start; r == 0 && p && p < answer.next; p++)
            if (*p == '\t')
                n += strtoull(p + 1, NULL, 10);
        /* A distributed table refuses to be merged; its shards merge by themselves. */
        if (r == 0 && n > table->n_sent + table->n_found &&
            merge_days(sender, table, &answer, error) == -EIO)
            error_clear(error);
        text_done(&sql);
        text_done(&answer);
    }
    return r < 0 ? r : error && error->code ? error->code : 0;
}

static int remove_rows(struct sender *sender, const struct sender_table *table, struct error *error)
{
    struct text sql = TEXT_IN_MEMORY;
    int r;

    text_put_literal(&sql, "ALTER TABLE ");
    put_identifier(&sql, table->name);
    text_put_literal(&sql, " DELETE");
    put_where(sender, &sql);
    text_put_char(&sql, '\0');
    r = query(sender, &sql, true, NULL, error);
    text_done(&sql);
    return r;
}

/* True if TABLE still has rows of the trace. ClickHouse removes them in the background. */
static int is_removed(struct sender *sender, struct sender_table *table, struct error *error)
{
    int r;

    free(table->found);
    table->found = NULL;
    table->n_blocks_found = 0;
    r = find_blocks(sender, table, NULL, error);
    if (r == -EEXIST) {
        error_clear(error);
        return 0;
    }
    return r < 0 ? r : table->n_blocks_found == 0;
}

int sender_remove(struct sender *sender, struct error *error)
{
    uint64_t since = clock_ns(CLOCK_MONOTONIC);
    int r = 0;

    /* The last table says that the trace is complete: it goes first. */
    for (unsigned i = sender->n_tables; i-- > 0 && r == 0;)
        r = remove_rows(sender, &sender->tables[i], error);
    sender->is_complete = false;
    for (unsigned i = 0; i < sender->n_tables && r == 0; i++) {
        while ((r = is_removed(sender, &sender->tables[i], error)) == 0) {
            if (sender->options.stop && *sender->options.stop)
                return error_set(error, -EINTR, NULL, "stopped by a signal");
            if (clock_ns(CLOCK_MONOTONIC) - since > sender->options.retry_s * NSEC_PER_SEC)
                return error_set(error, -ETIMEDOUT, clickhouse_server(sender->options.clickhouse),
                                 "the rows of this trace are not removed after %u seconds; "
                                 "ClickHouse goes on: try again later",
                                 sender->options.retry_s);
            poll(NULL, 0, MUTATION_POLL_MS);
        }
        r = MIN(r, 0);
    }
    return r;
}
