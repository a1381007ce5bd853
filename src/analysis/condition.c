/* SPDX-License-Identifier: MIT */
#include "analysis/condition.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/suggest.h"
#include "event/kernel_event.h"
#include "event/value.h"
#include "filter/filter.h"

/* Limits of the fields and strings of a class that a condition may name. */
#define CONDITION_FIELDS 64
/* Strings that it may name. */
#define CONDITION_STRINGS 8

struct condition {
    const struct filter_program *program;
    bool is_string[CONDITION_FIELDS];
};

static int fail(struct error *error, const char *text, const struct filter_error *why)
{
    return error_set(error, -EINVAL, NULL, "column %zu of the condition: %s; '%s'", why->column,
                     why->text, text);
}

/* Sets the error for a name that CLASS has no field of, with a similar name. */
static int fail_compiling(struct error *error, const char *text, const struct filter_error *why,
                          const struct event_class *class)
{
    const char *names[CONDITION_FIELDS + 1], *similar = NULL;
    const char *name = text + MIN(why->column > 0 ? why->column - 1 : 0, strlen(text));
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    unsigned n = MIN(class->n_fields, (unsigned)CONDITION_FIELDS);

    for (unsigned i = 0; i < n; i++)
        names[i] = class->fields[i].name;
    names[n] = NULL;
    if (len > 0)
        similar = suggest_find(name, len, names);
    if (!similar || (strlen(similar) == len && strncmp(similar, name, len) == 0))
        return fail(error, text, why);
    return error_set(error, -EINVAL, NULL,
                     "column %zu of the condition: %s; did you mean '%s'? '%s'", why->column,
                     why->text, similar, text);
}

static int parse(const char *text, struct filter_condition **ret_condition, struct error *error)
{
    struct filter_condition *condition;
    struct filter_error why = {0};
    int r = filter_parse(text, &condition, &why);

    if (r == -EINVAL)
        return fail(error, text, &why);
    if (r < 0)
        return r;
    for (unsigned i = 0; i < condition->n_nodes; i++) {
        const struct filter_node *node = &condition->nodes[i];

        if (node->kind != NODE_NAME || node->len < 7 ||
            strncmp(text + node->start, "thread.", 7) != 0)
            continue;
        why.column = node->column;
        r = error_set(error, -EINVAL, NULL,
                      "column %zu of the condition: only fields are allowed here; '%s'", why.column,
                      text);
        free(condition);
        return r;
    }
    *ret_condition = condition;
    return 0;
}

int condition_check(const char *text, struct error *error)
{
    struct filter_condition *condition;
    int r = parse(text, &condition, error);

    if (r == 0)
        free(condition);
    return r;
}

/* Describes a field in the language. If the language cannot compare it, it gets a name that no condition can
 * contain. */
static struct strata_field make_field(const struct field *field, const char *name)
{
    struct strata_field made = {.name = name, .type = field->c_type, .size = 8};

    if (field->type == FIELD_STRING) {
        made.kind = STRATA_FIELD_STRING;
        made.size = 0;
        return made;
    }
    if (field->storage != STORE_SCALAR || field->type == FIELD_FLOAT ||
        field->type == FIELD_BYTES) {
        made.name = "";
        return made;
    }
    switch (field->type) {
    case FIELD_INT: made.kind = STRATA_FIELD_SIGNED; break;
    case FIELD_POINTER: made.kind = STRATA_FIELD_POINTER; break;
    default: made.kind = STRATA_FIELD_UNSIGNED;
    }
    return made;
}

/* Compiles with the names of CLASS's fields, or with the kernel's names for them. */
static int compile(const struct filter_condition *parsed, const struct event_class *class,
                   bool kernels, struct condition *condition, struct filter_program **ret_program,
                   struct filter_error *why)
{
    char names[CONDITION_FIELDS][KERNEL_FIELD_NAME];
    struct strata_field fields[CONDITION_FIELDS];
    unsigned n = MIN(class->n_fields, (unsigned)CONDITION_FIELDS);
    struct filter_error warning;
    unsigned n_strings = 0;

    for (unsigned i = 0; i < n; i++) {
        const struct field *field = &class->fields[i];

        fields[i] = make_field(field, kernels ? kernel_event_field_name(class, field, names[i])
                                              : field->name);
        condition->is_string[i] =
            fields[i].kind == STRATA_FIELD_STRING && n_strings++ < CONDITION_STRINGS;
        if (fields[i].kind == STRATA_FIELD_STRING && !condition->is_string[i])
            fields[i].name = "";
    }
    return filter_compile(parsed, fields, n, ret_program, why, &warning);
}

int condition_compile(const char *text, const struct event_class *class, struct arena *arena,
                      struct condition **ret_condition, struct error *error)
{
    struct condition *condition = arena_alloc(arena, sizeof *condition);
    struct filter_error why = {0}, ignored;
    struct filter_condition *parsed;
    struct filter_program *program;
    int r;

    if (!condition)
        return -ENOMEM;
    r = parse(text, &parsed, error);
    if (r < 0)
        return r;
    r = compile(parsed, class, false, condition, &program, &why);
    if (r == -EINVAL)
        r = compile(parsed, class, true, condition, &program, &ignored);
    free(parsed);
    if (r == -EINVAL)
        return fail_compiling(error, text, &why, class);
    if (r < 0)
        return r;
    condition->program = arena_memdup(arena, program, program->size);
    free(program);
    if (!condition->program)
        return -ENOMEM;
    *ret_condition = condition;
    return 0;
}

bool condition_holds(const struct condition *condition, const struct item *item)
{
    char strings[CONDITION_STRINGS][STRATA_STRING_MAX];
    uint64_t values[CONDITION_FIELDS];
    unsigned n_strings = 0;

    for (unsigned i = 0; i < condition->program->n_fields; i++) {
        struct value value = item_value(item, i);

        values[i] = 0;
        if (!condition->is_string[i]) {
            if (item->class->fields[i].storage == STORE_SCALAR)
                values[i] = value.u;
        } else {
            size_t len = value.present ? MIN(value.len, (size_t)STRATA_STRING_MAX - 1) : 0;

            memcpy(strings[n_strings], value.s, len);
            strings[n_strings][len] = '\0';
            values[i] = (uintptr_t)strings[n_strings++];
        }
        if (!value.present)
            return false;
    }
    return filter_run(condition->program, values, NULL);
}
