/* SPDX-License-Identifier: MIT */
/* GET api/events: the table of events. */

#include <string.h>

#include "event/select.h"
#include "serve/events.h"
#include "serve/routes.h"

#define LIMIT_MAX 1000
#define LIMIT_DEFAULT 100

/* What is requested of the events, and the results. */
struct table {
    struct events events;
    struct select_options options; /* patterns of names */
    struct selection selection;
    char *filter;                    /* the patterns point into it */
    const struct index_track *track; /* NULL: all */
    int64_t limit, skip;
    bool fields;
    /* Results. */
    uint64_t n_lost;
    bool lost_unknown;
};

static void table_done(struct table *table)
{
    events_close(&table->events);
    selection_done(&table->selection);
    select_options_done(&table->options);
    free(table->filter);
}

static int table_init(struct exchange *x, struct table *table)
{
    const char *filter = request_value(&x->request, "filter");
    int64_t fields = 0;
    uint32_t track;
    struct api_span span;
    struct error error = {0};
    int r = 0;

    table->limit = LIMIT_DEFAULT;
    if (exchange_span(x, &span) < 0 ||
        exchange_number(x, "limit", 1, LIMIT_MAX, &table->limit) < 0 ||
        exchange_number(x, "skip", 0, INT64_MAX, &table->skip) < 0 ||
        exchange_number(x, "fields", 0, 1, &fields) < 0 || exchange_track(x, &track) < 0)
        return -EBADMSG;
    table->fields = fields;
    table->track = index_track(x->generation->index, track);
    if (filter && *filter) {
        table->filter = strdup(filter);
        r = table->filter ? strings_split(&table->options.events, table->filter, &error) : -ENOMEM;
        if (r == -EINVAL)
            return answer_error(&x->answer, HTTP_BAD_REQUEST, "the filter '%s' %s", filter,
                                error.what);
    }
    if (r == 0)
        r = selection_init(&table->selection, &table->options);
    if (r == 0)
        r = events_open(x, span.from, &table->events, &error);
    return r < 0 ? answer_failure(&x->answer, r, &error) : 0;
}

/* True if ITEM is requested; -ENOMEM. */
static int table_has(struct table *table, const struct item *item)
{
    if (table->track && !events_on_track(&table->events, item, table->track))
        return 0;
    if (item->kind != ITEM_EVENT)
        return 1;
    return table->options.events.n == 0 ? 1 : selection_has_class(&table->selection, item->class);
}

static void count_loss(struct table *table, const struct item *item)
{
    if (item->kind != ITEM_LOSS)
        return;
    if (item->lost >= LOST_UNKNOWN - table->n_lost)
        table->lost_unknown = true;
    else
        table->n_lost += item->lost;
}

/* Writes the rows. `next`: where the following request begins, after `skip` events of that time; null at the end. */
static int put_rows(struct exchange *x, struct table *table)
{
    struct json_writer *w = &x->answer.json;
    int64_t time = table->events.from, same = 0, n = 0;
    const struct item *item;
    struct error error = {0};
    int r;

    json_write_key(w, "events");
    json_write_lines(w);
    for (;;) {
        int64_t before = time;
        int wanted;

        r = events_next(&table->events, &item, &time, &error);
        if (r <= 0)
            break;
        if (time != before)
            same = 0;
        /* Counted as the trace has them, whatever is wanted. */
        same++;
        if (before == table->events.from && time == before && same <= table->skip)
            continue;
        wanted = table_has(table, item);
        if (wanted < 0)
            return answer_failure(&x->answer, wanted, NULL);
        if (!wanted)
            continue;
        if (n == table->limit) {
            same--;
            break;
        }
        n++;
        count_loss(table, item);
        events_put_item(x, &table->events, item, time, table->fields);
        if (answer_is_full(&x->answer))
            return -EBADMSG;
    }
    json_write_end(w);
    if (r < 0 && r != -ECANCELED)
        return answer_failure(&x->answer, r, &error);
    if (r == 0) {
        json_write_key(w, "next");
        json_write_raw(w, "null", 4);
        return 0;
    }
    exchange_put_time(x, "next", time);
    json_write_key(w, "skip");
    json_write_i64(w, same);
    return 0;
}

void api_events(struct exchange *x)
{
    struct json_writer *w = &x->answer.json;
    struct table table = {0};

    if (table_init(x, &table) == 0) {
        json_write_object(w);
        if (put_rows(x, &table) == 0) {
            json_write_key(w, "lost");
            if (table.lost_unknown)
                json_write_raw(w, "null", 4);
            else
                json_write_u64(w, table.n_lost);
            json_write_finish(w);
        }
    }
    table_done(&table);
}
