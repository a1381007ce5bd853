/* SPDX-License-Identifier: MIT */
#include "gen/gen.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "gen/state.h"

static const char *target_name(enum gen_target target)
{
    return target == GEN_QEMU ? "qemu" : "strata";
}

void gen_state_fail(struct gen_state *state, const char *file, uint32_t line, const char *format,
                    ...)
{
    va_list args;

    if (state->code)
        return;
    va_start(args, format);
    state->code = error_put(state->error, -EINVAL, file, ERROR_NO_OFFSET, line, format, args);
    va_end(args);
}

/* The section of KEY (after the target) for the target at hand, or for any. */
static const struct template_section *find_section(const struct gen_template *template,
                                                   enum gen_target target, const char *key)
{
    const struct template_section *section;
    char whole[128];

    snprintf(whole, sizeof whole, "%s%s", target_name(target), key);
    section = template_find(template, whole);
    if (section)
        return section;
    snprintf(whole, sizeof whole, "any%s", key);
    return template_find(template, whole);
}

static void collect(const struct gen_state *state, struct gen_piece *piece)
{
    char key[96];

    snprintf(key, sizeof key, " %s %.*s", state->job->format->name,
             (int)MIN(piece->len, (size_t)40), piece->name);
    for (unsigned i = 0; i < state->job->n_backends; i++) {
        const struct template_section *section =
            find_section(&state->backends[i], state->job->target, key);
        if (section)
            piece->sections[piece->n_sections++] = section;
    }
}

const struct gen_piece *gen_state_piece(struct gen_state *state, const char *name, size_t len)
{
    struct gen_piece *piece;

    for (unsigned i = 0; i < state->n_pieces; i++)
        if (state->pieces[i].name == name)
            return &state->pieces[i];
    if (state->n_pieces == GEN_PIECES_MAX) {
        gen_state_fail(state, state->job->format->name, 0, "more than %d @backends",
                       GEN_PIECES_MAX);
        return NULL;
    }
    piece = &state->pieces[state->n_pieces++];
    *piece = (struct gen_piece){.name = name, .len = len};
    collect(state, piece);
    return piece;
}

/* The group as an identifier: what is none becomes '_'. */
static int make_group(struct gen_state *state)
{
    const char *group = state->job->group ? state->job->group : "";
    size_t len = strlen(group);

    if (state->job->group && len == 0)
        return error_set(state->error, -EINVAL, NULL, "the name of the group is empty");
    if (len >= sizeof state->group)
        return error_set(state->error, -EINVAL, NULL, "the name of the group is longer than %zu",
                         sizeof state->group - 1);
    if (group[0] >= '0' && group[0] <= '9')
        return error_set(state->error, -EINVAL, NULL,
                         "the group '%s' begins with a digit, which no name in C does", group);
    for (size_t i = 0; i < len; i++) {
        char c = group[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        state->group[i] = word ? c : '_';
    }
    return 0;
}

static int compile_backends(struct gen_state *state, struct arena *arena)
{
    struct gen_piece event = {.name = "event", .len = strlen("event")};

    for (unsigned i = 0; i < state->job->n_backends; i++) {
        const struct gen_backend *backend = state->job->backends[i];
        int r;

        if (!backend->template_text)
            continue;
        state->any_backend = true;
        r = template_compile(backend->file, backend->template_text, *backend->template_len, arena,
                             &state->backends[i], state->error);
        if (r < 0)
            return r;
        state->goes_by_state |=
            find_section(&state->backends[i], state->job->target, " h event") != NULL;
    }
    collect(state, &event);
    state->any_event_section = event.n_sections > 0;
    return 0;
}

static int run(struct gen_state *state, const struct declarations *declarations,
               struct arena *arena)
{
    const struct gen_format *format = state->job->format;
    const struct template_section *section;
    struct gen_template template;
    struct gen_events events;
    int r;

    r = make_group(state);
    if (r < 0)
        return r;
    r = template_compile(format->file, format->template_text, *format->template_len, arena,
                         &template, state->error);
    if (r < 0)
        return r;
    section = find_section(&template, state->job->target, "");
    if (!section)
        return error_set(state->error, -EINVAL, NULL,
                         state->job->target == GEN_STRATA
                             ? "the format '%s' is only for QEMU's own tree: --target qemu"
                             : "the format '%s' is not for QEMU's tree: --target strata",
                         format->name);
    r = compile_backends(state, arena);
    if (r < 0)
        return r;
    r = gen_events_make(declarations, arena, &events);
    if (r < 0)
        return error_set(state->error, r, NULL, "out of memory");
    state->events = &events;
    template_run(section, state);
    if (state->out->error)
        return error_set(state->error, state->out->error, NULL, "out of memory");
    return state->code;
}

static bool asks_for(const struct gen_job *job, const char *name)
{
    for (unsigned i = 0; i < job->n_backends; i++)
        if (strcmp(job->backends[i]->name, name) == 0)
            return true;
    return false;
}

/* With libstrata, `simple` and `ring` have the same records, made by the same code. */
static void add_implied(struct gen_job *job)
{
    if (job->target == GEN_STRATA && asks_for(job, "simple") && !asks_for(job, "ring") &&
        job->n_backends < GEN_BACKENDS_MAX)
        job->backends[job->n_backends++] = gen_backend_find("ring", strlen("ring"));
}

int gen_run(const struct gen_job *job, const struct declarations *declarations, struct text *out,
            struct error *error)
{
    struct gen_job whole = *job;
    struct gen_state state = {
        .job = &whole, .out = out, .error = error, .counted = text_len(out), .n_lines = 0};
    struct arena arena = {0};
    int r;

    state.ring_asked = asks_for(job, "ring");
    add_implied(&whole);
    r = run(&state, declarations, &arena);
    arena_done(&arena);
    return r;
}
