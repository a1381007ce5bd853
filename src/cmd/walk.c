/* SPDX-License-Identifier: MIT */
#include "cmd/walk.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "base/cache_dir.h"
#include "base/reopen_cache.h"
#include "base/suggest.h"
#include "cli/jobs.h"
#include "cli/progress.h"
#include "cmd/cmd.h"
#include "gen/output.h"
#include "report/losses_text.h"
#include "tracedir/manifest.h"

/* "2400000000", "2400M", "2.4G". */
static int parse_hz(void *member, const char *value, struct error *error)
{
    static const char units[] = "kMG";
    char *end;
    double v = strtod(value, &end);
    const char *unit = *end ? strchr(units, *end) : NULL;

    if (unit) {
        for (const char *u = units; u <= unit; u++)
            v *= 1000;
        end++;
    }
    if (!isdigit((unsigned char)value[0]) || *end || !(v >= 1 && v < 1e12))
        return error_set(error, -EINVAL, NULL,
                         "is not a rate in Hz (examples: 2400000000, 2400M, 2.4G)");
    *(uint64_t *)member = (uint64_t)(v + 0.5);
    return 0;
}

static const char *const cpu_vendors[] = {"unknown", "amd", "intel", NULL};

#define MEMBER(m) offsetof(struct open_options, m)

const struct cli_option open_option_table[] = {
    {OPTION_STRINGS, 0, "trace-events", "FILE",
     "event declarations for a trace that has none: QEMU's trace-events file, Xen's table or "
     "formats file",
     MEMBER(events),
     .page =
         "For QEMU, the best is the 'trace-events-all' of the QEMU that wrote the trace. For Xen, "
         "FILE is a table that extends the built-in one (strata-xen-events(5)) or a formats file "
         "(strata-xen-formats(5))."},
    {OPTION_STRING, 0, "source", "NAME", "only this source of a trace directory", MEMBER(source)},
    {OPTION_FLAG, 0, "host-time", NULL, "show all times in the host's monotonic clock",
     MEMBER(host_time),
     .page = "A trace outside a trace directory is then assumed to be of this host if its clock is "
             "called "
             "'monotonic'. strata-info(1) shows how exact the times are."},
    {OPTION_FLAG, 0, "no-causal", NULL, "do not tighten clocks by causes and effects",
     MEMBER(stated_clocks), .page = "strata-analysis(7) explains this."},
    {OPTION_FLAG, 'k', "keep-going", NULL, "skip damaged data and show it as a loss",
     MEMBER(keep_going), .page = "Without this option, reading ends at the first damage."},
    {OPTION_FLAG, 0, "strict", NULL, "exit with 3 if events were lost", MEMBER(strict)},
    {OPTION_PARSED, 0, "cpu-hz", "HZ",
     "rate of the time stamp counter, if the trace does not state it: 2400000000, 2400M or 2.4G",
     MEMBER(cpu_hz), .parse = parse_hz,
     .page = "Without a rate, the times of a Xen trace are ticks."},
    {OPTION_STRING, 0, "xen-version", "VERSION", "version of the Xen that wrote the trace: 4.17",
     MEMBER(xen_version), .page = "The meaning of some events depends on it."},
    {OPTION_CHOICE, 0, "cpu-vendor", "amd|intel",
     "CPU vendor of the Xen host, if the trace has none", MEMBER(cpu_vendor),
     .choices = cpu_vendors, .page = "The names of VM exits depend on it."},
    {OPTION_STRING, 0, "tracefs-copy", "DIR",
     "copy of a tracefs tree, for raw ftrace pages stored elsewhere", MEMBER(tracefs)},
    {OPTION_STRING, 0, "kallsyms", "FILE",
     "copy of /proc/kallsyms, for raw ftrace pages without one in their tree", MEMBER(kallsyms),
     .page = "Functions are then shown by name."},
    {OPTION_FLAG, 0, "no-header", NULL,
     "simpletrace: event numbers are indices into the --trace-events files", MEMBER(no_header),
     .page = "This is for a file that was written without a header."},
    {OPTION_RENAMED, 0, "xen", "--xen-version"},
    {OPTION_END},
};

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

static const char *environment(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

const char *environment_events_path(void)
{
    return environment("STRATA_EVENTS");
}

const char *environment_temporary_dir(void)
{
    return environment("TMPDIR");
}

const char *open_options_cpu_vendor(const struct open_options *options)
{
    return options->cpu_vendor ? cpu_vendors[options->cpu_vendor] : NULL;
}

void open_options_done(struct open_options *options)
{
    strings_done(&options->events);
}

/* What openings by this process have found of clocks. NULL: memory is out. */
static struct reopen_cache *known_clocks(void)
{
    static struct reopen_cache *known;

    if (!known)
        known = reopen_cache_new();
    return known;
}

/* The user's cache; NULL: there is none. */
static const char *cache_dir(void)
{
    static struct text path = TEXT_IN_MEMORY;

    if (!path.start)
        cache_dir_put_path(&path);
    return path.error || !*path.start ? NULL : path.start;
}

void open_options_apply(const struct open_options *options, struct trace_options *ret)
{
    *ret = (struct trace_options){
        .reader = {.keep_going = options->keep_going, .temporary_dir = environment_temporary_dir()},
        .events = options->events.items,
        .n_events = options->events.n,
        .events_path = environment_events_path(),
        .no_header = options->no_header,
        .source = options->source,
        .cpu_hz = options->cpu_hz,
        .cpu_vendor = open_options_cpu_vendor(options),
        .xen_version = options->xen_version,
        .tracefs = options->tracefs,
        .kallsyms = options->kallsyms,
        .host_time = options->host_time,
        .stated_clocks = options->stated_clocks,
        .clocks = known_clocks(),
        .cache_dir = cache_dir(),
        .leave_out_unrelated = options->leave_out_unrelated,
        .events_only = options->events_only && !options->strict,
        .fd = options->fd,
        .cache = options->cache,
        .runtime_dir = getenv("XDG_RUNTIME_DIR"),
    };
}

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
    const char **names; /* ended by NULL; or NULL */
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

/* Returns whether there is such a pattern. */
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

/* The trace has events, and none of them was selected. */
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

/* Prints all that was put so far. */
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

/* Before more is read: shows how far it is, and prints what was put, rather than waiting with it. 1: nothing more can be
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

/* Says if nothing was selected, and which patterns match nothing. */
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

bool wants_color(int fd)
{
    const char *no = getenv("NO_COLOR");
    const char *term = getenv("TERM");

    return isatty(fd) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}
