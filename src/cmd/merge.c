/* SPDX-License-Identifier: MIT */
/* strata merge: captures that were taken apart, as one trace. */

#include "cmd/merge.h"

#include <stdio.h>

#include "cmd/cmd.h"

static const struct option merge_option_table[] = {
    {OPTION_STRING, 'o', "output", "DIR",
     "make a trace there, of copies of all; without it, only\n"
     "tell how the clocks relate",
     offsetof(struct merge_options, output)},
    {OPTION_STRINGS, 's', "sync", "SYNC",
     "'A-EVENT[~TEXT] = B-EVENT[~TEXT]': events by which\n"
     "two saw the same; '<' for '=': A before B; repeatable",
     offsetof(struct merge_options, syncs)},
    {OPTION_LIST, 0, "tsc", "NAME[=OFFSET[*RATIO]]",
     "these count the same time stamp counter; what a guest\n"
     "reads is that times RATIO plus OFFSET; repeatable",
     offsetof(struct merge_options, tsc)},
    {OPTION_LIST, 0, "same-host", "NAME",
     "these were taken on one host since it was booted:\n"
     "clocks of the same name are the same; repeatable",
     offsetof(struct merge_options, same_host)},
    {OPTION_STRING, 'r', "reference", "NAME",
     "whose clock is the timeline; else the first that has a\n"
     "host's monotonic clock, or the first",
     offsetof(struct merge_options, reference)},
    {OPTION_LIST, 'l', "layer", "NAME=LAYER",
     "what a capture is of: vmm, hypervisor, guest, host or\n"
     "program; repeatable",
     offsetof(struct merge_options, layers)},
    {OPTION_FLAG, 0, "link", NULL, "give files another name (hard links), do not copy them",
     offsetof(struct merge_options, link)},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"Merging", merge_option_table, 0},
    {"Reading", open_option_table, offsetof(struct merge_options, open)},
    {"Help", help_option_table, 0},
    {NULL},
};

const struct command merge_command = {
    .name = "merge",
    .summary = "relate the clocks of captures taken apart, and make one trace of them",
    .operands = "[NAME=]PATH...",
    .about = "Finds how the clocks of several traces relate, and makes one trace of them,\n"
             "which 'strata report' shows on one timeline. It uses what trace directories\n"
             "say of their host, a time stamp counter that the traces share (--tsc), or\n"
             "events that mark the same moment in two traces (--sync):\n\n"
             "    strata merge -o all qemu.trace guest/ \\\n"
             "        --sync 'guest:print~MARK (\\d+) = qemu:marker~(\\d+)'\n\n"
             "What is in parentheses tells one mark from another. For each trace it prints how\n"
             "its clock was related, the offset, the drift and the error.",
    .groups = groups,
};

static int run(struct merge *merge, char **operands, int n)
{
    int r = merge_inputs(merge, operands, n);

    if (r >= 0)
        r = merge_scan(merge);
    if (r >= 0)
        r = merge_relate(merge);
    if (r >= 0 && merge->options->output)
        r = merge_write(merge);
    if (r < 0)
        return EXIT_FAILURE;
    r = merge_tell(merge);
    if (r < 0)
        return cli_output_error(r);
    if (merge->damaged)
        return EXIT_FAILURE;
    return merge->lost && merge->options->open.strict ? EXIT_LOSSES : EXIT_SUCCESS;
}

static void side_done(const struct merge *merge, struct merge_side *side)
{
    for (unsigned i = 0; side->marks && i < merge->n_sources; i++)
        common_done(&side->marks[i]);
    free(side->marks);
    free(side->wanted);
}

void merge_done(struct merge *merge)
{
    for (unsigned i = 0; merge->syncs && i < merge->n_syncs; i++) {
        side_done(merge, &merge->syncs[i].a);
        side_done(merge, &merge->syncs[i].b);
        common_sync_done(&merge->syncs[i].given);
    }
    for (unsigned i = 0; i < merge->n_sources; i++) {
        clock_map_done(&merge->sources[i].own);
        trace_free(merge->sources[i].trace);
    }
    for (unsigned i = 0; i < merge->n_domains; i++) {
        clock_map_done(&merge->domains[i].map);
        clock_fit_done(&merge->domains[i].sync);
        free(merge->domains[i].how);
    }
    for (unsigned i = 0; i < merge->n_manifests; i++)
        manifest_done(&merge->manifests[i]);
    free(merge->syncs);
    free(merge->sources);
    free(merge->domains);
    free(merge->manifests);
    text_done(&merge->checks);
    arena_done(&merge->arena);
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
        struct merge merge = {.options = &options, .checks = TEXT_IN_MEMORY};

        if (n == 0)
            status = cli_usage_error("merge", "which captures? PATH is missing");
        else if (options.open.no_header)
            status =
                cli_usage_error("merge", "what has no header cannot be told from its directory: "
                                         "export it first (strata export)");
        else
            status = run(&merge, argv + 1, n);
        merge_done(&merge);
    }
    options_done(&options);
    return status;
}
