/* SPDX-License-Identifier: MIT */
#include "monitor/control.h"
#include "base/glob.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "strata/trace.h"

/* ---- Events ---- */

struct looking {
    event_function function;
    void *userdata;
    bool found;
    bool on_unavailable; /* look only for one that is compiled out, and end with its name in... */
    struct buffer *unavailable;
    uint64_t seen[1024]; /* a bit for each id: an event that several libraries have is one */
};

static int look(const struct strata_event *event, void *userdata)
{
    struct looking *looking = userdata;
    uint64_t bit = UINT64_C(1) << event->id % 64;

    looking->found = true;
    if (event->id && looking->seen[event->id / 64 % 1024] & bit)
        return 0;
    looking->seen[event->id / 64 % 1024] |= bit;
    if (looking->unavailable && !event->compiled_in) {
        buffer_text(looking->unavailable, event->name);
        return 1;
    }
    if (looking->function)
        looking->function(event->name,
                          !event->compiled_in         ? EVENT_UNAVAILABLE
                          : strata_event_is_on(event) ? EVENT_ENABLED
                                                      : EVENT_DISABLED,
                          looking->userdata);
    return 0;
}

static bool check_found(const struct looking *looking, const char *name, size_t len,
                        struct buffer *problem)
{
    if (looking->found || (glob_is_pattern(name) && strlen(name) == len))
        return true;
    buffer_text(problem, "unknown event \"");
    buffer_put(problem, name, len);
    buffer_text(problem, "\"");
    return false;
}

bool control_get_state(const char *name, size_t len, event_function function, void *userdata,
                       struct buffer *problem)
{
    struct looking looking = {.function = function, .userdata = userdata};

    if (strlen(name) == len) /* an event's name has no NUL in it */
        strata_event_foreach(name, look, &looking);
    return check_found(&looking, name, len, problem);
}

bool control_set_state(const char *name, size_t len, bool on, bool ignore_unavailable,
                       struct buffer *problem)
{
    struct buffer unavailable = {0};
    struct looking looking = {.unavailable = ignore_unavailable ? NULL : &unavailable};
    int r;

    if (strlen(name) == len)
        strata_event_foreach(name, look, &looking);
    if (!check_found(&looking, name, len, problem))
        return false;
    if (unavailable.len) {
        buffer_text(problem, "event \"");
        buffer_put(problem, unavailable.bytes, unavailable.len);
        buffer_text(problem, "\" is disabled");
    }
    buffer_done(&unavailable);
    if (problem->len)
        return false;
    r = strata_event_set_state(name, on);
    if (r == -ENOMEM) {
        buffer_text(problem, "out of memory");
        return false;
    }
    if (on && r > 0)
        strata_trace_file_use_default();
    return true;
}

/* ---- Content ---- */

#define SHOWN_MAX 4096

static void put_line(const char *line, void *userdata)
{
    buffer_text(userdata, line);
    buffer_text(userdata, "\n");
}

bool control_show(struct buffer *text, struct buffer *problem)
{
    int r = strata_trace_show(SHOWN_MAX, put_line, text);

    if (r < 0)
        buffer_printf(problem, "Error reading the trace buffer: %s", strerrordesc_np(-r));
    return r >= 0;
}

/* ---- Files ---- */

static bool file_problem(int r, const char *what, const char *path, struct buffer *problem)
{
    if (r >= 0)
        return true;
    if (r == -EOPNOTSUPP) {
        buffer_text(problem, "This program has no trace file: none of its events have the backend "
                             "ring or simple");
        return false;
    }
    buffer_printf(problem, "%s", what);
    if (path)
        buffer_printf(problem, " %s", path);
    buffer_printf(problem, ": %s", strerrordesc_np(-r) ? strerrordesc_np(-r) : "unknown error");
    return false;
}

bool control_file_status(struct buffer *text, struct buffer *problem)
{
    char *path = NULL;
    bool on = false;
    int r = strata_trace_file_get(&path, &on);

    if (!file_problem(r, "Error looking at the trace file", NULL, problem))
        return false;
    buffer_printf(text, "Trace file \"%s\" %s.\n", path, on ? "on" : "off");
    free(path);
    return true;
}

bool control_file_set_enabled(bool on, struct buffer *problem)
{
    char *path = NULL;
    int r = strata_trace_file_set_enabled(on);

    if (r < 0 && r != -EOPNOTSUPP)
        (void)strata_trace_file_get(&path, NULL);
    (void)file_problem(r, "Error opening trace file", path, problem);
    free(path);
    return r >= 0;
}

bool control_file_set(const char *path, struct buffer *problem)
{
    return file_problem(strata_trace_file_set(path), "Error opening trace file", path, problem);
}

bool control_flush(struct buffer *problem)
{
    return file_problem(strata_trace_flush(),
                        "Error writing the trace; what could not be written "
                        "is counted",
                        NULL, problem);
}

bool control_log_file(const char *path, struct buffer *problem)
{
    struct buffer options = {0};
    int r;

    buffer_text(&options, "logfile=");
    for (const char *p = path; *p; p++) /* a comma in a value is written twice */
        buffer_put(&options, *p == ',' ? ",," : p, *p == ',' ? 2 : 1);
    buffer_put(&options, "", 1);
    r = options.broken ? -ENOMEM : strata_trace_opt_parse(options.bytes);
    buffer_done(&options);
    return file_problem(r, "Error opening logfile", path, problem);
}
