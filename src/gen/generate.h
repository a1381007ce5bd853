/* SPDX-License-Identifier: MIT */
#pragma once

/* Shared by `strata gen` and `tracetool`: generates a file of code from files of declarations. */

#include "gen/gen.h"
#include "schema/trace_events/diagnose.h"

struct generate {
    const char *verb; /* for messages about the arguments */
    struct gen_job job;
    const char *const *inputs;
    unsigned n_inputs;
    const char *output;  /* "-": standard output */
    const char *depfile; /* NULL: none */
    /* enum declaration_rules; for GEN_QEMU, the tree's version determines them */
    unsigned rules;
    struct diagnose diagnose; /* how problems of the declarations are shown */
    /* A file of declarations could not be read. */
    void (*report)(const struct error *error);
};

/* Parses a list of backends ("log,simple") into JOB. -EINVAL with the word that is not a backend. */
int generate_backends(struct gen_job *job, const char *list, const char **ret_unknown,
                      size_t *ret_len);
/* List all backends and all formats: "a, b and c". */
void generate_list_backends(char *buf, size_t size);
void generate_list_formats(char *buf, size_t size);
#define GENERATE_LIST_MAX 320

/* Returns a negative errno with ERROR, unless the problems were printed. */
int generate(const struct generate *generate, struct error *error);
