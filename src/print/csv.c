/* SPDX-License-Identifier: MIT */
#include "print/csv.h"

void csv_put_quoted(struct text *out, const char *s, size_t len)
{
    while (len > 0) {
        size_t n = MIN(len, (size_t)CSV_PIECE_MAX);
        char *p = text_room(out, 2 * n);

        for (size_t i = 0; i < n; i++) {
            *p++ = s[i];
            if (s[i] == '"')
                *p++ = '"';
        }
        out->next = p;
        s += n;
        len -= n;
    }
}
