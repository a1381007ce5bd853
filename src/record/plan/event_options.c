/* SPDX-License-Identifier: MIT */
#include "record/plan/event_options.h"

#include <stdio.h>
#include <string.h>

#include "event/pattern.h"
#include "record/plan/guests.h"

static int add(struct plan_event_list *list, const char *pattern, const char *condition)
{
    int r = strings_add(&list->patterns, pattern);

    return r < 0 ? r : strings_add(&list->conditions, condition);
}

int plan_events_add(struct plan_event_list *list, const char *pattern)
{
    return add(list, pattern, "");
}

/* Adds events without a layer: of the process; otherwise of Xen or per-CPU buffers; otherwise of all recorded kernels.
 * WORD: as given. */
static int add_unnamed(struct record_plan *plan, const struct event_pattern *pattern,
                       const char *word, struct error *error)
{
    struct plan_events *chosen = &plan->chosen;
    bool has_process = plan->kind != RECORD_BESIDE,
         has_buffers = plan_recorders_layers(plan->recorders) != 0;
    bool has_guests = plan_guests_are_given(&plan->guests);
    const char *condition = pattern->condition ? pattern->condition : "";
    int r = 0;

    if (has_process && has_buffers)
        return record_misuse(error,
                             "--event='%s' does not say whose events: put vmm:, program: or "
                             "hypervisor: before it",
                             word);
    if (has_process || has_buffers)
        return add(has_process ? &chosen->process : &chosen->buffers, pattern->name, condition);
    if (has_guests)
        r = add(&chosen->guest, pattern->name, condition);
    if (r >= 0 && plan->host)
        r = add(&chosen->host, pattern->name, condition);
    return r;
}

static int add_pattern(struct record_plan *plan, const struct event_pattern *pattern,
                       const char *word, struct error *error)
{
    struct plan_events *chosen = &plan->chosen;
    const char *condition = pattern->condition ? pattern->condition : "";
    bool has_process = plan->kind != RECORD_BESIDE;
    unsigned layers = plan_recorders_layers(plan->recorders);

    switch (pattern->layers) {
    case 1u << LAYER_GUEST:
        if (!plan_guests_are_given(&plan->guests))
            plan->guest = true;
        return add(&chosen->guest, pattern->name, condition);
    case 1u << LAYER_HOST: plan->host = true; return add(&chosen->host, pattern->name, condition);
    case 1u << LAYER_HYPERVISOR:
        if (!(layers & pattern->layers))
            return record_misuse(error, "--event='%s' requires --xen", word);
        return add(&chosen->buffers, pattern->name, condition);
    case 1u << LAYER_VMM:
    case 1u << LAYER_PROGRAM:
        if (!has_process && (layers & pattern->layers))
            return add(&chosen->buffers, pattern->name, condition);
        if (!has_process)
            return record_misuse(error, "--event='%s' requires '-- COMMAND', --attach or --libvirt",
                                 word);
        chosen->process_layers |= pattern->layers;
        return add(&chosen->process, pattern->name, condition);
    default: return add_unnamed(plan, pattern, word, error);
    }
}

/* WORD: patterns with commas between. */
static int add_word(struct record_plan *plan, const char *word, struct error *error)
{
    char *p = arena_strdup(&plan->chosen.arena, word);
    struct event_pattern pattern;
    struct error why = {0};
    bool is_last = false;
    int r = p ? 0 : -ENOMEM;

    while (r >= 0 && !is_last) {
        char *end = (char *)(uintptr_t)event_pattern_end(p);

        is_last = *end == '\0';
        *end = '\0';
        if (p == end)
            return record_misuse(error, "--event='%s' has an empty element between its commas",
                                 word);
        r = event_pattern_parse(p, &pattern, &why);
        if (r < 0)
            return record_misuse(error, "--event='%s': %s", word, why.what);
        r = add_pattern(plan, &pattern, word, error);
        p = end + 1;
    }
    return r;
}

/* Makes the element of events->filters. */
static int add_filter(struct plan_events *events, const char *pattern, const char *condition)
{
    size_t size = strlen(pattern) + strlen(condition) + sizeof "=";
    char *text = arena_alloc(&events->arena, size);

    if (!text)
        return -ENOMEM;
    snprintf(text, size, "%s=%s", pattern, condition);
    return strings_add(&events->filters, text);
}

/* Makes events->program and events->filters. */
static int make_program(struct plan_events *events, struct error *error)
{
    const struct plan_event_list *list = &events->process;
    int r = 0;

    for (unsigned i = 0; r >= 0 && i < list->patterns.n; i++) {
        const char *condition = list->conditions.items[i];
        struct text text = TEXT_IN_MEMORY;

        if (strchr(condition, ';'))
            return record_misuse(error,
                                 "--event='%s{%s}': a condition for a program has no ';'; "
                                 "write \\x3b",
                                 list->patterns.items[i], condition);
        text_put_str(&text, list->patterns.items[i]);
        if (*condition)
            text_put_char(&text, ':');
        for (const char *p = condition; *p; p++) {
            if (*p == ',')
                text_put_char(&text, ',');
            text_put_char(&text, *p);
        }
        text_put_char(&text, '\0');
        r = text.error;
        if (r >= 0) {
            const char *kept = arena_strdup(&events->arena, text.start);

            r = kept ? strings_add(&events->program, kept) : -ENOMEM;
        }
        if (r >= 0 && *condition)
            r = add_filter(events, list->patterns.items[i], condition);
        text_done(&text);
    }
    return r;
}

int plan_events_sort(struct record_plan *plan, struct error *error)
{
    int r = 0;

    for (unsigned i = 0; r >= 0 && i < plan->events.n; i++)
        r = add_word(plan, plan->events.items[i], error);
    if (r >= 0 && plan->kind != RECORD_BESIDE)
        r = make_program(&plan->chosen, error);
    return r < 0 ? r : plan_events_refuse_conditions(&plan->chosen.buffers, "these buffers", error);
}

void plan_events_done(struct plan_events *events)
{
    struct plan_event_list *const lists[] = {&events->process, &events->buffers, &events->guest,
                                             &events->host};

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        strings_done(&lists[i]->patterns);
        strings_done(&lists[i]->conditions);
    }
    strings_done(&events->program);
    strings_done(&events->filters);
    arena_done(&events->arena);
}

int plan_events_refuse_conditions(const struct plan_event_list *list, const char *who,
                                  struct error *error)
{
    for (unsigned i = 0; i < list->conditions.n; i++)
        if (*list->conditions.items[i])
            return record_misuse(error, "--event='%s{%s}': events of %s have no conditions",
                                 list->patterns.items[i], list->conditions.items[i], who);
    return 0;
}

int plan_events_check_layers(const struct plan_events *events, bool is_program, struct error *error)
{
    /* A program can be a virtual machine monitor. */
    if (!is_program && events->process_layers & 1u << LAYER_PROGRAM)
        return record_misuse(error, "--event=program:EVENT: a QEMU is recorded; use vmm:EVENT");
    return is_program ? 0 : plan_events_refuse_conditions(&events->process, "a QEMU", error);
}
