/* SPDX-License-Identifier: MIT */
#include "tables/names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "event/class_map.h"

/* Marks a reserved name, which no class has. */
static const struct event_class reserved;

int class_names_reserve(struct class_names *names, const char *name)
{
    return map_put_str(&names->taken, name, strlen(name), (void *)&reserved);
}

static bool same_fields(const struct event_class *a, const struct event_class *b)
{
    if (strcmp(a->name, b->name) != 0 || a->n_fields != b->n_fields)
        return false;
    for (unsigned i = 0; i < a->n_fields; i++) {
        const struct field *x = &a->fields[i];
        const struct field *y = &b->fields[i];

        if (strcmp(x->name, y->name) != 0 || strcmp(x->c_type, y->c_type) != 0 ||
            x->type != y->type)
            return false;
    }
    return true;
}

static void put_identifier(char *to, const char *name)
{
    if (!isalpha((unsigned char)*name))
        *to++ = '_';
    for (; *name; name++)
        *to++ = isalnum((unsigned char)*name) ? *name : '_';
    *to = '\0';
}

/* Makes the key of NAME among the taken names. KEY has enough room. */
static void fold(const struct class_names *names, char *key, const char *name)
{
    size_t i = 0;

    for (; name[i]; i++)
        key[i] = names->fold ? (char)tolower((unsigned char)name[i]) : name[i];
    key[i] = '\0';
}

/* CLASS NULL: makes a name for something else from WANTED. */
static _cold_ const char *make(struct class_names *names, const char *wanted,
                               const struct event_class *class, bool *ret_new)
{
    size_t size = strlen(wanted) + 16;
    _cleanup_free_ char *plain = malloc(size);
    char *name = arena_alloc(&names->arena, size + 16);
    char *key = arena_alloc(&names->arena, size + 16);

    if (!plain || !name || !key)
        return NULL;
    put_identifier(plain, wanted);
    for (unsigned i = 1;; i++) {
        const struct event_class *other;

        if (i == 1)
            snprintf(name, size + 16, "%s", plain);
        else
            snprintf(name, size + 16, "%s_%u", plain, i);
        fold(names, key, name);
        other = map_get_str(&names->taken, key, strlen(key));
        if (!other)
            break;
        if (names->share && class && other != &reserved && same_fields(other, class))
            return name;
    }
    if (map_put_str(&names->taken, key, strlen(key), (void *)(class ? class : &reserved)) < 0)
        return NULL;
    *ret_new = true;
    return name;
}

const char *class_names_get(struct class_names *names, const struct event_class *class,
                            bool *ret_new)
{
    bool is_new = false;

    if (class_map_grow(names->names, names->n, class) < 0)
        return NULL;
    if (!names->names[class->index])
        names->names[class->index] = make(names, class->name, class, &is_new);
    if (ret_new)
        *ret_new = is_new;
    return names->names[class->index];
}

const char *class_names_fresh(struct class_names *names, const char *wanted)
{
    bool is_new;

    return make(names, wanted, NULL, &is_new);
}

void class_names_done(struct class_names *names)
{
    free(names->names);
    map_done(&names->taken);
    arena_done(&names->arena);
    *names = (struct class_names){0};
}
