/* SPDX-License-Identifier: MIT */
#include "event/catalogue.h"

#include <string.h>

#include "base/macro.h"
#include "event/program.h"

int catalogue_add(struct catalogue *catalogue, const struct event_class *class,
                  struct event_class **ret_class)
{
    struct event_class *copy;

    if (class->n_fields > FIELDS_MAX)
        return -E2BIG;
    if (catalogue->n_classes == catalogue->capacity) {
        unsigned capacity = catalogue->capacity ? catalogue->capacity * 2 : 256;
        struct event_class **bigger =
            realloc(catalogue->classes, capacity * sizeof *catalogue->classes);
        if (!bigger)
            return -ENOMEM;
        catalogue->classes = bigger;
        catalogue->capacity = capacity;
    }

    copy = arena_memdup(&catalogue->arena, class, sizeof *class);
    if (!copy)
        return -ENOMEM;
    copy->index = catalogue->n_classes;
    copy->stat_row = copy->variant_of ? copy->variant_of->stat_row : copy->index;
    if (copy->format && !copy->put_text) {
        int r = program_compile(&catalogue->arena, copy, &copy->program);
        if (r == -ENOMEM)
            return r;
    }
    if (!copy->program && !copy->put_text && copy->n_fields) {
        int r = program_compile_fields(&catalogue->arena, copy, &copy->fields_program);
        if (r < 0)
            return r;
    }
    catalogue->classes[catalogue->n_classes++] = copy;
    *ret_class = copy;
    return 0;
}

int catalogue_list_origin(struct catalogue *catalogue, struct origin *origin)
{
    struct origin **bigger =
        realloc(catalogue->origins, (catalogue->n_origins + 1) * sizeof *catalogue->origins);

    if (!bigger)
        return -ENOMEM;
    catalogue->origins = bigger;
    catalogue->origins[catalogue->n_origins++] = origin;
    return 0;
}

struct origin *catalogue_add_origin(struct catalogue *catalogue, const struct origin *origin)
{
    struct origin *copy = arena_memdup(&catalogue->arena, origin, sizeof *origin);

    return copy && catalogue_list_origin(catalogue, copy) == 0 ? copy : NULL;
}

bool catalogue_errors_are_known(const struct catalogue *catalogue)
{
    for (unsigned i = 0; i < catalogue->n_origins; i++)
        if (catalogue->origins[i]->is_error_refuted)
            return false;
    return true;
}

void catalogue_done(struct catalogue *catalogue)
{
    free(catalogue->classes);
    free(catalogue->origins);
    arena_done(&catalogue->arena);
    *catalogue = (struct catalogue){0};
}
