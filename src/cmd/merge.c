/* SPDX-License-Identifier: MIT */
/* strata merge: makes one trace of traces that were recorded separately. */

#include "merge/merge.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/progress.h"
#include "cmd/cmd.h"
#include "cmd/walk.h"
#include "report/merge_report.h"

#define OUT_SIZE ((size_t)16 * 1024)

struct merge_options {
    struct open_options open;
    struct strings syncs, layers, tsc, same_host;
    const char *output;
    const char *reference;
    bool link;
};

static const struct cli_option merge_option_table[] = {
    {OPTION_STRING, 'o', "output", "DIR",
     "make a trace directory with copies of all; without it, only report how the clocks relate",
     offsetof(struct merge_options, output),
     .page = "DIR must be empty or not exist. It appears when it is complete; a signal leaves "
             "nothing."},
    {OPTION_STRINGS, 0, "sync", "SYNC",
     "'A-EVENT[~TEXT] = B-EVENT[~TEXT]': events of the same moment in two traces; '<' for '=': A "
     "before B",
     offsetof(struct merge_options, syncs), .page = "The description above explains SYNC."},
    {OPTION_LIST, 0, "tsc", "NAME[=OFFSET[*RATIO]]",
     "sources that count the same time stamp counter; RATIO and OFFSET describe a guest's counter",
     offsetof(struct merge_options, tsc),
     .page =
         "A guest reads the counter times RATIO plus OFFSET: the values of 'tsc-scaling-ratio' and "
         "'tsc-offset' in KVM's debugfs. RATIO is written as 0.87 or as 7/8."},
    {OPTION_LIST, 0, "same-host", "NAME",
     "sources that were recorded on one host since its boot: clocks of the same name are the same",
     offsetof(struct merge_options, same_host),
     .page =
         "A clock called monotonic is then the host's clock. The time of day and the time stamp "
         "counter are "
         "related to it if a trace directory among these sources states their simultaneous "
         "readings."},
    {OPTION_STRING, 'r', "reference", "NAME", "source whose clock is the timeline",
     offsetof(struct merge_options, reference),
     .default_text = "the first with a host's monotonic clock, or the first"},
    {OPTION_LIST, 0, "layer-of", "NAME=LAYER",
     "layer of a source: vmm, hypervisor, guest, host or program",
     offsetof(struct merge_options, layers)},
    {OPTION_FLAG, 0, "link", NULL, "make hard links, not copies",
     offsetof(struct merge_options, link),
     .page = "Files that cannot be linked are copied. Copies share their data with the original if "
             "the file "
             "system supports that."},
    {OPTION_RENAMED, 's', "-s", "--sync"},
    {OPTION_RENAMED, 'l', "layer", "--layer-of"},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"Merging", merge_option_table, 0},
    {"Reading", open_option_table, offsetof(struct merge_options, open),
     .page =
         "--trace-events accepts NAME=FILE for one of the traces; the file is copied into the "
         "directory. "
         "--cpu-hz, --xen-version and --cpu-vendor are recorded in the directory. A damaged trace "
         "is "
         "merged up to the damage, with status 1, unless --keep-going is given. --host-time and "
         "--no-causal have no effect, and --no-header is an error."},
    {"Help", help_option_table, 0},
    {NULL},
};

const struct command merge_command = {
    .name = "merge",
    .summary = "put traces that were recorded separately on one timeline",
    .operands = "[NAME=]PATH...",
    .about = "Finds how the clocks of several traces relate, and makes one trace of them,\n"
             "which 'strata report' shows on one timeline. It uses what trace directories\n"
             "state of their host, a time stamp counter that the traces share (--tsc), or\n"
             "events that mark the same moment in two traces (--sync):\n\n"
             "    strata merge -o all qemu.trace guest/ \\\n"
             "        --sync 'guest:print~MARK (\\d+) = qemu:marker~(\\d+)'\n\n"
             "The text in parentheses matches the events of both traces. For each trace it\n"
             "prints how its clock was related, the offset, the drift and the error.",
    .groups = groups,
};

static void show_progress(void *arg, const struct trace *trace)
{
    struct progress *progress = arg;
    uint64_t done, total;

    if (!progress_is_due(progress))
        return;
    trace_progress(trace, &done, &total);
    progress_show(progress, done, total);
}

/* Prints the notes from *N on. */
static void report_notes(const struct merge *merge, unsigned *n)
{
    for (; *n < merge->n_notes; ++*n)
        cli_error("%s", merge->notes[*n]);
}

static int run(struct merge *merge, struct progress *progress, const char *output, char **operands,
               int n)
{
    unsigned notes = 0;
    struct text out;
    int r = merge_add_traces(merge, operands, n);

    report_notes(merge, &notes);
    progress_start(progress, isatty(STDERR_FILENO));
    if (r >= 0)
        r = merge_scan(merge);
    progress_erase(progress);
    report_notes(merge, &notes);
    if (r >= 0)
        r = merge_relate(merge);
    if (r >= 0 && output)
        r = merge_write(merge, output);
    if (r < 0) {
        cli_print_error(&merge->error);
        return EXIT_FAILURE;
    }
    r = output_open(&out, OUTPUT_TEXT, OUT_SIZE);
    if (r >= 0) {
        merge_report(merge, &out);
        r = text_flush(&out);
        text_done(&out);
    }
    if (r < 0)
        return cli_output_error(r);
    return merge->damaged ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int merge_traces(const struct merge_options *options, char **operands, int n)
{
    struct progress progress;
    struct merge_config config = {
        .syncs = options->syncs,
        .layers = options->layers,
        .tsc = options->tsc,
        .same_host = options->same_host,
        .reference = options->reference,
        .link = options->link,
        .progress = show_progress,
        .progress_arg = &progress,
    };
    struct merge merge;
    int status;

    open_options_apply(&options->open, &config.open);
    merge_init(&merge, &config);
    status = run(&merge, &progress, options->output, operands, n);
    if (status == EXIT_SUCCESS && merge.lost && options->open.strict)
        status = EXIT_LOSSES;
    merge_done(&merge);
    return status;
}

static void options_done(struct merge_options *options)
{
    strings_done(&options->syncs);
    strings_done(&options->layers);
    strings_done(&options->tsc);
    strings_done(&options->same_host);
    open_options_done(&options->open);
}

int cmd_merge(int argc, char **argv)
{
    struct merge_options options = {0};
    int status = EXIT_FAILURE;
    int n;

    if (options_parse(&merge_command, argc, argv, &options, &n, &status)) {
        if (n == 0)
            status = cli_usage_error("merge", "no trace file given");
        else if (options.open.no_header)
            status =
                cli_usage_error("merge", "--no-header cannot be used here, because a trace without "
                                         "a header cannot be read from the merged directory; "
                                         "export it first (strata export)");
        else
            status = merge_traces(&options, argv + 1, n);
    }
    options_done(&options);
    return status;
}
