/* SPDX-License-Identifier: MIT */
#pragma once

/* What verbs that read traces share: opening, walking through the selection, and ending. */

#include <signal.h>

#include "analysis/coverage/losses.h"
#include "base/text.h"
#include "cli/progress.h"
#include "cli/select_options.h"
#include "cmd/open_options.h"
#include "trace/read.h"

extern const struct cli_option help_option_table[];
/* An unsigned for --jobs (cli/jobs.h). */
extern const struct cli_option jobs_option_table[];

/* Opens the trace. NULL after a failure, with the error printed. */
struct trace *walk_open(const struct open_options *options, char **paths, int n);
/* The same for a trace that was open before; does not print its notes again. */
struct trace *walk_open_again(const struct open_options *options, char **paths, int n);
/* Prints the notes of an open trace, as walk_open() does. */
void walk_report_notes(const struct trace *trace);

/* True, with the error printed, if TRACE is read from OUTPUT, which writing would destroy. OUTPUT is a file or
 * directory that need not exist; NULL is standard output, which is never read. */
bool walk_would_overwrite(const struct trace *trace, const char *output);

/* Lets a thread read TRACE ahead of walk_through(), if JOBS (--jobs) permits more than one. Use trace_classes() then.
 * ASKS_NAMES: as in trace_read_ahead(), for the walk's sink. -ENOMEM. */
int walk_read_ahead(struct trace *trace, bool asks_names, unsigned jobs);

struct walk {
    struct trace_reading reading; /* trace, selection and sink; walk_through() sets the hooks */
    struct text *out; /* where the sink writes: flushed before messages and before waiting */
    bool again;       /* the trace was read before: does not repeat reports about the whole trace */
    bool draws;       /* the sink writes to `out` at once, not only at the end */
    /* The losses that the sink counts, and by layer (may be NULL). After the last item, walk_through() adds losses that
     * only the recorders know. */
    struct losses *losses;
    struct layer_losses *layers;
    const volatile sig_atomic_t *stopped; /* set by a signal that ends the reading; may be NULL */
    struct progress progress;
};

/* Puts all selected items to the sink, and prints errors. Returns EXIT_SUCCESS or EXIT_FAILURE. After a failure, the
 * sink has the readable items. */
int walk_through(struct walk *walk);

/* True if WALK reads or selects only a part of the selected layers of its trace. */
bool walk_is_part(const struct walk *walk);
/* Adds what only the recorders of TRACE know to LOSSES and LAYERS (may be NULL), which are of the items that OPTIONS
 * select. IS_PART: walk_is_part(). */
void walk_add_recorded(const struct trace *trace, const struct select_options *options,
                       bool is_part, struct losses *losses, struct layer_losses *layers);

/* True if selected events were lost, by the items, or by the manifest of a recorded trace. Losses whose time is in no
 * item count unless only a part of the trace was selected. Without a trace, only the items count. */
bool walk_has_losses(const struct walk *walk);

/* Prints losses as a message, for a format that cannot contain them. */
void walk_report_losses(const struct losses *losses);

/* Ends a verb: flushes OUT, prints a write error, and turns STATUS into EXIT_LOSSES with --strict and
 * walk_has_losses(). */
int walk_end(const struct walk *walk, const struct open_options *options, int status);
