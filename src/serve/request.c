/* SPDX-License-Identifier: MIT */
#include "serve/request.h"

#include <string.h>

#include "base/number.h"

/* Decodes %XX in place, and in a query also "+". -EINVAL for a wrong escape, or a NUL. */
static int decode(char *s, bool query)
{
    char *to = s;

    for (const char *p = s; *p; p++) {
        if (*p == '%') {
            int high = number_hex_digit(p[1]);
            int low = high < 0 ? -1 : number_hex_digit(p[2]);

            if (low < 0 || (high == 0 && low == 0))
                return -EINVAL;
            *to++ = (char)(high << 4 | low);
            p += 2;
        } else {
            *to++ = query && *p == '+' ? ' ' : *p;
        }
    }
    *to = '\0';
    return 0;
}

static int parse_path(char *path, struct request *request)
{
    if (*path != '/')
        return -EINVAL;
    for (char *p = path; p;) {
        char *part = p + 1;

        p = strchr(part, '/');
        if (p)
            *p = '\0';
        if (request->n_parts == REQUEST_PARTS_MAX || decode(part, false) < 0)
            return -EINVAL;
        request->parts[request->n_parts++] = part;
    }
    return 0;
}

static int parse_query(char *query, struct request *request)
{
    for (char *p = query; p;) {
        char *name = p;
        char *value;

        p = strchr(p, '&');
        if (p)
            *p++ = '\0';
        if (*name == '\0')
            continue;
        value = strchr(name, '=');
        if (value)
            *value++ = '\0';
        else
            value = name + strlen(name);
        if (request->n_parameters == REQUEST_PARAMETERS_MAX || decode(name, true) < 0 ||
            decode(value, true) < 0 || request_value(request, name))
            return -EINVAL;
        request->parameters[request->n_parameters++] = (struct request_parameter){name, value};
    }
    return 0;
}

int request_parse(const char *target, struct request *ret)
{
    struct request request = {0};
    size_t len = strnlen(target, REQUEST_TARGET_MAX + 1);
    char *query;
    int r;

    if (len > REQUEST_TARGET_MAX)
        return -E2BIG;
    request.buffer = strndup(target, len);
    if (!request.buffer)
        return -ENOMEM;
    query = strchr(request.buffer, '?');
    if (query)
        *query++ = '\0';
    r = parse_path(request.buffer, &request);
    if (r == 0)
        r = parse_query(query, &request);
    if (r < 0) {
        request_done(&request);
        return r;
    }
    *ret = request;
    return 0;
}

void request_done(struct request *request)
{
    free(request->buffer);
    *request = (struct request){0};
}

const char *request_value(const struct request *request, const char *name)
{
    for (unsigned i = 0; i < request->n_parameters; i++)
        if (strcmp(request->parameters[i].name, name) == 0)
            return request->parameters[i].value;
    return NULL;
}

/* Reads digits with an optional sign at *P, and moves *P behind them. */
static int parse_number(const char **p, int64_t *ret)
{
    bool negative = **p == '-';
    const char *s = *p + negative;
    int64_t v = 0;

    if (*s < '0' || *s > '9')
        return -EINVAL;
    for (; *s >= '0' && *s <= '9'; s++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *s - '0', &v))
            return -EINVAL;
    *p = s;
    *ret = negative ? -v : v;
    return 0;
}

int request_number(const struct request *request, const char *name, int64_t min, int64_t max,
                   int64_t *ret)
{
    const char *value = request_value(request, name);
    int64_t v;

    if (!value)
        return 0;
    if (parse_number(&value, &v) < 0 || *value || v < min || v > max)
        return -EINVAL;
    *ret = v;
    return 1;
}

int request_numbers(const struct request *request, const char *name, uint32_t *ret, unsigned max)
{
    const char *p = request_value(request, name);
    unsigned n = 0;

    if (!p || !*p)
        return 0;
    for (;; p++) {
        int64_t v;

        if (parse_number(&p, &v) < 0 || v < 0 || v > UINT32_MAX || (*p && *p != ','))
            return -EINVAL;
        if (n == max)
            return -E2BIG;
        ret[n++] = (uint32_t)v;
        if (!*p)
            return (int)n;
    }
}
