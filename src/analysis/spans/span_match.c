/* SPDX-License-Identifier: MIT */
#include "analysis/spans/span_match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/condition.h"
#include "base/glob.h"
#include "base/macro.h"
#include "base/suggest.h"
#include "base/text.h"
#include "event/kernel_event.h"

/* As kernel_event_star(), for an event that programs call GROUP:EVENT, where the whole is its name. */
static const char *find_in_name(const struct span_step *step, const struct event_class *class,
                                size_t *ret_len)
{
    size_t len = strlen(step->group);

    return strncmp(class->name, step->group, len) == 0 && class->name[len] == ':'
               ? glob_match_star(step->event, class->name + len + 1, ret_len)
               : NULL;
}

bool span_step_matches(const struct span_step *step, const struct event_class *class,
                       const char **ret_star, size_t *ret_len)
{
    if (step->layers != 0 && !(step->layers >> class->origin->layer & 1))
        return false;
    *ret_star = step->group ? kernel_event_star(class, step->group, step->event, ret_len)
                            : glob_match_star(step->event, class->name, ret_len);
    if (!*ret_star && step->group)
        *ret_star = find_in_name(step, class, ret_len);
    return *ret_star != NULL;
}

static bool is_number(const struct field *field)
{
    return field->storage == STORE_SCALAR && field->type != FIELD_FLOAT;
}

int span_key_field(const struct span_key *key, const struct event_class *class)
{
    int i = kernel_event_field(class, key->field);

    if (i >= 0 && key->column != 0 && !is_number(&class->fields[i]) &&
        !(key->mask == 0 && class->fields[i].type == FIELD_STRING))
        return -1;
    return i;
}

/* True if no source has events of both steps. */
static bool is_elsewhere(const struct span_step *first, const struct span_step *step,
                         const struct catalogue *catalogue)
{
    const char *star;
    size_t len;
    bool has_first = false;

    if (first->layers != 0 && step->layers != 0)
        return (first->layers & step->layers) == 0;
    if (first->group && step->group && strcmp(first->group, step->group) == 0)
        return false;
    for (unsigned i = 0; i < catalogue->n_classes; i++) {
        const struct event_class *class = catalogue->classes[i];

        if (!span_step_matches(first, class, &star, &len))
            continue;
        has_first = true;
        for (unsigned j = 0; j < catalogue->n_classes; j++)
            if (catalogue->classes[j]->origin == class->origin &&
                span_step_matches(step, catalogue->classes[j], &star, &len))
                return false;
    }
    return has_first;
}

unsigned span_rule_crossings(const struct span_rule *rule, const struct catalogue *catalogue)
{
    unsigned crossings = 0;

    for (unsigned i = 1; i < rule->n_steps; i++)
        if (is_elsewhere(&rule->steps[0], &rule->steps[i], catalogue))
            crossings |= 1u << i;
    return crossings;
}

/* Finds an event that matches STEP except for its group, which may be a rule's name without a blank after the colon. */
static const struct event_class *find_in_other_group(const struct span_step *step,
                                                     const struct catalogue *catalogue)
{
    for (unsigned i = 0; step->group && i < catalogue->n_classes; i++)
        if (catalogue->classes[i]->group && strcmp(catalogue->classes[i]->name, step->event) == 0)
            return catalogue->classes[i];
    return NULL;
}

static _cold_ int no_such_event(const struct span_rule *rule, const struct span_step *step,
                                const struct catalogue *catalogue, struct error *error)
{
    _cleanup_free_ const char **names = calloc(catalogue->n_classes + 1, sizeof *names);
    const struct event_class *other = find_in_other_group(step, catalogue);
    const char *near;
    unsigned n = 0;

    if (!names)
        return -ENOMEM;
    if (other)
        return error_set(error, -ENOENT, NULL,
                         "%s: the trace has no event '%s:%s'; did you mean '%s:%s', or '%s: %s' "
                         "for a rule of that name?",
                         rule->name, step->group, step->event, other->group, other->name,
                         step->group, step->event);
    for (unsigned i = 0; i < catalogue->n_classes; i++)
        if (step->layers == 0 || (step->layers >> catalogue->classes[i]->origin->layer & 1))
            names[n++] = catalogue->classes[i]->name;
    near = suggest_pattern(step->event, names);
    return error_set(error, -ENOENT, NULL, "%s: the trace has no event '%s'%s%s%s", rule->name,
                     step->event, near ? "; did you mean '" : "", near ? near : "",
                     near ? "'?" : "");
}

static _cold_ int no_such_field(const struct span_rule *rule, const struct event_class *class,
                                const char *name, struct error *error)
{
    _cleanup_free_ const char **names = calloc(class->n_fields + 1, sizeof *names);
    struct text fields = TEXT_IN_MEMORY;
    const char *near;
    int r;

    if (!names)
        return -ENOMEM;
    for (unsigned i = 0; i < class->n_fields; i++) {
        names[i] = class->fields[i].name;
        text_put_str(&fields, i > 0 ? ", " : "");
        text_put_str(&fields, class->fields[i].name);
    }
    text_put_char(&fields, '\0');
    near = suggest_find(name, strlen(name), names);
    if (near)
        r = error_set(error, -EINVAL, NULL, "%s: event '%s' has no field '%s'; did you mean '%s'?",
                      rule->name, class->name, name, near);
    else
        r = error_set(error, -EINVAL, NULL, "%s: event '%s' has no field '%s'; it has %s",
                      rule->name, class->name, name, class->n_fields > 0 ? fields.start : "none");
    text_done(&fields);
    return r;
}

static int check_key(const struct span_rule *rule, const struct span_key *key,
                     const struct event_class *class, struct error *error)
{
    if (key->kind != SPAN_KEY_FIELD || span_key_field(key, class) >= 0)
        return 0;
    if (kernel_event_field(class, key->field) < 0)
        return no_such_field(rule, class, key->field, error);
    return error_set(error, -EINVAL, NULL,
                     "%s: column %u: field '%s' of event '%s' is not a number%s; a %s requires one",
                     rule->name, key->column, key->field, class->name,
                     key->mask != 0 ? "" : " or a text", key->mask != 0 ? "mask" : "shift");
}

static int check_condition(const struct span_rule *rule, const struct span_step *step,
                           const struct event_class *class, struct error *error)
{
    struct condition *condition;
    struct arena arena = {0};
    struct error why = {0};
    int r = condition_compile(step->condition, class, &arena, &condition, &why);

    arena_done(&arena);
    return r == -EINVAL
               ? error_set(error, r, NULL, "%s: event '%s': %s", rule->name, class->name, why.what)
               : r;
}

int span_rule_check(const struct span_rule *rule, const struct catalogue *catalogue,
                    struct error *error)
{
    for (unsigned i = 0; i < rule->n_steps; i++) {
        const struct span_step *step = &rule->steps[i];
        bool found = false;
        const char *star;
        size_t len;

        for (unsigned j = 0; j < catalogue->n_classes; j++) {
            const struct event_class *class = catalogue->classes[j];

            if (!span_step_matches(step, class, &star, &len))
                continue;
            found = true;
            if (step->condition) {
                int r = check_condition(rule, step, class, error);

                if (r < 0)
                    return r;
            }
            for (unsigned k = 0; k < rule->n_keys; k++) {
                int r = check_key(rule, &step->keys[k], class, error);

                if (r < 0)
                    return r;
            }
        }
        if (!found && !step->optional)
            return no_such_event(rule, step, catalogue, error);
    }
    return 0;
}
