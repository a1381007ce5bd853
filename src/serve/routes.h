/* SPDX-License-Identifier: MIT */
#pragma once

/* From a request to its answer. */

#include "serve/http_exchange.h"

/* Fills the answer of X, of which the secret was checked, and the rest of its path was not. */
void routes_run(struct exchange *x);

/* The page's own files. */
void assets_get(struct exchange *x, const char *name);

/* The page's API: each writes the answer, or `{"error":"…"}`. Times are ns (ticks where the clock's rate is unknown: "unit") since the begin of the trace, so that
 * JavaScript's numbers hold them exactly; tracks and names are numbers. These numbers and the begin are those of one index:
 * each request may say which with `generation`, and 410 is the answer if that one is gone; without, it is the newest. src/serve/web/api.ts has the types.
 *  api/trace       all tracks, with what is known of them; `generation` is the index's
 *  api/live        `generation` and `live`: while it is, the trace is being recorded, and later indexes of it will have
 *                  higher numbers
 *  api/names       ?ids                              names that api/trace left out
 *  api/slices      ?from&to&pixels&tracks            [begin, end, name, flags, n, covered, state, …] by depth
 *  api/counts      ?from&to&pixels&tracks            events in each pixel
 *  api/values      ?from&to&pixels&tracks            [time, min, max, last, …]
 *  api/arrows      ?from&to&max                      [begin, track, depth, end, track, depth]
 *  api/slice       ?track&depth&time                 one slice, with the events that began and ended it
 *  api/events      ?from&skip&limit&filter&track&fields    rows; `next` and `skip` are those of the next request
 *  api/search      ?text&from&limit                  slices by name, in order of time
 *  api/statistics  ?from&to&tracks                   number and durations by track and name
 *  api/latency     ?from&to&tracks&names&text&min&max&begin_from&begin_to&columns&limit
 *                  how long slices take that begin in the time: percentiles as strata latency has them, `buckets`
 *                  [from, before, count, …] of durations, `cells` [column of time, from, before, count, …], `names` that
 *                  took most, `slowest` [LIMIT]. Of a group of `tracks`, the tracks of slices in it; without, all of
 *                  these. `text`: names that contain it, or begin with what follows its `^`, beside the numbers `names`. `min` to `max`: durations only;
 *                  `begin_from` to `begin_to`: begins only. 413: there are more slices than are looked at at once */
void api_trace(struct exchange *x);
void api_live(struct exchange *x);
void api_names(struct exchange *x);
void api_slices(struct exchange *x);
void api_counts(struct exchange *x);
void api_values(struct exchange *x);
void api_arrows(struct exchange *x);
void api_slice(struct exchange *x);
void api_events(struct exchange *x);
void api_search(struct exchange *x);
void api_statistics(struct exchange *x);
void api_latency(struct exchange *x);
