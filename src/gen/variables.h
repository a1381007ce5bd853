/* SPDX-License-Identifier: MIT */
#pragma once

/* The values of templates: `${NAME}` and the flags of `@if`. To add one, add a function and a line in the table of
 * gen/variables.c. */

#include "gen/state.h"

/* Where a value may be used. */
enum gen_scope {
    GEN_FILE,     /* anywhere: the same in the whole output */
    GEN_EVENT,    /* in `@for events`, and in sections that are used there */
    GEN_ARGUMENT, /* in `@for arguments` */
};

struct gen_value {
    const char *name;
    enum gen_scope scope;
    void (*put)(struct gen_state *state);
};

struct gen_flag {
    const char *name;
    enum gen_scope scope;
    bool (*get)(const struct gen_state *state);
};

/* Return NULL if there is no such value. */
const struct gen_value *gen_value_find(const char *name, size_t len);
const struct gen_flag *gen_flag_find(const char *name, size_t len);

static inline bool gen_scope_at_hand(const struct gen_state *state, enum gen_scope scope)
{
    return scope == GEN_FILE || (scope == GEN_EVENT ? state->event : (const void *)state->argument);
}
