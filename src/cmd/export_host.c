/* SPDX-License-Identifier: MIT */
#include "cmd/export_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock_ns.h"
#include "cli/message.h"
#include "export/export.h"
#include "merge/merge.h"
#include "trace/identity.h"
#include "tracedir/manifest.h"

void export_find_trace_id(char *const *paths, unsigned n, char ret_id[EXPORT_TRACE_ID_SIZE])
{
    char identity[TRACE_IDENTITY_SIZE] = "";
    struct error error;

    error_clear(&error);
    (void)trace_identity((const char *const *)paths, n, identity, &error);
    snprintf(ret_id, EXPORT_TRACE_ID_SIZE, "%.*s", EXPORT_TRACE_ID_SIZE - 1, identity);
}

/* NULL if TRACE names none, or several. */
static const char *recorded_host(const struct trace *trace)
{
    const char *name = NULL;

    for (unsigned i = 0; i < trace->n_inputs; i++) {
        const struct manifest_source *recorded = trace->inputs[i].recorded;
        const char *host = recorded && recorded->host ? recorded->host->name : NULL;

        if (host && name && strcmp(host, name) != 0)
            return NULL;
        name = host ? host : name;
    }
    return name;
}

/* True if the clock of unknown rate is a time stamp counter, to which --cpu-hz applies. */
static bool counts_cycles(const struct trace *trace)
{
    for (unsigned i = 0; i < trace->catalogue.n_origins; i++)
        if (trace->catalogue.origins[i]->clock.hz == 0 &&
            merge_is_tsc(&trace->catalogue.origins[i]->clock))
            return true;
    return false;
}

int export_check_clock(const struct trace *trace, unsigned traits)
{
    bool fails = traits & EXPORT_NEEDS_RATE;

    if (!trace_is_in_ticks(trace) || !(fails || traits & EXPORT_HIDES_RATE))
        return EXIT_SUCCESS;
    cli_error("%s: times are ticks of a clock whose rate is unknown, %s%s", trace->inputs[0].path,
              fails ? "which the format cannot say" : "which other tools take for nanoseconds",
              counts_cycles(trace) ? "; give --cpu-hz=HZ"
              : fails              ? "; --to sqlite, csv and ctf keep ticks"
                                   : "");
    return fails ? EXIT_FAILURE : EXIT_SUCCESS;
}

int export_find_host(const struct trace *trace, const char *given, char ret_host[EXPORT_HOST_SIZE])
{
    const char *host = given ? given : recorded_host(trace);

    if (trace_is_in_ticks(trace)) {
        cli_error(
            "%s: times are ticks of a clock whose rate is unknown, which cannot be compared with "
            "other hosts' times; %s",
            trace->inputs[0].path,
            counts_cycles(trace) ? "give --cpu-hz=HZ" : "--to sqlite, csv and ctf keep ticks");
        return EXIT_FAILURE;
    }
    if (!host || !*host) {
        cli_error(
            "the trace does not say which host it is of, or is of several; give --host-name=NAME");
        return EXIT_FAILURE;
    }
    if (strlen(host) >= EXPORT_HOST_SIZE) {
        cli_error("--host: a name has at most %d bytes", EXPORT_HOST_SIZE - 1);
        return EXIT_FAILURE;
    }
    memcpy(ret_host, host, strlen(host) + 1);
    return EXIT_SUCCESS;
}

static void add_moments(struct calendar *calendar, const struct manifest_source *recorded)
{
    const struct manifest_moment *moments[CALENDAR_MOMENTS] = {&recorded->began, &recorded->ended};

    for (unsigned i = 0; i < CALENDAR_MOMENTS; i++)
        if (moments[i]->monotonic_ns && moments[i]->realtime_ns)
            calendar->moments[calendar->n_moments++] =
                (struct calendar_moment){moments[i]->monotonic_ns, moments[i]->realtime_ns};
}

void export_find_calendar(const struct trace *trace, const char *path,
                          struct calendar *ret_calendar)
{
    struct calendar calendar = {0};
    struct stat st;

    for (unsigned i = 0; i < trace->n_inputs && calendar.n_moments == 0; i++) {
        const struct manifest_source *recorded = trace->inputs[i].recorded;

        if (recorded && (trace->host_time || recorded->clock.host))
            add_moments(&calendar, recorded);
    }
    calendar.is_known = calendar.n_moments > 0;
    if (stat(path, &st) == 0)
        calendar.file_unix_ns =
            (int64_t)st.st_mtim.tv_sec * (int64_t)NSEC_PER_SEC + st.st_mtim.tv_nsec;
    *ret_calendar = calendar;
}
