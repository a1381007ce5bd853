/* SPDX-License-Identifier: MIT */
#pragma once

/* Serves metrics over HTTP at /metrics, without a thread: the caller's loop waits for the descriptors and calls
 * metrics_server_run(). The answer is in OpenMetrics if the client's Accept prefers it, as Prometheus does; otherwise
 * in the older text format. A connection is closed after its answer. */

#include "base/error.h"
#include "metrics/metrics.h"

#define METRICS_SERVER_LISTENERS_MAX 2u

struct metrics_server;

/* Updates METRICS before it is printed; the server does not change it otherwise. */
typedef void metrics_collect(void *userdata);

/* Serves on N listening sockets (close-on-exec, non-blocking). Takes over sockets and sets them to -1, even on failure.
 * METRICS is borrowed. -errno with ERROR. */
int metrics_server_new(int *sockets, unsigned n, const struct metrics *metrics,
                       metrics_collect *collect, void *userdata, struct metrics_server **ret,
                       struct error *error);
/* *RET_N descriptors. Call metrics_server_run() when one of them is readable. */
const int *metrics_server_fds(const struct metrics_server *server, unsigned *ret_n);
/* After how many ns to call metrics_server_run() although no descriptor is readable; UINT64_MAX: never. */
uint64_t metrics_server_timeout(const struct metrics_server *server);
/* Does everything that is possible without waiting. */
void metrics_server_run(struct metrics_server *server);
/* Closes everything. Does nothing with NULL. */
void metrics_server_free(struct metrics_server *server);

/* The format requested by ACCEPT, the value of the header or NULL. */
enum metrics_format metrics_format_of_accept(const char *accept);
