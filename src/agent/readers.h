/* SPDX-License-Identifier: MIT */
#pragma once

/* The readers of a trace buffer, one per CPU, and CPU hotplug.
 *
 * One thread (the controller) adds, starts and stops readers; another (the sender) may walk the list. A
 * reader lives as long as the set: the ring of a CPU that goes offline remains, and its reader,
 * unbound, reads the rest. */

#include "agent/cpus.h"
#include "agent/reader.h"

struct readers {
    struct reader_buffer buffer;
    struct reader *list[CPU_SET_MAX];
    _Atomic unsigned n;    /* valid entries of `list`; only grows */
    struct cpu_set have;   /* CPUs that have a reader */
    struct cpu_set online; /* at the last readers_update_cpus() */
    bool running;
};

/* DIR is the directory of the trace buffer. */
int readers_init(struct readers *readers, int dir, size_t queue_bytes, const struct agent_log *log,
                 struct wakeup *sender, struct error *error);
/* Ends all threads and frees. */
void readers_done(struct readers *readers);

/* Adds a reader for CPU, which must have none; it starts if the others run. */
int readers_add(struct readers *readers, uint32_t cpu);
/* Checks which CPUs are online, and binds the readers of CPUs that are back. Returns 1 if something
 * changed. */
int readers_update_cpus(struct readers *readers);

void readers_start(struct readers *readers);
void readers_stop(struct readers *readers);
/* True if all readers have stopped, so the queues hold everything there is. */
bool readers_are_stopped(struct readers *readers);
/* Makes all readers read the content of their rings now. */
void readers_flush(struct readers *readers);
/* True if the content of the last flush was taken from all queues. */
bool readers_are_flushed(struct readers *readers);
/* The number of pages in all queues. */
uint64_t readers_held(struct readers *readers);
