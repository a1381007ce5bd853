/* SPDX-License-Identifier: MIT */
#pragma once

/* The state of a run through the templates: the job, the events, and the current event and argument. */

#include "gen/gen.h"
#include "gen/template.h"

struct gen_argument {
    const char *name;  /* name in the generated code; not a keyword of C or C++ */
    const char *field; /* as declared */
    const char *type;  /* "const char *" */
    struct c_type c;
};

/* The part of a `tcg` declaration. */
enum gen_part {
    GEN_WHOLE, /* not `tcg`: the declaration is one event */
    GEN_TRANS,
    GEN_EXEC,
};

struct gen_event {
    const char *name;
    const struct declared_event *declared;
    const struct gen_argument *arguments; /* with the implicit vCPU */
    unsigned n_arguments;
    unsigned id; /* position in the run, from 0 */
    enum gen_part part;
};

struct gen_events {
    struct gen_event *items;
    unsigned n;
};

/* Makes the events for the generated code from the declarations: two events for a `tcg` declaration, and the implicit
 * argument of `vcpu`. All in ARENA. -ENOMEM. */
int gen_events_make(const struct declarations *declarations, struct arena *arena,
                    struct gen_events *ret);

/* The sections that `@backends NAME` writes. */
struct gen_piece {
    const char *name; /* from the template; compared as a pointer */
    size_t len;
    const struct template_section *sections[GEN_BACKENDS_MAX];
    unsigned n_sections;
};

#define GEN_PIECES_MAX 16

struct gen_state {
    const struct gen_job *job;
    const struct gen_events *events;
    struct text *out; /* in memory, see gen_run() */

    const struct gen_event *event;       /* NULL: outside of `@for events` */
    const struct gen_argument *argument; /* NULL: outside of `@for arguments` */

    struct gen_template backends[GEN_BACKENDS_MAX]; /* as in the job; nop has none */
    struct gen_piece pieces[GEN_PIECES_MAX];
    unsigned n_pieces;
    bool any_event_section; /* a chosen backend has "TARGET FORMAT event" */
    bool goes_by_state;     /* a chosen backend has "TARGET h event" */
    bool any_backend;       /* a chosen backend is not nop */
    bool ring_asked;        /* `ring` was chosen itself, not only because of `simple` */
    char group[128];        /* an identifier */

    size_t counted; /* bytes of OUT whose lines `n_lines` counts */
    uint32_t n_lines;

    int code; /* -EINVAL with ERROR */
    struct error *error;
};

/* Ends the run with the error FORMAT at LINE of the template FILE. */
void gen_state_fail(struct gen_state *state, const char *file, uint32_t line, const char *format,
                    ...) _printf_(4, 5) _cold_;

/* The sections for `@backends NAME`; NULL after gen_state_fail(). */
const struct gen_piece *gen_state_piece(struct gen_state *state, const char *name, size_t len);
