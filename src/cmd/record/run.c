/* SPDX-License-Identifier: MIT */
#include "cmd/record/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/proc.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cmd/cmd.h"
#include "cmd/record/service.h"
#include "record/control_server.h"
#include "record/plan/conditions.h"
#include "record/watch/metrics_recorder.h"

/* ---- The recording ---- */

/* Adds what saves snapshots, and before all others what requests them, because that stays until the others have ended.
 * An exit status. */
static int add_triggers(struct record_run *run, struct recorder *server,
                        const struct recorder **ret_watching)
{
    const struct plan_triggers *triggers = &run->plan->triggers;
    struct trigger_recorder_settings settings = plan_conditions_settings(run->plan);
    struct recorder *recorder;
    struct error error = {0};

    if (settings.n == 0)
        return EXIT_SUCCESS;
    settings.server = server;
    if (triggers->needs_events) {
        run->watch.conditions = triggers->items;
        run->watch.n_conditions = settings.n;
        settings.watch = record_watch_run;
        settings.watch_userdata = &run->watch;
        settings.other_line = run->metrics ? metrics_recorder_line : NULL;
        settings.other_line_userdata = run->metrics;
    }
    if (trigger_recorder_new(&settings, &recorder, &error) < 0) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    if (recording_add(run->recording, recorder) < 0) {
        recorder->ops->free(recorder);
        return cli_no_memory();
    }
    *ret_watching = triggers->needs_events ? recorder : NULL;
    return EXIT_SUCCESS;
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

/* Adds metrics of analyses, for a recording into a directory. WATCHING: the recorder that starts the reading process;
 * NULL: none does yet. An exit status. */
static int add_analyses(struct record_run *run, const struct recorder *watching)
{
    if (!run->metrics || run->watch.metrics_period == 0)
        return EXIT_SUCCESS;
    return metrics_recorder_watch(run->metrics, &run->watch, watching) < 0 ? cli_no_memory()
                                                                           : EXIT_SUCCESS;
}

/* An exit status. */
static int add_all(struct record_run *run, bool has_dir)
{
    const struct recorder *watching = NULL;
    struct recorder *server = NULL;
    int status = EXIT_SUCCESS;

    run->watch.dir = recording_path(run->recording);
    run->watch.metrics_period = run->metrics && has_dir ? run->plan->metrics.period : 0;
    if (has_dir && control_server_new(&run->plan->flight, &server) < 0)
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

static void print_lines(const struct text *text, FILE *out)
{
    const char *end;

    for (const char *line = text->start; line < text->next; line = end + 1) {
        end = memchr(line, '\n', (size_t)(text->next - line));
        if (out == stderr)
            cli_message("%.*s", (int)(end - line), line);
        else
            output_line(out, "%.*s", (int)(end - line), line);
    }
}

static int sum_up_by_itself(const struct record_run *run, const struct record_item *item)
{
    struct recorder_summary summary = {
        .dir = run->dir,
        .is_only = run->n == 1,
        .result = TEXT_IN_MEMORY,
        .notes = TEXT_IN_MEMORY,
    };
    int status;

    item->recorder->ops->summarize(item->recorder, &summary);
    status = summary.result.error || summary.notes.error ? cli_no_memory()
             : run->plan->strict && summary.has_losses   ? EXIT_LOSSES
                                                         : EXIT_SUCCESS;
    if (status != EXIT_FAILURE) {
        print_lines(&summary.result, stdout);
        print_lines(&summary.notes, stderr);
    }
    text_done(&summary.result);
    text_done(&summary.notes);
    return status;
}

static int sum_up_item(const struct record_run *run, const struct record_item *item)
{
    int status = item->sum_up ? item->sum_up(run, item) : sum_up_by_itself(run, item);

    return item->recorder->error.code < 0 ? EXIT_FAILURE : status;
}

/* Sums up what the recording is about (IS_PRIMARY), or what was recorded besides. STATUS: of what was summed up
 * before. */
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

/* Shows the progress of each recorder on a terminal, unless a command or live events write to it. */
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

static void on_begun(void *userdata)
{
    const struct record_run *run = userdata;

    record_service_begun(run->dir ? recording_path(run->recording) : run->plan->output);
}

/* True if an event arrived or was lost. */
static bool has_events(const struct record_run *run)
{
    for (unsigned i = 0; i < run->n; i++) {
        const struct recorder *recorder = run->items[i].recorder;
        struct recorder_stats stats = {0};

        if (recorder->ops->stats && recorder->state != RECORDER_NEW)
            recorder->ops->stats(recorder, &stats);
        if (stats.bytes + stats.events + stats.lost > 0)
            return true;
    }
    return false;
}

/* Finishes the recording. If it is empty, frees the directory for the next attempt. */
static void finish(struct record_run *run)
{
    if (record_run_is_void(run)) {
        recording_remove(run->recording);
        cli_error("nothing was recorded, and nothing is left in %s", run->dir);
    } else if (run->dir && record_run_has_others(run, NULL) && !has_events(run)) {
        cli_error("no events were recorded into %s", run->dir);
    } else if (run->dir && record_run_has_others(run, NULL)) {
        cli_print_command("summary", run->dir);
        cli_print_command("view", run->dir);
    }
}

static int make_metrics(struct record_run *run, struct error *error)
{
    const struct plan_metrics *plan = &run->plan->metrics;
    const struct metrics_recorder_settings settings = {plan->listen, plan->file};
    const char *address;
    int r;

    if (!plan->listen && !plan->file)
        return 0;
    r = metrics_recorder_new(&settings, &run->metrics, error);
    if (r < 0)
        return r;
    address = metrics_recorder_address(run->metrics);
    if (address)
        cli_message("metrics: http://%s/metrics", address);
    return 0;
}

/* Records. All recorders were added. An exit status. */
static int record(struct record_run *run)
{
    const struct record_plan *plan = run->plan;
    struct recording_settings settings = {
        .dir = run->dir,
        .restarts = plan->restarts,
        .rescue = record_service_rescue,
        .limit = record_plan_limit_text(&plan->flight, run->limit),
        .begun = on_begun,
        .listed = plan->output,
        .runtime = plan->environment.runtime,
        .signals = &run->signals,
        .time = plan->time,
        .max_size = record_plan_max_size(plan),
        .min_free = record_plan_min_free(plan),
        .report = cmd_print_report,
        .userdata = run,
    };
    struct error error = {0};
    int status = EXIT_FAILURE;
    int r;

    if (isatty(STDERR_FILENO) && !plan->live.on && plan->kind != RECORD_COMMAND) {
        settings.progress = show_progress;
        settings.progress_ns = NSEC_PER_SEC;
    }
    r = make_metrics(run, &error);
    if (r >= 0)
        r = recording_new(&settings, &run->recording, &error);
    if (r >= 0) {
        if (add_all(run, run->dir != NULL) != EXIT_SUCCESS)
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
    return r < 0 ? cli_print_failure(&error, r) : status;
}

/* ---- The plan ---- */

static const struct record_about about_nothing;

static const struct record_about *const abouts[] = {
    [RECORD_BESIDE] = &about_nothing,         [RECORD_PROGRAM] = &record_about_program,
    [RECORD_QEMU] = &record_about_vm,         [RECORD_RINGS] = &record_about_rings,
    [RECORD_RUNNING_QEMU] = &record_about_vm, [RECORD_VMMS] = &record_about_vmms,
};

/* Recorders besides the subject's, in the order in which they start. */
static int (*const besides[])(struct record_run *run) = {
    record_live_add,
    record_host_add,
    record_guests_add,
    record_others_add,
};

/* Chooses where the trace goes: the given path, or a name with the present time, in BUF. NULL: nowhere. */
static const char *choose_output(const struct record_plan *plan, char *buf, size_t size)
{
    time_t now = time(NULL);
    struct tm tm;

    if (plan->output || plan->kind == RECORD_BESIDE)
        return plan->output;
    if (!localtime_r(&now, &tm) || strftime(buf, size, "strata-%Y%m%d-%H%M%S", &tm) == 0)
        snprintf(buf, size, "strata-%ld", (long)getpid());
    /* Another one that began in the same second has that name. */
    if (access(buf, F_OK) == 0)
        snprintf(buf + strlen(buf), size - strlen(buf), "-%ld", (long)getpid());
    return buf;
}

/* Call when the subject is known and the signals are caught. An exit status. */
static int add_and_record(struct record_run *run)
{
    const struct record_about *about = run->about;
    /* The virtual machine of a single guest. */
    pid_t vmm = run->subject.kind == RECORD_VMMS ? run->subject.pid : 0;
    struct error error = {0};
    int status = about->prepare ? about->prepare(run) : EXIT_SUCCESS;
    int r;

    if (status != EXIT_SUCCESS)
        return status;
    r = plan_guest_list_new(run->plan, vmm, &run->guests, &error);
    if (r < 0)
        return record_run_failed(run->plan, &error, r);
    for (size_t i = 0; i < ARRAY_SIZE(besides) && status == EXIT_SUCCESS; i++)
        status = besides[i](run);
    run->dir = choose_output(run->plan, run->name, sizeof run->name);
    if (status == EXIT_SUCCESS && about->add)
        status = about->add(run);
    if (status != EXIT_SUCCESS)
        return status;
    if (run->plan->host && run->n > 1 && !proc_has_kernel_numbers())
        cli_warning(
            "threads have other numbers in this PID namespace than in the host's kernel: what "
            "the recorded threads did on the host is not found; " PROC_NUMBERS_ADVICE);
    status = record(run);
    return about->exit_status ? about->exit_status(run, status) : status;
}

static void run_done(struct record_run *run)
{
    for (unsigned i = 0; i < run->n; i++) {
        struct record_item *item = &run->items[i];

        if (item->recorder && !item->recorder->recording)
            item->recorder->ops->free(item->recorder);
    }
    if (run->metrics && !run->metrics->recording)
        run->metrics->ops->free(run->metrics);
    recording_free(run->recording);
    for (unsigned i = 0; i < run->n; i++)
        if (run->items[i].free)
            run->items[i].free(run->items[i].userdata);
    free(run->items);
    plan_guest_list_free(run->guests);
    if (run->about && run->about->free)
        run->about->free(run->userdata);
    stop_signals_close(&run->signals);
}

int record_run(struct record_plan *plan)
{
    struct record_run run = {.plan = plan};
    struct error error = {0};
    bool is_unread = false;
    int status, r;

    plan->environment = (struct plan_environment){
        .path = getenv("PATH"),
        .runtime = getenv("XDG_RUNTIME_DIR"),
        .trace = getenv("STRATA_TRACE"),
        .passes = output_locale(),
        .report = cmd_print_report,
    };
    if (plan->kind == RECORD_LIBVIRT || plan->kind == RECORD_ATTACHED)
        plan->libvirt_uri = cmd_libvirt_uri(plan->libvirt_uri);
    r = record_subject_find(plan, &run.subject, &error);
    if (r < 0) {
        status = record_run_failed(plan, &error, r);
        record_subject_done(&run.subject);
        return status;
    }
    run.about = abouts[run.subject.kind];
    r = stop_signals_open(run.about->keeps_ignored, &run.signals);
    if (r < 0) {
        cli_error("cannot catch signals: %s", strerror(-r));
        status = EXIT_FAILURE;
    } else {
        plan->environment.signals = &run.signals;
        cmd_raise_files(); /* a file for each ring, and for each CPU of each kernel */
        status = add_and_record(&run);
        is_unread = record_live_is_unread(&run);
        run_done(&run);
    }
    record_subject_done(&run.subject);
    return is_unread ? cli_output_error(-EPIPE) : status;
}
