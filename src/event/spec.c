/* SPDX-License-Identifier: MIT */
#include "event/spec.h"

#include <stddef.h>
#include <string.h>

/* Longer fields than this are not written by hand; they would only fill the output. */
#define NUMBER_LIMIT 1024

static const char *parse_number(const char *p, uint16_t *ret)
{
    unsigned n = 0;

    while (*p >= '0' && *p <= '9') {
        n = n * 10 + (unsigned)(*p++ - '0');
        if (n > NUMBER_LIMIT)
            n = NUMBER_LIMIT;
    }
    *ret = (uint16_t)n;
    return p;
}

const char *spec_parse(const char *p, struct spec *ret_spec)
{
    struct spec spec = {0};

    if (*p++ != '%')
        return NULL;

    for (;; p++) {
        if (*p == '-')
            spec.left = true;
        else if (*p == '+')
            spec.plus = true;
        else if (*p == ' ')
            spec.space = true;
        else if (*p == '#')
            spec.alternate = true;
        else if (*p == '0')
            spec.zero = true;
        else
            break;
    }

    if (*p == '*') {
        spec.width_star = true;
        p++;
    } else {
        p = parse_number(p, &spec.width);
    }
    if (*p == '.') {
        p++;
        spec.has_precision = true;
        if (*p == '*') {
            spec.precision_star = true;
            p++;
        } else {
            p = parse_number(p, &spec.precision);
        }
    }

    switch (*p) {
    case 'h':
        spec.length = LENGTH_SHORT;
        if (*++p == 'h') {
            spec.length = LENGTH_CHAR;
            p++;
        }
        break;
    case 'l':
        spec.length = LENGTH_LONG;
        if (*++p == 'l')
            p++;
        break;
    case 'j':
    case 'z':
    case 't':
    case 'q':
    case 'L':
        spec.length = LENGTH_LONG;
        p++;
        break;
    default: break;
    }

    if (*p == '\0' || !strchr("diouxXcspeEfFgGaA%", *p))
        return NULL;
    spec.conversion = *p++;
    *ret_spec = spec;
    return p;
}

unsigned spec_size(const struct spec *spec)
{
    if (strchr("spaAeEfFgG", spec->conversion))
        return 8;
    if (spec->conversion == 'c')
        return 4;
    switch (spec->length) {
    case LENGTH_CHAR: return 1;
    case LENGTH_SHORT: return 2;
    case LENGTH_INT: return 4;
    case LENGTH_LONG: break;
    }
    return 8;
}
