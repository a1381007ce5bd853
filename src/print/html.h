/* SPDX-License-Identifier: MIT */
#pragma once

/* Pages of HTML that stand alone: one file, which loads nothing and runs nothing. The names of elements, attributes and
 * classes are literals of the program. All other text passes html_put(), so that what a trace holds is never markup:
 * the five characters that HTML has a meaning for become references, what base/printable.h replaces is replaced, and
 * what is too long is shortened. */

#include "base/text.h"

/* Characters of a name, and of a sentence or a command. */
#define HTML_NAME_MAX 120
#define HTML_SENTENCE_MAX 1500

/* Puts LEN bytes of S as text or as the value of an attribute, at most MAX characters of it: then "… (1000000 bytes)". */
void html_put(struct text *out, const char *s, size_t len, size_t max);
void html_put_name(struct text *out, const char *s);
void html_put_sentence(struct text *out, const char *s);
/* A sentence of the program, in which 'what is quoted' is a command: <code>what is quoted</code>. */
void html_put_quoted(struct text *out, const char *s);

/* "<ELEMENT>", or with a CLASS, which is not NULL. */
void html_begin(struct text *out, const char *element, const char *class);
void html_end(struct text *out, const char *element);
/* An element that holds only S, as html_put_sentence() has it. */
void html_element(struct text *out, const char *element, const char *class, const char *s);

/* "<data value="1500">": a number for programs, before the same as people read it; ended by html_end(out, "data"). */
void html_begin_data_i64(struct text *out, int64_t value);
void html_begin_data_u64(struct text *out, uint64_t value);
/* Six digits, as JSON has it. */
void html_begin_data_real(struct text *out, double value);

/* From the beginning to "<main>". The policy of the page lets it load nothing and run nothing. */
void html_begin_page(struct text *out, const char *title);
void html_end_page(struct text *out);
