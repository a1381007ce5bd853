/* SPDX-License-Identifier: MIT */
#pragma once

/* The HTTP server that shows the index of a trace to a browser, and to viewers that speak the Trace Server Protocol.
 *
 * It answers in threads of its own, from the index, which is read only, and opens the trace again for each request that
 * asks for events. Everything is under /SECRET/, a random number of 128 bits, without which nothing is answered
 * (serve/guard.h). */

#include "base/error.h"

struct audience;
struct index;
struct server;
struct trace_options;

struct server_options {
    const char *name; /* of what is shown */
    /* The trace, as trace_open() has it. */
    const char *const *paths;
    unsigned n_paths;
    const struct trace_options *trace_options;
    /* Whether the trace is another one than was indexed, asked for now and then in any thread; NULL: it is not asked. */
    bool (*has_changed)(void *arg);
    void *arg;
};

/* What is known of the trace at one time. */
struct server_data {
    struct index *index;
    const char *clock;        /* that its times are of */
    bool is_ticks;            /* its rate is unknown: all times are ticks */
    bool live;                /* it is being recorded: newer data will follow */
    unsigned n_missing;       /* sources that the index has not, as struct trace has it */
    bool has_losses;          /* its manifest states some; the index may have others */
    const char *const *notes; /* what the user should know of it */
    unsigned n_notes;
};

/* Takes the address WHERE, before the work of making an index: "HOST", "PORT", "HOST:PORT", ":PORT". NULL, or no HOST: this
 * machine only, by 127.0.0.1 and, if there is one, [::1]. No PORT, or 0: one that is free. Clients that connect wait.
 * -EINVAL: wrong address; -EADDRINUSE; -ENOMEM; or an errno of a socket; with ERROR. */
int server_open(const char *where, struct server **ret_server, struct error *error);
/* Serves DATA from now on, whose index becomes the server's; requests under way end with what was served before. Any thread
 * may call it while the server runs. -ENOMEM: nothing has changed, and the index stays the caller's. */
int server_set_data(struct server *server, const struct server_data *data);
/* No newer data will follow. */
void server_set_ended(struct server *server);
/* Who asks it; as long as the server. */
struct audience *server_audience(struct server *server);
/* Answers from now on: server_set_data() was called. What OPTIONS point to must outlive the server. Signals that are blocked
 * remain so in its threads. A negative errno with ERROR. */
int server_start(struct server *server, const struct server_options *options, struct error *error);

/* "http://127.0.0.1:8080/SECRET/" */
const char *server_address(const struct server *server);
/* True if events were lost of what is served now. */
bool server_has_losses(struct server *server);
/* True if other machines can reach it. */
bool server_is_public(const struct server *server);

/* Waits for the requests that are being answered, which end soon. Returns NULL. */
struct server *server_stop(struct server *server);
