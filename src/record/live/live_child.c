/* SPDX-License-Identifier: MIT */
#include "record/live/live_child.h"

#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/macro.h"
#include "base/sandbox.h"
#include "format/ftrace/live.h"
#include "record/kernel/guest_channel.h"
#include "timeline/clock_map.h"

/* How long an event waits for events of other CPUs: the agent reads pages from the kernel at least every 100 ms. */
#define DELAY (250 * NSEC_PER_MSEC)
#define RATE_TIMEOUT (2 * NSEC_PER_SEC)
/* Bytes of pages that are held of all kernels. With more, events are printed before more is read. */
#define HELD_MAX ((size_t)32 << 20)
#define PACKETS_AT_ONCE 64
#define ITEMS_AT_ONCE 4096
#define FILE_MAX ((size_t)16 << 20)
#define PAIRS_KEPT 32

struct shown_kernel {
    struct kernel_sink sink; /* puts what comes from the kernel's stream here */
    struct live_view *view;
    const char *name;
    bool is_host;
    int fd; /* -1: the stream has ended */
    struct ftrace_live *live;
    bool broken; /* its pages cannot be decoded, and that was reported */
    /* The file that comes in pieces. */
    char path[512];
    char *text;
    size_t len, capacity;
    /* Its clock. */
    uint64_t hz;
    struct clock_map_pair pairs[PAIRS_KEPT];
    unsigned n_pairs;
    struct clock_map clock_map;
    bool in_host_time; /* times are converted by clock_map, from the first page on */
    uint64_t
        rate_by; /* until then its items wait for the rate of its clock, for which two pairs are needed; 0: they do not wait */
    /* The next item. */
    struct item *item;
    int64_t key, error_ns;
    uint64_t came;
};

struct live_view {
    struct shown_kernel *kernels;
    unsigned n;
    struct catalogue catalogue;
    struct text out;
    struct sink *sink;
    int output;
    void (*report)(void *userdata, const char *text);
    void *userdata;
    uint64_t now; /* when the packet came that is handled */
    struct guest_packet packet;
};

static enum layer layer_of(const struct shown_kernel *kernel)
{
    return kernel->is_host ? LAYER_HOST : LAYER_GUEST;
}

static void report_now(const struct live_view *view, const char *format, ...)
{
    char text[700];
    va_list args;

    if (!view->report)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    view->report(view->userdata, text);
}

/* ---- Receiving ---- */

static void forget_file(struct shown_kernel *kernel)
{
    free(TAKE_PTR(kernel->text));
    kernel->len = kernel->capacity = 0;
    kernel->path[0] = '\0';
}

static struct shown_kernel *kernel_of(struct kernel_sink *sink)
{
    return container_of(sink, struct shown_kernel, sink);
}

/* A file that is too large, or that memory is too short for, is left out: events are shown without it. */
static int file_put(struct kernel_sink *sink, const void *p, size_t size, struct error *error)
{
    struct shown_kernel *kernel = kernel_of(sink);

    (void)error;
    if (!*kernel->path)
        return 0;
    if (kernel->len + size > FILE_MAX) {
        forget_file(kernel);
        return 0;
    }
    if (kernel->len + size + 1 > kernel->capacity) {
        size_t capacity = MAX(2 * kernel->capacity, kernel->len + size + 1);
        char *bigger = realloc(kernel->text, capacity);

        if (!bigger) {
            forget_file(kernel);
            return 0;
        }
        kernel->text = bigger;
        kernel->capacity = capacity;
    }
    memcpy(kernel->text + kernel->len, p, size);
    kernel->len += size;
    kernel->text[kernel->len] = '\0';
    return 0;
}

static int file_begin(struct kernel_sink *sink, const char *path, size_t len, struct error *error)
{
    struct shown_kernel *kernel = kernel_of(sink);

    forget_file(kernel);
    if (len < sizeof kernel->path) {
        memcpy(kernel->path, path, len);
        kernel->path[len] = '\0';
    }
    return file_put(sink, "", 0, error); /* it may be empty */
}

static int file_end(struct kernel_sink *sink, struct error *error)
{
    struct shown_kernel *kernel = kernel_of(sink);

    (void)error;
    if (kernel->text && kernel->live)
        (void)ftrace_live_file(kernel->live, kernel->path, TAKE_PTR(kernel->text), kernel->len);
    forget_file(kernel);
    return 0;
}

static int fact(struct kernel_sink *sink, const char *name, const char *value, struct error *error)
{
    (void)error;
    if (strcmp(name, "hz") == 0)
        kernel_of(sink)->hz = strtoull(value, NULL, 10);
    return 0;
}

/* Later times are converted by the latest pairs. */
static int pair(struct kernel_sink *sink, const struct guest_pair *pair, struct error *error)
{
    struct shown_kernel *kernel = kernel_of(sink);
    const struct clock_map_pair *last = &kernel->pairs[kernel->n_pairs ? kernel->n_pairs - 1 : 0];
    struct clock_map_pair added = {(int64_t)pair->host_ns, (int64_t)pair->guest,
                                   (int64_t)pair->error_ns};
    struct clock_map clock_map;

    (void)error;
    if (MAX(MAX(pair->guest, pair->host_ns), pair->error_ns) > INT64_MAX / 2 ||
        (kernel->n_pairs > 0 && (added.ticks <= last->ticks || added.host_ns <= last->host_ns)))
        return 0;
    if (kernel->n_pairs == PAIRS_KEPT) {
        memmove(kernel->pairs, kernel->pairs + 1, (PAIRS_KEPT - 1) * sizeof *kernel->pairs);
        kernel->n_pairs--;
    }
    kernel->pairs[kernel->n_pairs++] = added;
    if (clock_map_of_pairs(kernel->pairs, kernel->n_pairs, kernel->name, kernel->hz, &clock_map,
                           NULL) < 0)
        return 0;
    clock_map_done(&kernel->clock_map);
    kernel->clock_map = clock_map;
    return 0;
}

static int boot(struct kernel_sink *sink, struct error *error)
{
    struct shown_kernel *kernel = kernel_of(sink);

    (void)error;
    kernel->live = ftrace_live_free(kernel->live);
    kernel->item = NULL;
    kernel->n_pairs = 0;
    kernel->hz = 0;
    kernel->broken = kernel->in_host_time = false;
    kernel->rate_by = 0;
    clock_map_done(&kernel->clock_map);
    kernel->clock_map = (struct clock_map){0};
    forget_file(kernel);
    return ftrace_live_new(&kernel->view->catalogue, kernel->name, layer_of(kernel), &kernel->live);
}

/* How its clock relates to the host's now is not known until the next pair. */
static int rewind_clock(struct kernel_sink *sink, struct error *error)
{
    struct shown_kernel *kernel = kernel_of(sink);

    (void)error;
    kernel->n_pairs = 0;
    kernel->clock_map.set_back_ns = INT64_MAX / 4;
    return 0;
}

static int pages(struct kernel_sink *sink, uint32_t cpu, uint64_t offset, const void *p,
                 size_t size, struct error *error)
{
    struct shown_kernel *kernel = kernel_of(sink);
    const struct live_view *view = kernel->view;
    bool first = !ftrace_live_origin(kernel->live);
    int r;

    if (kernel->broken)
        return 0;
    ftrace_live_set_hz(kernel->live, kernel->hz);
    r = ftrace_live_pages(kernel->live, cpu, offset, p, size, view->now, error);
    if (r == -ENOMEM)
        return r;
    if (r < 0) {
        kernel->broken = true;
        report_now(view, "%s: its events cannot be printed: %s", kernel->name, error->what);
    } else if (first && !ftrace_live_origin(kernel->live)) {
        return 0;
    } else if (first && view->n > 1 && kernel->clock_map.n) {
        kernel->in_host_time = true;
        ftrace_live_origin(kernel->live)->clock = (struct clock){"monotonic", NANOSECONDS};
    } else if (first && ftrace_live_origin(kernel->live)->clock.hz == 0 && kernel->n_pairs) {
        kernel->rate_by = view->now + RATE_TIMEOUT;
    }
    return 0;
}

static const struct kernel_sink_ops kernel_ops = {
    .file_begin = file_begin,
    .file_put = file_put,
    .file_end = file_end,
    .pages = pages,
    .fact = fact,
    .pair = pair,
    .boot = boot,
    .rewind = rewind_clock,
};

static void end_kernel(struct shown_kernel *kernel)
{
    close(kernel->fd);
    kernel->fd = -1;
    ftrace_live_end(kernel->live);
}

static int read_packets(struct live_view *view, struct shown_kernel *kernel, uint64_t now)
{
    view->now = now;
    for (unsigned i = 0; i < PACKETS_AT_ONCE; i++) {
        struct error error = {0};
        int r = guest_packet_receive(kernel->fd, &view->packet, NULL, NULL);

        if (r == -EAGAIN)
            return 0;
        if (r > 0)
            r = guest_packet_deliver(&view->packet, &kernel->sink, &error);
        else if (r == 0)
            r = -ECONNRESET;
        if (r == -ENOMEM)
            return r;
        if (r == -EBADMSG)
            report_now(view,
                       "%s: later events cannot be printed: invalid data came from its process",
                       kernel->name);
        if (r < 0) {
            end_kernel(kernel);
            return 0;
        }
    }
    return 0;
}

/* ---- Printing ---- */

static unsigned number_of(void *arg, const struct origin *origin)
{
    const struct live_view *view = arg;
    unsigned i = 0;

    while (i + 1 < view->n && strcmp(view->kernels[i].name, origin->path) != 0)
        i++;
    return i;
}

/* Whether its items still wait for the rate of its clock. */
static bool waits_for_rate(struct shown_kernel *kernel, uint64_t now)
{
    if (kernel->rate_by == 0)
        return false;
    if (kernel->n_pairs < 2 && now < kernel->rate_by && kernel->fd >= 0)
        return true;
    kernel->rate_by = 0;
    ftrace_live_origin(kernel->live)->clock.hz = kernel->clock_map.hz;
    return false;
}

/* Finds the next item of KERNEL. False: there is none yet. */
static bool look(struct shown_kernel *kernel)
{
    if (!ftrace_live_look(kernel->live, &kernel->item, &kernel->came)) {
        kernel->item = NULL;
        return false;
    }
    kernel->key = kernel->item->time;
    if (kernel->in_host_time && kernel->key != TIME_UNKNOWN)
        kernel->key = clock_map_convert(&kernel->clock_map, kernel->key, &kernel->error_ns);
    else if (!kernel->in_host_time)
        kernel->key = (int64_t)kernel->came;
    return true;
}

static int show_item(struct live_view *view, struct shown_kernel *kernel)
{
    struct item item = *kernel->item;
    int r;

    if (kernel->in_host_time) {
        item.time = kernel->key;
        item.error_ns = (uint32_t)MIN(MAX(kernel->error_ns, 0), (int64_t)UINT32_MAX);
        if (item.kind == ITEM_LOSS && item.since != TIME_UNKNOWN)
            item.since = clock_map_convert(&kernel->clock_map, item.since, NULL);
    }
    r = sink_put(view->sink, &item, 1);
    ftrace_live_take(kernel->live);
    return r;
}

static size_t held(const struct live_view *view)
{
    size_t sum = 0;

    for (unsigned i = 0; i < view->n; i++)
        sum += ftrace_live_held(view->kernels[i].live);
    return sum;
}

/* Prints the items that are due at NOW. *RET_NEXT: when the next one is; UINT64_MAX: there is none. */
static int show(struct live_view *view, uint64_t now, uint64_t *ret_next)
{
    bool is_full = held(view) > HELD_MAX / 2;

    for (unsigned n = 0; n < ITEMS_AT_ONCE && !view->out.error; n++) {
        struct shown_kernel *first = NULL;
        uint64_t next = UINT64_MAX, waits = UINT64_MAX;
        int r;

        for (unsigned i = 0; i < view->n; i++) {
            struct shown_kernel *kernel = &view->kernels[i];

            if (waits_for_rate(kernel, now)) {
                waits = MIN(waits, kernel->rate_by);
                continue;
            }
            if (!look(kernel))
                continue;
            if (!first || kernel->key < first->key)
                first = kernel;
            next = MIN(next, kernel->fd < 0 || is_full ? 0 : kernel->came + DELAY);
        }
        if (!first || next > now) {
            *ret_next = MIN(next, waits);
            return 0;
        }
        r = show_item(view, first);
        if (r < 0)
            return r;
    }
    *ret_next = now;
    return 0;
}

/* Waits for packets until NEXT. False: all streams have ended. */
static bool wait_for(struct live_view *view, uint64_t next, struct pollfd *fds)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    uint64_t sleep = next > now ? next - now : 0;
    struct timespec time = {(time_t)(sleep / NSEC_PER_SEC), (long)(sleep % NSEC_PER_SEC)};
    bool is_full = held(view) > HELD_MAX;
    bool any = false;

    for (unsigned i = 0; i < view->n; i++) {
        fds[i] = (struct pollfd){is_full ? -1 : view->kernels[i].fd, POLLIN, 0};
        any = any || view->kernels[i].fd >= 0;
    }
    if (!any)
        return false;
    if (sleep > 0)
        text_flush(&view->out);
    /* Also detects a closed output while there is nothing to write. */
    fds[view->n] = (struct pollfd){view->output, 0, 0};
    if (ppoll(fds, view->n + 1, next == UINT64_MAX ? NULL : &time, NULL) < 0)
        for (unsigned i = 0; i <= view->n; i++)
            fds[i].revents = 0;
    if (fds[view->n].revents & (POLLERR | POLLHUP) && !view->out.error)
        view->out.error = -EPIPE;
    return true;
}

static int work(struct live_view *view)
{
    _cleanup_free_ struct pollfd *fds = calloc(view->n + 1, sizeof *fds);
    bool any = true;
    uint64_t next;
    int r = fds ? 0 : -ENOMEM;

    while (r >= 0 && !view->out.error) {
        r = show(view, clock_ns(CLOCK_MONOTONIC), &next);
        if (r < 0 || (!any && next == UINT64_MAX))
            break;
        any = wait_for(view, next, fds);
        for (unsigned i = 0; any && i < view->n && r >= 0; i++)
            if (fds[i].revents)
                r = read_packets(view, &view->kernels[i], clock_ns(CLOCK_MONOTONIC));
    }
    text_flush(&view->out);
    return view->out.error ? view->out.error : r;
}

/* ---- The process ---- */

static int prepare(struct live_view *view, const struct live_recorder_settings *settings)
{
    struct live_view_info info = {.n = view->n, .origin_number = number_of, .arg = view};
    int r;

    for (unsigned i = 0; i < view->n; i++)
        info.layers |= 1u << layer_of(&view->kernels[i]);
    r = settings->open(settings->userdata, &info, &view->out, &view->sink);
    for (unsigned i = 0; r >= 0 && i < view->n; i++)
        r = boot(&view->kernels[i].sink, NULL);
    return r;
}

static int keep_descriptors(const struct live_view *view, int kept)
{
    unsigned n = view->n;
    _cleanup_free_ int *keep = malloc((n + 3) * sizeof *keep);

    if (!keep)
        return -ENOMEM;
    for (unsigned i = 0; i < n; i++)
        keep[i] = view->kernels[i].fd;
    keep[n] = view->output;
    keep[n + 1] = STDERR_FILENO;
    keep[n + 2] = kept;
    return sandbox_descriptors(keep, n + 3);
}

static int run(struct live_view *view, const struct live_recorder_settings *settings, int kept)
{
    struct sandbox_user user = sandbox_user();
    const struct sandbox sandbox = {
        .user = &user, .max_file = SANDBOX_ANY_SIZE, .max_memory = SANDBOX_ANY_SIZE};
    struct error error = {0};
    unsigned measures;
    int r = prepare(view, settings);

    if (r >= 0)
        r = keep_descriptors(view, kept);
    if (r >= 0)
        r = sandbox_enter(&sandbox, &measures, &error);
    if (r >= 0) {
        sink_begin(view->sink);
        r = work(view);
    }
    if (r < 0 && r != -EPIPE)
        report_now(view, "cannot print more events: %s", error.what[0] ? error.what : strerror(-r));
    return r;
}

void live_child_run(const struct live_recorder_settings *settings, const int *fds, int kept,
                    void (*report)(void *userdata, const char *text), void *userdata)
{
    struct live_view *view = calloc(1, sizeof *view);
    int r = -ENOMEM;

    if (view)
        view->kernels = calloc(settings->n, sizeof *view->kernels);
    if (view && view->kernels) {
        view->n = settings->n;
        view->output = settings->output;
        view->report = report;
        view->userdata = userdata;
        for (unsigned i = 0; i < view->n; i++)
            view->kernels[i] = (struct shown_kernel){.sink = {.ops = &kernel_ops},
                                                     .view = view,
                                                     .name = settings->kernels[i].name,
                                                     .is_host = settings->kernels[i].is_host,
                                                     .fd = fds[i]};
        r = run(view, settings, kept);
    }
    _exit(r == -EPIPE ? LIVE_STATUS_UNREAD : r < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}
