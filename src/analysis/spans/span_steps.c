/* SPDX-License-Identifier: MIT */
#include "analysis/spans/span_steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/spans/span_match.h"
#include "base/glob.h"
#include "base/macro.h"
#include "base/map.h"
#include "event/class_map.h"
#include "event/kernel_event.h"

static struct span_kind *get_kind(struct spans *spans, unsigned rule, const char *name)
{
    struct span_kind **more;
    struct span_kind *kind;

    for (unsigned i = 0; i < spans->n_kinds; i++)
        if (spans->kinds[i]->rule_number == rule && strcmp(spans->kinds[i]->name, name) == 0)
            return spans->kinds[i];
    more = realloc(spans->kinds, (spans->n_kinds + 1) * sizeof(struct span_kind *));
    if (!more)
        return NULL;
    spans->kinds = more;
    kind = arena_alloc(&spans->arena, sizeof *kind);
    if (!kind)
        return NULL;
    *kind = (struct span_kind){
        .name = name, .rule = spans->rules[rule], .number = spans->n_kinds, .rule_number = rule};
    more[spans->n_kinds++] = kind;
    return kind;
}

uint32_t span_steps_name(struct spans *spans, unsigned rule, const char *star, size_t len)
{
    struct rule_keys *keys = &spans->rule_keys[rule];
    uintptr_t number;

    if (!keys->has_star || spans->rules[rule]->again == SPAN_AGAIN_REPLACE)
        star = "", len = 0;
    if (len == 0) {
        if (keys->plain_name == 0)
            keys->plain_name = ++spans->n_names;
        return keys->plain_name;
    }
    number = (uintptr_t)map_get_str(&keys->names, star, len);
    if (number > 0)
        return (uint32_t)number;
    star = arena_strndup(&spans->arena, star, len);
    number = spans->n_names + 1;
    if (!star || map_put_str(&keys->names, star, len, (void *)number) < 0)
        return 0;
    return ++spans->n_names;
}

/* The tracer function_graph measures each call itself: it writes the events before and after measuring. */
static void find_measured(const struct span_rule *rule, const struct event_class *class,
                          struct step_use *use)
{
    use->measured_from = use->measured_to = -1;
    if (use->step != rule->n_steps - 1 || strcmp(class->name, "funcgraph_exit") != 0 ||
        !strstr(rule->steps[0].event, "funcgraph_entry"))
        return;
    use->measured_from = event_class_field(class, "calltime");
    use->measured_to = event_class_field(class, use->measured_from < 0 ? "duration" : "rettime");
}

static int make_use(struct spans *spans, unsigned rule, unsigned step, const char *star, size_t len,
                    const struct event_class *class, struct step_use *use)
{
    const struct span_rule *r = spans->rules[rule];
    const char *name = strchr(r->steps[step].event, '*')
                           ? glob_fill_star(&spans->arena, r->name, star, len)
                           : r->name;
    unsigned crossings;
    const char *begin_star;
    size_t begin_len;

    *use = (struct step_use){.rule = rule, .step = step};
    use->begins_too = step > 0 && span_step_matches(&r->steps[0], class, &begin_star, &begin_len);
    if (r->steps[step].condition) {
        struct condition *condition;
        int error =
            condition_compile(r->steps[step].condition, class, &spans->arena, &condition, NULL);

        if (error < 0)
            return error;
        use->condition = condition;
    }
    use->kind = name ? get_kind(spans, rule, name) : NULL;
    use->name = span_steps_name(spans, rule, star, len);
    if (!use->kind || use->name == 0)
        return -ENOMEM;
    for (unsigned i = 0; i < r->n_keys; i++)
        use->fields[i] = r->steps[step].keys[i].kind == SPAN_KEY_FIELD
                             ? span_key_field(&r->steps[step].keys[i], class)
                             : -1;
    find_measured(r, class, use);
    use->is_simple = r->n_steps == SIMPLE_SHAPE.n_steps && r->n_keys == SIMPLE_SHAPE.n_keys &&
                     r->again == SIMPLE_SHAPE.again && !use->condition && use->measured_to < 0;
    crossings = span_rule_crossings(r, spans->catalogue);
    spans->narrowed = spans->narrowed || (spans->rule_keys[rule].crossings != 0 && crossings == 0);
    spans->rule_keys[rule].crossings = crossings;
    return 0;
}

_cold_ int span_steps_find(struct spans *spans, const struct event_class *class)
{
    struct class_steps *steps = NULL;
    unsigned n = 0;
    int r;

    if (class_map_grow(spans->classes, spans->n_classes, class) < 0)
        return -ENOMEM;
    for (unsigned pass = 0; pass < 2; pass++) {
        if (pass == 1) {
            steps = arena_alloc(&spans->arena, sizeof *steps + n * sizeof steps->uses[0]);
            if (!steps)
                return -ENOMEM;
        }
        n = 0;
        for (unsigned begins = 0; begins < 2; begins++) {
            for (unsigned i = 0; i < spans->n_rules; i++) {
                for (unsigned j = spans->rules[i]->n_steps; j-- > 0;) {
                    const char *star;
                    size_t len;

                    if ((j == 0) != (begins == 1) ||
                        !span_step_matches(&spans->rules[i]->steps[j], class, &star, &len))
                        continue;
                    r = pass == 1 ? make_use(spans, i, j, star, len, class, &steps->uses[n]) : 0;
                    if (r == -ENOMEM)
                        return r;
                    /* -EINVAL: the class does not have the fields of the step's condition. */
                    n += r == 0;
                }
            }
        }
    }
    steps->n = n;
    for (unsigned i = n; i-- > 0;) {
        struct step_use *use = &steps->uses[i];
        bool continues = i + 1 < n && use[1].rule == use->rule && use[1].step > 0;

        use->n_same = 1 + (continues ? use[1].n_same : 0);
    }
    if (spans->has_threads || class->origin->pid_filter || class->origin->threads_only)
        steps->thread_end = kernel_thread_end_of(class);
    steps->switches = steps->thread_end.may && steps->thread_end.state >= 0;
    if (spans->has_vcpus && class->origin->layer == LAYER_HYPERVISOR)
        steps->switches = strncmp(class->name, "running_to_", strlen("running_to_")) == 0;
    steps->is_nothing = steps->n == 0 && !steps->thread_end.may && !steps->switches;
    spans->classes[class->index] = steps;
    return 0;
}

void span_steps_forget(struct spans *spans, const struct span_rule *rule)
{
    for (unsigned i = 0; i < spans->n_classes && i < spans->catalogue->n_classes; i++) {
        const char *star;
        size_t len;

        for (unsigned j = 0; spans->classes[i] && j < rule->n_steps; j++)
            if (span_step_matches(&rule->steps[j], spans->catalogue->classes[i], &star, &len))
                spans->classes[i] = NULL;
    }
}
