/* SPDX-License-Identifier: MIT */
/* strata record --live: prints events while they are recorded. */

#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/record/run.h"
#include "print/view.h"
#include "record/live/live_recorder.h"

#define OUT_SIZE ((size_t)64 * 1024)

/* What its recorder borrows. */
struct live {
    struct plan_live options;
    struct live_kernel kernels[];
};

static int open_view(void *userdata, const struct live_view_info *info, struct text *out,
                     struct sink **ret)
{
    const struct live *live = userdata;
    bool is_text = live->options.format == PLAN_LIVE_TEXT;
    bool has_color = is_text && output_has_color(STDOUT_FILENO);
    struct view_options options = {
        .spreadsheet = live->options.spreadsheet,
        .color = has_color,
        .origin_number = info->n > 1 ? info->origin_number : NULL,
        .origin_arg = info->arg,
        .errors = info->n > 1,
        .layers = info->layers & (info->layers - 1) ? info->layers : 0,
    };
    int r = output_open(out,
                        !is_text    ? OUTPUT_DATA
                        : has_color ? OUTPUT_COLOR_TEXT
                                    : OUTPUT_TEXT,
                        OUT_SIZE);

    if (r < 0)
        return r;
    switch (live->options.format) {
    case PLAN_LIVE_JSON: return line_json_open(&options, out, ret);
    case PLAN_LIVE_CSV: return line_csv_open(&options, out, ret);
    default: return line_text_open(&options, out, ret);
    }
}

static int sum_up(const struct record_run *run, const struct record_item *item)
{
    (void)run;
    return live_recorder_end(item->recorder) == LIVE_FAILED ? EXIT_FAILURE : EXIT_SUCCESS;
}

int record_live_add(struct record_run *run)
{
    const struct record_plan *plan = run->plan;
    unsigned n_guests = plan_guest_list_n(run->guests), n = n_guests + plan->host;
    struct record_item item = {.sum_up = sum_up, .free = free};
    struct live_recorder_settings settings = {
        .n = n,
        .output = STDOUT_FILENO,
        .alone = !plan->output,
        .open = open_view,
    };
    struct live *live;

    if (!plan->live.on)
        return EXIT_SUCCESS;
    live = calloc(1, sizeof *live + n * sizeof *live->kernels);
    if (!live)
        return cli_no_memory();
    live->options = plan->live;
    for (unsigned i = 0; i < n_guests; i++)
        live->kernels[i].name = run->guests->configs[i].name;
    if (plan->host)
        live->kernels[n_guests] = (struct live_kernel){"host", true};
    for (unsigned i = 0; n > 1 && i < n; i++)
        cli_message("#%u is %s", i, live->kernels[i].name);
    item.userdata = settings.userdata = live;
    settings.kernels = live->kernels;
    if (live_recorder_new(&settings, &item.recorder) < 0) {
        free(live);
        return cli_no_memory();
    }
    run->live = item.recorder;
    return record_run_add(run, &item);
}

int *record_live_host_stream(const struct record_run *run)
{
    return record_live_guest_stream(run, plan_guest_list_n(run->guests));
}

int *record_live_guest_stream(const struct record_run *run, unsigned i)
{
    return run->live ? live_recorder_stream(run->live, i) : NULL;
}

bool record_live_is_unread(const struct record_run *run)
{
    return run->live && live_recorder_end(run->live) == LIVE_IS_UNREAD;
}
