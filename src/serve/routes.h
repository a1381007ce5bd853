/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds and runs what answers a request. */

#include "serve/http_exchange.h"

/* Fills the answer of X. Its secret was checked, but the rest of its path was not. */
void routes_run(struct exchange *x);

/* Answers with the page's own files. */
void assets_get(struct exchange *x, const char *name);

/* The page's API. Each function writes the answer, or `{"error":"…"}`. Times are ns since the begin of the trace, so
 * that JavaScript's numbers hold them exactly; if the clock's rate is unknown, they are ticks ("unit"). Tracks and
 * names are numbers. These numbers and the begin belong to one index. A request may name it by `generation`; if that
 * index is gone, the answer is 410. Without `generation`, it is the newest index. src/serve/web/api.ts has the types.
 *  api/trace       all tracks and their properties; `generation` is the index's
 *  api/live        `generation` and `live`: while it is true, the trace is being recorded, and later indexes will have
 *                  higher numbers
 *  api/names       ?ids                              names that api/trace left out
 *  api/slices      ?from&to&pixels&tracks            [begin, end, name, flags, n, covered, state, …] by depth
 *  api/counts      ?from&to&pixels&tracks            events in each pixel
 *  api/values      ?from&to&pixels&tracks            [time, min, max, last, …]
 *  api/arrows      ?from&to&max                      [begin, track, depth, end, track, depth]
 *  api/slice       ?track&depth&time                 one slice, with the events that began and ended it
 *  api/events      ?from&skip&limit&filter&track&fields    rows; `next` and `skip` are for the next request
 *  api/search      ?text&from&limit                  slices by name, in order of time
 *  api/statistics  ?from&to&tracks                   number and durations by track and name
 *  api/latency     ?from&to&tracks&names&text&min&max&begin_from&begin_to&columns&limit
 *                  durations of slices that begin in the time: percentiles as in strata latency, `buckets`
 *                  [from, before, count, …] of durations, `cells` [column of time, from, before, count, …], the `names`
 *                  with the most time, `slowest` [LIMIT]. A group in `tracks` stands for its tracks with slices;
 *                  without `tracks`, all of these count. `text` selects names that contain it, or begin with the text
 *                  after its `^`, in addition to the numbers `names`. `min` and `max` limit durations, `begin_from` and
 *                  `begin_to` limit begins. 413: too many slices to examine at once */
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
