/* SPDX-License-Identifier: MIT */
#pragma once

/* Cells of comma-separated values (RFC 4180). */

#include "base/text.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define CSV_PIECE_MAX (TEXT_ROOM_MAX / 2)

/* Puts the contents of a quoted cell, with quotes doubled. */
void csv_put_quoted(struct text *out, const char *s, size_t len);

/* What the text of a cell needs. */
enum {
    CSV_QUOTES = 1, /* the cell must be quoted, */
    CSV_DOUBLE = 2, /* and quotes in it doubled */
};

/* True if a spreadsheet reads the LEN bytes at S as a formula: OWASP, "CSV Injection". */
static inline bool csv_begins_formula(const char *s, size_t len)
{
    return len > 0 && (*s == '=' || *s == '+' || *s == '-' || *s == '@');
}

/* S as in csv_put_cell(). */
#ifdef __SSE2__
static inline unsigned csv_needs_of(const char *s, size_t len)
{
    const __m128i comma = _mm_set1_epi8(','), feed = _mm_set1_epi8('\n');
    const __m128i quote = _mm_set1_epi8('"'), back = _mm_set1_epi8('\r');
    unsigned special = 0, quotes = 0;

    for (size_t i = 0; i < len; i += TEXT_UNIT) {
        __m128i unit = _mm_loadu_si128((const __m128i *)(const void *)(s + i));
        unsigned valid = len - i < TEXT_UNIT ? (1u << (len - i)) - 1 : UINT32_MAX;
        __m128i is_quote = _mm_cmpeq_epi8(unit, quote);
        __m128i is_end = _mm_or_si128(_mm_cmpeq_epi8(unit, feed), _mm_cmpeq_epi8(unit, back));
        __m128i is_any = _mm_or_si128(is_quote, _mm_or_si128(is_end, _mm_cmpeq_epi8(unit, comma)));

        special |= (unsigned)_mm_movemask_epi8(is_any) & valid;
        quotes |= (unsigned)_mm_movemask_epi8(is_quote) & valid;
    }
    return (special ? CSV_QUOTES : 0) | (quotes ? CSV_DOUBLE : 0);
}
#else
static inline unsigned csv_needs_of(const char *s, size_t len)
{
    unsigned needs = 0;

    for (size_t i = 0; i < len; i++)
        if (s[i] == '"')
            needs |= CSV_QUOTES | CSV_DOUBLE;
        else if (s[i] == ',' || s[i] == '\n' || s[i] == '\r')
            needs |= CSV_QUOTES;
    return needs;
}
#endif

/* Puts a cell, quoted if it contains a comma, a quote or a line end. TEXT_UNIT bytes after S must be readable. */
static inline void csv_put_cell(struct text *out, const char *s, size_t len)
{
    unsigned needs = csv_needs_of(s, len);
    char *p;

    if (likely(!(needs & CSV_DOUBLE) && len <= CSV_PIECE_MAX)) {
        p = text_room(out, len + 2 + TEXT_UNIT);
        *p = '"';
        p = text_copy_units(p + (needs != 0), s, len);
        *p = '"';
        out->next = p + (needs != 0);
        return;
    }
    if (needs)
        text_put_char(out, '"');
    csv_put_quoted(out, s, len);
    if (needs)
        text_put_char(out, '"');
}
