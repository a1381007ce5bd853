/* SPDX-License-Identifier: MIT */
#include "query/nearest.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"

static void add(void *arg, const char *name)
{
    struct nearest *nearest = arg;

    if (nearest->n + 1 >= nearest->room) {
        unsigned room = MAX(64u, 2 * nearest->room);
        const char **more = realloc(nearest->names, room * sizeof *more);

        if (!more) {
            nearest->failed = true;
            return;
        }
        nearest->names = more;
        nearest->room = room;
    }
    nearest->names[nearest->n] = arena_strdup(&nearest->arena, name);
    if (nearest->names[nearest->n])
        nearest->n++;
    else
        nearest->failed = true;
    nearest->names[nearest->n] = NULL;
}

static void add_column(void *arg, const char *column, const char *type)
{
    (void)type;
    add(arg, column);
}

/* True if NAME is a word of SQL. */
static bool is_named(const char *sql, const char *name)
{
    size_t len = strlen(name);

    for (const char *p = sql; (p = strcasestr(p, name)); p++)
        if ((p == sql || (!isalnum((unsigned char)p[-1]) && p[-1] != '_')) &&
            !isalnum((unsigned char)p[len]) && p[len] != '_')
            return true;
    return false;
}

/* Finds a table of events by its name without the layer, as "sched_switch". */
static const char *find_without_layer(const struct nearest *nearest, const char *word)
{
    const char *best = NULL;
    size_t least = SIZE_MAX;

    for (unsigned i = 0; i < nearest->n; i++) {
        const char *rest = strchr(nearest->names[i], '_');
        const char *const candidates[] = {rest ? rest + 1 : NULL, NULL};
        size_t distance;

        if (!rest || !suggest_find(word, strlen(word), candidates))
            continue;
        distance = suggest_distance(word, strlen(word), rest + 1, strlen(rest + 1));
        if (distance < least) {
            least = distance;
            best = nearest->names[i];
        }
    }
    return best;
}

static const char *find_table(struct nearest *nearest, const struct query *query, const char *word)
{
    const char *near;

    query_known_tables(query, add, nearest);
    if (nearest->failed)
        return NULL;
    near = suggest_find(word, strlen(word), nearest->names);
    return near ? near : find_without_layer(nearest, word);
}

/* Searches the tables that SQL names. */
static const char *find_column(struct nearest *nearest, struct query *query, const char *word,
                               const char *sql)
{
    const char *dot = strrchr(word, '.');
    struct error error = {0};
    unsigned n_tables;

    query_known_tables(query, add, nearest);
    n_tables = nearest->n;
    for (unsigned i = 0; i < n_tables; i++)
        if (is_named(sql, nearest->names[i]))
            (void)query_known_columns(query, nearest->names[i], add_column, nearest, &error);
    if (nearest->failed || nearest->n == n_tables)
        return NULL;
    word = dot ? dot + 1 : word;
    return suggest_find(word, strlen(word), nearest->names + n_tables);
}

const char *nearest_find(struct nearest *nearest, struct query *query, const char *message,
                         const char *sql)
{
    static const char table[] = "no such table: ", column[] = "no such column: ";

    if (strncmp(message, table, sizeof table - 1) == 0)
        return find_table(nearest, query, message + sizeof table - 1);
    if (strncmp(message, column, sizeof column - 1) == 0)
        return find_column(nearest, query, message + sizeof column - 1, sql);
    return NULL;
}

void nearest_done(struct nearest *nearest)
{
    arena_done(&nearest->arena);
    free(nearest->names);
}
