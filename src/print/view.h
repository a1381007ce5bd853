/* SPDX-License-Identifier: MIT */
#pragma once

/* Sinks that print items, one line each. */

#include "base/text.h"
#include "event/sink.h"

struct view_options {
    bool color;
    /* The number of an origin's input, which is printed in each line if the trace has several inputs. NULL: no
     * number. */
    unsigned (*origin_number)(void *arg, const struct origin *origin);
    void *origin_arg;
    /* Text: names of the inputs, by number, to print instead of numbers; may be NULL. */
    const char *const *input_names;
    unsigned n_input_names;
    /* Prints the error of each time, because several clocks were converted to one. */
    bool errors;
    /* Layers of the trace, as bits 1 << enum layer; each line prints its layer. 0: one layer, which is not printed. */
    unsigned layers;
    /* Text and JSON: prints what a kernel noted of its CPU at each event (kernel_event_context()). */
    bool flags;
    /* CSV for a spreadsheet: text that would be read as a formula gets an apostrophe in front. */
    bool spreadsheet;
};

/* `TIME [CPU] TASK NAME: TEXT`.
 *  TIME  seconds with nine decimals; ticks if the clock's rate is unknown
 *  [CPU] three digits or more; [---] if unknown
 *  TASK  COMM-PID, or PID, or the vCPU, or -
 * With `origin_number`, a column #N follows TIME, or with `input_names` the name. A loss has the name LOST.
 *
 * With `layers`, `TIME ±ERROR LAYER [CPU] VCPU TASK NAME: TEXT`:
 *  ±ERROR  the largest error of TIME, rounded up to a whole number of at most three digits of ns, us, ms
 *          or s (±62us); ±0 for times of the event's own clock; >4s for larger errors
 *  LAYER   as layer_name() has it
 *  VCPU    vcpuN, or as the layer calls it (d0v1); - if unknown
 * With `origin_number`, #N, or the name, follows LAYER. With `flags`, " d..2." follows [CPU], or a - if the event is
 * not a kernel's. */
int line_text_open(const struct view_options *options, struct text *out, struct sink **ret_sink);

/* One JSON object per line; unknown values are left out.
 *  event: {"time":S.N,"time_ns":N,"error_ns":N,"cpu":N,"pid":N,"comm":S,"vcpu":S,"layer":S,"source":N,
 *          "group":S,"event":S,"fields":{…}}
 *  loss:  {"time":…,…,"layer":S,"lost":N|null,"since":S.N,"since_ns":N,"cause":S,
 *          "skipped_bytes":N}
 * If the clock's rate is unknown, "ticks" and "since_ticks" replace the times. With `errors`, there is "error_ns", the
 * largest error of the time. With `flags`, kernel events have "flags" and "preempt_count". */
int line_json_open(const struct view_options *options, struct text *out, struct sink **ret_sink);

/* RFC 4180, with a header line. The columns: time,cpu,pid,comm,vcpu,layer,source,group,event,lost,text,fields,names;
 * with `errors`, error_ns follows time. `fields` is a JSON object, `names` a JSON object or empty. A loss has no event,
 * and its count in `lost` ("unknown" if the tracer did not count). */
int line_csv_open(const struct view_options *options, struct text *out, struct sink **ret_sink);
