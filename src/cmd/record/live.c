/* SPDX-License-Identifier: MIT */
#include "cmd/record/live.h"

#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/record/guests.h"
#include "cmd/record/run.h"
#include "cmd/walk.h"
#include "print/view.h"
#include "record/live/viewer.h"

#define OUT_SIZE ((size_t)64 * 1024)

enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV };

static const char *const formats[] = {"text", "json", "csv", NULL};

#define MEMBER(m) offsetof(struct record_live_options, m)

const struct cli_option record_live_options[] = {
    {OPTION_FLAG, 'l', "live", NULL, "print the events of kernels as they come", MEMBER(on)},
    {OPTION_CHOICE, 'f', "format", "text|json|csv", "output format of --live (text)",
     MEMBER(format), .choices = formats},
    {OPTION_FLAG, 0, "spreadsheet", NULL,
     "of --live -f csv: put ' before a text that begins with\n"
     "= + - @, which a spreadsheet would run as a formula",
     MEMBER(spreadsheet)},
    {OPTION_END},
};

int record_live_check(const struct record_options *options)
{
    const struct record_live_options *live = &options->live;

    if (live->format && !live->on)
        return cli_usage_error(options->verb, "--format requires --live");
    if (live->spreadsheet && (!live->on || live->format != FORMAT_CSV))
        return cli_usage_error(options->verb, "--spreadsheet requires --live --format=csv");
    return EXIT_SUCCESS;
}

/* What its recorder borrows. */
struct live {
    struct record_live_options options;
    struct live_kernel kernels[];
};

static int open_view(void *userdata, const struct live_view_info *info, struct text *out,
                     struct sink **ret)
{
    const struct live *live = userdata;
    bool is_text = live->options.format == FORMAT_TEXT;
    bool has_color = is_text && wants_color(STDOUT_FILENO);
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
    case FORMAT_JSON: return line_json_open(&options, out, ret);
    case FORMAT_CSV: return line_csv_open(&options, out, ret);
    default: return line_text_open(&options, out, ret);
    }
}

static int sum_up(const struct record_run *run, const struct record_item *item)
{
    (void)run;
    return live_viewer_end(item->recorder) == LIVE_FAILED ? EXIT_FAILURE : EXIT_SUCCESS;
}

int record_live_add(struct record_run *run)
{
    const struct record_options *options = run->options;
    unsigned n_guests = record_guests_count(run), n = n_guests + (options->host != NULL);
    struct record_item item = {.sum_up = sum_up, .free = free};
    struct live_viewer_settings settings = {
        .n = n,
        .output = STDOUT_FILENO,
        .alone = !options->output,
        .open = open_view,
    };
    struct live *live;

    if (!options->live.on)
        return EXIT_SUCCESS;
    live = calloc(1, sizeof *live + n * sizeof *live->kernels);
    if (!live)
        return cli_no_memory();
    live->options = options->live;
    for (unsigned i = 0; i < n_guests; i++)
        live->kernels[i].name = record_guests_name(run, i);
    if (options->host)
        live->kernels[n_guests] = (struct live_kernel){"host", true};
    for (unsigned i = 0; n > 1 && i < n; i++)
        cli_message("#%u is %s", i, live->kernels[i].name);
    item.userdata = settings.userdata = live;
    settings.kernels = live->kernels;
    if (live_viewer_new(&settings, &item.recorder) < 0) {
        free(live);
        return cli_no_memory();
    }
    run->live = item.recorder;
    return record_run_add(run, &item) ? EXIT_SUCCESS : EXIT_FAILURE;
}

int *record_live_host_stream(const struct record_run *run)
{
    return record_live_guest_stream(run, record_guests_count(run));
}

int *record_live_guest_stream(const struct record_run *run, unsigned i)
{
    return run->live ? live_viewer_stream(run->live, i) : NULL;
}

bool record_live_is_unread(const struct record_run *run)
{
    return run->live && live_viewer_end(run->live) == LIVE_IS_UNREAD;
}
