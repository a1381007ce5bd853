/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of `strata io` share: io.c puts requests into rows, io_result.c makes the result of the rows, and
 * io_slowest.c adds the longest requests and why they took so long. */

#include "analysis/io.h"
#include "analysis/io_why.h"

/* Index of a group's total row; other rows have the index of the point that ends the stage. */
#define IO_TOTAL 0

/* A device's requests of one kind. */
struct io_group {
    uint64_t numbers[4];             /* layer, device, kind, and the group in `by` */
    struct row *rows[IO_POINTS + 1]; /* NULL if it does not have the stage */
    uint64_t bytes;
    bool has_vmm;
    int64_t longest;           /* the longest request in ticks; for it: */
    const char *longest_stage; /* its longest stage, or NULL */
    int64_t stage_ticks;
};

/* One of the longest requests, or a candidate while it is pending in io->finder. */
struct io_slow {
    struct io_request request;
    struct row *row;
    uint32_t error_ns;
    bool is_open;
    bool lacks_states; /* some states that it needs were dropped */
    struct io_why why;
};

static inline struct io *io_of_analysis(struct analysis *analysis)
{
    return container_of(analysis, struct io, analysis);
}

/* ---- io_result.c: struct analysis_ops ---- */

void io_add_columns(struct analysis *analysis, struct result *result);
int io_add_rows(struct analysis *analysis, struct result *result);
bool io_has_events(const struct analysis *analysis);

/* ---- io_slowest.c ---- */

/* Notes which thread of a VMM handles the requests of REQUEST's device. */
void io_note_handler(struct io *io, const struct io_request *request);
/* Keeps REQUEST if it may be one of the longest. ROW is its total's row. 0, or a negative errno. */
int io_keep_slow(struct io *io, const struct io_request *request, struct row *row, int64_t end,
                 uint32_t error_ns, bool is_open);
/* Finds what threads did in the stages of a struct io_slow, which PENDING owns (struct path_finder). */
int io_find_why(void *arg, const struct path_pending *pending, const struct io_request *request);
/* Frees a struct io_slow; may be NULL. */
void io_slow_free(void *slow);

/* Adds the longest requests in io->rows, with their stages and why these took so long. Rows of RESULT are in the order
 * of io->rows. 0, -ENOMEM. */
int io_add_slowest(const struct io *io, struct result *result);
/* Adds a note if states of threads may be missing for one of the longest requests. 0, -ENOMEM. */
int io_note_missing_states(const struct io *io, struct result *result);
