/* SPDX-License-Identifier: MIT */
#pragma once

/* Sinks that write what they are shown, one line an item. */

#include "base/text.h"
#include "event/sink.h"

struct view_options {
    bool color;
    /* Where several captures are shown as one, each line says which one it is from: the number that
     * this gives to an origin. NULL: one capture. */
    unsigned (*origin_number)(void *arg, const struct origin *origin);
    void *origin_arg;
    /* Clocks that were related to each other are shown as one: by how much times may be wrong is told. */
    bool errors;
    /* Where several layers are shown as one, each line says which one it is from: a bit for each, 1 << enum
     * layer. 0: one layer. */
    unsigned layers;
    /* CSV for a spreadsheet: a text that it would take for a formula gets a quotation mark in front. */
    bool spreadsheet;
};

/* `TIME [CPU] TASK NAME: TEXT`.
 *  TIME  seconds with nine decimals; ticks where the clock's rate is not known
 *  [CPU] three digits or more; [---] where it is not known
 *  TASK  COMM-PID, or PID, or the vCPU, or -
 * Where there are several captures, a column #N behind TIME. A loss has the name LOST.
 *
 * Where several layers are shown, `TIME ±ERROR LAYER [CPU] VCPU TASK NAME: TEXT`:
 *  ±ERROR  what TIME may be wrong by at most, rounded up to a whole number of at most three digits of ns, us, ms
 *          or s (±62us); ±0 where the event's own clock is shown; >4s beyond what can be told
 *  LAYER   as layer_name() has it
 *  VCPU    vcpuN, or as the layer calls it (d0v1); - where it is not known
 * and #N, if there is such a column, behind LAYER. */
int line_text_open(const struct view_options *options, struct text *out, struct sink **ret_sink);

/* One JSON object a line; what is not known is left out.
 *  event: {"time":S.N,"time_ns":N,"error_ns":N,"cpu":N,"pid":N,"comm":S,"vcpu":S,"layer":S,"source":N,
 *          "group":S,"event":S,"fields":{…}}
 *  loss:  {"time":…,…,"layer":S,"lost":N|null,"since":S.N,"since_ns":N,"cause":S,
 *          "skipped_bytes":N}
 * Where the clock's rate is not known, "ticks" and "since_ticks" stand for the times. "error_ns", what the time
 * may be wrong by, is there where clocks were related to each other. */
int line_json_open(const struct view_options *options, struct text *out, struct sink **ret_sink);

/* RFC 4180, with a header line. The columns: time,cpu,pid,comm,vcpu,layer,source,group,event,lost,
 * text,fields,names ; `fields` is a JSON object, and `names` one, or empty. Where clocks were related to each other, error_ns behind time. A loss has no event and its number in `lost` ("unknown"
 * where nobody counted). */
int line_csv_open(const struct view_options *options, struct text *out, struct sink **ret_sink);
