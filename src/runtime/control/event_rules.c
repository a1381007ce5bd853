/* SPDX-License-Identifier: MIT */
#include "runtime/control/event_rules.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/control/filter_set.h"
#include "runtime/control/pattern.h"
#include "runtime/events.h"
#include "runtime/macro.h"
#include "runtime/message.h"
#include "runtime/ring/process_dir.h"
#include "runtime/wakeup.h"

enum rule_kind {
    RULE_OFF,
    RULE_ON,
    RULE_FILTER,    /* on where a condition holds */
    RULE_NO_FILTER, /* what has a condition has none any more */
};

/* Events that did not take a condition. */
struct refusals {
    unsigned n;
    char first[80]; /* its name */
    struct filter_error error;
};

struct rule {
    struct rule *next;
    enum rule_kind kind;
    struct filter_condition *condition; /* of RULE_FILTER */
    unsigned n_matched;
    struct refusals refused; /* not reported yet */
    bool warned;
    bool reported; /* that it matched no event */
    char pattern[];
};

/* Patterns, and names of events that never were there: a class remembers by itself. In the order in
 * which they hold: of two that match, the last. */
static struct rule *rules;

#define SHOWN 160 /* bytes of a condition in a message */

/* WHERE is "FILE:LINE: " or nothing, WHO is what it means for which events. */
static void tell(const char *where, const char *condition, const struct filter_error *error,
                 const char *who)
{
    size_t len = strlen(condition);
    size_t from = 0;

    if (len > SHOWN && error->column > SHOWN / 2)
        from = MIN(error->column - SHOWN / 2, len - SHOWN);
    trace_message("%scondition '%s%.*s%s', column %zu: %s%s", where, from > 0 ? "..." : "", SHOWN,
                  condition + from, len - from > SHOWN ? "..." : "", error->column, error->text,
                  who);
}

static void refusals_report(struct refusals *refused, const char *where, const char *condition)
{
    char warning[300];
    char who[160];
    int n;

    if (refused->n == 0)
        return;
    snprintf(warning, sizeof(warning), "%swarning: ", where);
    n = snprintf(who, sizeof(who), ": '%s'", refused->first);
    if (refused->n > 1)
        n += snprintf(who + n, sizeof(who) - (size_t)n, " and %u other event%s", refused->n - 1,
                      refused->n > 2 ? "s" : "");
    snprintf(who + n, sizeof(who) - (size_t)n,
             refused->n > 1 ? " stay as they were" : " stays as it was");
    tell(warning, condition, &refused->error, who);
    refused->n = 0;
}

/* Gives CLASS the condition, or notes that it does not take it. Then it is as before. */
static int give_filter(struct trace_class *class, const struct filter_condition *condition,
                       struct refusals *refused, bool *warned)
{
    struct filter_error error;
    struct filter_error warning = {0};
    int r = filter_set(class, condition, &error, &warning);

    if (r == -EINVAL && refused->n++ == 0) {
        refused->error = error;
        snprintf(refused->first, sizeof(refused->first), "%s", class->name);
    }
    if (r < 0)
        return r;
    if (warning.column && !*warned) {
        char who[120];

        snprintf(who, sizeof(who), ": '%s'", class->name);
        tell("warning: ", condition->text, &warning, who);
        *warned = true;
    }
    class->on = true;
    class->filtered = true;
    return 0;
}

static void rule_apply(struct rule *rule, struct trace_class *class)
{
    if (!pattern_match(rule->pattern, class->name))
        return;
    rule->n_matched++;
    switch (rule->kind) {
    case RULE_OFF:
    case RULE_ON:
        class->on = rule->kind == RULE_ON;
        class->filtered = false;
        break;
    case RULE_NO_FILTER: class->filtered = false; break;
    case RULE_FILTER:
        (void)give_filter(class, rule->condition, &rule->refused, &rule->warned);
        break;
    }
}

/* A class of the same name, of another declaration, has followed all that was said. */
static void follow(struct trace_class *class, const struct trace_class *other)
{
    const char *text = atomic_load_explicit(&other->condition, memory_order_relaxed);
    _cleanup_free_ struct filter_condition *condition = NULL;
    struct refusals refused = {0};
    struct filter_error error;
    bool warned = true;

    if (!other->filtered) {
        class->on = other->on;
        return;
    }
    if (filter_parse(text, &condition, &error) >= 0)
        (void)give_filter(class, condition, &refused, &warned);
    refusals_report(&refused, "", text);
}

void event_rules_of_new(struct trace_class *class)
{
    const struct trace_class *other = class_named(class->name, NULL);

    if (other != class) {
        follow(class, other);
        return;
    }
    for (struct rule *rule = rules; rule; rule = rule->next)
        rule_apply(rule, class);
}

void event_rules_report(void)
{
    for (struct rule *rule = rules; rule; rule = rule->next)
        if (rule->kind == RULE_FILTER)
            refusals_report(&rule->refused, "", rule->condition->text);
}

void event_rules_report_unused(void)
{
    for (struct rule *rule = rules; rule; rule = rule->next)
        if (rule->kind == RULE_FILTER && rule->n_matched == 0 && !rule->reported &&
            pattern_is_glob(rule->pattern))
            trace_message("warning: no event '%s' for the condition '%s'", rule->pattern,
                          rule->condition->text);
}

static void rule_free(struct rule *rule)
{
    free(rule->condition);
    free(rule);
}

/* Whether an older rule of the same pattern has no effect any more. What is on or off stays so for events that do not
 * have the arguments of a condition, or had none to take away. */
static bool is_superseded(enum rule_kind old, enum rule_kind kind)
{
    switch (kind) {
    case RULE_OFF:
    case RULE_ON: return true;
    case RULE_FILTER: return old != RULE_OFF && old != RULE_ON;
    case RULE_NO_FILTER: return old == RULE_NO_FILTER;
    }
    return false;
}

/* Appends a rule. Older ones of the same pattern that are superseded go, so there are three of a pattern at most,
 * however often it is switched. CONDITION becomes the rule's. */
static int rule_add(const char *pattern, enum rule_kind kind, struct filter_condition *condition,
                    struct rule **ret)
{
    struct rule **link = &rules;
    size_t size = strlen(pattern) + 1;
    struct rule *rule = malloc(sizeof(*rule) + size);

    if (!rule)
        return -ENOMEM;
    *rule = (struct rule){.kind = kind, .condition = condition};
    memcpy(rule->pattern, pattern, size);
    while (*link) {
        struct rule *old = *link;

        if (strcmp(old->pattern, pattern) == 0 && is_superseded(old->kind, kind)) {
            *link = old->next;
            rule_free(old);
        } else {
            link = &old->next;
        }
    }
    *link = rule;
    if (ret)
        *ret = rule;
    return 0;
}

static atomic_int n_on;

bool event_rules_any_on(void)
{
    return atomic_load_explicit(&n_on, memory_order_relaxed) > 0;
}

/* Whether it is on is not counted, as it changes without us. */
static void set_own_state(struct strata_event *event, uint8_t state)
{
    uint16_t *own = (uint16_t *)(void *)event->state;
    bool is_on = strata_event_is_on(event);

    /* A call that meets this must not find it on without its condition (runtime/control/filter_set.c). */
    if (state == 0 && is_on)
        __atomic_store_n(own, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&event->filtered, !!(state & STRATA_STATE_FILTERED), __ATOMIC_RELEASE);
    if (state == 0 || is_on)
        return;
    __atomic_store_n(own, 1, __ATOMIC_RELEASE);
    wakeup_post();
}

static void set_state(struct strata_event *event, uint8_t state)
{
    uint8_t before;

    if (!event->compiled_in || !event->state || event->id == 0)
        return;
    if (event->own_state) {
        set_own_state(event, state);
        return;
    }
    before = __atomic_load_n(event->state, __ATOMIC_RELAXED);
    if (before == state)
        return;
    /* Before its first record comes. */
    if (state && !process_dir_describe(class_by_id(event->id))) {
        trace_message("event '%s' stays off: no memory for its description", event->name);
        return;
    }
    /* Release: a thread that sees a condition's state also sees its program (runtime/control/filter_set.c). */
    __atomic_store_n(event->state, state, __ATOMIC_RELEASE);
    if (!before == !state)
        return;
    if (atomic_fetch_add_explicit(&n_on, state ? 1 : -1, memory_order_relaxed) == 0 && state)
        wakeup_post();
}

void event_switch(struct strata_event *event, const struct trace_class *class)
{
    set_state(event, !class->on        ? 0
                     : class->filtered ? STRATA_STATE_ON | STRATA_STATE_FILTERED
                                       : STRATA_STATE_ON);
}

void event_switch_off(struct strata_event *event)
{
    set_state(event, 0);
}

void event_rules_end(void)
{
    for (struct strata_group *group = registry_groups(); group; group = group->next)
        for (uint32_t i = 0; i < group->n_events; i++)
            if (!group->events[i].own_state)
                event_switch_off(&group->events[i]);
}

/* Switches all events of the class, which several libraries may have. */
static void class_switch(struct trace_class *class)
{
    if (class->n_attached == 0)
        return;
    if (class->n_attached == 1) {
        event_switch(class->event, class);
        return;
    }
    for (struct strata_group *group = registry_groups(); group; group = group->next)
        for (uint32_t i = 0; i < group->n_events; i++)
            if (group->events[i].id == class->id)
                event_switch(&group->events[i], class);
}

/* Whether it is an event that is there, and can be switched so. */
static bool rule_switch(struct rule *rule, struct trace_class *class)
{
    struct refusals before = rule->refused;
    bool taken;

    rule_apply(rule, class);
    taken = rule->refused.n == before.n;
    if (!class->n_attached) /* a refusal by an event that is not loaded is not reported */
        rule->refused = before;
    class_switch(class);
    return taken && class->n_attached && class->compiled_in;
}

static int switch_glob(struct rule *rule)
{
    int n = 0;

    for (uint32_t id = 1; id <= class_count(); id++) {
        struct trace_class *class = class_by_id(id);
        /* Also those whose library is away: it may come back. */
        if (!pattern_match(rule->pattern, class->name))
            continue;
        n += rule_switch(rule, class);
    }
    return n;
}

/* The class remembers: RULE is on the list only if there is none. */
static int switch_name(struct rule *rule)
{
    int n = 0;
    bool found = false;

    for (struct trace_class *class = class_named(rule->pattern, NULL); class;
         class = class_named(rule->pattern, class)) {
        n += rule_switch(rule, class);
        found |= class->n_attached;
    }
    return n ? n : rule->refused.n ? -EOPNOTSUPP : found ? -EPERM : -ENOENT;
}

/* CONDITION is freed, or becomes the rule's. */
static int switch_events(const char *pattern, enum rule_kind kind,
                         struct filter_condition *condition, const char *where, bool early)
{
    bool keep = pattern_is_glob(pattern) || !class_named(pattern, NULL);
    struct rule *rule;
    int r;

    r = rule_add(pattern, kind, condition, &rule);
    if (r < 0) {
        free(condition);
        return r;
    }
    r = pattern_is_glob(pattern) ? switch_glob(rule) : switch_name(rule);
    refusals_report(&rule->refused, where, condition ? condition->text : "");
    if (condition && r == 0 && rule->n_matched == 0 && !early) {
        trace_message("%swarning: no event '%s' for the condition '%s'", where, pattern,
                      condition->text);
        rule->reported = true;
    }
    if (!keep) {
        struct rule **link = &rules;

        while (*link != rule)
            link = &(*link)->next;
        *link = rule->next;
        rule_free(rule);
    }
    return r;
}

int strata_event_set_state(const char *pattern, bool on)
{
    int r;

    if (!pattern || !*pattern)
        return -EINVAL;
    registry_lock();
    r = switch_events(pattern, on ? RULE_ON : RULE_OFF, NULL, "", false);
    registry_unlock();
    return r;
}

int event_rules_set_filter(const char *pattern, const char *text, const char *where, bool early)
{
    struct filter_condition *condition = NULL;
    struct filter_error error;
    int r;

    if (!*pattern)
        return -EINVAL;
    if (text) {
        r = filter_parse(text, &condition, &error);
        if (r == -EINVAL) {
            tell(where, text, &error, "");
            return -EBADMSG;
        }
        if (r < 0)
            return r;
        if (condition->warning.column) {
            char warning[300];

            snprintf(warning, sizeof(warning), "%swarning: ", where);
            tell(warning, text, &condition->warning, "");
        }
    }
    registry_lock();
    r = switch_events(pattern, condition ? RULE_FILTER : RULE_NO_FILTER, condition, where, early);
    registry_unlock();
    return r;
}

int strata_event_set_filter(const char *pattern, const char *condition)
{
    int r;

    r = pattern ? event_rules_set_filter(pattern, condition, "", false) : -EINVAL;
    return r == -EBADMSG ? -EINVAL : r;
}

const char *strata_event_get_filter(const struct strata_event *event)
{
    const struct trace_class *class;

    if (!event_is_filtered(event))
        return NULL;
    class = class_by_id(event->id);
    return class ? atomic_load_explicit(&class->condition, memory_order_relaxed) : NULL;
}
