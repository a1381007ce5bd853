/* SPDX-License-Identifier: MIT */
#pragma once

/* Parses the target of an HTTP request, "/SECRET/api/slices?from=0&to=1". Clients are hostile: everything is bounded,
 * and no part is ever used as the name of a file. */

#include <stdint.h>

#include "base/macro.h"

#define REQUEST_TARGET_MAX 16384
#define REQUEST_PARTS_MAX 12
#define REQUEST_PARAMETERS_MAX 16

struct request_parameter {
    const char *name, *value;
};

struct request {
    char *buffer; /* the other members point into it */
    /* Parts of the path, decoded, between slashes. The last is "" if the path ends with a slash. */
    const char *parts[REQUEST_PARTS_MAX];
    unsigned n_parts;
    struct request_parameter parameters[REQUEST_PARAMETERS_MAX];
    unsigned n_parameters;
};

/* TARGET is from the request's first line. -EINVAL if it is not a path, has a wrong escape or a NUL, too many parts or
 * parameters, or a parameter twice; -E2BIG if it is longer than REQUEST_TARGET_MAX; -ENOMEM. */
int request_parse(const char *target, struct request *ret);
void request_done(struct request *request);

/* The value of parameter NAME, or NULL. */
const char *request_value(const struct request *request, const char *name);
/* Reads a whole number from MIN to MAX. 1 if *RET is set; 0 if there is no such parameter; -EINVAL. */
int request_number(const struct request *request, const char *name, int64_t min, int64_t max,
                   int64_t *ret);
/* Reads at most MAX numbers with commas between. Returns their count; 0 if there is no such parameter or it is empty;
 * -EINVAL; -E2BIG. */
int request_numbers(const struct request *request, const char *name, uint32_t *ret, unsigned max);
