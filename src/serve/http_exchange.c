/* SPDX-License-Identifier: MIT */
#include "serve/http_exchange.h"

#define PIXELS_MAX 8192
#define PIXELS_DEFAULT 1024

int exchange_number(struct exchange *x, const char *name, int64_t min, int64_t max, int64_t *ret)
{
    if (request_number(&x->request, name, min, max, ret) < 0)
        return answer_error(&x->answer, HTTP_BAD_REQUEST,
                            "invalid %s '%s'; use a whole number from %lld to %lld", name,
                            request_value(&x->request, name), (long long)min, (long long)max);
    return 0;
}

int exchange_span(struct exchange *x, struct api_span *ret)
{
    const struct index_summary *summary = index_summary(x->generation->index);
    int64_t from = 0, to = summary->end - summary->begin;

    if (exchange_number(x, "from", -EXCHANGE_TIME_MAX, EXCHANGE_TIME_MAX, &from) < 0 ||
        exchange_number(x, "to", -EXCHANGE_TIME_MAX, EXCHANGE_TIME_MAX, &to) < 0)
        return -EBADMSG;
    if (!request_value(&x->request, "to"))
        to = MAX(from, to);
    if (from > to)
        return answer_error(&x->answer, HTTP_BAD_REQUEST, "'from' is later than 'to'");
    if (__builtin_add_overflow(summary->begin, from, &ret->from) ||
        __builtin_add_overflow(summary->begin, to, &ret->to))
        return answer_error(&x->answer, HTTP_BAD_REQUEST, "'from' or 'to' is out of range");
    return 0;
}

int exchange_pixels(struct exchange *x, unsigned *ret)
{
    int64_t v = PIXELS_DEFAULT;
    int r = exchange_number(x, "pixels", 1, PIXELS_MAX, &v);

    *ret = (unsigned)v;
    return r;
}

int exchange_tracks(struct exchange *x, uint32_t ret[EXCHANGE_TRACKS_MAX])
{
    int n = request_numbers(&x->request, "tracks", ret, EXCHANGE_TRACKS_MAX);

    if (n == -E2BIG)
        return answer_error(&x->answer, HTTP_BAD_REQUEST, "at most %d tracks in one request",
                            EXCHANGE_TRACKS_MAX);
    if (n < 0)
        return answer_error(&x->answer, HTTP_BAD_REQUEST,
                            "invalid tracks; use numbers of api/trace with commas between");
    for (int i = 0; i < n; i++) {
        uint32_t number = generation_track(x->generation, ret[i]);

        if (number == INDEX_NO_TRACK)
            return answer_error(&x->answer, HTTP_BAD_REQUEST, "there is no track %u; there are %u",
                                ret[i], index_summary(x->generation->index)->n_tracks);
        ret[i] = number;
    }
    return n;
}

int exchange_track(struct exchange *x, uint32_t *ret)
{
    int64_t id = -1;

    if (exchange_number(x, "track", 0, UINT32_MAX, &id) < 0)
        return -EBADMSG;
    *ret = generation_track(x->generation, id);
    if (id >= 0 && *ret == INDEX_NO_TRACK)
        return answer_error(&x->answer, HTTP_BAD_REQUEST, "invalid track '%lld'; there are %u",
                            (long long)id, index_summary(x->generation->index)->n_tracks);
    return 0;
}

void exchange_put_track(struct exchange *x, const char *key, uint32_t number)
{
    if (key)
        json_write_key(&x->answer.json, key);
    json_write_u64(&x->answer.json, x->generation->ids[number]);
}

void exchange_put_time(struct exchange *x, const char *key, int64_t time)
{
    json_write_key(&x->answer.json, key);
    json_write_i64(&x->answer.json, time - index_summary(x->generation->index)->begin);
}

bool exchange_is_refuted(const struct exchange *x, uint32_t error_ns)
{
    return error_ns > 0 && *index_summary(x->generation->index)->clock_note;
}

void exchange_put_error(struct exchange *x, const char *key, uint32_t error_ns)
{
    struct json_writer *w = &x->answer.json;

    json_write_key(w, key);
    if (exchange_is_refuted(x, error_ns))
        json_write_raw(w, "null", 4);
    else
        json_write_u64(w, error_ns);
}
