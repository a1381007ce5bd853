/* SPDX-License-Identifier: MIT */
#pragma once

/* The index of what is served: from the user's cache, or built. */

#include "cmd/serve.h"

struct index;

struct serve_index {
    struct index *index;
    struct text name;     /* of the traces, ended by a NUL */
    bool is_ticks;        /* the rate of its clock is unknown */
    char clock[64];       /* that its times are of */
    struct strings notes; /* copies */
};

/* An exit status; errors are printed. */
int serve_index_open(const char *verb, const struct serve_options *options, char **paths, int n,
                     struct serve_index *ret);
void serve_index_done(struct serve_index *index);
