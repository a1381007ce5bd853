/* SPDX-License-Identifier: MIT */
#include "monitor/qmp_arguments.h"

#include <string.h>

static const char *type_name(json_type type)
{
    switch (type) {
    case JSON_STRING: return "string";
    case JSON_INTEGER: return "integer";
    case JSON_ARRAY: return "array";
    default: return "boolean";
    }
}

static bool has_type(const json_t *value, json_type type)
{
    return type == JSON_TRUE ? json_is_boolean(value) : json_typeof(value) == type;
}

static bool check_one(const json_t *arguments, const struct qmp_argument *spec,
                      struct buffer *problem)
{
    const json_t *value = json_object_get(arguments, spec->name);

    if (value ? has_type(value, spec->type) : spec->optional)
        return true;
    if (value)
        buffer_printf(problem, "Invalid parameter type for '%s', expected: %s", spec->name,
                      type_name(spec->type));
    else
        buffer_printf(problem, "Parameter '%s' is missing", spec->name);
    return false;
}

bool qmp_check_arguments(const json_t *arguments, const struct qmp_argument *specs,
                         struct buffer *problem)
{
    void *iter = json_object_iter((json_t *)arguments);

    for (const struct qmp_argument *spec = specs; spec->name; spec++)
        if (!check_one(arguments, spec, problem))
            return false;
    for (; iter; iter = json_object_iter_next((json_t *)arguments, iter)) {
        const char *key = json_object_iter_key(iter);
        size_t len = json_object_iter_key_len(iter);
        const struct qmp_argument *spec = specs;

        while (spec->name && !(strlen(spec->name) == len && memcmp(spec->name, key, len) == 0))
            spec++;
        if (spec->name)
            continue;
        buffer_text(problem, "Parameter '");
        buffer_put(problem, key, len);
        buffer_text(problem, "' is unexpected");
        return false;
    }
    return true;
}
