/* SPDX-License-Identifier: MIT */
#include "cmd/open_options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache_dir.h"
#include "base/reopen_cache.h"

/* Parses "2400000000", "2400M" or "2.4G". */
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

/* What earlier openings in this process found about clocks. NULL if out of memory. */
static struct reopen_cache *known_clocks(void)
{
    static struct reopen_cache *known;

    if (!known)
        known = reopen_cache_new();
    return known;
}

/* The user's cache, or NULL. */
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
