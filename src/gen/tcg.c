/* SPDX-License-Identifier: MIT */
#include "gen/tcg.h"

#include <string.h>

/* QEMU has DEF_HELPER_FLAGS_0 to DEF_HELPER_FLAGS_7. */
#define HELPER_ARGUMENTS_MAX 7

struct form {
    const char *kind;
    const char *type; /* of the helper's parameter */
    bool is_vcpu;
    bool is_constant;
};

static bool is_vcpu(const struct gen_event *event, unsigned i)
{
    return i == 0 && (event->declared->properties & PROPERTY_VCPU);
}

/* A NAME_exec has all arguments, but with the host's types. */
static const struct declared_argument *declared_argument(const struct gen_event *event, unsigned i)
{
    return &event->declared->arguments[event->declared->properties & PROPERTY_VCPU ? i - 1 : i];
}

/* False: no helper can take such an argument. */
static bool form_of(const struct gen_event *event, unsigned i, struct form *ret)
{
    static const struct {
        const char *declared;
        struct form form;
    } tcg[] = {
        {"TCGv", {.kind = "tl", .type = "target_ulong "}},
        {"TCGv_i32", {.kind = "i32", .type = "uint32_t "}},
        {"TCGv_i64", {.kind = "i64", .type = "uint64_t "}},
        {"TCGv_ptr", {.kind = "ptr", .type = "void *"}},
    };
    const struct declared_argument *argument;

    if (is_vcpu(event, i)) {
        *ret = (struct form){.kind = "env", .type = "CPUArchState *", .is_vcpu = true};
        return true;
    }
    argument = declared_argument(event, i);
    for (size_t k = 0; k < ARRAY_SIZE(tcg); k++)
        if (strcmp(tcg[k].declared, argument->type) == 0) {
            *ret = tcg[k].form;
            return true;
        }
    if (argument->c.is_pointer)
        *ret = (struct form){.kind = "ptr", .type = "void *", .is_constant = true};
    else if (argument->c.size == 8)
        *ret = (struct form){.kind = "i64", .type = "uint64_t ", .is_constant = true};
    else
        *ret = (struct form){.kind = "i32", .type = "uint32_t ", .is_constant = true};
    return !argument->c.unknown && argument->c.size > 0;
}

/* Puts something out for each argument, with SEPARATOR between. */
static void each(struct gen_state *state, const char *separator,
                 void (*put)(struct text *out, const struct gen_event *event, unsigned i,
                             const struct form *form))
{
    const struct gen_event *event = state->event;
    const struct declared_event *declared = event->declared;

    if (event->n_arguments > HELPER_ARGUMENTS_MAX) {
        gen_state_fail(state, declared->file, declared->line,
                       "the event '%s' has %u arguments, with the vCPU: TCG's helpers have %d at "
                       "most",
                       declared->name, event->n_arguments, HELPER_ARGUMENTS_MAX);
        return;
    }
    for (unsigned i = 0; i < event->n_arguments; i++) {
        struct form form;

        if (!form_of(event, i, &form)) {
            const struct declared_argument *argument = declared_argument(event, i);

            gen_state_fail(state, declared->file, declared->line,
                           "argument '%s' of '%s': TCG's helpers cannot take the type '%s'",
                           argument->name, declared->name, argument->type);
            return;
        }
        if (i > 0)
            text_put_str(state->out, separator);
        put(state->out, event, i, &form);
    }
}

static void put_tcg_name(struct text *out, const char *name)
{
    text_put_literal(out, "__tcg_");
    text_put_str(out, name);
}

static void put_typed(struct text *out, const char *type, const char *name)
{
    size_t len = strlen(type);

    text_put(out, type, len);
    if (len > 0 && type[len - 1] != '*' && type[len - 1] != ' ')
        text_put_char(out, ' ');
    text_put_str(out, name);
}

static void wrapper_param(struct text *out, const struct gen_event *event, unsigned i,
                          const struct form *form)
{
    if (form->is_vcpu) {
        text_put_literal(out, "TCGv_env ");
        put_tcg_name(out, event->arguments[i].name);
    } else {
        put_typed(out, declared_argument(event, i)->type, event->arguments[i].name);
    }
}

/* The translator hands over the vCPU in both forms. */
static void param(struct text *out, const struct gen_event *event, unsigned i,
                  const struct form *form)
{
    if (form->is_vcpu) {
        put_typed(out, event->arguments[i].type, event->arguments[i].name);
        text_put_literal(out, ", ");
    }
    wrapper_param(out, event, i, form);
}

static void wrapper_name(struct text *out, const struct gen_event *event, unsigned i,
                         const struct form *form)
{
    if (form->is_vcpu)
        put_tcg_name(out, event->arguments[i].name);
    else
        text_put_str(out, event->arguments[i].name);
}

static void proxy_name(struct text *out, const struct gen_event *event, unsigned i,
                       const struct form *form)
{
    if (form->is_vcpu || form->is_constant)
        put_tcg_name(out, event->arguments[i].name);
    else
        text_put_str(out, event->arguments[i].name);
}

static void proxy_param(struct text *out, const struct gen_event *event, unsigned i,
                        const struct form *form)
{
    text_put_str(out, form->type);
    wrapper_name(out, event, i, form);
}

static void proxy_value(struct text *out, const struct gen_event *event, unsigned i,
                        const struct form *form)
{
    if (form->is_vcpu) {
        text_put_literal(out, "env_cpu(");
        put_tcg_name(out, event->arguments[i].name);
        text_put_char(out, ')');
    } else {
        text_put_char(out, '(');
        text_put_str(out, event->arguments[i].type);
        text_put_char(out, ')');
        text_put_str(out, event->arguments[i].name);
    }
}

static void comma_kind(struct text *out, const struct gen_event *event, unsigned i,
                       const struct form *form)
{
    (void)event;
    (void)i;
    text_put_literal(out, ", ");
    text_put_str(out, form->kind);
}

void gen_put_tcg_params(struct gen_state *state)
{
    if (state->event->n_arguments == 0)
        text_put_literal(state->out, "void");
    each(state, ", ", param);
}

void gen_put_tcg_trans_names(struct gen_state *state)
{
    const struct gen_event *event = state->event;
    bool first = true;

    for (unsigned i = 0; i < event->n_arguments; i++) {
        struct form form;

        /* A NAME_trans has what the host knows. What has no form is reported by other events. */
        if (!form_of(event, i, &form) || (!form.is_vcpu && !form.is_constant))
            continue;
        if (!first)
            text_put_literal(state->out, ", ");
        text_put_str(state->out, event->arguments[i].name);
        first = false;
    }
}

void gen_put_tcg_wrapper_params(struct gen_state *state)
{
    if (state->event->n_arguments == 0)
        text_put_literal(state->out, "void");
    each(state, ", ", wrapper_param);
}

void gen_put_tcg_wrapper_names(struct gen_state *state)
{
    each(state, ", ", wrapper_name);
}

void gen_put_tcg_proxy_names(struct gen_state *state)
{
    each(state, ", ", proxy_name);
}

void gen_put_tcg_proxy_params(struct gen_state *state)
{
    if (state->event->n_arguments == 0)
        text_put_literal(state->out, "void");
    each(state, ", ", proxy_param);
}

void gen_put_tcg_proxy_values(struct gen_state *state)
{
    each(state, ", ", proxy_value);
}

void gen_put_tcg_comma_kinds(struct gen_state *state)
{
    each(state, "", comma_kind);
}

static bool argument_form(const struct gen_state *state, struct form *ret)
{
    return form_of(state->event, (unsigned)(state->argument - state->event->arguments), ret);
}

void gen_put_tcg_kind(struct gen_state *state)
{
    struct form form;

    if (argument_form(state, &form))
        text_put_str(state->out, form.kind);
}

bool gen_is_tcg_constant(const struct gen_state *state)
{
    struct form form;

    return argument_form(state, &form) && form.is_constant;
}
