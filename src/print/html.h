/* SPDX-License-Identifier: MIT */
#pragma once

/* Writes pages of HTML that stand alone: one file, which loads nothing and runs nothing. The names of elements,
 * attributes and classes are literals of the program. All other text passes html_put(), so the contents of a trace are
 * never markup: it replaces the five characters that are special in HTML by references, replaces what base/printable.h
 * replaces, and shortens long text. */

#include "base/text.h"

/* Limits in characters, for a name, and for a sentence or a command. */
#define HTML_NAME_MAX 120
#define HTML_SENTENCE_MAX 1500

/* Puts LEN bytes of S as text or as an attribute's value. Of more than MAX characters it puts MAX, then "… (1000000
 * bytes)". */
void html_put(struct text *out, const char *s, size_t len, size_t max);
void html_put_name(struct text *out, const char *s);
void html_put_sentence(struct text *out, const char *s);
/* Puts a sentence of the program, in which 'quoted text' is a command: <code>quoted text</code>. */
void html_put_quoted(struct text *out, const char *s);

/* Puts "<ELEMENT>", with CLASS unless it is NULL. */
void html_begin(struct text *out, const char *element, const char *class);
void html_end(struct text *out, const char *element);
/* Puts an element that contains only S, by html_put_sentence(). */
void html_element(struct text *out, const char *element, const char *class, const char *s);

/* Puts "<data value="1500">", a number for programs. The same number for people follows, then html_end(out, "data"). */
void html_begin_data_i64(struct text *out, int64_t value);
void html_begin_data_u64(struct text *out, uint64_t value);
/* With six digits, like JSON. */
void html_begin_data_real(struct text *out, double value);

/* Puts the page from its beginning to "<main>". The policy of the page forbids it to load or run anything. */
void html_begin_page(struct text *out, const char *title);
void html_end_page(struct text *out);
