/* SPDX-License-Identifier: MIT */
#include "runtime/sinks/sink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/sinks/drain_pass.h"
#include "runtime/sinks/output.h"

char *sink_plan_path(const struct trace_sink *sink)
{
    const char *said = sink->whole ? sink->whole : sink->path ? sink->path : sink->ops->path;
    char *path = output_path(said);
    char *other;
    struct stat st;

    /* The parent's file is the parent's. A name with the process's number in it is another already, and
     * a device (/dev/null, a terminal) is shared: regular files beside it would be no use. */
    if (!path || (!pass_is_child() && !sink->beside) || strstr(said, "%p") ||
        (stat(path, &st) >= 0 && S_ISCHR(st.st_mode)))
        return path;
    if (asprintf(&other, "%s.%ld", path, (long)getpid()) < 0)
        other = NULL;
    free(path);
    return other;
}

char *sink_path(struct trace_sink *sink)
{
    char *path = sink_plan_path(sink);

    free(sink->used);
    sink->used = path ? strdup(path) : NULL;
    return path;
}
