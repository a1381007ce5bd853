/* SPDX-License-Identifier: MIT */
#pragma once

/* A process that reads a running recording, for a recorder that is a service (record/triggers.h): a child of fork()
 * that runs a function of the caller. The function writes lines to a pipe, in the form of watch/watcher.h:
 *
 *     fired INDEX NS TEXT
 *     problem INDEX TEXT      INDEX "-": of all conditions
 *
 * Other lines are passed on unchanged.
 *
 * The process reads data from guests, so its output is checked. When it dies, it is started again, at most RESTARTS_MAX
 * times, after a delay that doubles. It ends with the recorder. Not thread-safe. */

#include "record/recorder.h"

/* SINCE (CLOCK_MONOTONIC, ns): when it was started, which is the time from which it reads the recording; a busy machine
 * may run it much later. OUT: where lines go. STOP: hangs up when the function must evaluate the remaining data and
 * end. Returns an exit status. All signals but SIGKILL are blocked, and no other descriptors are open but 0, 1 and
 * 2. */
typedef int watch_process_function(void *userdata, uint64_t since, int out, int stop);

struct watch_process_handler {
    void (*fired)(void *userdata, unsigned index, uint64_t time, const char *text);
    /* INDEX UINT_MAX: of all conditions. */
    void (*problem)(void *userdata, unsigned index, const char *text);
    /* Any other line, LEN bytes with the newline; not trusted. NULL: other lines are ignored. */
    void (*other)(void *userdata, const char *line, size_t len);
    void *userdata;
};

struct watch_process;

/* N: number of conditions. FUNCTION's USERDATA and RECORDER, through which messages are reported, are borrowed. -errno
 * with ERROR. */
int watch_process_start(watch_process_function *function, void *function_userdata, unsigned n,
                        const struct watch_process_handler *handler, struct recorder *recorder,
                        struct watch_process **ret, struct error *error);
/* Kills the process. */
void watch_process_free(struct watch_process *watch);

void watch_process_poll(const struct watch_process *watch, struct recorder_wait *wait);
/* Passes on its lines, and starts it again if it has died. */
void watch_process_step(struct watch_process *watch, uint64_t now);
/* Asks the process to end. It is not started again. */
void watch_process_stop(struct watch_process *watch);
bool watch_process_has_ended(const struct watch_process *watch);
