/* SPDX-License-Identifier: MIT */
#pragma once

/* UUIDs of the experiment, traces and bookmarks. */

#include "serve/http_exchange.h"

/* Equal at each start with the same paths. */
void tsp_uuid_experiment(const struct server *server, char ret[TSP_UUID_SIZE]);
/* For the trace at one of the server's paths. */
void tsp_uuid_trace(const char *path, char ret[TSP_UUID_SIZE]);
/* A negative errno. */
int tsp_uuid_random(char ret[TSP_UUID_SIZE]);
