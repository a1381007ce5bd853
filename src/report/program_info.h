/* SPDX-License-Identifier: MIT */
#pragma once

/* Prints how a program that links libstrata describes itself (control/client.h): its events, rings, losses and
 * sinks. */

#include "control/client.h"
#include "print/table.h"

/* Prints lines in text, one row in other formats. 0, -ENOMEM. OUT keeps a write error. */
int print_program_info(const struct client_program *program, enum table_format format,
                       struct text *out);

/* Puts the sinks into a cell as a list: "ctf /tmp/trace (paused)". */
void program_set_sinks(struct table *table, unsigned column, const struct client_program *program);
/* Writes the sinks as an array of objects. */
void program_write_sinks(struct json_writer *w, const struct client_program *program);
