/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of `strata io` share: io.c puts requests into rows, io_result.c makes the result of these, and io_slowest.c adds
 * the longest requests and why they took so long. */

#include "analysis/io.h"
#include "analysis/io_why.h"

#define IO_TOTAL 0 /* of a group's rows; the others are by the point that ends the stage */

/* What a device has of a kind. */
struct io_group {
    uint64_t numbers[4];             /* layer, device, kind, and the group of `by` */
    struct row *rows[IO_POINTS + 1]; /* NULL: it has no such stage */
    uint64_t bytes;
    bool has_vmm;
    int64_t longest;           /* request, in ticks; of that: */
    const char *longest_stage; /* its longest stage; NULL: it has none */
    int64_t stage_ticks;
};

/* One of the longest requests; may be one while it is pending in io->finder. */
struct io_slow {
    struct io_request request;
    struct row *row;
    uint32_t error_ns;
    bool is_open;
    bool lacks_states; /* some that it needs were dropped */
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

/* Of the VMMs and devices of all requests, which thread of a VMM handles them. */
void io_note_handler(struct io *io, const struct io_request *request);
/* Keeps REQUEST if it may be one of the longest. ROW is that of its total. 0, or a negative errno. */
int io_keep_slow(struct io *io, const struct io_request *request, struct row *row, int64_t end,
                 uint32_t error_ns, bool is_open);
/* Finds what threads did in the stages of a struct io_slow, which PENDING owns (struct path_finder). */
int io_find_why(void *arg, const struct path_pending *pending, const struct io_request *request);
/* A struct io_slow, or NULL. */
void io_slow_free(void *slow);

/* Adds the longest requests that io->rows has kept, with their stages and why these took so long; rows of RESULT are in the order
 * of io->rows. 0, -ENOMEM. */
int io_add_slowest(const struct io *io, struct result *result);
/* Adds a note if the states of threads may be missing of one of the longest. 0, -ENOMEM. */
int io_note_missing_states(const struct io *io, struct result *result);
