/* SPDX-License-Identifier: MIT */
#include "analysis/spans/span_names.h"

#include <errno.h>
#include <string.h>

#include "base/glob.h"
#include "base/macro.h"
#include "base/text.h"

#define ADDRESSES_MAX 2

/* The first pair with a partner for the class counts. */
static const struct {
    const char *begin, *end;
    /* A kernel's X_done and so on end something that it waits for, such as a disk request, which ends in an
     * interrupt. */
    bool ends_elsewhere;
} names[] = {
    {"*_begin", "*_end", false},  {"*_enter", "*_exit", false},   {"*_enter", "*_return", false},
    {"*_entry", "*_exit", false}, {"*_entry", "*_return", false}, {"*_start", "*_end", false},
    {"*_start", "*_done", true},  {"*_start", "*_finish", true},  {"*_start", "*_complete", true},
};

/* True if events of LIKE's layer may be paired by names[I]. */
static bool is_usable(unsigned i, const struct event_class *like)
{
    return !names[i].ends_elsewhere ||
           (like->origin->layer != LAYER_GUEST && like->origin->layer != LAYER_HOST);
}

/* Finds the class called NAME in the layer and group of LIKE. */
static const struct event_class *find_class(const struct catalogue *catalogue,
                                            const struct event_class *like, const char *name)
{
    for (unsigned i = 0; i < catalogue->n_classes; i++) {
        const struct event_class *class = catalogue->classes[i];

        if (class->origin->layer == like->origin->layer && strcmp(class->name, name) == 0 &&
            (!class->group || !like->group || strcmp(class->group, like->group) == 0))
            return class;
    }
    return NULL;
}

/* The number of leading fields of BEGIN and END that are addresses with the same names. */
static unsigned count_addresses(const struct event_class *begin, const struct event_class *end)
{
    unsigned n = 0;

    if (begin->origin->layer == LAYER_GUEST || begin->origin->layer == LAYER_HOST)
        return 0;
    while (n < ADDRESSES_MAX && n < begin->n_fields && n < end->n_fields &&
           begin->fields[n].type == FIELD_POINTER && end->fields[n].type == FIELD_POINTER &&
           strcmp(begin->fields[n].name, end->fields[n].name) == 0)
        n++;
    return n;
}

static void set_step(struct span_step *step, const struct event_class *class, unsigned n_keys)
{
    *step = (struct span_step){
        .layers = 1u << class->origin->layer, .group = class->group, .event = class->name};
    for (unsigned i = 0; i < n_keys; i++)
        step->keys[i] = (struct span_key){.kind = SPAN_KEY_FIELD, .field = class->fields[i].name};
}

/* Adds the name of another class that ends what RULE begins. */
static int add_end(struct span_rule *rule, const struct event_class *end, struct arena *arena)
{
    size_t len = strlen(rule->steps[1].event);
    size_t size = len + 1 + strlen(end->name) + 1;
    char *event = arena_alloc(arena, size);

    if (!event)
        return -ENOMEM;
    memcpy(event, rule->steps[1].event, len);
    event[len] = '|';
    memcpy(event + len + 1, end->name, size - len - 1);
    rule->steps[1].event = event;
    return 0;
}

static int make_rule(const struct catalogue *catalogue, const struct event_class *begin,
                     struct arena *arena, struct span_rule *rule)
{
    *rule = (struct span_rule){0};
    for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
        const struct event_class *end;
        const char *star;
        const char *name;
        size_t len;
        unsigned n_keys;

        star = glob_match_star(names[i].begin, begin->name, &len);
        if (!star || !is_usable(i, begin))
            continue;
        name = glob_fill_star(arena, names[i].end, star, len);
        if (!name)
            return -ENOMEM;
        end = find_class(catalogue, begin, name);
        if (!end)
            continue;
        n_keys = count_addresses(begin, end);
        if (rule->n_steps == 0) {
            rule->name = arena_strndup(arena, star, len);
            if (!rule->name)
                return -ENOMEM;
            rule->n_steps = 2;
            rule->n_keys = n_keys;
            rule->place = n_keys > 0 ? SPAN_ANYWHERE : SPAN_ON_THREAD;
            rule->again = SPAN_AGAIN_NEST;
            set_step(&rule->steps[0], begin, n_keys);
            set_step(&rule->steps[1], end, n_keys);
        } else if (n_keys == rule->n_keys && add_end(rule, end, arena) < 0) {
            return -ENOMEM;
        }
    }
    return rule->n_steps > 0;
}

int span_names_find(const struct catalogue *catalogue, const struct event_class *class,
                    struct arena *arena, struct span_by_name *ret)
{
    *ret = (struct span_by_name){0};
    /* What rules would not take for a name. */
    if (strpbrk(class->name, "*|"))
        return 0;
    for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
        for (unsigned ends = 0; ends < 2; ends++) {
            const struct event_class *other;
            const char *star;
            const char *name;
            size_t len;

            star = glob_match_star(ends ? names[i].end : names[i].begin, class->name, &len);
            if (!star || len == 0 || !is_usable(i, class))
                continue;
            name = glob_fill_star(arena, ends ? names[i].begin : names[i].end, star, len);
            if (!name)
                return -ENOMEM;
            other = find_class(catalogue, class, name);
            if (!other) {
                ret->partner_missing = true;
                continue;
            }
            ret->begin = ends ? other : class;
            ret->is_begin = !ends;
            ret->partner_missing = false;
            return make_rule(catalogue, ret->begin, arena, &ret->rule);
        }
    }
    return 0;
}
