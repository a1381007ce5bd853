/* SPDX-License-Identifier: MIT */
#pragma once

/* The readers of a buffer, one per CPU, and CPUs that come and go.
 *
 * One thread adds, starts and stops (the controller); another may look at the list (the sender). A
 * reader stays for as long as the set: a CPU that goes offline leaves its ring behind, which its reader,
 * unbound, takes the rest of. */

#include "agent/cpus.h"
#include "agent/reader.h"

struct readers {
    struct reader_buffer buffer;
    struct reader *list[CPU_SET_MAX];
    _Atomic unsigned n;    /* list[0..n-1] are there; it only grows */
    struct cpu_set have;   /* CPUs that have a reader */
    struct cpu_set online; /* at the last readers_follow() */
    bool running;
};

/* For the buffer whose directory is DIR. */
int readers_init(struct readers *readers, int dir, size_t queue_bytes, const struct agent_log *log,
                 struct wakeup *sender, struct error *error);
/* Ends all threads. */
void readers_done(struct readers *readers);

/* A reader for CPU, which has none; it runs if the others do. */
int readers_add(struct readers *readers, uint32_t cpu);
/* Looks which CPUs are online, and binds the readers of those that came back. 1: something changed. */
int readers_follow(struct readers *readers);

void readers_start(struct readers *readers);
void readers_stop(struct readers *readers);
/* Whether all have stopped, and so whether the queues hold all there is. */
bool readers_are_stopped(struct readers *readers);
/* Pages in all queues. */
uint64_t readers_held(struct readers *readers);
