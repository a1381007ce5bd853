/* SPDX-License-Identifier: MIT */
#pragma once

/* The HTTP server that shows the index of a trace to browsers, and to viewers that use the Trace Server Protocol.
 *
 * It answers in its own threads, from the index, which is read only. For each request about events it opens the trace
 * again. Everything is below /SECRET/, a random number of 128 bits, without which nothing is answered
 * (serve/guard.h). */

#include "base/error.h"

struct audience;
struct index;
struct server;
struct trace_options;

struct server_options {
    const char *name; /* of what is shown */
    /* The trace, as for trace_open(). */
    const char *const *paths;
    unsigned n_paths;
    const struct trace_options *trace_options;
    /* True if the trace has changed since it was indexed. Called now and then in any thread. May be NULL. */
    bool (*has_changed)(void *arg);
    void *arg;
};

/* The trace's data at one time. */
struct server_data {
    struct index *index;
    const char *clock;        /* of its times */
    bool is_ticks;            /* the clock's rate is unknown: all times are ticks */
    bool live;                /* it is being recorded, and newer data will follow */
    unsigned n_missing;       /* sources that the index lacks, as in struct trace */
    bool has_losses;          /* its manifest states losses; the index may have others */
    const char *const *notes; /* what the user should know about it */
    unsigned n_notes;
};

/* Binds the address WHERE before the index is made: "HOST", "PORT", "HOST:PORT" or ":PORT". NULL, or no HOST: only this
 * machine, by 127.0.0.1 and, if it exists, [::1]. No PORT, or 0: any free port. Clients that connect wait. -EINVAL for
 * a wrong address; -EADDRINUSE; -ENOMEM; or an errno of a socket; with ERROR. */
int server_open(const char *where, struct server **ret_server, struct error *error);
/* Serves DATA from now on, and owns its index. Running requests finish with the earlier data. Any thread may call it
 * while the server runs. On -ENOMEM nothing has changed, and the caller keeps the index. */
int server_set_data(struct server *server, const struct server_data *data);
/* Tells that no newer data will follow. */
void server_set_ended(struct server *server);
/* Who uses the server; valid as long as the server. */
struct audience *server_audience(struct server *server);
/* Starts to answer. Call after server_set_data(). What OPTIONS points to must outlive the server. Blocked signals
 * remain blocked in its threads. A negative errno with ERROR. */
int server_start(struct server *server, const struct server_options *options, struct error *error);

/* "http://127.0.0.1:8080/SECRET/" */
const char *server_address(const struct server *server);
/* True if events were lost in what is served now. */
bool server_has_losses(struct server *server);
/* True if other machines can reach it. */
bool server_is_public(const struct server *server);

/* Waits for running requests, which end soon. Returns NULL. */
struct server *server_stop(struct server *server);
