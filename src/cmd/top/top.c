/* SPDX-License-Identifier: MIT */
/* strata top: shows live what a running recording records. */

#include "cmd/top/top.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "cli/duration.h"
#include "cli/options.h"
#include "cmd/cmd.h"
#include "cmd/find_recording.h"
#include "cmd/walk.h"

#define PERIOD_MIN_NS (NSEC_PER_SEC / 10)
#define PERIOD_MAX_NS (3600 * NSEC_PER_SEC)

static int parse_period(void *member, const char *value, struct error *error)
{
    uint64_t ns = 0;
    int r = duration_parse_period(&ns, value, error);

    if (r >= 0 && (ns < PERIOD_MIN_NS || ns > PERIOD_MAX_NS))
        r = error_set(error, -EINVAL, NULL, "is not from 0.1 to 3600 seconds");
    if (r >= 0)
        *(uint64_t *)member = ns;
    return r;
}

#define MEMBER(m) offsetof(struct top_options, m)

static const struct cli_option top_option_table[] = {
    {OPTION_PARSED, 'd', "delay", "SECONDS", "refresh every SECONDS, 0.1 to 3600",
     MEMBER(period_ns), NULL, parse_period, .default_text = "1",
     .page = "If reading takes longer than a tenth of that, the screen is refreshed less often, "
             "and says so."},
    {OPTION_CHOICE, 0, "sort", "number|time|name", "order of rows", MEMBER(sort),
     .choices = top_sorts, .default_text = "number"},
    {OPTION_FLAG, 0, "batch", NULL, "print screens as plain text", MEMBER(batch),
     .page = "An empty line separates them. They are as wide as $COLUMNS says, and have up to 10 "
             "rows of "
             "each kind."},
    {OPTION_NUMBER, 0, "iterations", "N", "stop after N screens; 0: at the end of the recording",
     MEMBER(iterations), .default_text = "0", .requires = "--batch"},
    {OPTION_HELP, 'h', "help", NULL, "show this help"},
    {OPTION_RENAMED, 'b', "-b", "--batch"},
    {OPTION_RENAMED, 'o', "-o", "--sort"},
    {OPTION_RENAMED, 'n', "-n", "--iterations"},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"Options", top_option_table, 0},
    {NULL},
};

const struct command top_command = {
    .name = "top",
    .summary = "show live what is being recorded",
    .operands = "[DIR|PID|DOMAIN]",
    .about = "Shows a recording that is under way: events per second and losses of each layer,\n"
             "the error of their clocks, what vCPUs do, why they exit, and the slowest disk\n"
             "requests of the last 10 seconds. Without an operand: the recording under way.\n"
             "Keys switch events on and off and save snapshots; ? lists them.",
    .groups = groups,
    .examples = "  strata top\n"
                "  strata top /var/lib/vm\n"
                "  strata top --batch --iterations 1 /var/lib/vm",
};

static bool is_terminal(void)
{
    const char *term = getenv("TERM");

    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term &&
           strcmp(term, "dumb") != 0;
}

int cmd_top(int argc, char **argv)
{
    struct top_options options = {.period_ns = NSEC_PER_SEC};
    struct found_recording target = {0};
    struct trace_options trace_options;
    struct top_driver *driver;
    int n, status;

    if (!options_parse(&top_command, argc, argv, &options, &n, &status))
        return status;
    if (n > 1)
        return cli_usage_error(top_command.name, "more than one recording given");
    if (!options.batch && !is_terminal())
        return cli_usage_error(
            top_command.name,
            "not on a terminal; use --batch, as in: strata top --batch --iterations 1");
    status = find_recording(n > 0 ? argv[1] : NULL, top_command.name, &target);
    if (status != EXIT_SUCCESS)
        return status;
    driver = malloc(sizeof *driver);
    open_options_apply(&(struct open_options){0}, &trace_options);
    if (!driver || top_driver_init(driver, target.path, target.recorder, &trace_options,
                                   options.period_ns) < 0) {
        status = cli_no_memory();
    } else {
        status = options.batch ? top_batch(driver, &options) : top_terminal(driver, &options);
        top_driver_done(driver);
    }
    free(driver);
    free(target.path);
    return status;
}
