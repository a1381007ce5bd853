/* SPDX-License-Identifier: MIT */
/* Runs the steps of a template's section. */

#include "gen/state.h"
#include "gen/template_step.h"

static void run(const struct template_section *section, uint32_t first, uint32_t end,
                struct gen_state *state);

static void run_events(const struct template_section *section, uint32_t first, uint32_t end,
                       struct gen_state *state)
{
    const struct gen_event *outer = state->event;

    for (unsigned i = 0; i < state->events->n && !state->code; i++) {
        state->event = &state->events->items[i];
        run(section, first, end, state);
    }
    state->event = outer;
}

static void run_arguments(const struct template_section *section, uint32_t first, uint32_t end,
                          struct gen_state *state)
{
    const struct gen_argument *outer = state->argument;

    for (unsigned i = 0; i < state->event->n_arguments && !state->code; i++) {
        state->argument = &state->event->arguments[i];
        run(section, first, end, state);
    }
    state->argument = outer;
}

/* Makes one line of what was put out since FROM, as @line does. */
static void join_lines(struct text *out, size_t from)
{
    char *to = out->start + from;
    const char *p = to;

    while (p < out->next) {
        while (p < out->next && (*p == ' ' || *p == '\t'))
            p++;
        while (p < out->next && *p != '\n')
            *to++ = *p++;
        if (p < out->next)
            p++;
    }
    out->next = to;
}

static void run_backends(const struct template_step *step, struct gen_state *state)
{
    const struct gen_piece *piece = gen_state_piece(state, step->text.start, step->text.len);
    size_t from = text_len(state->out);

    if (!piece)
        return;
    for (unsigned i = 0; i < piece->n_sections && !state->code; i++)
        template_run(piece->sections[i], state);
    if (step->joined && !state->out->error)
        join_lines(state->out, from);
}

static void _cold_ not_at_hand(struct gen_state *state, const struct template_section *section,
                               const struct template_step *step, const char *name,
                               enum gen_scope scope)
{
    gen_state_fail(state, section->file, step->line, "'%s' outside of '@for %s'", name,
                   scope == GEN_EVENT ? "events" : "arguments");
}

/* Steps FIRST up to END, which is not run. */
static void run(const struct template_section *section, uint32_t first, uint32_t end,
                struct gen_state *state)
{
    const struct template_step *steps = section->steps;

    for (uint32_t i = first; i < end && !state->code;) {
        const struct template_step *step = &steps[i++];

        switch (step->kind) {
        case STEP_TEXT: text_put(state->out, step->text.start, step->text.len); break;
        case STEP_VALUE:
            if (!gen_scope_at_hand(state, step->value->scope))
                not_at_hand(state, section, step, step->value->name, step->value->scope);
            else
                step->value->put(state);
            break;
        case STEP_IF:
            if (!gen_scope_at_hand(state, step->flag->scope))
                not_at_hand(state, section, step, step->flag->name, step->flag->scope);
            else if (step->flag->get(state) == step->negated)
                i = step->to;
            break;
        case STEP_GOTO: i = step->to; break;
        case STEP_FOR_EVENTS:
            run_events(section, i, step->to, state);
            i = step->to;
            break;
        case STEP_FOR_ARGUMENTS:
            if (!state->event)
                not_at_hand(state, section, step, "@for arguments", GEN_EVENT);
            else
                run_arguments(section, i, step->to, state);
            i = step->to;
            break;
        case STEP_BACKENDS: run_backends(step, state); break;
        }
    }
}

void template_run(const struct template_section *section, struct gen_state *state)
{
    run(section, 0, section->n_steps, state);
}
