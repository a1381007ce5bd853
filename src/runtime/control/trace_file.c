/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "runtime/control/options.h"
#include "runtime/writer.h"
#include "strata/trace.h"

/* The trace file as a user of a monitor knows it, `trace-file on|off|set PATH`: one of the two sinks that
 * write files of records. */

/* Held throughout: the lock of the options, so that no other thread chooses a sink meanwhile. */
static int file_sink(enum sink_number *ret)
{
    int sink = options_file_sink();

    if (sink < 0)
        return sink;
    *ret = (enum sink_number)sink;
    return 0;
}

static int turn_on(enum sink_number sink, const char *path)
{
    options_file_chosen();
    return writer_sink_move(sink, path);
}

int strata_trace_file_set_enabled(bool on)
{
    enum sink_number sink;
    int r;

    options_lock();
    r = file_sink(&sink);
    if (r >= 0 && !on) {
        writer_sink_pause(sink);
    } else if (r >= 0) {
        r = writer_sink_resume(sink);
        if (r >= 0 && !writer_sink_is_on(sink))
            r = turn_on(sink, NULL);
    }
    options_unlock();
    return r;
}

int strata_trace_file_set(const char *path)
{
    enum sink_number sink;
    int r;

    if (!path || !*path)
        return -EINVAL;
    options_lock();
    r = file_sink(&sink);
    if (r >= 0) {
        /* A sink that is not on is off in the eyes of the user: the path is for when it is. */
        if (!writer_sink_is_on(sink))
            writer_sink_pause(sink);
        r = turn_on(sink, path);
    }
    options_unlock();
    return r;
}

void strata_trace_file_use_default(void)
{
    options_lock();
    options_want_trace();
    options_unlock();
}

int strata_trace_file_get(char **ret_path, bool *ret_on)
{
    enum sink_number sink;
    char *path = NULL;
    bool on = false;
    int r;

    options_lock();
    r = file_sink(&sink);
    if (r >= 0) {
        on = writer_sink_is_on(sink) && !writer_sink_is_paused(sink);
        path = writer_sink_path(sink);
        if (!path)
            r = -ENOMEM;
    }
    options_unlock();
    if (r < 0)
        return r;
    if (ret_on)
        *ret_on = on;
    if (ret_path)
        *ret_path = path;
    else
        free(path);
    return 0;
}
