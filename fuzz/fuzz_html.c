/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "base/utf8.h"
#include "print/html.h"

/* A text of a trace in a page: whatever it holds, it is neither markup nor the end of an attribute, no character that a
 * terminal or a browser obeys, and not longer than it may be. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A reference is five bytes or six for one, an escape is at most PRINTABLE_STEP_MAX for one. */
#define LONGEST (HTML_NAME_MAX * PRINTABLE_STEP_MAX + 64)

/* The length of the reference at P, which is an &. */
static size_t reference_len(const char *p, size_t left)
{
    static const char *const references[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};

    for (size_t i = 0; i < sizeof references / sizeof *references; i++)
        if (strlen(references[i]) <= left && memcmp(p, references[i], strlen(references[i])) == 0)
            return strlen(references[i]);
    abort();
}

static void check(const struct text *text)
{
    const char *p = text->start;

    while (p < text->next) {
        size_t left = (size_t)(text->next - p);
        uint32_t character;
        size_t n = utf8_decode(p, left, &character);

        if (n == 0 || !printable_is_safe(character) || strchr("<>\"'", *p))
            abort();
        p += *p == '&' ? reference_len(p, left) : n;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text text = TEXT_IN_MEMORY;

    html_put(&text, (const char *)data, size, HTML_NAME_MAX);
    if (text_len(&text) > 0) {
        check(&text);
        if (text_len(&text) > LONGEST)
            abort();
    }
    text_done(&text);
    return 0;
}
