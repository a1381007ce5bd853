/* SPDX-License-Identifier: MIT */
#pragma once

/* What the verbs that read traces have in common: opening, walking through what is selected, and how
 * it ends. */

#include <signal.h>

#include "analysis/coverage/losses.h"
#include "base/text.h"
#include "cli/progress.h"
#include "cli/select_options.h"
#include "cmd/open_options.h"
#include "trace/read.h"

extern const struct cli_option help_option_table[];
/* For an unsigned: --jobs (cli/jobs.h). */
extern const struct cli_option jobs_option_table[];

/* Opens the trace. NULL: failed, and the error is printed. */
struct trace *walk_open(const struct open_options *options, char **paths, int n);
/* The same for a trace that was open before; does not print its notes again. */
struct trace *walk_open_again(const struct open_options *options, char **paths, int n);
/* Prints the notes of an open trace, as walk_open() does. */
void walk_report_notes(const struct trace *trace);

/* Whether OUTPUT, a file or a directory that need not exist, is one that TRACE is read from, which writing would destroy;
 * prints the error. NULL: standard output, which never is. */
bool walk_would_overwrite(const struct trace *trace, const char *output);

/* Lets a thread read TRACE ahead of walk_through(), if JOBS, as given by --jobs, allow more than one. What uses the trace's
 * classes takes trace_classes(). ASKS_NAMES: as in trace_read_ahead(), of the walk's sink. -ENOMEM. */
int walk_read_ahead(struct trace *trace, bool asks_names, unsigned jobs);

struct walk {
    struct trace_reading
        reading; /* the trace, its selection and the sink; its hooks are those of walk_through() */
    struct text *out; /* where the sink writes: flushed before a message, and before waiting */
    bool
        again; /* the trace was read before: what was reported of all of it is not reported again */
    bool draws; /* the sink writes to OUT as it goes, rather than at the end */
    /* The losses that the sink counts, and those by layer (or NULL). After the last item, walk_through() adds what only the
     * recorders know. */
    struct losses *losses;
    struct layer_losses *layers;
    const volatile sig_atomic_t
        *stopped; /* set by a signal that ends the reading; NULL: none does */
    struct progress progress;
};

/* Puts all selected items to the sink, and prints errors. Returns EXIT_SUCCESS or EXIT_FAILURE; after a failure, the sink has
 * what was readable. */
int walk_through(struct walk *walk);

/* Whether WALK does not read, or select, all that its trace has of the layers that are selected. */
bool walk_is_part(const struct walk *walk);
/* Adds to LOSSES and LAYERS (or NULL), which are those of the items that OPTIONS select of TRACE, what only its recorders
 * know. IS_PART: as walk_is_part() says. */
void walk_add_recorded(const struct trace *trace, const struct select_options *options,
                       bool is_part, struct losses *losses, struct layer_losses *layers);

/* Whether events were lost of what was selected: by the items, or by the manifest of a recorded trace. A number of lost
 * events whose time no item has counts unless a part of the trace was selected. Without a trace, by the items alone. */
bool walk_has_losses(const struct walk *walk);

/* Prints what was lost as a message, for a format that has no place for it. */
void walk_report_losses(const struct losses *losses);

/* The end of a verb: flushes OUT, prints a write error, and turns STATUS into EXIT_LOSSES if --strict is given and
 * walk_has_losses(). */
int walk_end(const struct walk *walk, const struct open_options *options, int status);
