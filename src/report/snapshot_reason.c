/* SPDX-License-Identifier: MIT */
#include "report/snapshot_reason.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/printable.h"
#include "event/clock.h"
#include "tracedir/manifest.h"

#define NS_PER_MS 1000000

/* Puts the wall-clock time, and the time at which the trace has its events. */
static void put_time(const struct trace *trace, const struct manifest_moment *moment,
                     struct text *text)
{
    static const struct clock ns = {.hz = NANOSECONDS};
    time_t seconds = (time_t)(moment->realtime_ns / NANOSECONDS);
    char buf[64];
    struct tm tm;

    if (moment->realtime_ns <= 0 || !gmtime_r(&seconds, &tm))
        return;
    strftime(buf, sizeof buf, "%Y-%m-%d %H:%M:%S", &tm);
    text_printf(text, " at %s.%03d UTC", buf, (int)(moment->realtime_ns % NANOSECONDS / NS_PER_MS));
    if (!trace->host_time || moment->monotonic_ns <= 0)
        return;
    text_put_literal(text, " (");
    clock_put_time(&ns, moment->monotonic_ns, text);
    text_put_char(text, ')');
}

static void put_reason(const struct trace *trace, const struct manifest_snapshot *snapshot,
                       struct text *text)
{
    const char *reason = snapshot->reason ? snapshot->reason : "unknown";

    if (snapshot->trigger)
        text_printf_safe(text, "saved by the trigger '%s'", snapshot->trigger);
    else if (strcmp(reason, "request") == 0)
        text_put_literal(text, "asked for");
    else
        text_printf_safe(text, "saved, reason '%s',", reason);
    put_time(trace, &snapshot->time, text);
    if (snapshot->what)
        text_printf_safe(text, ": %s", snapshot->what);
    for (unsigned i = 0; i < snapshot->n_also; i++)
        text_printf_safe(text, "%s'%s'", i == 0 ? "; until it was saved also by " : ", ",
                         snapshot->also[i]);
    if (snapshot->repeats > 0)
        text_printf(text, "; %" PRIu64 " more time%s until it was saved", snapshot->repeats,
                    snapshot->repeats == 1 ? "" : "s");
    if (snapshot->suppressed > 0)
        text_printf(text, "; %" PRIu64 " trigger%s before it saved no snapshot",
                    snapshot->suppressed, snapshot->suppressed == 1 ? "" : "s");
}

/* Returns the directory of MANIFEST as it was given. */
static const char *get_path(const struct trace *trace, const struct manifest *manifest)
{
    for (unsigned i = 0; i < trace->n_inputs; i++)
        if (trace->inputs[i].manifest == manifest)
            return trace->inputs[i].path;
    return NULL;
}

static const char *get_snapshot_path(const struct trace *trace, unsigned i)
{
    return trace->manifests[i].snapshot ? get_path(trace, &trace->manifests[i]) : NULL;
}

bool snapshot_reasons_put(const struct trace *trace, struct text *text)
{
    bool any = false;

    for (unsigned i = 0; i < trace->n_manifests; i++) {
        const char *path = get_snapshot_path(trace, i);

        if (!path)
            continue;
        any = true;
        text_put_literal(text, "Snapshot ");
        if (trace->n_manifests > 1)
            text_printf_safe(text, "%s: ", path);
        put_reason(trace, trace->manifests[i].snapshot, text);
        text_put_char(text, '\n');
    }
    return any;
}

static void write_time(const char *key, int64_t ns, struct json_writer *w)
{
    if (ns <= 0)
        return;
    json_write_key(w, key);
    json_write_i64(w, ns);
}

static void write_text(const char *key, const char *value, struct json_writer *w)
{
    if (!value)
        return;
    json_write_key(w, key);
    json_write_str(w, value);
}

static int write_snapshot(const struct trace *trace, const char *path,
                          const struct manifest_snapshot *snapshot, struct json_writer *w)
{
    _cleanup_(text_done) struct text text = TEXT_IN_MEMORY;

    put_reason(trace, snapshot, &text);
    if (text.error)
        return -ENOMEM;
    json_write_object(w);
    json_write_key(w, "text");
    json_write_string(w, text.start, text_len(&text));
    write_text("path", path, w);
    write_text("reason", snapshot->reason, w);
    write_text("trigger", snapshot->trigger, w);
    write_text("what", snapshot->what, w);
    write_time("realtime_ns", snapshot->time.realtime_ns, w);
    write_time("monotonic_ns", snapshot->time.monotonic_ns, w);
    json_write_key(w, "repeats");
    json_write_u64(w, snapshot->repeats);
    json_write_key(w, "also");
    json_write_array(w);
    for (unsigned i = 0; i < snapshot->n_also; i++)
        json_write_str(w, snapshot->also[i]);
    json_write_end(w);
    json_write_key(w, "suppressed");
    json_write_u64(w, snapshot->suppressed);
    json_write_end(w);
    return 0;
}

int snapshot_reasons_write(const struct trace *trace, struct json_writer *w)
{
    bool is_first = true;
    int r = 0;

    for (unsigned i = 0; i < trace->n_manifests && r >= 0; i++) {
        const char *path = get_snapshot_path(trace, i);

        if (!path)
            continue;
        if (is_first) {
            json_write_key(w, "snapshots");
            json_write_array(w);
        }
        is_first = false;
        r = write_snapshot(trace, path, trace->manifests[i].snapshot, w);
    }
    if (!is_first)
        json_write_end(w);
    return r;
}
