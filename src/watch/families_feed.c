/* SPDX-License-Identifier: MIT */
/* The side of the reading process. */

#include "watch/families_feed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "metrics/update.h"
#include "watch/families.h"
#include "watch/families_lines.h"

#define OUT_SIZE ((size_t)16 * 1024)

struct families_feed {
    int out;
    struct metrics *metrics;
    struct families *families;
    uint64_t began; /* begin of reading the window */
    uint64_t cpu;   /* in ns, when it was last sent */
    int64_t to;     /* end of the last window */
    bool is_open;
};

/* Puts TEXT, which has updates, as lines. */
static void put_updates(struct text *to, const struct text *updates)
{
    const char *next = updates->start, *end;

    for (; next && next < updates->next; next = end + 1) {
        end = memchr(next, '\n', (size_t)(updates->next - next));
        if (!end)
            break;
        /* Labels are cut so that this is never so. */
        if ((size_t)(end - next) + sizeof FAMILIES_LINE_PREFIX "add " > FAMILIES_LINE_MAX)
            continue;
        text_put_literal(to, FAMILIES_LINE_PREFIX "add ");
        text_put(to, next, (size_t)(end - next) + 1);
    }
}

static void send(struct families_feed *feed, enum families_result result, int64_t from, int64_t to)
{
    uint64_t cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    struct text updates = TEXT_IN_MEMORY, text;

    if (text_open_fd(&text, feed->out, OUT_SIZE) < 0)
        return;
    metrics_put_updates(feed->metrics, &updates);
    if (updates.error)
        result = FAMILIES_FAILED;
    text_put_literal(&text, FAMILIES_LINE_PREFIX "begin\n");
    if (!updates.error)
        put_updates(&text, &updates);
    text_printf(&text, FAMILIES_LINE_PREFIX "end %s %" PRId64 " %" PRId64 " %" PRIu64 "\n",
                families_result_names[result], from, to, cpu - feed->cpu);
    (void)text_flush(&text); /* the watcher notices that nothing reads any more */
    text_done(&updates);
    text_done(&text);
    feed->cpu = cpu;
    feed->to = to;
}

bool families_feed_begin(struct families_feed *feed, const struct live_window *window,
                         struct sink **ret_sink)
{
    struct error error = {0};

    feed->began = clock_ns(CLOCK_MONOTONIC);
    feed->is_open = families_open(feed->families, window->trace, window->from, &error) >= 0;
    if (feed->is_open)
        *ret_sink = families_sink(feed->families);
    else
        send(feed, FAMILIES_FAILED, window->from, window->to);
    return feed->is_open;
}

void families_feed_end(struct families_feed *feed, const struct live_window *window, int r)
{
    uint64_t took = clock_ns(CLOCK_MONOTONIC) - feed->began;
    enum families_result result = FAMILIES_OK;
    int closed;

    if (!feed->is_open)
        return;
    feed->is_open = false;
    closed = families_close(feed->families);
    if (r < 0 || closed < 0)
        result = FAMILIES_FAILED;
    else if (window->n_left_out > 0 || window->error.code < 0 || !live_has_all(window->late))
        result = FAMILIES_PARTIAL;
    else if (window->from > 0 && took > (uint64_t)(window->to - window->from))
        result = FAMILIES_LATE;
    send(feed, result, window->from, window->to);
}

void families_feed_idle(struct families_feed *feed, int64_t from, int64_t to)
{
    send(feed, FAMILIES_IDLE, from, to);
}

static int send_start(int out)
{
    struct text text;
    int r = text_open_fd(&text, out, OUT_SIZE);

    if (r < 0)
        return r;
    text_put_literal(&text, FAMILIES_LINE_PREFIX "start\n");
    (void)text_flush(&text);
    text_done(&text);
    return 0;
}

int families_feed_new(int out, struct families_feed **ret)
{
    struct metric_family *family[FAMILIES];
    struct families_feed *feed = calloc(1, sizeof *feed);
    int r = feed ? metrics_new(&feed->metrics) : -ENOMEM;

    if (r >= 0)
        r = families_add(feed->metrics, family);
    if (r >= 0)
        r = families_new(family, &feed->families);
    if (r >= 0)
        r = send_start(out);
    if (r < 0) {
        families_feed_free(feed);
        return r;
    }
    feed->out = out;
    *ret = feed;
    return 0;
}

void families_feed_finish(struct families_feed *feed)
{
    if (families_finish(feed->families) >= 0)
        send(feed, FAMILIES_OK, feed->to, feed->to);
}

void families_feed_free(struct families_feed *feed)
{
    if (!feed)
        return;
    families_free(feed->families);
    metrics_free(feed->metrics);
    free(feed);
}
