/* SPDX-License-Identifier: MIT */
#pragma once

/* UUIDs of what is served: the same at each start with the same paths. */

#include "serve/exchange.h"

#define TSP_UUID_SIZE 37

enum tsp_uuid_of {
    TSP_UUID_TRACE,
    TSP_UUID_EXPERIMENT,
};

void tsp_uuid(const struct server *server, enum tsp_uuid_of of, char ret[TSP_UUID_SIZE]);
