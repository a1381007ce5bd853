/* SPDX-License-Identifier: MIT */
/* strata view: strata serve, and a browser that shows it. */

#include "cmd/cmd.h"
#include "cmd/serve.h"
#include "cmd/show_page.h"
#include "event/select.h"

struct view_verb_options {
    struct serve_options serve;
    bool no_browser;
};

static const struct cli_option view_options[] = {
    {OPTION_FLAG, 0, "no-browser", NULL, "only print the address",
     offsetof(struct view_verb_options, no_browser)},
    {OPTION_END},
};

#define SERVE_MEMBER(m) offsetof(struct view_verb_options, serve.m)

static const struct cli_option window_options[] = {
    {OPTION_PARSED, 0, "from", "TIME",
     "open the page at TIME: seconds as printed, or +SECONDS after the start", SERVE_MEMBER(from),
     .parse = select_parse_time, .default_text = "the start",
     .page = "If the clock rate is unknown, TIME is a number of ticks."},
    {OPTION_PARSED, 0, "until", "TIME", "show times up to TIME at first", SERVE_MEMBER(to),
     .parse = select_parse_time, .default_text = "the end"},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"Browser", view_options, 0},
    {"Window", window_options, 0},
    {"Timeline", serve_pair_option_table, offsetof(struct view_verb_options, serve)},
    {"Reading", open_option_table,
     offsetof(struct view_verb_options, serve) + offsetof(struct serve_options, open)},
    {"Help", help_option_table, 0},
    {NULL},
};

const struct command view_command = {
    .name = "view",
    .summary = "show a trace as a timeline in the browser",
    .operands = "PATH...",
    .about = "Shows the timeline of one or more traces in the browser, and prints its\n"
             "address. The timeline is there until Ctrl-C, and follows a recording under way.\n"
             "strata serve does the same for browsers of other machines, and for other\n"
             "viewers.",
    .groups = groups,
    .examples = "  strata view trace\n"
                "  strata view host guest\n"
                "  strata view --from 29749.584 --until 29749.595 trace",
};

static void open_browser(void *arg, const char *address)
{
    show_page(arg, address);
}

static void close_browser(void *arg)
{
    browser_done(arg);
}

int cmd_view(int argc, char **argv)
{
    struct view_verb_options options = {.serve = SERVE_OPTIONS_DEFAULT};
    struct browser browser = {.dir = {.fd = -1}};
    const struct serve_hooks hooks = {open_browser, close_browser, &browser};
    int status = EXIT_FAILURE;
    int n;

    if (options_parse(&view_command, argc, argv, &options, &n, &status))
        status = serve_run("view", &options.serve, argv + 1, n, options.no_browser ? NULL : &hooks);
    serve_options_done(&options.serve);
    return status;
}
