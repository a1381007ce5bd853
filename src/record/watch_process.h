/* SPDX-License-Identifier: MIT */
#pragma once

/* A process that reads what is recorded while it is, for a recorder that is a service (record/triggers.h): a child of fork() that
 * runs a function of the caller, which writes lines to a pipe, as watch/watcher.h has them:
 *
 *     fired INDEX NS TEXT
 *     problem INDEX TEXT      INDEX "-": of all conditions
 *
 * and others, which are handed on as they are.
 *
 * It reads what comes from guests, so whatever it writes is checked, and when it dies it is started again, RESTARTS_MAX times at
 * most, after a time that doubles. It ends with the recorder. Not thread-safe. */

#include "record/recorder.h"

/* SINCE (CLOCK_MONOTONIC, ns): when it was started, from when on it reads what is recorded; a busy machine may run it much
 * later. OUT: where lines go. STOP: hangs up when it is to evaluate what there still is, and end. An exit status. Signals are
 * blocked but for SIGKILL; no other descriptors are open but 0, 1 and 2. */
typedef int watch_process_function(void *userdata, uint64_t since, int out, int stop);

struct watch_process_handler {
    void (*fired)(void *userdata, unsigned index, uint64_t time, const char *text);
    /* INDEX: UINT_MAX: of all. */
    void (*problem)(void *userdata, unsigned index, const char *text);
    /* Any other line, of LEN bytes, its end included; NULL: they are passed over. Not trusted. */
    void (*other)(void *userdata, const char *line, size_t len);
    void *userdata;
};

struct watch_process;

/* Of N conditions. FUNCTION's USERDATA and RECORDER, whose messages it uses, are borrowed. -errno with ERROR. */
int watch_process_start(watch_process_function *function, void *function_userdata, unsigned n,
                        const struct watch_process_handler *handler, struct recorder *recorder,
                        struct watch_process **ret, struct error *error);
/* Kills it. */
void watch_process_free(struct watch_process *watch);

void watch_process_poll(const struct watch_process *watch, struct recorder_wait *wait);
/* Hands on what it wrote, and starts it again where it has died. */
void watch_process_step(struct watch_process *watch, uint64_t now);
/* Asks it to end; it is not started again. */
void watch_process_stop(struct watch_process *watch);
bool watch_process_has_ended(const struct watch_process *watch);
