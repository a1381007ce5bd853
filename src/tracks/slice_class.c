/* SPDX-License-Identifier: MIT */
#include "tracks/slice_class.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/exit_events.h"
#include "analysis/spans/span_match.h"
#include "analysis/spans/span_names.h"
#include "base/glob.h"
#include "base/utf8.h"
#include "event/class_map.h"
#include "event/kernel_event.h"
#include "event/program.h"

/* Limit of rules by names of events. QEMU and Linux have fewer; hostile traces may have any number. Events beyond the
 * limit are shown as events. */
#define RULES_BY_NAME_MAX 1024

struct styled_rule {
    struct span_rule rule;
    const struct span_style *style;
    /* Class of the begin, for a rule by name; NULL for a style's rule. */
    const struct event_class *begin;
    unsigned number; /* in slices->spans */
    struct styled_rule *next;
};

static int add_rule(struct slices *slices, const struct span_rule *rule,
                    const struct span_style *style, const struct event_class *begin,
                    struct styled_rule **ret_added)
{
    struct styled_rule *added = arena_alloc(&slices->tracks.arena, sizeof *added);
    int number;

    if (!added)
        return -ENOMEM;
    *added = (struct styled_rule){.rule = *rule, .style = style, .begin = begin};
    number = spans_add_rule(&slices->spans, &added->rule);
    if (number < 0)
        return number;
    added->number = (unsigned)number;
    added->next = slices->rules;
    slices->rules = added;
    if (ret_added)
        *ret_added = added;
    return 0;
}

int slice_classes_init(struct slices *slices)
{
    for (unsigned i = 0;; i++) {
        const struct span_style *style;
        struct span_rule rule;
        int r = span_style_rule(i, &slices->tracks.arena, &rule, &style);

        if (r == 0)
            r = add_rule(slices, &rule, style, NULL, NULL);
        if (r < 0)
            return r == -ENOENT ? 0 : r;
    }
}

/* Gets the rule with BY_NAME's begin, and adds it if it is new. *RET is NULL if there are too many. */
static int get_rule_by_name(struct slices *slices, const struct span_by_name *by_name,
                            const struct styled_rule **ret)
{
    const struct span_style *style =
        by_name->rule.n_keys > 0 ? &span_style_by_address : &span_style_by_name;
    struct styled_rule *rule;
    int r;

    for (rule = slices->rules; rule; rule = rule->next) {
        const char *star;
        size_t len;

        if (rule->begin && span_step_matches(&rule->rule.steps[0], by_name->begin, &star, &len))
            break;
    }
    if (!rule && slices->n_rules_by_name < RULES_BY_NAME_MAX) {
        slices->n_rules_by_name++;
        r = add_rule(slices, &by_name->rule, style, by_name->begin, &rule);
        if (r < 0)
            return r;
    }
    *ret = rule;
    return 0;
}

static int set_exit(struct slice_class *plan, struct arena *arena, const struct event_class *class)
{
    struct exit_class *found = arena_alloc(arena, sizeof *found);

    if (!found)
        return -ENOMEM;
    exit_class_find(class, found);
    plan->exit = found;
    return 0;
}

/* Splits the name of CLASS's slices into pieces: "irq {name}". 0, -ENOMEM. */
static int compile_name(struct slice_class *plan, const char *name, struct arena *arena,
                        const struct event_class *class)
{
    const char *p = name;
    const char *field;

    while (plan->n_name < NAME_PIECES && (*p || plan->n_name == 0)) {
        struct name_piece *piece = &plan->name[plan->n_name++];
        const char *brace = strchr(p, '{');
        const char *end = brace ? strchr(brace, '}') : NULL;

        *piece = (struct name_piece){.text = p, .len = strlen(p), .field = -1};
        if (!end)
            break;
        piece->len = (size_t)(brace - p);
        field = arena_strndup(arena, brace + 1, (size_t)(end - brace - 1));
        if (!field)
            return -ENOMEM;
        piece->field = kernel_event_field(class, field);
        if (strcmp(field, STYLE_MARKER) == 0)
            piece->field = PIECE_MARKER;
        if (strcmp(field, STYLE_EXIT_REASON) == 0) {
            piece->field = PIECE_EXIT_REASON;
            if (set_exit(plan, arena, class) < 0)
                return -ENOMEM;
        }
        p = end + 1;
    }
    return 0;
}

/* CLASS begins or ends spans of RULE, whose '*' matched STAR. */
static int use_rule(struct slices *slices, struct group *group, const struct styled_rule *rule,
                    const struct event_class *class, bool is_begin, const char *star, size_t len,
                    struct slice_class *plan)
{
    const struct span_style *style = rule->style;
    struct arena *arena = &slices->tracks.arena;
    const char *title = glob_fill_star(arena, style->title, star, len);
    const char *name = glob_fill_star(arena, style->name, star, len);
    struct pair *pair;

    if (!title || !name)
        return -ENOMEM;
    pair = tracks_pair(&slices->tracks, group, title);
    if (!pair)
        return -ENOMEM;
    plan->on_thread = plan->on_thread || style->place == ON_THREAD;
    if (!is_begin) {
        plan->ends = pair;
        return 0;
    }
    if (plan->begins != NO_RULE && style->builtin && strcmp(name, plan->name[0].text) == 0 &&
        plan->pair == pair) {
        plan->begins_else = plan->begins;
        plan->style_else = plan->style;
    }
    plan->n_name = 0;
    plan->begins = (int)rule->number;
    plan->style = style;
    plan->pair = pair;
    plan->title = title;
    plan->is_switch = style->place == ON_CPU;
    if (compile_name(plan, name, arena, class) < 0)
        return -ENOMEM;
    for (unsigned i = 0; i < STYLE_FLOW_FIELDS; i++)
        plan->flow[i] = kernel_event_field(class, style->flow[i]);
    plan->flow_kind = kernel_event_field(class, style->flow_kind);
    if (style->flow_kind && strcmp(style->flow_kind, "*") == 0)
        plan->flow_letter = len == 5 && memcmp(star, "write", 5) == 0  ? 'W'
                            : len == 4 && memcmp(star, "read", 4) == 0 ? 'R'
                                                                       : 0;
    return 0;
}

static int find_rules(struct slices *slices, struct group *group, const struct event_class *class,
                      struct slice_class *plan)
{
    const struct styled_rule *rule;
    struct span_by_name by_name;
    bool found = false;
    int r;

    for (rule = slices->rules; rule; rule = rule->next) {
        for (unsigned ends = 0; ends < 2; ends++) {
            unsigned step = ends ? rule->rule.n_steps - 1 : 0;
            const char *star;
            size_t len;

            if (rule->begin || !span_step_matches(&rule->rule.steps[step], class, &star, &len))
                continue;
            found = true;
            if (strchr(rule->rule.steps[step].event, '|')) { /* "read" of "..._read|..._write" */
                star = glob_own_end(rule->rule.steps[step].event, class->name);
                len = strlen(star);
            }
            r = use_rule(slices, group, rule, class, !ends, star, len, plan);
            if (r < 0)
                return r;
        }
    }
    if (found)
        return 0;
    r = span_names_find(slices->options.catalogue, class, &slices->tracks.arena, &by_name);
    if (r <= 0) {
        plan->partner_missing = r == 0 && by_name.partner_missing;
        return r;
    }
    r = get_rule_by_name(slices, &by_name, &rule);
    if (r < 0 || !rule)
        return r;
    return use_rule(slices, group, rule, class, by_name.is_begin, rule->rule.name,
                    strlen(rule->rule.name), plan);
}

_cold_ int slice_class_make(struct slices *slices, struct group *group,
                            const struct event_class *class)
{
    struct slice_class plan = {.made = true,
                               .begins = NO_RULE,
                               .begins_else = NO_RULE,
                               .n_classes = slices->options.catalogue->n_classes};
    int r;

    if (class_map_grow(slices->classes, slices->n_classes, class) < 0)
        return -ENOMEM;
    r = find_rules(slices, group, class, &plan);
    if (r < 0)
        return r;
    plan.counter = counter_find(class);
    if (plan.counter) {
        plan.counter_value = event_class_field(class, plan.counter->value);
        plan.counter_id = event_class_field(class, plan.counter->id);
    }
    plan.marker = KERNEL_LAYER(class->origin->layer) && kernel_event_is(class, "ftrace", "print")
                      ? event_class_field(class, "buf")
                      : -1;
    plan.task = plan.comm = -1;
    if (KERNEL_LAYER(class->origin->layer)) {
        plan.task = kernel_event_field(class, "next_pid");
        plan.comm = event_class_field(class, "next_comm");
        if (plan.comm >= 0 && class->fields[plan.comm].type != FIELD_STRING)
            plan.comm = -1;
        plan.thread_end = kernel_thread_end_of(class);
        /* What programs write into their kernel's trace. */
        plan.on_thread = plan.on_thread || strcmp(class->name, "print") == 0;
    } else if (class->origin->layer != LAYER_HYPERVISOR) {
        plan.on_thread = true;
    }
    slices->classes[class->index] = plan;
    return slice_class_look_again(slices, class);
}

int slice_class_look_again(struct slices *slices, const struct event_class *class)
{
    struct slice_class *plan = &slices->classes[class->index];
    int r = spans_concern(&slices->spans, class);

    if (r < 0)
        return r;
    plan->in_spans = r > 0;
    plan->n_rules = slices->spans.n_rules;
    return 0;
}

static void put_field_value(struct text *text, const struct item *item, int number)
{
    const struct field *field = &item->class->fields[number];
    struct value value = item_value(item, (unsigned)number);

    if (item_put_name(item, (unsigned)number, &value, text))
        return;
    if (!value.present)
        text_put_char(text, '?');
    else if (field->type == FIELD_STRING)
        utf8_put(text, value.s, value.len);
    else
        value_put(field, &value, text);
}

void slice_class_put_name(struct slices *slices, const struct slice_class *class,
                          const struct item *item, struct slice *slice)
{
    struct text *name = &slices->name;
    struct marker marker;

    slice->name = class->name[0].text;
    slice->name_len = class->name[0].len;
    if (class->n_name == 1 && class->name[0].field == -1)
        return;
    name->next = name->start;
    for (unsigned i = 0; i < class->n_name; i++) {
        text_put(name, class->name[i].text, class->name[i].len);
        if (class->name[i].field >= 0)
            put_field_value(name, item, class->name[i].field);
        else if (class->name[i].field == PIECE_EXIT_REASON)
            exit_item_put_reason(class->exit, item, name);
        else if (class->name[i].field == PIECE_MARKER && slice_class_marker(class, item, &marker))
            utf8_put(name, marker.name, marker.len);
    }
    if (name->error) {
        slices->error = -ENOMEM;
        return;
    }
    /* An empty one may have no memory. */
    slice->name = name->start ? name->start : "";
    slice->name_len = text_len(name);
}

bool slice_class_marker(const struct slice_class *class, const struct item *item,
                        struct marker *ret)
{
    struct value value;

    if (class->marker < 0)
        return false;
    value = item_value(item, (unsigned)class->marker);
    return value.present && item->class->fields[class->marker].type == FIELD_STRING &&
           marker_parse(value.s, value.len, ret);
}

char slice_class_flow_kind(const struct slice_class *class, const struct item *item)
{
    char kind;

    if (class->flow_kind < 0)
        return class->flow_letter;
    kind = kernel_event_rwbs(item, (unsigned)class->flow_kind);
    return kind == 'W' || kind == 'R' ? kind : 0;
}
