/* SPDX-License-Identifier: MIT */
#include "cmd/walk.h"

#include <string.h>
#include <unistd.h>

#include "base/suggest.h"
#include "cli/jobs.h"
#include "cli/progress.h"
#include "cmd/cmd.h"
#include "gen/output.h"
#include "report/losses_text.h"
#include "tracedir/manifest.h"

const struct cli_option help_option_table[] = {
    {OPTION_HELP, 'h', "help", NULL, "show this help"},
    {OPTION_END},
};

const struct cli_option jobs_option_table[] = {
    {OPTION_PARSED, 'j', "jobs", "N", "use N threads; the output is the same", 0,
     .parse = jobs_parse, .default_text = "as many as CPUs, at most 8",
     .page = "With 1, no thread is started. A short trace is read by one thread, and so is a trace "
             "that "
             "several threads would not read faster, such as one from a pipe."},
    {OPTION_END},
};

void walk_report_notes(const struct trace *trace)
{
    for (unsigned i = 0; i < trace->n_notes; i++)
        cli_error("%s", trace->notes[i]);
}

struct trace *walk_open_again(const struct open_options *options, char **paths, int n)
{
    struct trace_options trace_options;
    struct error error;
    struct trace *trace;

    open_options_apply(options, &trace_options);
    error_clear(&error);
    if (trace_open((const char *const *)paths, (unsigned)n, &trace_options, &trace, &error) < 0) {
        cli_print_error(&error);
        return NULL;
    }
    return trace;
}

struct trace *walk_open(const struct open_options *options, char **paths, int n)
{
    struct trace *trace = walk_open_again(options, paths, n);

    if (!trace)
        return NULL;
    walk_report_notes(trace);
    if (trace->hint)
        cli_error("%s", trace->hint);
    return trace;
}

bool walk_would_overwrite(const struct trace *trace, const char *output)
{
    bool same = false;

    if (!output)
        return false;
    for (unsigned i = 0; i < trace->n_inputs && !same; i++)
        same = output_is_input(output, &trace->inputs[i].path, 1);
    for (unsigned i = 0; i < trace->catalogue.n_origins && !same; i++)
        same = output_is_input(output, &trace->catalogue.origins[i]->path, 1);
    if (same)
        cli_error("%s: is an input as well: it would be overwritten", output);
    return same;
}

int walk_read_ahead(struct trace *trace, bool asks_names, unsigned jobs)
{
    return jobs_count(jobs) > 1 ? trace_read_ahead(trace, asks_names, jobs > 1) : 0;
}

/* The classes that were seen. */
struct seen_classes {
    const char **names; /* terminated by NULL; may be NULL */
    const char *where;
};

static void report_unmatched(void *arg, const char *pattern)
{
    const struct seen_classes *seen = arg;
    const char *colon = strrchr(pattern, ':');
    const char *name = colon ? colon + 1 : pattern + (pattern[0] == '-');
    const char *near = seen->names ? suggest_pattern(name, seen->names) : NULL;

    if (strpbrk(pattern, " =<>"))
        cli_error("no event %s matches '%s': --event has names and patterns; 'strata sql' has "
                  "conditions",
                  seen->where, pattern);
    else if (near)
        cli_error("no event %s matches '%s'; did you mean '%s'?", seen->where, pattern, near);
    else
        cli_error("no event %s matches '%s'; 'strata stat' lists the events", seen->where, pattern);
}

/* True if there is such a pattern. */
static bool report_all_unmatched(const struct walk *walk)
{
    const struct catalogue *catalogue = trace_classes(walk->reading.trace);
    _cleanup_free_ const char **names = calloc(catalogue->n_classes + 1, sizeof *names);
    struct seen_classes seen = {names, !walk->reading.has_sought ? "in the trace"
                                       : walk->reading.has_from  ? "in the part that was read"
                                                                 : "from --from on"};
    bool any = false;

    for (unsigned i = 0; names && i < catalogue->n_classes; i++)
        names[i] = catalogue->classes[i]->name;
    selection_unmatched(walk->reading.selection, catalogue->classes, catalogue->n_classes,
                        report_unmatched, &seen);
    for (unsigned i = 0; i < walk->reading.selection->options->events.n; i++)
        any |= !walk->reading.selection->matched[i];
    return any;
}

/* Reports that the trace has events, but none was selected. */
static void report_empty(const struct walk *walk)
{
    const struct select_options *options = walk->reading.selection->options;
    _cleanup_(text_done) struct text text = TEXT_IN_MEMORY;

    select_options_put_given(options, &text);
    if (options->from.given || options->to.given) {
        text_put_literal(&text, "; the trace begins at ");
        clock_put_time(&walk->reading.clock, walk->reading.first_time, &text);
        if (!selection_is_over(walk->reading.selection)) { /* else the rest was not read */
            text_put_literal(&text, " and ends at ");
            clock_put_time(&walk->reading.clock, walk->reading.last_time, &text);
        }
    }
    if (!text.error)
        cli_error("no event matches the selection by %.*s", (int)text_len(&text), text.start);
}

static void report_hint(void *arg, const char *path, const char *hint)
{
    (void)arg;
    cli_error("%s: %s", path, hint);
}

/* Prints everything put so far. */
static int flush(struct walk *walk, struct error *error)
{
    int r = sink_flush(walk->reading.sink);

    if (r < 0) {
        *error = walk->reading.sink->error;
        r = error_set(error, r, NULL, "out of memory");
    }
    text_flush(walk->out);
    return r;
}

/* Before more is read: shows the progress, and prints what was put instead of waiting with it. 1 if nothing more can be
 * printed. */
static int before_run(void *arg, struct error *error)
{
    struct walk *walk = arg;
    struct trace *trace = walk->reading.trace;
    uint64_t done, total;

    if (walk->out->error)
        return 1;
    if (unlikely(walk->stopped && *walk->stopped))
        return error_set(error, -EINTR, NULL,
                         "stopped by a signal; what was read up to here is exported");
    if (progress_is_due(&walk->progress)) {
        trace_progress(trace, &done, &total);
        progress_show(&walk->progress, done, total);
    }
    return trace->n_pipes && walk->draws && trace_would_wait(trace) ? flush(walk, error) : 0;
}

/* Reports if nothing was selected, and which patterns match nothing. */
static void report_selection(const struct walk *walk)
{
    const struct trace_reading *reading = &walk->reading;

    if (reading->selection->left > 0 && reading->has_events && !reading->has_selected) {
        if (!report_all_unmatched(walk))
            report_empty(walk);
    } else if (!selection_is_over(reading->selection)) {
        (void)report_all_unmatched(walk);
    }
}

int walk_through(struct walk *walk)
{
    static const struct trace_read_hooks hooks = {.before = before_run};
    struct trace_reading *reading = &walk->reading;
    struct trace *trace = reading->trace;
    int r, flushed;

    reading->hooks = &hooks;
    reading->arg = walk;
    progress_start(&walk->progress,
                   isatty(STDERR_FILENO) && !(walk->draws && isatty(STDOUT_FILENO)));
    r = trace_read(reading);
    flushed = flush(walk, r < 0 ? &(struct error){0} : &reading->error);
    r = r < 0 ? r : flushed;
    progress_erase(&walk->progress);
    if (!walk->again)
        trace_hints(trace, report_hint, NULL);
    walk_add_recorded(trace, reading->selection->options, walk_is_part(walk), walk->losses,
                      walk->layers);
    trace_reading_done(reading);
    if (r < 0) {
        cli_print_error(&reading->error);
        return EXIT_FAILURE;
    }
    report_selection(walk);
    return trace->n_missing ? EXIT_FAILURE : EXIT_SUCCESS;
}

void walk_report_losses(const struct losses *losses)
{
    _cleanup_(text_done) struct text text = TEXT_IN_MEMORY;

    losses_put(losses, &text);
    if (text_len(&text) > 0 && !text.error)
        cli_error("%.*s", (int)text_len(&text), text.start);
}

bool walk_is_part(const struct walk *walk)
{
    return selection_is_part(walk->reading.selection) || walk->reading.has_from ||
           walk->reading.error.code;
}

void walk_add_recorded(const struct trace *trace, const struct select_options *options,
                       bool is_part, struct losses *losses, struct layer_losses *layers)
{
    for (unsigned i = 0; i < trace->catalogue.n_origins; i++) {
        const struct origin *origin = trace->catalogue.origins[i];

        if (options->layers && !(options->layers >> origin->layer & 1))
            continue;
        losses_add_recorded(losses, origin, is_part);
        if (layers)
            losses_add_recorded(&layers->losses[origin->layer], origin, is_part);
    }
}

bool walk_has_losses(const struct walk *walk)
{
    const struct trace *trace = walk->reading.trace;

    if (walk->losses->n > 0 || (trace && trace->lost_uncounted))
        return true;
    for (unsigned i = 0; trace && i < trace->catalogue.n_origins; i++) {
        const struct origin *origin = trace->catalogue.origins[i];
        unsigned layers = walk->reading.selection->options->layers;

        if (origin->threads_only && (!layers || layers >> origin->layer & 1))
            return true;
    }
    return trace && trace->lost_counted &&
           !(walk_is_part(walk) || walk->reading.selection->options->layers);
}

int walk_end(const struct walk *walk, const struct open_options *options, int status)
{
    int r = text_flush(walk->out);

    if (r < 0)
        return cli_output_error(r);
    if (status == EXIT_SUCCESS && options->strict && walk_has_losses(walk))
        return EXIT_LOSSES;
    return status;
}
