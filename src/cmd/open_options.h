/* SPDX-License-Identifier: MIT */
#pragma once

/* How verbs that read traces open them: by options, and by the environment. */

#include "cli/options.h"
#include "trace/trace.h"

struct open_options {
    struct strings events;
    bool no_header;
    uint64_t cpu_hz;
    const char *source;
    const char *xen_version;
    unsigned cpu_vendor; /* index in the option's choices */
    const char *tracefs;
    const char *kallsyms;
    bool host_time;
    bool stated_clocks;
    bool keep_going;
    bool strict;
    /* As in struct trace_options, without an option. */
    bool leave_out_unrelated, events_only;
    const int *fd;
    struct reopen_cache *cache;
};

extern const struct cli_option open_option_table[];

/* Values of the environment, or NULL: files that declare events (STRATA_EVENTS), a directory for temporary files
 * (TMPDIR). */
const char *environment_events_path(void);
const char *environment_temporary_dir(void);

/* "amd", "intel" or NULL, as given. */
const char *open_options_cpu_vendor(const struct open_options *options);
void open_options_done(struct open_options *options);
/* Makes options for trace_open() from these options and the environment. Strings are borrowed. */
void open_options_apply(const struct open_options *options, struct trace_options *ret);
