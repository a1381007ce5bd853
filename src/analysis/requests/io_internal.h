/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of `strata io` share: io.c puts requests into rows, io_result.c makes the result of these, and io_slowest.c adds
 * the longest requests and why they took so long. */

#include "analysis/io.h"

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

static inline struct io *io_of_analysis(struct analysis *analysis)
{
    return container_of(analysis, struct io, analysis);
}

/* The stage of REQUEST that ends at POINT, an enum io_point. A request whose VMM is unknown is with its device from its issue
 * on. */
const char *io_request_stage(const struct io_request *request, unsigned point);

/* ---- io_result.c: struct analysis_ops ---- */

void io_add_columns(struct analysis *analysis, struct result *result);
int io_add_rows(struct analysis *analysis, struct result *result);
bool io_has_events(const struct analysis *analysis);

/* ---- io_slowest.c ---- */

/* Adds the longest requests that io->rows has kept, with their stages and why these took so long; rows of RESULT are in the order
 * of io->rows. 0, -ENOMEM. */
int io_add_slowest(const struct io *io, struct result *result);
/* Adds a note if the states of threads may be missing of one of the longest. 0, -ENOMEM. */
int io_note_missing_states(const struct io *io, struct result *result);
