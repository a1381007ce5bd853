/*
 * Trace backend "ring": ring buffers in memory, by libstrata
 *
 * SPDX-License-Identifier: MIT
 */

#ifndef TRACE_RING_H
#define TRACE_RING_H

struct strata_group;

/*
 * Make a group of events known to libstrata, before main(). The generated
 * code calls it; GROUP must stay valid.
 */
void ring_register_group(struct strata_group *group);

/* Report events that libstrata could not register. */
void ring_init(void);

/*
 * Write the trace into the directory PATH, which is created. The process
 * exits if that is not possible.
 */
void ring_set_trace_file(const char *path);

#endif /* TRACE_RING_H */
