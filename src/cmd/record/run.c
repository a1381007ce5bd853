/* SPDX-License-Identifier: MIT */
#include "cmd/record/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "cli/progress.h"
#include "cmd/cmd.h"
#include "cmd/record/guests.h"
#include "cmd/record/live.h"
#include "cmd/record/service.h"
#include "event/clock.h"
#include "record/control_server.h"
#include "trace/clocks.h"

void cmd_print_report(void *userdata, const char *text)
{
    (void)userdata;
    progress_line_erase();
    cli_warning("%s", text);
}

bool record_run_init(const struct record_options *options, bool keep_ignored,
                     struct record_run *ret)
{
    int r;

    *ret = (struct record_run){.options = options};
    r = stop_signals_open(keep_ignored, &ret->signals);
    if (r < 0)
        cli_error("cannot catch signals: %s", strerror(-r));
    return r >= 0;
}

bool record_run_add(struct record_run *run, const struct record_item *item)
{
    struct record_item *bigger = realloc(run->items, (run->n + 1) * sizeof *bigger);

    if (bigger) {
        run->items = bigger;
        run->items[run->n++] = *item;
        return true;
    }
    cli_no_memory();
    item->recorder->ops->free(item->recorder);
    if (item->free)
        item->free(item->userdata);
    return false;
}

/* What saves snapshots, and before all others what asks it to: that stays until the others have ended. An exit status. */
static int add_triggers(struct record_run *run, struct recorder *server,
                        const struct recorder **ret_watching)
{
    const struct record_options *options = run->options;
    struct recorder *recorder;
    int status = record_triggers_new(&options->triggers, &run->watch, run->metrics,
                                     options->flight.bytes, server, &run->triggers, &recorder);

    if (recorder && recording_add(run->recording, recorder) < 0) {
        recorder->ops->free(recorder);
        return cli_no_memory();
    }
    *ret_watching = run->watch.n_conditions > 0 ? recorder : NULL;
    return status;
}

static int add_recorders(struct record_run *run)
{
    /* First: where it cannot begin, nothing has been started. */
    if (run->metrics && recording_add(run->recording, run->metrics) < 0)
        return -ENOMEM;
    for (unsigned i = 0; i < run->n; i++)
        if (recording_add(run->recording, run->items[i].recorder) < 0)
            return -ENOMEM;
    return 0;
}

/* Metrics of analyses, of a recording into a directory of its own. WATCHING: the recorder that starts the process that reads
 * it; NULL: none does yet. An exit status. */
static int add_analyses(struct record_run *run, const struct recorder *watching)
{
    return run->metrics && run->watch.metrics_period > 0
               ? record_metrics_watch(run->metrics, &run->watch, watching)
               : EXIT_SUCCESS;
}

/* An exit status. */
static int add_all(struct record_run *run, bool has_dir)
{
    const struct recorder *watching = NULL;
    struct recorder *server = NULL;
    int status = EXIT_SUCCESS;

    run->watch.dir = recording_path(run->recording);
    run->watch.metrics_period = run->metrics && has_dir ? run->options->metrics.period : 0;
    if (has_dir && control_server_new(&run->options->flight, &server) < 0)
        return cli_no_memory();
    if (server)
        status = add_triggers(run, server, &watching);
    if (status == EXIT_SUCCESS)
        status = add_analyses(run, watching);
    if (status == EXIT_SUCCESS && add_recorders(run) < 0)
        status = cli_no_memory();
    /* Last: it is asked after all others. */
    if (status == EXIT_SUCCESS && server && recording_add(run->recording, server) < 0)
        status = cli_no_memory();
    if (server && !server->recording)
        server->ops->free(server);
    return status;
}

static int sum_up_item(const struct record_run *run, const struct record_item *item)
{
    int status = item->sum_up(run, item);

    return item->recorder->error.code < 0 ? EXIT_FAILURE : status;
}

/* What the recording is about (LEADS), or what was beside it. STATUS: of what was summed up before. */
static int sum_up_items(const struct record_run *run, bool is_primary, int status)
{
    for (unsigned i = 0; i < run->n; i++) {
        const struct record_item *item = &run->items[i];
        const struct recorder *recorder = item->recorder;
        int one =
            recorder && recorder->is_primary == is_primary ? sum_up_item(run, item) : EXIT_SUCCESS;

        if (status != EXIT_FAILURE && one != EXIT_SUCCESS)
            status = one;
    }
    return status;
}

/* On a terminal, where neither a command nor live events are written to it: how far each recorder is. */
static void show_progress(void *userdata, const struct recording *recording)
{
    struct record_run *run = userdata;
    char line[512] = "";
    size_t len = 0;

    (void)recording;
    for (unsigned i = 0; i < run->n && len < sizeof line - 120; i++) {
        struct record_item *item = &run->items[i];
        const struct recorder *recorder = item->recorder;
        struct recorder_stats stats;
        char size[16], rate[16];

        if (!recorder->ops->stats || recorder->state == RECORDER_NEW)
            continue;
        recorder->ops->stats(recorder, &stats);
        len += (size_t)snprintf(line + len, sizeof line - len, "%s%.40s: %s, %s/s",
                                len > 0 ? "  " : "", recorder->name,
                                bytes_text(size, sizeof size, stats.bytes),
                                bytes_text(rate, sizeof rate, stats.bytes - item->bytes_shown));
        if (stats.lost > 0)
            len +=
                (size_t)snprintf(line + len, sizeof line - len, ", %" PRIu64 " lost", stats.lost);
        item->bytes_shown = stats.bytes;
    }
    progress_line(line);
}

/* Of the disk: what was given; else some where a hypervisor that writes without end could fill it. */
static uint64_t min_free(const struct record_options *options)
{
    if (options->min_free != RECORD_MIN_FREE_DEFAULT)
        return options->min_free;
    return options->xen || options->buffers.names.n > 0 ? (uint64_t)64 << 20 : 0;
}

static void on_begun(void *userdata)
{
    const struct record_run *run = userdata;

    record_service_begun(run->dir ? recording_path(run->recording) : run->options->output);
}

bool record_run_is_void(const struct record_run *run)
{
    const struct record_options *options = run->options;

    /* There, the directory may have snapshots. */
    if (!run->dir || options->restarts || options->flight.ns > 0 || options->flight.bytes > 0)
        return false;
    for (unsigned i = 0; i < run->n; i++) {
        const struct record_item *item = &run->items[i];

        if (item->is_void && item->is_void(item))
            return !record_run_has_others(run, item);
    }
    return false;
}

/* What to do with what was recorded. Where that is nothing, the directory is free for the next try. */
static void finish(struct record_run *run)
{
    if (record_run_is_void(run)) {
        recording_remove(run->recording);
        cli_error("nothing was recorded, and nothing is left in %s", run->dir);
    } else if (run->dir && record_run_has_others(run, NULL)) {
        cli_print_command("summary", run->dir);
        cli_print_command("view", run->dir);
    }
}

int record_run(struct record_run *run, const char *dir)
{
    char limit[RECORD_LIMIT_MAX];
    const struct record_options *options = run->options;
    struct recording_settings settings = {
        .dir = dir,
        .restarts = options->restarts,
        .rescue = record_service_rescue,
        .limit = record_limit_text(&run->options->flight, limit),
        .begun = on_begun,
        .listed = options->output,
        .runtime = getenv("XDG_RUNTIME_DIR"),
        .signals = &run->signals,
        .time = options->time,
        .max_size = options->max_size,
        .min_free = min_free(options),
        .report = cmd_print_report,
        .userdata = run,
    };
    struct error error = {0};
    int status = EXIT_FAILURE;
    int r;

    if (isatty(STDERR_FILENO) && !options->live.on && !options->runs) {
        settings.progress = show_progress;
        settings.progress_ns = NSEC_PER_SEC;
    }
    if (record_metrics_new(&options->metrics, &run->metrics) != EXIT_SUCCESS)
        return EXIT_FAILURE;
    r = recording_new(&settings, &run->recording, &error);
    run->dir = dir;
    if (r >= 0) {
        if (add_all(run, dir != NULL) != EXIT_SUCCESS)
            return EXIT_FAILURE;
        r = recording_run(run->recording, &error);
        if (recording_has_begun(run->recording) && !record_live_is_unread(run)) {
            progress_line_erase();
            status = recording_is_full(run->recording) ? EXIT_FAILURE : EXIT_SUCCESS;
            status = sum_up_items(run, true, status);
            status = sum_up_items(run, false, status);
            finish(run);
        }
    }
    if (r < 0) {
        cli_print_error(&error);
        status = EXIT_FAILURE;
    }
    return status;
}

FILE *record_run_summary_file(const struct record_run *run)
{
    return run->options->live.on || run->options->runs ? stderr : stdout;
}

const char *record_error_text(char *buf, size_t size, int64_t ns)
{
    static const struct clock clock = {"", NANOSECONDS};

    return duration_text(buf, size, &clock, trace_clock_round_up(ns));
}

const char *record_lost_text(uint64_t lost, bool is_open, char buf[static RECORD_LOST_MAX])
{
    if (is_open && lost == 0)
        return "an unknown number lost";
    snprintf(buf, RECORD_LOST_MAX, "%s%" PRIu64 " lost", is_open ? "at least " : "", lost);
    return buf;
}

void record_run_tell_length(const struct record_run *run, double seconds)
{
    cli_message("strata: %.1f seconds were recorded into %s", seconds, run->dir);
}

bool record_run_has_others(const struct record_run *run, const struct record_item *item)
{
    struct arena arena = {0};
    bool any = false;

    for (unsigned i = 0; i < run->n; i++) {
        const struct recorder *recorder = run->items[i].recorder;
        struct recorder_sources sources = {0};

        if ((!item || recorder != item->recorder) && recorder->ops->sources &&
            recorder->ops->sources(recorder, &arena, &sources) >= 0)
            any |= sources.n > 0;
    }
    arena_done(&arena);
    return any;
}

void record_run_done(struct record_run *run)
{
    for (unsigned i = 0; i < run->n; i++) {
        struct record_item *item = &run->items[i];

        if (item->recorder && !item->recorder->recording)
            item->recorder->ops->free(item->recorder);
    }
    if (run->metrics && !run->metrics->recording)
        run->metrics->ops->free(run->metrics);
    recording_free(run->recording);
    record_triggers_free(run->triggers);
    for (unsigned i = 0; i < run->n; i++)
        if (run->items[i].free)
            run->items[i].free(run->items[i].userdata);
    free(run->items);
    record_guests_free(run->guests);
    *run = (struct record_run){.signals = run->signals};
    stop_signals_close(&run->signals);
}
