/* SPDX-License-Identifier: MIT */
#include "cmd/top/read.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/ticks.h"
#include "cmd/walk.h"
#include "live/window.h"
#include "tracedir/ask.h"
#include "tracedir/manifest.h"

static int open_trace(const char *path, struct trace **ret, struct error *error)
{
    /* What was not recorded here has no host whose time it could have. */
    struct open_options options = {.keep_going = true, .host_time = manifest_probe(path)};
    struct trace_options trace_options;
    int r;

    open_options_apply(&options, &trace_options);
    trace_options.is_live = true;
    r = trace_open(&path, 1, &trace_options, ret, error);
    if (r != -EINVAL || !options.host_time)
        return r;
    /* Nothing relates it to its host's clock: it has a timeline of its own. */
    trace_options.host_time = false;
    error_clear(error);
    return trace_open(&path, 1, &trace_options, ret, error);
}

static int read_items(struct trace *trace, struct sink *sink, int64_t until, struct error *error)
{
    const struct item *items;
    int r;

    while ((r = trace_next(trace, &items)) > 0) {
        int put = sink_put(sink, items, (unsigned)r);

        if (put < 0) {
            *error = sink->error;
            return put;
        }
        if (items[r - 1].time > until)
            return 0;
    }
    if (r < 0)
        *error = trace->source->error;
    return r;
}

int top_read_window(const char *path, struct top_model *model, int64_t from, int64_t until,
                    struct error *error)
{
    struct trace *trace;
    int64_t look_back;
    int r = open_trace(path, &trace, error);

    if (r < 0)
        return r;
    r = top_model_begin(model, trace, from, until);
    if (r >= 0) {
        look_back = top_model_look_back(
            model, clock_from_ns(&model->clock, TOP_LOOK_BACK_MAX_S * NSEC_PER_SEC));
        trace_seek(trace, from > INT64_MIN + look_back ? from - look_back : INT64_MIN);
        r = read_items(trace, &model->sink, until, error);
        r = top_model_end(model, r);
    }
    trace_free(trace);
    return r;
}

int top_read_live_window(const char *path, struct top_model *model, int64_t from, int64_t until,
                         struct error *error)
{
    struct open_options open_options = {0};
    struct trace_options options;
    struct watch_window window = {
        .dir = path,
        .from = from,
        .to = until,
        .look_back = top_model_look_back(model, (int64_t)(TOP_LOOK_BACK_MAX_S * NSEC_PER_SEC)),
        .options = &options,
    };
    struct watch_pass pass;
    struct sink *const sinks[] = {&model->sink};
    int r;

    open_options_apply(&open_options, &options);
    r = watch_window_open(&window, &pass);
    if (r == 0)
        r = top_model_begin(model, pass.trace, from, until);
    if (r == 0) {
        r = watch_window_put(&pass, sinks, 1);
        r = top_model_end(model, r);
        if (r < 0)
            *error = model->sink.error;
    }
    /* What is damaged is left out; the rest was counted. */
    if (pass.error.code < 0)
        *error = pass.error;
    watch_window_done(&pass);
    return r;
}

int top_read_ends(const char *path, int64_t *ret_first, int64_t *ret_last, struct clock *ret_clock,
                  struct error *error)
{
    const struct item *items;
    int64_t first = TIME_UNKNOWN, last = TIME_UNKNOWN;
    struct trace *trace;
    int r = open_trace(path, &trace, error);

    if (r < 0)
        return r;
    while ((r = trace_next(trace, &items)) > 0)
        for (int i = 0; i < r; i++) {
            if (items[i].kind != ITEM_EVENT)
                continue;
            if (first == TIME_UNKNOWN)
                first = items[i].time;
            last = items[i].time;
        }
    if (trace->n_inputs > 0)
        *ret_clock = trace->inputs[0].origin->clock;
    if (r < 0)
        *error = trace->source->error;
    trace_free(trace);
    if (r < 0)
        return r;
    if (last == TIME_UNKNOWN)
        return -ENODATA;
    *ret_first = first;
    *ret_last = last;
    return 0;
}

/* ---- Flush ---- */

void top_flush_end(struct top_flush *flush)
{
    if (flush->fd >= 0)
        close(flush->fd);
    *flush = (struct top_flush){.fd = -1};
}

int top_flush_begin(struct top_flush *flush, const char *dir)
{
    static const char request[] = "flush\n";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    _cleanup_(closep) int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r;

    *flush = (struct top_flush){.fd = -1};
    if (at < 0)
        return -errno;
    flush->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (flush->fd < 0)
        return -errno;
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/" TRACEDIR_SOCKET, at);
    if (connect(flush->fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
        send(flush->fd, request, sizeof request - 1, MSG_NOSIGNAL) == (ssize_t)sizeof request - 1)
        return 0;
    r = errno ? -errno : -EIO;
    top_flush_end(flush);
    return r;
}

int top_flush_step(struct top_flush *flush, int64_t *ret_ns, char ret_late[TOP_LATE_MAX])
{
    char late[TOP_LATE_MAX] = "";
    ssize_t n = recv(flush->fd, flush->line + flush->len, sizeof flush->line - 1 - flush->len, 0);
    int r = -EPROTO;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n > 0) {
        flush->len += (size_t)n;
        flush->line[flush->len] = '\0';
        if (!strchr(flush->line, '\n') && flush->len < sizeof flush->line - 1)
            return 0;
        if (sscanf(flush->line, "ok %" SCNd64 " late %199[^\n]", ret_ns, late) >= 1)
            r = 1;
        memcpy(ret_late, late, sizeof late);
    }
    top_flush_end(flush);
    return r;
}
