/* SPDX-License-Identifier: MIT */
#include "cmd/record/kernel.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analysis/needs.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/tracefs_find.h"
#include "cmd/cmd.h"
#include "cmd/record/run.h"
#include "proto/message.h"
#include "record/kernel/guest_recorder.h"
#include "timeline/clock_map.h"
#include "trace/trace.h"
#include "tracedir/manifest.h"

#define AGENT "strata-agent"
/* Of --flight: kernels hold their events for 5 s at most. */
#define HOLD_MIN (20 * NSEC_PER_SEC)

/* Opens events/ of this machine's tracefs, where the agent will find it; -errno: it cannot be seen. */
static int open_events(void)
{
    char path[256];
    const char *shut;
    _cleanup_(closep) int tracefs = tracefs_find(path, sizeof path, &shut);
    int fd;

    if (tracefs == -ENOENT)
        tracefs = tracefs_mount_detached();
    if (tracefs < 0)
        return tracefs;
    fd = openat(tracefs, "events", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Whether this machine's kernel has the event PATTERN, or events of the system that it begins with: without the module
 * kvm there are none of kvm. EVENTS: open_events(). Where that cannot be seen, the agent will. */
static bool is_here(int events, const char *pattern)
{
    size_t len = strcspn(pattern, ":");
    char path[128];

    if (strpbrk(pattern, "*?"))
        snprintf(path, sizeof path, "%.*s", (int)len, pattern);
    else
        snprintf(path, sizeof path, "%.*s/%s", (int)len, pattern,
                 pattern + len + (pattern[len] == ':'));
    return events < 0 || faccessat(events, path, F_OK, AT_EACCESS) == 0;
}

const char *const *record_kernel_usual(bool is_host, unsigned *ret_n)
{
    const char *const *usual = is_host ? needs_usual.host : needs_usual.guest;

    *ret_n = 0;
    while (usual[*ret_n])
        ++*ret_n;
    return usual;
}

int record_kernel_choose(char *given, const struct strings *needed, bool is_host,
                         uint64_t buffer_size, struct record_kernel *ret, struct error *error)
{
    struct record_kernel kernel = {0};
    bool is_usual = !*given && needed->n == 0;
    unsigned n = needed->n;
    const char *const *patterns = is_usual ? record_kernel_usual(is_host, &n) : needed->items;
    _cleanup_(closep) int events = is_host ? open_events() : -1;
    int r = *given ? strings_split(&kernel.words, given, error) : 0;

    for (unsigned i = 0; r >= 0 && i < n; i++)
        if (!is_host || is_here(events, patterns[i]))
            r = strings_add(&kernel.words, patterns[i]);
    if (r >= 0) {
        kernel.items = calloc(MAX(kernel.words.n, 1u), sizeof *kernel.items);
        r = kernel.items ? 0 : -ENOMEM;
    }
    if (r < 0) {
        record_kernel_done(&kernel);
        return r == -ENOMEM ? error_set(error, r, NULL, "out of memory") : r;
    }
    for (unsigned i = 0; i < kernel.words.n; i++)
        kernel.items[i] = (struct guest_event){kernel.words.items[i], ""};
    kernel.trace = (struct trace_config){
        .events = kernel.items,
        .n_events = kernel.words.n,
        .clock = "",
        .keep_seconds = 60,
        .buffer_kib = (uint32_t)((buffer_size ? buffer_size : RECORD_KERNEL_BUFFER) >> 10),
        .wants = PROTO_WANT_CMDLINES | PROTO_WANT_PRINTK_FORMATS,
    };
    *ret = kernel;
    return 0;
}

void record_kernel_done(struct record_kernel *kernel)
{
    free(kernel->items);
    strings_done(&kernel->words);
    *kernel = (struct record_kernel){0};
}

bool record_kernel_may_hold(const struct record_options *options)
{
    const struct retention_limit *flight = &options->flight;

    return flight->ns > 0 ? flight->ns >= HOLD_MIN : flight->bytes > 0;
}

const char *record_kernel_agent(char *buf, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", buf, size - sizeof AGENT);
    char *slash;

    buf[MAX(n, 0)] = '\0';
    slash = strrchr(buf, '/');
    if (slash) {
        memcpy(slash + 1, AGENT, sizeof AGENT);
        if (faccessat(AT_FDCWD, buf, X_OK, AT_EACCESS) == 0)
            return buf;
    }
    return AGENT;
}

/* By how many ns the time of any event of boot N may be wrong on the host's timeline, as TRACE has it, which is NULL if it
 * cannot be opened; -1: not known. */
static int64_t boot_error(const char *dir, const struct trace *trace, const struct guest *guest,
                          unsigned n)
{
    const struct guest_boot *boot = &guest->boots[n];
    int64_t first = (int64_t)MIN(boot->first_event, (uint64_t)INT64_MAX);
    int64_t last = (int64_t)MIN(boot->last_event, (uint64_t)INT64_MAX), worst;
    struct clock_map clock_map;
    char name[96], path[PATH_MAX];

    guest_store_boot_name(&guest->store, n, name, sizeof name);
    for (unsigned i = 0; trace && i < trace->n_inputs; i++) {
        const struct trace_input *input = &trace->inputs[i];

        if (input->clock_map && input->recorded && strcmp(input->recorded->path, name) == 0)
            return clock_map_bound(input->clock_map, first, last);
    }
    snprintf(path, sizeof path, "%s/%s/" GUEST_PAIRS, dir, name);
    if (clock_map_read(path, boot->hz, &clock_map, NULL) < 0)
        return -1;
    worst = clock_map_bound(&clock_map, first, last);
    clock_map_done(&clock_map);
    return worst;
}

/* The same of all boots. */
static int64_t worst_error(const char *dir, const struct guest *guest)
{
    const struct trace_options options = {.stated_clocks = true,
                                          .host_time = true,
                                          .leave_out_unrelated = true,
                                          .reader = {.keep_going = true}};
    struct trace *trace = NULL;
    struct error error = {0};
    int64_t worst = -1;

    if (trace_open(&dir, 1, &options, &trace, &error) < 0)
        trace = NULL;
    for (unsigned i = 0; i < guest->n_boots; i++)
        if (guest->n_boots == 1 || guest->boots[i].last_event > 0)
            worst = MAX(worst, boot_error(dir, trace, guest, i));
    trace_free(trace);
    return worst;
}

bool record_kernel_tell(const char *dir, const struct guest *guest)
{
    const struct guest_progress *progress = &guest->progress;
    const struct guest_boot *boot = &guest->boots[guest->n_boots - 1];
    const char *plural = progress->events == 1 ? "" : "s";
    uint64_t lost = guest_lost(guest);
    /* What did not come to its end in order has no count of its last events. */
    bool is_open = guest->error < 0 && !progress->full;
    int64_t worst = -1;
    char missing[160], error[24], text[RECORD_LOST_MAX];

    if (guest_is_silent(guest)) {
        cli_message("  %-6s nothing", guest->config.name);
        return true;
    }
    if (!guest->config.is_host)
        worst = worst_error(dir, guest);
    for (unsigned i = 0; i < guest->n_boots; i++)
        is_open |= guest->boots[i].lost_uncounted || guest->boots[i].came.realtime_ns;
    if (worst >= 0)
        cli_message("  %-6s %" PRIu64 " event%s, %s, times within %s; Linux %s", guest->config.name,
                    progress->events, plural, record_lost_text(lost, is_open, text),
                    record_error_text(error, sizeof error, worst), boot->release);
    else
        cli_message("  %-6s %" PRIu64 " event%s, %s; Linux %s", guest->config.name,
                    progress->events, plural, record_lost_text(lost, is_open, text), boot->release);
    if (guest_missing_pages(progress, missing, sizeof missing))
        cli_message("  %-6s %s", guest->config.name, missing);
    return lost == 0 && progress->gaps == 0 && !progress->full && !is_open;
}

void record_kernel_tell_problems(const struct guest *guest)
{
    const struct guest_boot *boot = &guest->boots[guest->n_boots - 1];

    for (unsigned i = 0; !guest_is_silent(guest) && i < boot->n_problems; i++)
        cli_message("  %s: %s", guest->config.name, boot->problems[i]);
}

bool record_kernel_is_cut(const struct guest *guest)
{
    return guest->progress.unwritten > 0 && !guest->progress.full;
}

/* ---- This machine's, in a list ---- */

/* What its recorder borrows. */
struct host {
    struct record_kernel kernel;
    char agent[PATH_MAX];
};

static void free_host(void *userdata)
{
    struct host *host = userdata;

    record_kernel_done(&host->kernel);
    free(host);
}

static int sum_up(const struct record_run *run, const struct record_item *item)
{
    const struct guest *guest = guest_recorder_guest(item->recorder);
    const struct guest_boot *boot;
    bool is_whole;

    if (!guest) {
        cli_message("  host   nothing");
        return EXIT_FAILURE;
    }
    boot = &guest->boots[guest->n_boots - 1];
    /* What else was recorded has a line before this one. */
    if (recording_dir(run->recording) >= 0 && !record_run_has_others(run, item))
        record_run_tell_length(run, (double)(boot->ended.monotonic_ns - boot->began.monotonic_ns) /
                                        NSEC_PER_SEC);
    is_whole = record_kernel_tell(run->dir, guest);
    record_kernel_tell_problems(guest);
    if (record_kernel_is_cut(guest))
        return EXIT_FAILURE;
    return is_whole || !run->options->strict ? EXIT_SUCCESS : EXIT_LOSSES;
}

/* Requests to disks complete in interrupts, while any thread runs. */
static void warn_of_requests(const struct trace_config *trace)
{
    static const char message[] =
        "--host-threads: requests to disks end in interrupts, mostly while other threads run: "
        "these "
        "ends are not recorded, and strata io does not know them; record without --host-threads";

    for (uint32_t i = 0; i < trace->n_events; i++) {
        const char *event = trace->events[i].event;

        if (strncmp(event, "block:", 6) == 0 || strncmp(event, "block_", 6) == 0) {
            cli_warning("%s", message);
            return;
        }
    }
}

static int add_host(struct record_run *run, bool beside, pid_t pid)
{
    const struct record_options *options = run->options;
    struct record_item item = {.sum_up = sum_up, .free = free_host};
    struct guest_recorder_settings settings = {.is_optional = true};
    struct error error = {0};
    struct host *host;
    int r;

    if (!options->host)
        return EXIT_SUCCESS;
    host = calloc(1, sizeof *host);
    if (!host)
        return cli_no_memory();
    r = record_kernel_choose((char *)(uintptr_t)options->host, &options->needs.host, true,
                             options->buffers.buffer_size, &host->kernel, &error);
    if (r >= 0 && options->host_threads)
        warn_of_requests(&host->kernel.trace);
    settings.config.trace = &host->kernel.trace;
    settings.config.live = record_live_host_stream(run);
    /* This machine's kernel is the one that wakes us: seldom, unless somebody looks. */
    host->kernel.trace.is_host = true;
    host->kernel.trace.wants |= options->live.on ? PROTO_WANT_LIVE : PROTO_WANT_DELAY;
    host->kernel.trace.holds = record_kernel_may_hold(options);
    settings.agent = record_kernel_agent(host->agent, sizeof host->agent);
    /* What is not there yet will be our child: children are followed. */
    settings.pid_filter = !options->host_threads ? 0 : pid ? pid : getpid();
    if (r >= 0)
        r = guest_recorder_new(&settings, &item.recorder);
    if (r < 0) {
        free_host(host);
        error_set(&error, r, NULL, "out of memory");
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    item.recorder->is_optional = beside || record_guests_count(run) > 0 || options->xen;
    item.userdata = host;
    return record_run_add(run, &item) ? EXIT_SUCCESS : EXIT_FAILURE;
}

int record_kernels_add(struct record_run *run, bool is_primary, bool beside, pid_t pid)
{
    int status = record_guests_choose(run);

    if (status == EXIT_SUCCESS)
        status = record_live_add(run);
    if (status == EXIT_SUCCESS)
        status = add_host(run, beside, pid);
    if (status == EXIT_SUCCESS)
        status = record_guests_add(run, is_primary);
    return status;
}
