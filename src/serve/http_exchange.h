/* SPDX-License-Identifier: MIT */
#pragma once

/* A request with its answer, and the server that answers it. */

#include <stdatomic.h>

#include "base/listen.h"
#include "index/index.h"
#include "serve/answer.h"
#include "serve/audience.h"
#include "serve/generation.h"
#include "serve/guard.h"
#include "serve/request.h"
#include "serve/serve.h"
#include "serve/tsp/tsp_bookmarks.h"

struct MHD_Daemon;

enum method {
    METHOD_GET,
    METHOD_POST,
    METHOD_PUT,
    METHOD_DELETE,
};

struct server {
    struct server_options options;
    struct guard guard;
    struct listeners listeners;
    struct MHD_Daemon *daemons[LISTEN_MAX];
    unsigned n_daemons;
    char address[400];
    struct generations generations;
    struct tsp_bookmarks bookmarks;
    struct audience audience;
    atomic_bool stops;          /* requests end early */
    atomic_bool has_changed;    /* options.has_changed() said that the trace has changed */
    _Atomic uint64_t next_look; /* when it is asked again, in CLOCK_MONOTONIC */
    atomic_uint n_missing;      /* sources that the newest index lacks */
    atomic_bool has_losses;     /* as stated by the data of that index */
};

struct exchange {
    struct server *server;
    struct exchange **place;       /* the connection's pointer to this exchange */
    struct generation *generation; /* while routes_run() runs */
    struct request request;
    int request_error; /* result of request_parse() */
    enum method method;
    bool seen;        /* its headers were received */
    bool reads_trace; /* the answer is read from the trace, not only from the index */
    struct text body;
    struct answer answer;
};

/* Times are ns since the begin. JavaScript's numbers hold them exactly up to this limit of 104 days. */
#define EXCHANGE_TIME_MAX ((int64_t)1 << 53)

/* The span of time of a request, in ns of the index, from the parameters "from" and "to" (ns since its begin; without
 * them, everything). It may be outside of the trace. 0 or answer_error(). */
struct api_span {
    int64_t from, to;
};
int exchange_span(struct exchange *x, struct api_span *ret);
/* Reads the parameter "pixels": 1 to 8192, default 1024. */
int exchange_pixels(struct exchange *x, unsigned *ret);
/* Tracks have ids in requests and answers, and numbers in the index (serve/generation.h). */
/* Reads the parameter "track"; INDEX_NO_TRACK without it. 0 or answer_error(). */
int exchange_track(struct exchange *x, uint32_t *ret);
/* Writes the id of track NUMBER as a member, or with KEY NULL as an element. */
void exchange_put_track(struct exchange *x, const char *key, uint32_t number);
/* Reads the parameter "tracks", as numbers of existing tracks. Returns their count, or answer_error(). */
#define EXCHANGE_TRACKS_MAX 200
int exchange_tracks(struct exchange *x, uint32_t ret[EXCHANGE_TRACKS_MAX]);
/* Reads another parameter; without it, *RET does not change. 0 or answer_error(). */
int exchange_number(struct exchange *x, const char *name, int64_t min, int64_t max, int64_t *ret);

/* Writes a member with the error of a time; null if the trace refutes the stated errors of its clocks. */
void exchange_put_error(struct exchange *x, const char *key, uint32_t error_ns);
/* True if the trace refutes ERROR_NS. */
bool exchange_is_refuted(const struct exchange *x, uint32_t error_ns);
/* Writes a member with a time since the begin of the index. */
void exchange_put_time(struct exchange *x, const char *key, int64_t time);
