/* SPDX-License-Identifier: MIT */
#include "record/xen/buffers.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "record/xen/control.h"
#include "record/xen/host_info.h"
#include "record/xen/state.h"

#define DOMAIN_XEN 0x7ff2u /* whose memory Xen's own is */
#define VIRQ_TBUF 4u
#define PAGE 4096u

struct xen_buffers {
    struct trace_buffers buffers;
    struct xen_library library;
    struct xen_control control;
    struct xen_state state;
    struct xen_host_info *facts;
    int virq; /* the port, or -1 */

    bool events_known; /* whether Xen's event mask can be read */
    uint32_t events_found;
    uint32_t events_set;
    bool changed; /* masks or more, and not restored */
    bool on;      /* tracing, by us */

    void *t_info;
    size_t t_info_pages;
    struct strata_percpu_info info;
    struct strata_percpu_view *all_views; /* of every CPU, used or not */
};

static struct xen_buffers *xen_of(struct trace_buffers *buffers)
{
    return container_of(buffers, struct xen_buffers, buffers);
}

/* ---- Mapping ---- */

static int map_info(struct xen_buffers *xen, const struct xen_tbuf_info *info, struct error *error)
{
    size_t pages = (info->t_info_size + PAGE - 1) / PAGE;
    _cleanup_free_ unsigned long *frames = NULL;
    _cleanup_free_ int *errors = NULL;
    int r;

    if (pages == 0 || pages > 65536)
        return error_set(error, -EPROTO, "",
                         "invalid size of the description of Xen's trace buffers: %u bytes",
                         (unsigned)info->t_info_size);
    frames = calloc(pages, sizeof *frames);
    errors = calloc(pages, sizeof *errors);
    if (!frames || !errors)
        return error_set(error, -ENOMEM, "", "out of memory");
    for (size_t i = 0; i < pages; i++)
        frames[i] = (unsigned long)info->t_info + i;
    xen->t_info = xen->library.foreign_map(xen->library.foreign, DOMAIN_XEN, PROT_READ, pages,
                                           frames, errors);
    if (!xen->t_info)
        return error_set(error, -errno, "", "Xen's trace buffers cannot be mapped: %s",
                         strerror(errno));
    xen->t_info_pages = pages;
    for (size_t i = 0; i < pages; i++)
        if (errors[i])
            return error_set(error, -EFAULT, "",
                             "the description of Xen's trace buffers cannot be "
                             "mapped");
    r = strata_percpu_info_init(&xen->info, xen->t_info, pages * PAGE);
    if (r < 0)
        return error_set(error, r, "", "the description of Xen's trace buffers is damaged");
    xen->buffers.pages = xen->info.pages;
    return 0;
}

static int map_cpu(struct xen_buffers *xen, unsigned cpu, unsigned long *frames, int *errors,
                   struct error *error)
{
    struct strata_percpu_view *view = &xen->all_views[cpu];
    unsigned pages = xen->info.pages;
    const uint32_t *list;
    void *at;
    int r = strata_percpu_info_cpu(&xen->info, cpu, &list);

    if (r == -ENODEV || r == -EINVAL)
        return 0; /* offline when the buffers were made */
    if (r < 0)
        return error_set(error, r, "",
                         "the description of Xen's trace buffers is damaged at CPU %u", cpu);
    for (unsigned i = 0; i < pages; i++)
        frames[i] = list[i];
    at = xen->library.foreign_map(xen->library.foreign, DOMAIN_XEN, PROT_READ | PROT_WRITE, pages,
                                  frames, errors);
    if (!at)
        return error_set(error, -errno, "", "cannot map the trace buffer of CPU %u: %s", cpu,
                         strerror(errno));
    for (unsigned i = 0; i < pages; i++)
        if (errors[i]) {
            xen->library.foreign_unmap(xen->library.foreign, at, pages);
            return error_set(error, -EFAULT, "", "cannot map the trace buffer of CPU %u", cpu);
        }
    r = strata_percpu_view_init(view, at, (size_t)pages * PAGE);
    if (r < 0) {
        xen->library.foreign_unmap(xen->library.foreign, at, pages);
        return error_set(error, r, "", "invalid size of Xen's trace buffers: %u pages", pages);
    }
    xen->buffers.views[cpu] = view;
    return 0;
}

static int map_cpus(struct xen_buffers *xen, struct error *error)
{
    _cleanup_free_ unsigned long *frames = calloc(xen->info.pages, sizeof *frames);
    _cleanup_free_ int *errors = calloc(xen->info.pages, sizeof *errors);
    int r = 0;

    if (!frames || !errors)
        return error_set(error, -ENOMEM, "", "out of memory");
    for (unsigned cpu = 0; cpu < xen->buffers.n_cpus && r >= 0; cpu++)
        r = map_cpu(xen, cpu, frames, errors, error);
    return r;
}

static void unmap(struct xen_buffers *xen)
{
    for (unsigned cpu = 0; cpu < xen->buffers.n_cpus; cpu++)
        if (xen->buffers.views && xen->buffers.views[cpu])
            xen->library.foreign_unmap(xen->library.foreign, xen->buffers.views[cpu]->buffer,
                                       xen->info.pages);
    if (xen->t_info)
        xen->library.foreign_unmap(xen->library.foreign, xen->t_info, xen->t_info_pages);
}

/* ---- Beginning ---- */

static int refused(struct error *error, int r, const char *what)
{
    return error_set(error, r, "", "Xen cannot %s: %s", what, strerror(-r));
}

static int set_masks(struct xen_buffers *xen, const struct trace_buffers_settings *settings,
                     struct error *error)
{
    int r = xen_state_note(&xen->state, xen->events_found, error);

    if (r < 0)
        return r;
    xen->changed = true;
    if (settings->set_events) {
        r = xen_control_set_events(&xen->control, settings->events);
        if (r < 0)
            return refused(error, r, "set the event mask");
    }
    /* Another program may have left any mask, and Xen does not tell it. */
    if (settings->cpus || !settings->keep_cpus) {
        r = xen_control_set_cpus(&xen->control, settings->cpus);
        if (r < 0)
            return refused(error, r, "set the mask of CPUs");
    }
    return 0;
}

static int check_size(const struct xen_buffers *xen, const struct trace_buffers_settings *settings,
                      struct error *error)
{
    unsigned pages = xen->info.pages;

    if (!settings->pages_exactly || settings->pages == 0 || settings->pages == pages)
        return 0;
    return error_set(
        error, -EBUSY, "",
        "Xen's trace buffers already have %u pages (%u KB) for each CPU, not %u; their size can be "
        "set only once after each boot of the machine, by the first recording or by tbuf_size= on "
        "Xen's command line; leave out the size to use them as they are",
        pages, pages * 4, settings->pages);
}

/* The buffers are made by the first who asks, in each life of a Xen, and stay as they are. */
static int make_buffers(struct xen_buffers *xen, const struct trace_buffers_settings *settings,
                        struct xen_tbuf_info *info, struct error *error)
{
    unsigned pages = settings->pages ? settings->pages : BUFFERS_DEFAULT_PAGES;
    int r = xen_control_set_size(&xen->control, pages, info);

    if (r == -ENOMEM)
        return error_set(
            error, r, "",
            "Xen has no memory for trace buffers of %u pages (%u KB) for each CPU; request fewer, "
            "or give dom0 less memory (dom0_mem= on Xen's command line)",
            pages, pages * 4);
    if (r < 0)
        return error_set(error, r, "", "Xen refuses to make trace buffers of %u pages: %s", pages,
                         strerror(-r));
    xen->on = true;
    if (!info->t_info)
        return error_set(error, -EPROTO, "",
                         "Xen created trace buffers, but does not report where");
    r = map_info(xen, info, error);
    /* By libxenctrl it is not seen before whether they are there already. Else what differs is that Xen
     * cannot make them so large, and that is how they will stay. */
    return r < 0 || info->events_known ? r : check_size(xen, settings, error);
}

/* Tracing is off meanwhile, so Xen also forgets earlier losses, which are not losses of this recording. */
static int discard(struct xen_buffers *xen)
{
    int r = xen_control_disable(&xen->control);

    if (r < 0)
        return r;
    for (unsigned cpu = 0; cpu < xen->buffers.n_cpus; cpu++)
        if (xen->buffers.views[cpu])
            (void)strata_percpu_view_reset(xen->buffers.views[cpu]);
    return 0;
}

/* Buffers are made for the CPUs that run at that moment, and no others get one later. */
static void look_for_bufferless(struct xen_buffers *xen)
{
    struct cpu_set online;
    char text[128];

    if (xen_control_online(&xen->control, xen->buffers.n_cpus, &online) < 0)
        return;
    for (unsigned cpu = 0; cpu < xen->buffers.n_cpus; cpu++)
        if (xen->buffers.views[cpu])
            online.bits[cpu / 64] &= ~(UINT64_C(1) << cpu % 64);
    cpu_set_text(&online, xen->buffers.n_cpus, text, sizeof text);
    if (*text)
        snprintf(xen->buffers.notice, sizeof xen->buffers.notice,
                 "CPU %s is not recorded: it was offline when Xen created its trace buffers, and "
                 "has none until the next boot",
                 text);
}

static int begin(struct trace_buffers *buffers, const struct trace_buffers_settings *settings,
                 struct error *error)
{
    struct xen_buffers *xen = xen_of(buffers);
    struct xen_tbuf_info info;
    int r = xen_control_info(&xen->control, &info);

    if (r < 0)
        return refused(error, r, "report its trace buffers");
    xen->events_known = info.events_known;
    xen->events_found = info.events;
    xen->events_set = settings->set_events ? settings->events : info.events;
    if (info.t_info) {
        r = map_info(xen, &info, error);
        if (r >= 0)
            r = check_size(xen, settings, error);
        if (r < 0)
            return r;
    }
    r = set_masks(xen, settings, error);
    if (r >= 0 && !info.t_info)
        r = make_buffers(xen, settings, &info, error);
    if (r >= 0)
        r = map_cpus(xen, error);
    if (r < 0)
        return r;
    r = settings->discard ? discard(xen) : 0;
    if (r < 0)
        return refused(error, r, "stop tracing");
    r = settings->start_disabled ? xen_control_disable(&xen->control)
                                 : xen_control_enable(&xen->control);
    if (r < 0)
        return refused(error, r, settings->start_disabled ? "stop tracing" : "start tracing");
    xen->on = true;
    look_for_bufferless(xen);
    xen_host_info_buffers(xen->facts, buffers);
    return 0;
}

/* ---- While it runs ---- */

static int wakeup_fd(struct trace_buffers *buffers)
{
    struct xen_buffers *xen = xen_of(buffers);

    return xen->library.evtchn_fd(xen->library.evtchn);
}

static int acknowledge(struct trace_buffers *buffers, struct error *error)
{
    struct xen_buffers *xen = xen_of(buffers);
    struct pollfd p = {wakeup_fd(buffers), POLLIN, 0};
    int port;

    if (poll(&p, 1, 0) <= 0)
        return 0;
    port = xen->library.evtchn_pending(xen->library.evtchn);
    if (port < 0)
        return errno == EAGAIN || errno == EINTR
                   ? 0
                   : error_set(error, -errno, "", "Xen's event channel cannot be read: %s",
                               strerror(errno));
    if (xen->library.evtchn_unmask(xen->library.evtchn, (unsigned)port) < 0)
        return error_set(error, -errno, "", "Xen's event channel cannot be written: %s",
                         strerror(errno));
    return 0;
}

static int check(struct trace_buffers *buffers, uint32_t *ret_mask, struct error *error)
{
    struct xen_buffers *xen = xen_of(buffers);
    struct xen_tbuf_info info;
    int r;

    if (!xen->events_known)
        return 0;
    r = xen_control_info(&xen->control, &info);
    if (r >= 0 && info.events == xen->events_set)
        return 0;
    if (r >= 0)
        r = xen_control_set_events(&xen->control, xen->events_set);
    if (r < 0)
        return refused(error, r, "set the event mask again");
    *ret_mask = info.events;
    return 1;
}

static int stop(struct trace_buffers *buffers, struct error *error)
{
    struct xen_buffers *xen = xen_of(buffers);
    int r = xen_control_disable(&xen->control);

    if (r < 0)
        return refused(error, r, "stop tracing");
    xen->on = false;
    return 0;
}

static int pending(struct trace_buffers *buffers, unsigned cpu, uint64_t *ret_lost)
{
    (void)buffers;
    (void)cpu;
    (void)ret_lost;
    return -EOPNOTSUPP;
}

static bool changed(struct trace_buffers *buffers)
{
    return xen_host_info_changed(xen_of(buffers)->facts);
}

static int describe(struct trace_buffers *buffers, struct arena *arena, struct manifest_source *ret)
{
    return xen_host_info_describe(xen_of(buffers)->facts, arena, ret);
}

/* ---- The end ---- */

/* Whatever of it fails, the rest is tried. */
static int put_back(struct xen_buffers *xen, uint32_t events)
{
    int a = xen_control_disable(&xen->control);
    int b = xen_control_set_events(&xen->control, events);
    int c = xen_control_set_cpus(&xen->control, NULL);

    a = a < 0 ? a : b;
    a = a < 0 ? a : c;
    return a < 0 ? a : xen_state_forget(&xen->state);
}

static int restore(struct trace_buffers *buffers, bool leave, struct error *error)
{
    struct xen_buffers *xen = xen_of(buffers);
    int r = 0;

    if (!xen->changed && !xen->on)
        return 0;
    r = leave ? xen_state_forget(&xen->state) : put_back(xen, xen->events_found);
    if (r < 0)
        return error_set(error, r, "",
                         "Xen's masks cannot be restored (the event mask was 0x%08x): %s",
                         (unsigned)xen->events_found, strerror(-r));
    xen->changed = false;
    xen->on = false;
    return 0;
}

static void xen_free(struct trace_buffers *buffers)
{
    struct xen_buffers *xen = xen_of(buffers);

    if (xen->control.library)
        (void)restore(buffers, false, NULL);
    unmap(xen);
    xen_host_info_free(xen->facts);
    if (xen->virq >= 0)
        (void)xen->library.evtchn_unbind(xen->library.evtchn, (unsigned)xen->virq);
    if (xen->control.library)
        xen_control_done(&xen->control);
    xen_library_close(&xen->library);
    xen_state_close(&xen->state);
    free(xen->buffers.views);
    free(xen->all_views);
    free(xen);
}

static const struct trace_buffers_ops ops = {
    .begin = begin,
    .wakeup_fd = wakeup_fd,
    .acknowledge = acknowledge,
    .check = check,
    .stop = stop,
    .pending = pending,
    .changed = changed,
    .describe = describe,
    .restore = restore,
    .free = xen_free,
};

/* ---- Opening ---- */

static int bind_virq(struct xen_buffers *xen, struct error *error)
{
    int port = xen->library.evtchn_bind_virq(xen->library.evtchn, VIRQ_TBUF);

    if (port >= 0) {
        xen->virq = port;
        return 0;
    }
    if (errno == EEXIST || errno == EBUSY)
        return error_set(error, -EBUSY, "",
                         "another program (xentrace or xenbaked) reads Xen's trace buffers, and "
                         "only one can at a time; its trace and masks were not changed");
    return error_set(error, -errno, "", "Xen refuses the interrupt of its trace buffers: %s",
                     strerror(errno));
}

static int open_all(struct xen_buffers *xen, bool xenctrl, struct error *error)
{
    struct xen_physinfo physinfo;
    int r = xen_library_open(&xen->library, error);

    if (r >= 0)
        r = xen_control_init(&xen->control, &xen->library, xenctrl, error);
    if (r >= 0)
        r = xen_state_open(&xen->state, XEN_STATE_PATH, error);
    if (r >= 0)
        r = bind_virq(xen, error);
    if (r < 0)
        return r;
    if (xen->state.found) {
        r = put_back(xen, xen->state.events);
        if (r < 0)
            return refused(error, r, "restore the masks that a killed recorder left");
    }
    r = xen_control_physinfo(&xen->control, &physinfo);
    if (r < 0)
        return refused(error, r, "report the number of CPUs");
    if (physinfo.cpu_max >= CPU_SET_MAX)
        return error_set(error, -EPROTO, "", "Xen's CPU number %u exceeds the limit of %u",
                         (unsigned)physinfo.cpu_max, CPU_SET_MAX);
    xen->buffers.n_cpus = physinfo.cpu_max + 1;
    xen->buffers.views = calloc(xen->buffers.n_cpus, sizeof *xen->buffers.views);
    xen->all_views = calloc(xen->buffers.n_cpus, sizeof *xen->all_views);
    if (!xen->buffers.views || !xen->all_views)
        return error_set(error, -ENOMEM, "", "out of memory");
    r = xen_host_info_new(&xen->control, &xen->facts);
    return r < 0 ? error_set(error, r, "", "cannot query Xen: %s", strerror(-r)) : 0;
}

int xen_buffers_open(bool xenctrl, struct trace_buffers **ret, struct error *error)
{
    struct xen_buffers *xen = calloc(1, sizeof *xen);
    int r;

    if (!xen)
        return error_set(error, -ENOMEM, "", "out of memory");
    xen->buffers.ops = &ops;
    xen->virq = -1;
    xen->state.fd = -1;
    r = open_all(xen, xenctrl, error);
    if (r < 0) {
        xen_free(&xen->buffers);
        return r;
    }
    *ret = &xen->buffers;
    return 0;
}
