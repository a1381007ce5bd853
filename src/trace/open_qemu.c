/* SPDX-License-Identifier: MIT */
/* What QEMU's trace backends wrote. */

#include "format/qemu_log.h"
#include "format/simpletrace.h"
#include "trace/open.h"

int open_simpletrace(struct opening *opening, struct fault *fault)
{
    struct trace *trace = opening->trace;
    struct simpletrace_options options = {.no_header = opening->options->no_header,
                                          .reader = opening->options->reader};
    const struct input *in = &opening->input;
    struct source *source;
    bool needed;
    int r;

    /* Version 4 says which event has which number; the older ones have only the number. */
    needed = options.no_header || simpletrace_is_old(input_at(in), input_buffered(in));
    r = events_files_get(trace->events, opening->options, needed, opening->path, &options.events,
                         fault);
    if (r < 0)
        return r;
    if (!options.events)
        trace->hint = "no trace-events declarations were found, so arguments show as raw words; "
                      "give the trace-events-all of the QEMU that wrote the trace by --events";
    r = simpletrace_open(&opening->input, &trace->catalogue, &options, &source, fault);
    return r < 0 ? r : opening_add(opening, source);
}

int open_qemu_log(struct opening *opening, struct fault *fault)
{
    struct trace *trace = opening->trace;
    const struct qemu_events *events;
    struct source *source;
    int r;

    r = events_files_get(trace->events, opening->options, false, opening->path, &events, fault);
    if (r < 0)
        return r;
    if (!events)
        trace->hint = "no trace-events declarations were found, so events have no fields but "
                      "their text; give the trace-events-all of the QEMU that wrote the log by "
                      "--events";
    r = qemu_log_open(&opening->input, &trace->catalogue, events, &source, fault);
    return r < 0 ? r : opening_add(opening, source);
}
