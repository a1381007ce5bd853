/* SPDX-License-Identifier: MIT */
/* GET api/statistics: how much time slices took in a span of time, by track and name. */

#include "serve/routes.h"
#include "serve/statistics.h"

static void put_rows(struct exchange *x, const struct statistics *statistics)
{
    struct json_writer *w = &x->answer.json;

    json_write_object(w);
    json_write_key(w, "rows");
    json_write_lines(w);
    for (unsigned i = 0; i < statistics->n; i++) {
        const struct statistics_row *row = &statistics->rows[i];
        const struct {
            const char *key;
            int64_t value;
        } members[] = {
            {"name", row->name}, {"n", (int64_t)row->n}, {"total", row->total},
            {"min", row->min},   {"max", row->max},      {"mean", row->sum / (int64_t)row->n},
        };

        json_write_object(w);
        exchange_put_track(x, "track", row->track);
        for (size_t j = 0; j < ARRAY_SIZE(members); j++) {
            json_write_key(w, members[j].key);
            json_write_i64(w, members[j].value);
        }
        json_write_end(w);
    }
    json_write_finish(w);
}

void api_statistics(struct exchange *x)
{
    struct statistics statistics = {0};
    uint32_t tracks[EXCHANGE_TRACKS_MAX];
    struct api_span span;
    int n = 0, r = 0;

    if (exchange_span(x, &span) < 0 || (n = exchange_tracks(x, tracks)) < 0)
        return;
    for (int i = 0; i < n && r >= 0; i++)
        r = statistics_add(&statistics, x, tracks[i], &span);
    if (r == -E2BIG) {
        answer_error(&x->answer, HTTP_TOO_LARGE,
                     "more than %u slices, or %u names; select less time or fewer tracks",
                     STATISTICS_SLICES_MAX, STATISTICS_ROWS_MAX);
    } else if (r < 0) {
        answer_failure(&x->answer, r, NULL);
    } else {
        statistics_sort(&statistics);
        put_rows(x, &statistics);
    }
    statistics_done(&statistics);
}
