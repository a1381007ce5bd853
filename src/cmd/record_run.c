/* SPDX-License-Identifier: MIT */
#include "cmd/record_run.h"

#include <string.h>

#include "cli/progress.h"
#include "cmd/cmd.h"

void cmd_print_report(void *userdata, const char *text)
{
    (void)userdata;
    progress_line_erase();
    cli_error("%s", text);
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
    if (run->n < RECORD_ITEMS_MAX) {
        run->items[run->n++] = *item;
        return true;
    }
    cli_error("more than %u sources in one recording", RECORD_ITEMS_MAX);
    item->recorder->ops->free(item->recorder);
    if (item->free)
        item->free(item->userdata);
    return false;
}

static int add_recorders(struct record_run *run, struct recording *recording)
{
    int r = 0;

    for (unsigned i = 0; i < run->n; i++)
        if (recording_add(recording, run->items[i].recorder) < 0)
            r = -ENOMEM;
    return r;
}

static int sum_up(const struct record_run *run, const struct recording *recording)
{
    int status = recording_is_full(recording) ? EXIT_FAILURE : EXIT_SUCCESS;

    for (unsigned i = 0; i < run->n; i++) {
        const struct record_item *item = &run->items[i];
        int one = item->sum_up(run, item);

        if (item->recorder->fault.error < 0)
            one = EXIT_FAILURE;
        if (status != EXIT_FAILURE && one != EXIT_SUCCESS)
            status = one;
    }
    return status;
}

int record_run(struct record_run *run, const char *dir)
{
    const struct record_options *options = run->options;
    struct recording_settings settings = {
        .dir = dir,
        .runtime = getenv("XDG_RUNTIME_DIR"),
        .signals = &run->signals,
        .time = options->time,
        .max_size = options->max_size,
        .min_free = options->buffers.reserve,
        .report = cmd_print_report,
    };
    struct recording *recording;
    struct fault fault = {0};
    int status = EXIT_FAILURE;
    int r = recording_new(&settings, &recording, &fault);

    if (r < 0) {
        cli_fault(&fault);
        return EXIT_FAILURE;
    }
    r = add_recorders(run, recording);
    r = r < 0 ? fault_plain(&fault, r, NULL, "out of memory") : recording_run(recording, &fault);
    if (recording_has_begun(recording))
        status = sum_up(run, recording);
    if (r < 0) {
        cli_fault(&fault);
        status = EXIT_FAILURE;
    }
    recording_free(recording);
    for (unsigned i = 0; i < run->n; i++)
        run->items[i].recorder = NULL;
    return status;
}

void record_run_done(struct record_run *run)
{
    for (unsigned i = 0; i < run->n; i++) {
        struct record_item *item = &run->items[i];

        if (item->recorder)
            item->recorder->ops->free(item->recorder);
        if (item->free)
            item->free(item->userdata);
    }
    run->n = 0;
    stop_signals_close(&run->signals);
}
