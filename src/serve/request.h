/* SPDX-License-Identifier: MIT */
#pragma once

/* The target of an HTTP request, "/SECRET/api/slices?from=0&to=1", in its parts. What clients send is hostile: all is
 * bounded, and nothing of it is ever the name of a file. */

#include <stdint.h>

#include "base/macro.h"

#define REQUEST_TARGET_MAX 16384
#define REQUEST_PARTS_MAX 12
#define REQUEST_PARAMETERS_MAX 16

struct request_parameter {
    const char *name, *value;
};

struct request {
    char *buffer; /* what the others point to */
    /* Of the path, decoded: between slashes. The last is "" if the path ends with a slash. */
    const char *parts[REQUEST_PARTS_MAX];
    unsigned n_parts;
    struct request_parameter parameters[REQUEST_PARAMETERS_MAX];
    unsigned n_parameters;
};

/* TARGET: as it stands in the request's first line. -EINVAL: no path, a wrong escape, a NUL, too many parts or
 * parameters, or one twice; -E2BIG: it is longer than REQUEST_TARGET_MAX; -ENOMEM. */
int request_parse(const char *target, struct request *ret);
void request_done(struct request *request);

/* The value of parameter NAME, or NULL. */
const char *request_value(const struct request *request, const char *name);
/* A whole number from MIN to MAX. 1: *RET is set; 0: there is no such parameter; -EINVAL. */
int request_number(const struct request *request, const char *name, int64_t min, int64_t max,
                   int64_t *ret);
/* Numbers with commas between, at most MAX. The count; 0: there is no such parameter, or it is empty; -EINVAL; -E2BIG. */
int request_numbers(const struct request *request, const char *name, uint32_t *ret, unsigned max);
