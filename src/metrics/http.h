/* SPDX-License-Identifier: MIT */
#pragma once

/* Serves metrics over HTTP at /metrics, without a thread: the caller's loop waits for the descriptors and calls
 * metrics_server_run(). The answer is OpenMetrics where the client's Accept prefers it, as Prometheus does, else the older
 * text format. A connection is closed after its answer. */

#include "base/error.h"
#include "metrics/metrics.h"

#define METRICS_SERVER_LISTENERS_MAX 2u

struct metrics_server;

/* Brings METRICS up to date before it is printed; the server does nothing else with it. */
typedef void metrics_collect(void *userdata);

/* Listens on N sockets (listen() was called; close-on-exec, non-blocking). Those that it takes are -1 afterwards, also if it
 * fails. METRICS is borrowed. -errno with ERROR. */
int metrics_server_new(int *sockets, unsigned n, const struct metrics *metrics,
                       metrics_collect *collect, void *userdata, struct metrics_server **ret,
                       struct error *error);
/* *RET_N descriptors; metrics_server_run() is due when one is readable. */
const int *metrics_server_fds(const struct metrics_server *server, unsigned *ret_n);
/* In how many ns metrics_server_run() is due although none is; UINT64_MAX: never. */
uint64_t metrics_server_timeout(const struct metrics_server *server);
/* Does what can be done without waiting. */
void metrics_server_run(struct metrics_server *server);
/* Closes all. NULL: nothing. */
void metrics_server_free(struct metrics_server *server);

/* The format that ACCEPT, the value of the header or NULL, asks for. */
enum metrics_format metrics_format_of_accept(const char *accept);
