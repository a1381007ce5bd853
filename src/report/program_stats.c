/* SPDX-License-Identifier: MIT */
#include "report/program_stats.h"

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/printable.h"
#include "control/client.h"

/* Text has a table for each kind; in other formats each row states its kind. */
enum column {
    KIND,
    DROPPED_BEFORE_NAME, /* only in text */
    EVENT,
    RING,
    MODE,
    SIZE,
    WRITTEN,
    HELD,
    DROPPED,
    TID,
    THREAD,
    ENDED,
    OWNER, /* only in text: the thread, its name, and whether it has ended */
    UNWRITTEN,
    BYTES,
    LINES,
    REFUSED,
    RINGLESS,
    COLUMNS
};

static const struct table_column data_columns[COLUMNS] = {
    [KIND] = {.name = "kind"},       [EVENT] = {.name = "event"},
    [RING] = {.name = "ring"},       [MODE] = {.name = "mode"},
    [SIZE] = {.name = "ring_bytes"}, [WRITTEN] = {.name = "written_bytes"},
    [HELD] = {.name = "held_bytes"}, [TID] = {.name = "tid"},
    [THREAD] = {.name = "thread"},   [ENDED] = {.name = "thread_ended"},
    [DROPPED] = {.name = "dropped"}, [UNWRITTEN] = {.name = "unwritten"},
    [BYTES] = {.name = "bytes"},     [LINES] = {.name = "lines_unwritten"},
    [REFUSED] = {.name = "refused"}, [RINGLESS] = {.name = "ringless"},
};
static const struct table_column event_columns[COLUMNS] = {
    [DROPPED_BEFORE_NAME] = {.title = "DROPPED", .width = 11},
    [EVENT] = {.title = "EVENT"},
};
static const struct table_column ring_columns[COLUMNS] = {
    [RING] = {.title = "RING", .width = 3},  [MODE] = {.title = "MODE", .width = -10},
    [SIZE] = {.title = "SIZE", .width = 9},  [WRITTEN] = {.title = "WRITTEN", .width = 14},
    [HELD] = {.title = "HELD", .width = 12}, [DROPPED] = {.title = "DROPPED", .width = 12},
    [OWNER] = {.title = "THREAD"},
};
static const struct table_form data_form = {data_columns, COLUMNS};
static const struct table_form event_form = {event_columns, COLUMNS, .silent_if_empty = true};
static const struct table_form ring_form = {ring_columns, COLUMNS, .silent_if_empty = true};

/* Puts a number of the program, or unknown if DIGITS is not a number. */
static void put_number(struct table *table, enum column column, const char *digits)
{
    char *end;
    unsigned long long v = strtoull(digits, &end, 10);

    if (*digits >= '0' && *digits <= '9' && !*end)
        table_u64(table, column, v);
    else
        table_str(table, column, NULL);
}

/* Parses "ID DROPS NAME". The name "-" stands for all events beyond a limit. */
static void put_event(struct table *table, char *line)
{
    const char *drops;

    (void)client_word(&line);
    drops = client_word(&line);
    table_str(table, KIND, "event");
    put_number(table, DROPPED_BEFORE_NAME, drops);
    put_number(table, DROPPED, drops);
    table_str(table, EVENT, strcmp(line, "-") == 0 ? "(others)" : line);
    table_end_row(table);
}

/* Parses "NUMBER MODE SIZE WRITTEN HELD DROPPED OWNER THREAD NAME". */
static void put_ring(struct table *table, char *line)
{
    bool ended;
    const char *tid;

    table_str(table, KIND, "ring");
    put_number(table, RING, client_word(&line));
    table_str(table, MODE, client_word(&line));
    put_number(table, SIZE, client_word(&line));
    put_number(table, WRITTEN, client_word(&line));
    put_number(table, HELD, client_word(&line));
    put_number(table, DROPPED, client_word(&line));
    ended = strcmp(client_word(&line), "0") == 0;
    tid = client_word(&line);
    put_number(table, TID, tid);
    table_str(table, THREAD, line);
    table_bool(table, ENDED, ended);
    text_printf(table_cell(table, OWNER), "%s %s%s", tid, line, ended ? " (ended)" : "");
    table_end_row(table);
}

static const struct total {
    const char *name;
    enum column column;
} totals[] = {
    {"dropped", DROPPED}, {"unwritten", UNWRITTEN}, {"bytes", BYTES},
    {"lines", LINES},     {"refused", REFUSED},     {"ringless", RINGLESS},
};

static void put_total(struct table *table, const char *name, const char *digits)
{
    for (size_t i = 0; i < ARRAY_SIZE(totals); i++)
        if (strcmp(totals[i].name, name) == 0)
            put_number(table, totals[i].column, digits);
}

/* Ends the row of totals before the first other row, and at the end of the answer. */
static void end_totals(struct table *table, bool *is_ended)
{
    if (*is_ended)
        return;
    table_str(table, KIND, "program");
    table_end_row(table);
    *is_ended = true;
}

/* An answer has totals, then events, then rings (strata-control(7)). */
static int put_data(struct text *out, enum table_format format, char *answer)
{
    struct table table;
    bool totals_ended = false;
    char *line;

    table_begin(&table, out, format, &data_form);
    while ((line = client_line(&answer))) {
        const char *word = client_word(&line);
        bool is_event = strcmp(word, "class") == 0, is_ring = strcmp(word, "ring") == 0;

        if (!is_event && !is_ring) {
            put_total(&table, word, line);
            continue;
        }
        end_totals(&table, &totals_ended);
        if (is_event)
            put_event(&table, line);
        else
            put_ring(&table, line);
    }
    end_totals(&table, &totals_ended);
    return table_end(&table);
}

int ctl_put_stats(struct text *out, enum table_format format, char *answer)
{
    struct table events, rings;
    char *line;
    int r, r2;

    if (format != TABLE_TEXT)
        return put_data(out, format, answer);
    table_begin(&events, out, format, &event_form);
    table_begin(&rings, out, format, &ring_form);
    while ((line = client_line(&answer))) {
        const char *word = client_word(&line);

        if (strcmp(word, "class") == 0) {
            if (!events.has_head)
                text_put_char(out, '\n');
            put_event(&events, line);
        } else if (strcmp(word, "ring") == 0) {
            if (!rings.has_head)
                text_put_char(out, '\n');
            put_ring(&rings, line);
        } else {
            text_printf_safe(out, "%-10s  %s", word, line);
            text_put_char(out, '\n');
        }
    }
    r = table_end(&events);
    r2 = table_end(&rings);
    return r < 0 ? r : r2;
}

int ctl_put_file(struct text *out, enum table_format format, char *answer)
{
    enum { PATH, STATE };
    static const struct table_column columns[] = {
        [PATH] = {.name = "file"}, [STATE] = {.name = "state"}};
    static const struct table_form form = {columns, ARRAY_SIZE(columns)};
    struct table table;
    char *line;

    table_begin(&table, out, format, &form);
    while ((line = client_line(&answer))) {
        const char *state;

        if (strcmp(client_word(&line), "file") != 0)
            continue;
        state = client_word(&line);
        if (format == TABLE_TEXT) {
            text_printf_safe(out, "%s is %s", line, state);
            text_put_char(out, '\n');
            continue;
        }
        table_str(&table, PATH, line);
        table_str(&table, STATE, state);
        table_end_row(&table);
    }
    return table_end(&table);
}
