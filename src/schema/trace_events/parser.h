/* SPDX-License-Identifier: MIT */
#pragma once

/* Shared by the files of the trace-events parser. */

#include <string.h>

#include "base/macro.h"
#include "schema/trace_events/c_char.h"
#include "schema/trace_events/trace_events.h"

/* The state while one line is parsed. */
struct parser {
    struct declarations *declarations;
    const char *file; /* in the arena */
    uint32_t number;  /* of the line */
    const char *line;
    const char *end;
    const char *p;
    unsigned errors; /* in all lines */
    char instead[192];
    declaration_report report;
    void *arg;
    struct error *error;
};

/* The place of a problem: LEN bytes at P; 0: something is missing there. */
struct place {
    const char *p;
    size_t len;
};

/* Sets the suggestion for the next reported problem. */
void parser_suggest(struct parser *parser, const char *format, ...) _printf_(2, 3) _cold_;
/* Reports an error and returns -EINVAL. The caller cuts names from the file to a readable length (see
 * CUT). */
int parser_error(struct parser *parser, struct place place, const char *format, ...)
    _printf_(3, 4) _cold_;
void parser_warn(struct parser *parser, struct place place, const char *format, ...)
    _printf_(3, 4) _cold_;

/* For "%.*s": at most 80 characters of a name. */
#define CUT(len) ((int)MIN((size_t)(len), (size_t)80))

/* Parses one line that is not a comment, with parser->p at its first non-blank character, and adds its
 * event. -EINVAL: it has errors; -ENOMEM. */
int parser_line(struct parser *parser);
/* Parses from after the '(' to after the ')'. */
int parser_arguments(struct parser *parser, struct declared_event *event);
/* Parses the rest of the line. FINE: no errors so far, so formats are checked against the arguments. */
int parser_formats(struct parser *parser, struct declared_event *event, bool fine);
/* Checks FORMAT, whose source is START to END, against the arguments of EVENT. */
int parser_check_fit(struct parser *parser, const struct declared_event *event, bool translation,
                     const char *format, const char *start, const char *end);
/* Checks the event as a whole and against the other events (DECLARE_GENERATE). NAME is its position in
 * the line. */
int parser_check_name(struct parser *parser, struct place name, const struct declared_event *event);

static inline void parser_skip_blanks(struct parser *parser)
{
    while (parser->p < parser->end && c_char_is_blank(*parser->p))
        parser->p++;
}

static inline size_t parser_word_length(const char *p, const char *end)
{
    size_t n = 0;

    while (p + n < end && c_char_is_word(p[n]))
        n++;
    return n;
}
