/* SPDX-License-Identifier: MIT */
#pragma once

/* A program that links libstrata, as it describes itself (control/client.h): its events, rings, losses and sinks. */

#include "control/client.h"
#include "print/table.h"

/* Lines in text, else one row. 0, -ENOMEM. A failure to write is kept in OUT. */
int print_program_info(const struct client_program *program, enum table_format format,
                       struct text *out);

/* The sinks as a list in a cell, each as "ctf /tmp/trace (paused)" ... */
void program_set_sinks(struct table *table, unsigned column, const struct client_program *program);
/* ... and as an array of objects. */
void program_write_sinks(struct json_writer *w, const struct client_program *program);
