/* SPDX-License-Identifier: MIT */
#include "event/pattern.h"

#include <errno.h>
#include <string.h>

const char *event_condition_end(const char *text)
{
    char quote = '\0';

    for (const char *p = text; *p; p++) {
        if (quote && *p == '\\' && p[1])
            p++;
        else if (quote)
            quote = *p == quote ? '\0' : quote;
        else if (*p == '"' || *p == '\'')
            quote = *p;
        else if (*p == '}')
            return p;
    }
    return NULL;
}

const char *event_pattern_end(const char *text)
{
    const char *p = text;

    while (*p && *p != ',') {
        const char *end = *p == '{' ? event_condition_end(p + 1) : NULL;

        p = end ? end + 1 : p + 1;
    }
    return p;
}

int event_pattern_parse(char *text, struct event_pattern *ret, struct error *error)
{
    struct event_pattern pattern = {.name = text};
    char *brace = strchr(text, '{');
    char *colon = memchr(text, ':', brace ? (size_t)(brace - text) : strlen(text));
    enum layer layer;

    if (brace) {
        char *end = (char *)(uintptr_t)event_condition_end(brace + 1);

        if (!end)
            return error_set(error, -EINVAL, NULL, "the '}' of the condition is missing");
        if (end[1])
            return error_set(error, -EINVAL, NULL, "'%.40s' follows the condition", end + 1);
        if (end == brace + 1)
            return error_set(error, -EINVAL, NULL, "the condition is empty");
        *brace = *end = '\0';
        pattern.condition = brace + 1;
    }
    if (colon) {
        *colon = '\0';
        if (layer_by_name(text, &layer) == 0) {
            pattern.layers = 1u << layer;
            pattern.name = colon + 1;
        } else if (strchr(colon + 1, ':')) {
            return error_set(error, -EINVAL, NULL,
                             "'%s' is no layer: vmm, program, hypervisor, guest or host", text);
        } else {
            *colon = ':';
        }
    }
    if (!*pattern.name)
        return error_set(error, -EINVAL, NULL, "names no event");
    *ret = pattern;
    return 0;
}
