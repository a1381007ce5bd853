/* SPDX-License-Identifier: MIT */
#include "print/html.h"

#include <inttypes.h>

#include "base/printable.h"

/* html.css, embedded by the build. */
extern const char html_style[];
extern const size_t html_style_len;

/* Puts a character, or its escape in ASCII. */
static void put_character(struct text *out, const char *s, size_t len)
{
    if (len != 1) {
        text_put(out, s, len);
        return;
    }
    switch (*s) {
    case '&': text_put_literal(out, "&amp;"); return;
    case '<': text_put_literal(out, "&lt;"); return;
    case '>': text_put_literal(out, "&gt;"); return;
    case '"': text_put_literal(out, "&quot;"); return;
    case '\'': text_put_literal(out, "&#39;"); return;
    default: text_put_char(out, *s);
    }
}

void html_put(struct text *out, const char *s, size_t len, size_t max)
{
    char buf[PRINTABLE_STEP_MAX];
    size_t at = 0, n, count;

    for (count = 0; at < len && count < max; count++) {
        at += printable_step(s + at, len - at, 0, true, buf, &n);
        put_character(out, buf, n);
    }
    if (at < len)
        text_printf(out, "\u2026 (%zu bytes)", len);
}

void html_put_name(struct text *out, const char *s)
{
    html_put(out, s, strlen(s), HTML_NAME_MAX);
}

void html_put_sentence(struct text *out, const char *s)
{
    html_put(out, s, strlen(s), HTML_SENTENCE_MAX);
}

void html_put_quoted(struct text *out, const char *s)
{
    const char *begin, *end;

    while ((begin = strchr(s, '\'')) && (end = strchr(begin + 1, '\''))) {
        html_put(out, s, (size_t)(begin - s), HTML_SENTENCE_MAX);
        html_begin(out, "code", NULL);
        html_put(out, begin + 1, (size_t)(end - begin - 1), HTML_SENTENCE_MAX);
        html_end(out, "code");
        s = end + 1;
    }
    html_put_sentence(out, s);
}

void html_begin(struct text *out, const char *element, const char *class)
{
    if (class)
        text_printf(out, "<%s class=\"%s\">", element, class);
    else
        text_printf(out, "<%s>", element);
}

void html_end(struct text *out, const char *element)
{
    text_printf(out, "</%s>", element);
}

void html_element(struct text *out, const char *element, const char *class, const char *s)
{
    html_begin(out, element, class);
    html_put_sentence(out, s);
    html_end(out, element);
}

void html_begin_data_i64(struct text *out, int64_t value)
{
    text_printf(out, "<data value=\"%" PRId64 "\">", value);
}

void html_begin_data_u64(struct text *out, uint64_t value)
{
    text_printf(out, "<data value=\"%" PRIu64 "\">", value);
}

void html_begin_data_real(struct text *out, double value)
{
    text_printf(out, "<data value=\"%.6g\">", value);
}

void html_begin_page(struct text *out, const char *title)
{
    text_put_literal(out,
                     "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "style-src 'unsafe-inline'\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    html_put_name(out, title);
    text_put_literal(out, "</title>\n<style>\n");
    text_put(out, html_style, html_style_len);
    text_put_literal(out, "</style>\n</head>\n<body>\n<main>\n");
}

void html_end_page(struct text *out)
{
    text_put_literal(out, "</main>\n</body>\n</html>\n");
}
