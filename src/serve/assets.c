/* SPDX-License-Identifier: MIT */
/* The page, which is built in (serve/web/). */

#include <string.h>

#include "serve/routes.h"

extern const char page_html[], page_js[], page_css[], page_icon[];
extern const size_t page_html_len, page_js_len, page_css_len, page_icon_len;

void assets_get(struct exchange *x, const char *name)
{
    const struct {
        const char *name, *type, *start;
        size_t len;
    } assets[] = {
        {"index.html", "text/html; charset=utf-8", page_html, page_html_len},
        {"page.js", "text/javascript; charset=utf-8", page_js, page_js_len},
        {"page.css", "text/css; charset=utf-8", page_css, page_css_len},
        {"icon.svg", "image/svg+xml", page_icon, page_icon_len},
    };

    for (size_t i = 0; i < ARRAY_SIZE(assets); i++) {
        if (strcmp(assets[i].name, name) != 0)
            continue;
        x->answer.type = assets[i].type;
        x->answer.fixed = assets[i].start;
        x->answer.fixed_len = assets[i].len;
        return;
    }
    answer_error(&x->answer, HTTP_NOT_FOUND, "there is nothing at this address");
}
