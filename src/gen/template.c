/* SPDX-License-Identifier: MIT */
#include "gen/template.h"

#include <stdarg.h>

#include "gen/template_step.h"

/* Nothing in C that a person reads goes deeper. */
#define DEPTH_MAX 16

enum block_kind {
    BLOCK_FOR,
    BLOCK_IF,
    BLOCK_LINE,
};

/* A directive that waits for its @end. */
struct open_block {
    enum block_kind kind;
    uint32_t line;
    bool has_else;
    uint32_t start;     /* of @for: its step; of @if: the step whose `to` the next branch sets */
    uint32_t last_goto; /* of @if: ends of branches, linked by `to`; NO_STEP ends the list */
};

#define NO_STEP UINT32_MAX

struct compiler {
    const char *name;
    uint32_t number; /* of the line */
    struct arena *arena;
    struct error *error;

    struct template_step *steps; /* of the section at hand */
    unsigned n_steps;
    unsigned steps_capacity;
    struct template_section *sections;
    unsigned n_sections;
    unsigned sections_capacity;

    struct open_block blocks[DEPTH_MAX];
    unsigned depth;
    unsigned lines_open; /* @line */
    bool line_begun;     /* its first line, whose indentation stays, is there */
};

static int _printf_(2, 3) wrong(struct compiler *compiler, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    error_put(compiler->error, -EINVAL, compiler->name, ERROR_NO_OFFSET, compiler->number, format,
              args);
    va_end(args);
    return -EINVAL;
}

/* For "%.*s". */
#define CUT(len) ((int)MIN((size_t)(len), (size_t)60))

static struct template_step *add_step(struct compiler *compiler, enum step_kind kind)
{
    struct template_step *step;

    if (compiler->n_steps == compiler->steps_capacity) {
        unsigned capacity = compiler->steps_capacity ? compiler->steps_capacity * 2 : 64;
        struct template_step *bigger = realloc(compiler->steps, capacity * sizeof *bigger);
        if (!bigger)
            return NULL;
        compiler->steps = bigger;
        compiler->steps_capacity = capacity;
    }
    step = &compiler->steps[compiler->n_steps++];
    *step = (struct template_step){
        .kind = kind,
        .line = compiler->number,
        .joined = compiler->lines_open > 0,
    };
    return step;
}

/* A step that goes on where one is that nothing goes to from elsewhere may be lengthened. */
static bool joins(const struct compiler *compiler, const char *start)
{
    const struct template_step *last =
        compiler->n_steps > 0 ? &compiler->steps[compiler->n_steps - 1] : NULL;

    return last && last->kind == STEP_TEXT && last->text.start + last->text.len == start;
}

static int add_text(struct compiler *compiler, const char *start, const char *end)
{
    struct template_step *step;

    if (start == end)
        return 0;
    if (joins(compiler, start)) {
        compiler->steps[compiler->n_steps - 1].text.len += (size_t)(end - start);
        return 0;
    }
    step = add_step(compiler, STEP_TEXT);
    if (!step)
        return -ENOMEM;
    step->text.start = start;
    step->text.len = (size_t)(end - start);
    return 0;
}

/* A newline of its own, which no step may be joined with. */
static int add_newline(struct compiler *compiler)
{
    static const char newline[] = "\n";
    struct template_step *step = add_step(compiler, STEP_TEXT);

    if (!step)
        return -ENOMEM;
    step->text.start = newline;
    step->text.len = 1;
    return 0;
}

/* A line of text with its newline, if it has one. */
static int compile_text(struct compiler *compiler, const char *p, const char *end)
{
    const char *dollar;
    int r;

    if (compiler->lines_open > 0) {
        while (compiler->line_begun && p < end && (*p == ' ' || *p == '\t'))
            p++;
        compiler->line_begun = true;
        if (p < end && end[-1] == '\n')
            end--;
    }
    while ((dollar = memmem(p, (size_t)(end - p), "${", 2))) {
        const char *name = dollar + 2;
        const char *close = memchr(name, '}', (size_t)(end - name));
        struct template_step *step;

        r = add_text(compiler, p, dollar);
        if (r < 0)
            return r;
        if (!close)
            return wrong(compiler, "missing '}' after '${'");
        step = add_step(compiler, STEP_VALUE);
        if (!step)
            return -ENOMEM;
        step->value = gen_value_find(name, (size_t)(close - name));
        if (!step->value)
            return wrong(compiler, "unknown value '${%.*s}'", CUT(close - name), name);
        p = close + 1;
    }
    return add_text(compiler, p, end);
}

static struct open_block *open_block(struct compiler *compiler, enum block_kind kind)
{
    struct open_block *block;

    if (compiler->depth == DEPTH_MAX)
        return NULL;
    block = &compiler->blocks[compiler->depth++];
    *block = (struct open_block){
        .kind = kind,
        .line = compiler->number,
        .start = compiler->n_steps,
        .last_goto = NO_STEP,
    };
    return block;
}

static int too_deep(struct compiler *compiler)
{
    return wrong(compiler, "blocks inside of blocks, more than %d deep", DEPTH_MAX);
}

static bool word_is(const char *word, size_t len, const char *text)
{
    return strlen(text) == len && memcmp(word, text, len) == 0;
}

/* "FLAG" or "not FLAG". */
static int add_condition(struct compiler *compiler, const char *p, size_t len)
{
    bool negated = len > 4 && memcmp(p, "not ", 4) == 0;
    const struct gen_flag *flag;
    struct template_step *step;

    if (negated) {
        p += 4;
        len -= 4;
    }
    flag = gen_flag_find(p, len);
    if (!flag)
        return wrong(compiler, "unknown flag '%.*s'", CUT(len), p);
    step = add_step(compiler, STEP_IF);
    if (!step)
        return -ENOMEM;
    step->flag = flag;
    step->negated = negated;
    return 0;
}

static int compile_for(struct compiler *compiler, const char *p, size_t len)
{
    enum step_kind kind;

    if (word_is(p, len, "events"))
        kind = STEP_FOR_EVENTS;
    else if (word_is(p, len, "arguments"))
        kind = STEP_FOR_ARGUMENTS;
    else
        return wrong(compiler, "@for goes over 'events' or 'arguments', not '%.*s'", CUT(len), p);
    if (!open_block(compiler, BLOCK_FOR))
        return too_deep(compiler);
    return add_step(compiler, kind) ? 0 : -ENOMEM;
}

static int compile_if(struct compiler *compiler, const char *p, size_t len)
{
    if (!open_block(compiler, BLOCK_IF))
        return too_deep(compiler);
    return add_condition(compiler, p, len);
}

/* Ends the current branch: a branch that was executed continues after the @end; otherwise execution continues here. */
static int end_branch(struct compiler *compiler, const char *directive, struct open_block **ret)
{
    struct open_block *block = compiler->depth > 0 ? &compiler->blocks[compiler->depth - 1] : NULL;
    struct template_step *step;

    if (!block || block->kind != BLOCK_IF)
        return wrong(compiler, "%s without an @if", directive);
    if (block->has_else)
        return wrong(compiler, "%s after the @else of line %u", directive, block->line);
    step = add_step(compiler, STEP_GOTO);
    if (!step)
        return -ENOMEM;
    step->to = block->last_goto;
    block->last_goto = compiler->n_steps - 1;
    compiler->steps[block->start].to = compiler->n_steps;
    *ret = block;
    return 0;
}

static int compile_elif(struct compiler *compiler, const char *p, size_t len)
{
    struct open_block *block = NULL;
    int r = end_branch(compiler, "@elif", &block);

    if (r < 0)
        return r;
    block->start = compiler->n_steps;
    return add_condition(compiler, p, len);
}

static int compile_else(struct compiler *compiler, const char *p, size_t len)
{
    struct open_block *block = NULL;
    int r;

    if (len > 0)
        return wrong(compiler, "unexpected '%.*s' after @else", CUT(len), p);
    r = end_branch(compiler, "@else", &block);
    if (r < 0)
        return r;
    block->line = compiler->number;
    block->has_else = true;
    return 0;
}

static int compile_end(struct compiler *compiler, const char *p, size_t len)
{
    struct open_block *block;

    if (len > 0)
        return wrong(compiler, "unexpected '%.*s' after @end", CUT(len), p);
    if (compiler->depth == 0)
        return wrong(compiler, "@end without anything to end");
    block = &compiler->blocks[--compiler->depth];
    switch (block->kind) {
    case BLOCK_FOR: compiler->steps[block->start].to = compiler->n_steps; return 0;
    case BLOCK_IF:
        if (!block->has_else)
            compiler->steps[block->start].to = compiler->n_steps;
        for (uint32_t i = block->last_goto; i != NO_STEP;) {
            uint32_t next = compiler->steps[i].to;
            compiler->steps[i].to = compiler->n_steps;
            i = next;
        }
        return 0;
    case BLOCK_LINE: break;
    }
    compiler->lines_open--;
    return add_newline(compiler);
}

static int compile_line(struct compiler *compiler, const char *p, size_t len)
{
    if (len > 0)
        return wrong(compiler, "unexpected '%.*s' after @line", CUT(len), p);
    if (compiler->lines_open > 0)
        return wrong(compiler, "@line inside of @line");
    if (!open_block(compiler, BLOCK_LINE))
        return too_deep(compiler);
    compiler->lines_open++;
    compiler->line_begun = false;
    return 0;
}

static int compile_backends(struct compiler *compiler, const char *p, size_t len)
{
    struct template_step *step;

    if (len == 0)
        return wrong(compiler, "@backends requires the name of a section");
    step = add_step(compiler, STEP_BACKENDS);
    if (!step)
        return -ENOMEM;
    step->text.start = p;
    step->text.len = len;
    return 0;
}

/* The section at hand is complete. */
static int finish_section(struct compiler *compiler)
{
    struct template_section *section;

    if (compiler->depth > 0) {
        static const char *const names[] = {"@for", "@if", "@line"};
        const struct open_block *block = &compiler->blocks[compiler->depth - 1];

        return wrong(compiler, "an @end is missing for the %s of line %u", names[block->kind],
                     block->line);
    }
    if (compiler->n_sections == 0)
        return 0;
    section = &compiler->sections[compiler->n_sections - 1];
    section->steps =
        arena_memdup(compiler->arena, compiler->steps, compiler->n_steps * sizeof *compiler->steps);
    section->n_steps = compiler->n_steps;
    compiler->n_steps = 0;
    return section->steps ? 0 : -ENOMEM;
}

static bool known_target(const char *key)
{
    size_t n = strcspn(key, " ");

    return word_is(key, n, "any") || word_is(key, n, "strata") || word_is(key, n, "qemu");
}

static int compile_section(struct compiler *compiler, const char *p, size_t len)
{
    struct template_section *section;
    char *key;
    int r = finish_section(compiler);

    if (r < 0)
        return r;
    key = arena_strndup(compiler->arena, p, len);
    if (!key)
        return -ENOMEM;
    if (!known_target(key))
        return wrong(compiler, "a section's key begins with 'any', 'strata' or 'qemu', not '%.*s'",
                     CUT(len), p);
    for (unsigned i = 0; i < compiler->n_sections; i++)
        if (strcmp(compiler->sections[i].key, key) == 0)
            return wrong(compiler, "the section '%.*s' is there twice", CUT(len), p);
    if (compiler->n_sections == compiler->sections_capacity) {
        unsigned capacity = compiler->sections_capacity ? compiler->sections_capacity * 2 : 16;
        struct template_section *bigger = realloc(compiler->sections, capacity * sizeof *bigger);
        if (!bigger)
            return -ENOMEM;
        compiler->sections = bigger;
        compiler->sections_capacity = capacity;
    }
    section = &compiler->sections[compiler->n_sections++];
    *section = (struct template_section){.key = key, .file = compiler->name};
    return 0;
}

/* P is after the '@'. */
static int compile_directive(struct compiler *compiler, const char *p, const char *end)
{
    static const struct {
        const char *name;
        int (*compile)(struct compiler *compiler, const char *p, size_t len);
        bool anywhere; /* also in front of the first section */
    } directives[] = {
        {"backends", compile_backends, false}, {"elif", compile_elif, false},
        {"else", compile_else, false},         {"end", compile_end, false},
        {"for", compile_for, false},           {"if", compile_if, false},
        {"line", compile_line, false},         {"section", compile_section, true},
    };
    const char *word = p;
    size_t len;

    while (end > p && (end[-1] == '\n' || end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
        end--;
    if (p < end && *p == '#')
        return 0;
    while (p < end && *p != ' ' && *p != '\t')
        p++;
    len = (size_t)(p - word);
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    for (size_t i = 0; i < ARRAY_SIZE(directives); i++) {
        if (!word_is(word, len, directives[i].name))
            continue;
        if (compiler->n_sections == 0 && !directives[i].anywhere)
            return wrong(compiler, "@%s in front of the first @section", directives[i].name);
        return directives[i].compile(compiler, p, (size_t)(end - p));
    }
    return wrong(compiler, "unknown directive '@%.*s'", CUT(len), word);
}

/* One line with its newline. */
static int compile_one(struct compiler *compiler, const char *start, const char *end)
{
    const char *p = start;

    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    if (p < end && *p == '@') {
        if (p + 1 == end || p[1] != '@')
            return compile_directive(compiler, p + 1, end);
        if (compiler->n_sections > 0) {
            int r = compile_text(compiler, start, p);
            return r < 0 ? r : compile_text(compiler, p + 1, end);
        }
    }
    if (compiler->n_sections > 0)
        return compile_text(compiler, start, end);
    return p < end && *p != '\n' ? wrong(compiler, "text in front of the first @section") : 0;
}

int template_compile(const char *name, const char *text, size_t len, struct arena *arena,
                     struct gen_template *ret, struct error *error)
{
    struct compiler compiler = {.name = name, .arena = arena, .error = error};
    const char *end = text + len;
    const struct template_section *sections = NULL;
    int r = 0;

    for (const char *p = text; p < end && r >= 0;) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *next = newline ? newline + 1 : end;

        compiler.number++;
        r = compile_one(&compiler, p, next);
        p = next;
    }
    if (r >= 0)
        r = finish_section(&compiler);
    if (r >= 0) {
        sections =
            arena_memdup(arena, compiler.sections, compiler.n_sections * sizeof *compiler.sections);
        if (!sections)
            r = -ENOMEM;
    }
    if (r >= 0)
        *ret = (struct gen_template){
            .name = name, .sections = sections, .n_sections = compiler.n_sections};
    free(compiler.steps);
    free(compiler.sections);
    return r == -ENOMEM ? error_set(error, r, name, "out of memory") : r;
}

const struct template_section *template_find(const struct gen_template *template, const char *key)
{
    for (unsigned i = 0; i < template->n_sections; i++)
        if (strcmp(template->sections[i].key, key) == 0)
            return &template->sections[i];
    return NULL;
}
