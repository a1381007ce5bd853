/* SPDX-License-Identifier: MIT */
#pragma once

/* A request with its answer, and the server that makes it. */

#include <stdatomic.h>

#include "base/listen.h"
#include "index/index.h"
#include "serve/answer.h"
#include "serve/audience.h"
#include "serve/guard.h"
#include "serve/index_version.h"
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
    atomic_bool has_changed;    /* the trace: options.has_changed() said so */
    _Atomic uint64_t next_look; /* when that is asked again, of CLOCK_MONOTONIC */
    atomic_uint n_missing;      /* sources that the newest index has not */
    atomic_bool has_losses;     /* as the data with that index had it */
};

struct exchange {
    struct server *server;
    struct exchange **place;       /* its connection's, which leads back to it */
    struct generation *generation; /* while routes_run() is under way */
    struct request request;
    int request_error; /* of request_parse() */
    enum method method;
    bool seen;        /* its headers were */
    bool reads_trace; /* the answer is from the trace itself, not from the index alone */
    struct text body;
    struct answer answer;
};

/* Times are ns since the begin, which JavaScript's numbers hold exactly up to this: 104 days. */
#define EXCHANGE_TIME_MAX ((int64_t)1 << 53)

/* The span of time that a request is about, in ns of the index; from parameters "from" and "to" (ns since its begin; without
 * them, all of it), which may be outside of the trace. 0 or answer_error(). */
struct api_span {
    int64_t from, to;
};
int exchange_span(struct exchange *x, struct api_span *ret);
/* The parameter "pixels": 1 to 8192, 1024 without. */
int exchange_pixels(struct exchange *x, unsigned *ret);
/* Tracks have ids in requests and answers, and numbers in the index (serve/index_version.h). */
/* The parameter "track"; INDEX_NO_TRACK without it. 0 or answer_error(). */
int exchange_track(struct exchange *x, uint32_t *ret);
/* A member, or with KEY NULL an element, with the id of track NUMBER. */
void exchange_put_track(struct exchange *x, const char *key, uint32_t number);
/* The parameter "tracks", as numbers of tracks that there are. The count, or answer_error(). */
#define EXCHANGE_TRACKS_MAX 200
int exchange_tracks(struct exchange *x, uint32_t ret[EXCHANGE_TRACKS_MAX]);
/* Another parameter; *RET stays without it. 0 or answer_error(). */
int exchange_number(struct exchange *x, const char *name, int64_t min, int64_t max, int64_t *ret);

/* A member with how far a time may be off; null: the trace refutes what is stated of its clocks. */
void exchange_put_error(struct exchange *x, const char *key, uint32_t error_ns);
/* Whether ERROR_NS is one that the trace refutes. */
bool exchange_is_refuted(const struct exchange *x, uint32_t error_ns);
/* A member with a time since the begin of the index. */
void exchange_put_time(struct exchange *x, const char *key, int64_t time);
