/* SPDX-License-Identifier: MIT */
#pragma once

/* What `strata gen` and `tracetool` have in common: from files of declarations to a file of code. */

#include "gen/gen.h"
#include "schema/trace_events/diagnose.h"

struct generate {
    const char *verb; /* for messages about the arguments */
    struct gen_job job;
    const char *const *inputs;
    unsigned n_inputs;
    const char *output;       /* "-": standard output */
    const char *depfile;      /* NULL: none */
    unsigned rules;           /* enum declaration_rules; for GEN_QEMU, the tree's version decides */
    struct diagnose diagnose; /* how problems of the declarations are shown */
    /* A file of declarations could not be read. */
    void (*report)(const struct error *error);
};

/* "log,simple" into JOB. -EINVAL with the word that names no backend. */
int generate_backends(struct gen_job *job, const char *list, const char **ret_unknown,
                      size_t *ret_len);
/* "a, b and c" of all backends, of all formats. */
void generate_list_backends(char *buf, size_t size);
void generate_list_formats(char *buf, size_t size);
#define GENERATE_LIST_MAX 320

/* A negative errno; with ERROR, unless the problems were shown. */
int generate(const struct generate *generate, struct error *error);
