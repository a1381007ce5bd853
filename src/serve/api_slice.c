/* SPDX-License-Identifier: MIT */
/* GET api/slice: everything known about one slice, with the events that began and ended it. */

#include "serve/events.h"
#include "serve/routes.h"

/* Items that are examined for each end of a slice. */
#define CANDIDATES_MAX 1000

/* What the trace has for TRACK at a time. */
struct moment {
    int place; /* index of the event most like TRACK among the items from that time on; -1: none */
    uint32_t error_ns; /* of a time of TRACK's source there */
};

/* How many properties of TRACK are ITEM's, too; -1 if it is not an event of its source. */
static int likeness(const struct events *events, const struct item *item,
                    const struct index_track *track)
{
    if (item->kind != ITEM_EVENT || trace_input_of(events->trace, item->origin) != track->source)
        return -1;
    return (track->cpu >= 0 && item->cpu == track->cpu) +
           (track->pid >= 0 && item->pid == track->pid) +
           (track->vcpu >= 0 && item->vcpu == track->vcpu);
}

/* A slice may begin or end without an event of its source, by an event of another source, or at the end of the trace.
 * Then its error is the error of its source's next event, or else the largest error in the trace. */
static int find_moment(struct exchange *x, const struct index_track *track, int64_t time,
                       struct moment *ret)
{
    struct moment moment = {-1, index_summary(x->generation->index)->error_ns};
    struct error error = {0};
    struct events events;
    const struct item *item;
    int64_t t;
    int best = -1;
    int r = events_open(x, time, &events, &error);

    if (r < 0)
        return answer_failure(&x->answer, r, &error);
    for (int i = 0; i < CANDIDATES_MAX; i++) {
        int like;

        r = events_next(&events, &item, &t, &error);
        if (r <= 0 || (t > time && best >= 0))
            break;
        like = likeness(&events, item, track);
        if (like <= best)
            continue;
        best = like;
        moment.error_ns = item->error_ns;
        if (t > time)
            break;
        moment.place = i;
    }
    events_close(&events);
    if (r < 0 && r != -ECANCELED)
        return answer_failure(&x->answer, r, &error);
    *ret = moment;
    return 0;
}

/* An item is lent only until the next one, so the found item is read again. */
static int put_event(struct exchange *x, const char *key, int place, int64_t time)
{
    struct json_writer *w = &x->answer.json;
    struct error error = {0};
    struct events events;
    const struct item *item;
    int64_t t = time;
    int r = 1;

    json_write_key(w, key);
    if (place < 0) {
        json_write_raw(w, "null", 4);
        return 0;
    }
    r = events_open(x, time, &events, &error);
    if (r < 0)
        return answer_failure(&x->answer, r, &error);
    r = 1;
    for (int i = 0; i <= place && r > 0; i++)
        r = events_next(&events, &item, &t, &error);
    if (r > 0 && t == time)
        events_put_item(x, &events, item, t, true);
    else
        json_write_raw(w, "null", 4);
    events_close(&events);
    return r < 0 && r != -ECANCELED ? answer_failure(&x->answer, r, &error) : 0;
}

static void put_slice(struct exchange *x, uint32_t number, unsigned depth,
                      const struct index_slice *slice)
{
    const struct index *index = x->generation->index;
    const struct index_track *track = index_track(index, number);
    struct json_writer *w = &x->answer.json;
    struct moment begin;
    struct moment end;

    if (find_moment(x, track, slice->begin, &begin) < 0 ||
        find_moment(x, track, slice->end, &end) < 0)
        return;
    json_write_object(w);
    exchange_put_track(x, "track", number);
    json_write_key(w, "depth");
    json_write_u64(w, depth);
    exchange_put_time(x, "begin", slice->begin);
    exchange_put_time(x, "end", slice->end);
    json_write_key(w, "name");
    json_write_str(w, index_name(index, slice->name));
    json_write_key(w, "name_id");
    json_write_u64(w, slice->name);
    json_write_key(w, "flags");
    json_write_u64(w, slice->flags);
    json_write_key(w, "state");
    json_write_u64(w, slice->state);
    exchange_put_error(x, "begin_error_ns", begin.error_ns);
    exchange_put_error(x, "end_error_ns", end.error_ns);
    /* What is at the end of a slice without an end did not end it. */
    if (slice->flags & (INDEX_CUT | INDEX_OPEN))
        end.place = -1;
    if (put_event(x, "event", begin.place, slice->begin) == 0 &&
        put_event(x, "end_event", end.place, slice->end) == 0)
        json_write_finish(w);
}

void api_slice(struct exchange *x)
{
    const struct index *index = x->generation->index;
    const struct index_summary *summary = index_summary(index);
    struct index_slices slices = {0};
    int64_t depth = 0, time = INT64_MIN;
    uint32_t number;
    int r;

    if (exchange_track(x, &number) < 0 || exchange_number(x, "depth", 0, UINT16_MAX, &depth) < 0 ||
        exchange_number(x, "time", 0, summary->end - summary->begin, &time) < 0)
        return;
    if (number == INDEX_NO_TRACK || time == INT64_MIN) {
        answer_error(&x->answer, HTTP_BAD_REQUEST, "'track' and 'time' are required");
        return;
    }
    time += summary->begin;
    r = index_slices(index, number, (unsigned)depth, time, time, 0, &slices);
    if (r < 0)
        answer_failure(&x->answer, r, NULL);
    else if (slices.n == 0)
        answer_error(&x->answer, HTTP_NOT_FOUND, "there is no slice at this place");
    else /* one may end where the next begins */
        put_slice(x, number, (unsigned)depth, &slices.slices[slices.n - 1]);
    index_slices_done(&slices);
}
