/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "cmd/cmd.h"
#include "cmd/record/run.h"
#include "record/kernel/kernel_recorder.h"
#include "record/plan/kernel.h"
#include "timeline/clock_map.h"
#include "trace/trace.h"

/* The largest error in ns of event times in boot N on the host's timeline, from TRACE, which is NULL if it cannot be
 * opened; -1 if unknown. */
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

/* The same for all boots. */
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

bool record_kernel_print(const char *dir, const struct guest *guest)
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

void record_kernel_print_problems(const struct guest *guest)
{
    const struct guest_boot *boot = &guest->boots[guest->n_boots - 1];
    char missing[160];
    /* record_kernel_print() has printed it. */
    bool is_told = guest_missing_pages(&guest->progress, missing, sizeof missing);

    for (unsigned i = 0; !guest_is_silent(guest) && i < boot->n_problems; i++)
        if (!is_told || strcmp(boot->problems[i], missing) != 0)
            cli_message("  %s: %s", guest->config.name, boot->problems[i]);
}

bool record_kernel_is_cut(const struct guest *guest)
{
    return guest->progress.unwritten > 0 && !guest->progress.full;
}

/* ---- This machine's kernel, in a list ---- */

/* What its recorder borrows. */
struct host {
    struct plan_kernel kernel;
    char agent[PATH_MAX];
};

static void free_host(void *userdata)
{
    struct host *host = userdata;

    plan_kernel_done(&host->kernel);
    free(host);
}

static int sum_up(const struct record_run *run, const struct record_item *item)
{
    const struct guest *guest = kernel_recorder_guest(item->recorder);
    const struct guest_boot *boot;
    bool is_whole;

    if (!guest || guest_is_silent(guest)) {
        cli_message("  host   nothing");
        return EXIT_FAILURE;
    }
    boot = &guest->boots[guest->n_boots - 1];
    /* What else was recorded has a line before this one. */
    if (recording_dir(run->recording) >= 0 && !record_run_has_others(run, item))
        record_run_print_length(run, (double)(boot->ended.monotonic_ns - boot->began.monotonic_ns) /
                                         NSEC_PER_SEC);
    is_whole = record_kernel_print(run->dir, guest);
    record_kernel_print_problems(guest);
    if (record_kernel_is_cut(guest))
        return EXIT_FAILURE;
    return is_whole || !run->plan->strict ? EXIT_SUCCESS : EXIT_LOSSES;
}

static bool is_void(const struct record_item *item)
{
    const struct guest *guest = kernel_recorder_guest(item->recorder);

    return !guest || guest_is_silent(guest);
}

/* Warns that disk requests complete in interrupts, while any thread runs. */
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

int record_host_add(struct record_run *run)
{
    const struct record_plan *plan = run->plan;
    struct record_item item = {.sum_up = sum_up, .is_void = is_void, .free = free_host};
    struct kernel_recorder_settings settings = {.is_optional = true};
    struct error error = {0};
    struct host *host;
    int r;

    if (!plan->host)
        return EXIT_SUCCESS;
    host = calloc(1, sizeof *host);
    if (!host)
        return cli_no_memory();
    r = plan_kernel_make(plan, true, &host->kernel);
    if (r >= 0 && plan->host_threads)
        warn_of_requests(&host->kernel.trace);
    settings.config.trace = &host->kernel.trace;
    settings.config.live = record_live_host_stream(run);
    settings.agent = plan_kernel_agent(host->agent, sizeof host->agent);
    /* What is not there yet will be our child: children are followed. */
    if (plan->host_threads)
        settings.pid_filter = run->subject.pid ? run->subject.pid : getpid();
    if (r >= 0)
        r = kernel_recorder_new(&settings, &item.recorder);
    if (r < 0) {
        free_host(host);
        return record_run_failed(plan, &error, r);
    }
    item.recorder->is_optional =
        run->about->goes_on || run->guests || plan_recorders_n(plan->recorders) > 0;
    item.userdata = host;
    return record_run_add(run, &item);
}
