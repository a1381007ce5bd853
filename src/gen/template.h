/* SPDX-License-Identifier: MIT */
#pragma once

/* Templates: texts that look like the C that they produce.
 *
 * A template file consists of sections. A section is text that is copied to the output; in it `${NAME}`
 * is replaced by a value, and lines whose first non-blank character is '@' are directives:
 *
 *     @section WORD…          begins the section with that key (words separated by one blank). A key
 *                             begins with a target, "strata" or "qemu", or with "any", which is used
 *                             if there is no section for the target itself: "qemu h event" of a
 *                             backend, "strata" of a format (its whole text)
 *     @for events             repeats the text up to its @end for each event of the run
 *     @for arguments          … for each argument of the current event
 *     @if FLAG                the text up to @elif, @else or @end, only if FLAG is set
 *     @if not FLAG
 *     @elif FLAG  @elif not FLAG
 *     @else
 *     @end
 *     @line                   joins the text up to its @end to one line: drops line ends and the blanks
 *                             at the start of all lines but the first, and ends with one newline
 *     @backends SECTION       the section "TARGET FORMAT SECTION" of each selected backend that has
 *                             one, in the order of selection
 *     @# …                    a comment
 *     @@…                     text: a line that begins with one '@'
 *
 * gen/variables.c lists the values of `${NAME}` and the FLAGs. A section is compiled once into a list
 * of steps; running it for thousands of events only copies. */

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

/* Compiles TEXT, which must outlive the template; everything else is in ARENA. -EINVAL with ERROR: the
 * line and what is wrong with it; -ENOMEM. */
int template_compile(const char *name, const char *text, size_t len, struct arena *arena,
                     struct gen_template *ret, struct error *error);
/* NULL: no section with that key. */
const struct template_section *template_find(const struct gen_template *template, const char *key);

/* Writes the section, with values from STATE. If it uses a value that STATE lacks (an event's name
 * outside of `@for events`), sets `state->error`. Errors of writing are in `state->out->error`. */
void template_run(const struct template_section *section, struct gen_state *state);
