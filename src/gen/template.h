/* SPDX-License-Identifier: MIT */
#pragma once

/* Templates: texts that look like the C that they produce.
 *
 * A template file is made of sections; a section is text that is copied out, in which `${NAME}`
 * stands for a value, and lines whose first character that is no blank is '@', which steer:
 *
 *     @section WORD…          the section of that key begins (words with one blank between). A key
 *                             begins with a target, "strata" or "qemu", or with "any", which is taken
 *                             where there is no section for the target itself: "qemu h event" of a
 *                             backend, "strata" of a format (its whole text)
 *     @for events             what follows, up to its @end, once for each event of the run
 *     @for arguments          … for each argument of the event at hand
 *     @if FLAG                what follows, up to @elif, @else or @end, only then
 *     @if not FLAG
 *     @elif FLAG  @elif not FLAG
 *     @else
 *     @end
 *     @line                   what follows, up to its @end, as one line: ends of lines and the blanks
 *                             that lines but the first begin with are dropped, and one newline ends it
 *     @backends SECTION       the section "TARGET FORMAT SECTION" of each chosen backend that has
 *                             one, in the order they were chosen
 *     @# …                    a comment
 *     @@…                     text: a line that begins with one '@'
 *
 * What `${NAME}` and FLAG may be is in gen/variables.c. A section is compiled into a list of steps
 * once; running it for thousands of events then only copies. */

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"

struct gen_state;

struct template_step;

struct template_section {
    const char *key;  /* "strata h event" */
    const char *file; /* the template's name, for messages */
    const struct template_step *steps;
    unsigned n_steps;
};

struct gen_template {
    const char *name; /* "backend/log" */
    const struct template_section *sections;
    unsigned n_sections;
};

/* Compiles TEXT, which must outlive the template, as everything else is in ARENA. -EINVAL with ERROR
 * filled: the line and what is wrong with it; -ENOMEM. */
int template_compile(const char *name, const char *text, size_t len, struct arena *arena,
                     struct gen_template *ret, struct error *error);
/* NULL: there is none of that key. */
const struct template_section *template_find(const struct gen_template *template, const char *key);

/* Puts the section out; what it says is taken from STATE, and where it asks for what STATE has not
 * (an event's name outside of `@for events`), that is told there (`state->error`). Errors of writing
 * are the text's (`state->out->error`). */
void template_run(const struct template_section *section, struct gen_state *state);
