/* SPDX-License-Identifier: MIT */
#include "analysis/spans/span_rule.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/condition.h"
#include "base/macro.h"
#include "event/class.h"
#include "event/pattern.h"

struct parser {
    const char *text;
    const char *p;
    const char *where;
    struct arena *arena;
    struct error *error;
};

static int fail(struct parser *parser, const char *at, const char *what)
{
    return error_set(parser->error, -EINVAL, parser->where, "column %zu: %s; '%s'",
                     (size_t)(at - parser->text) + 1, what, parser->text);
}

static void skip_blanks(struct parser *parser)
{
    parser->p += strspn(parser->p, " \t");
}

/* Skips WORD if it is next. */
static bool take(struct parser *parser, const char *word)
{
    size_t len = strlen(word);

    skip_blanks(parser);
    if (strncmp(parser->p, word, len) != 0)
        return false;
    parser->p += len;
    return true;
}

static size_t name_length(const char *p)
{
    return strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_*.-@|");
}

/* The length of the name at P, without the '-' of "->". */
static size_t word_length(const char *p)
{
    size_t len = name_length(p);
    const char *arrow = strstr(p, "->");

    return arrow && arrow < p + len ? (size_t)(arrow - p) : len;
}

static int take_word(struct parser *parser, const char *should, const char **ret_word)
{
    size_t len;
    char *word;

    skip_blanks(parser);
    len = word_length(parser->p);
    if (len == 0)
        return fail(parser, parser->p, should);
    word = arena_strndup(parser->arena, parser->p, len);
    if (!word)
        return -ENOMEM;
    parser->p += len;
    *ret_word = word;
    return 0;
}

static int take_number(struct parser *parser, uint64_t *ret_v)
{
    char *end;

    skip_blanks(parser);
    errno = 0;
    *ret_v = strtoull(parser->p, &end, 0);
    if (end == parser->p || *parser->p == '-' || errno != 0)
        return fail(parser, parser->p, "a number should stand here");
    parser->p = end;
    return 0;
}

static int parse_key(struct parser *parser, struct span_key *ret_key)
{
    static const char *const places[] = {
        [SPAN_KEY_TASK] = "task",
        [SPAN_KEY_CPU] = "cpu",
        [SPAN_KEY_VCPU] = "vcpu",
    };
    struct span_key key = {.kind = SPAN_KEY_FIELD};
    const char *at;
    uint64_t bits;
    int r = take_word(parser, "a field should stand here", &key.field);

    if (r < 0)
        return r;
    if (strcmp(key.field, "field") == 0 && *parser->p == ':') {
        parser->p++;
        r = take_word(parser, "a field should stand here", &key.field);
        if (r < 0)
            return r;
    } else {
        for (unsigned i = SPAN_KEY_TASK; i < ARRAY_SIZE(places); i++)
            if (strcmp(key.field, places[i]) == 0)
                key.kind = i;
    }
    skip_blanks(parser);
    at = parser->p;
    if (take(parser, "&")) {
        r = take_number(parser, &key.mask);
        if (r == 0 && key.mask == 0)
            r = fail(parser, at, "a mask of 0 leaves nothing");
        key.column = (unsigned)(at - parser->text) + 1;
    } else if (take(parser, ">>")) {
        r = take_number(parser, &bits);
        if (r == 0 && bits > 63)
            r = fail(parser, at, "a field has 64 bits at most");
        key.shift = (unsigned)bits;
        key.column = (unsigned)(at - parser->text) + 1;
    }
    *ret_key = key;
    return r;
}

static int parse_keys(struct parser *parser, struct span_step *step, unsigned *ret_n)
{
    unsigned n = 0;

    *ret_n = 0;
    if (!take(parser, "("))
        return 0;
    do {
        int r;

        if (n == SPAN_KEYS)
            return fail(parser, parser->p, "a step has at most 4 keys");
        r = parse_key(parser, &step->keys[n++]);
        if (r < 0)
            return r;
    } while (take(parser, ","));
    if (!take(parser, ")"))
        return fail(parser, parser->p, "',' or ')' should stand here");
    *ret_n = n;
    return 0;
}

/* Parses "{CONDITION}", in which quoted text may contain braces. */
static int parse_condition(struct parser *parser, struct span_step *step)
{
    struct error why = {0};
    const char *start, *end;
    int r;

    if (!take(parser, "{"))
        return 0;
    start = parser->p;
    end = event_condition_end(start);
    if (!end)
        return fail(parser, start, "the '}' of a condition is missing");
    step->condition = arena_strndup(parser->arena, start, (size_t)(end - start));
    if (!step->condition)
        return -ENOMEM;
    r = condition_check(step->condition, &why);
    if (r == -EINVAL)
        return error_set(parser->error, r, parser->where, "%s", why.what);
    parser->p = end + 1;
    return r;
}

static int parse_step(struct parser *parser, struct span_step *ret_step, unsigned *ret_n_keys)
{
    struct span_step step = {0};
    const char *words[3];
    unsigned n = 0;
    const char *at;
    enum layer layer;
    int r;

    skip_blanks(parser);
    at = parser->p;
    do {
        if (n == ARRAY_SIZE(words))
            return fail(parser, at, "an event is [LAYER:][GROUP:]EVENT");
        r = take_word(parser, "an event should stand here", &words[n++]);
        if (r < 0)
            return r;
    } while (*parser->p == ':' && parser->p++);
    step.event = words[n - 1];
    if (n > 1 && layer_by_name(words[0], &layer) == 0)
        step.layers = 1u << layer;
    else if (n == 3)
        return fail(parser, at, "the layers are vmm, hypervisor, guest, host and program");
    if (n == 3 || (n == 2 && step.layers == 0))
        step.group = words[n - 2];
    if (strchr(step.event, '*') != strrchr(step.event, '*'))
        return fail(parser, at, "an event has one '*' at most");
    if (strchr(step.event, '*') && strchr(step.event, '|'))
        return fail(parser, at, "an event has a '*' or a '|', not both");
    r = parse_keys(parser, &step, ret_n_keys);
    if (r < 0)
        return r;
    r = parse_condition(parser, &step);
    if (r < 0)
        return r;
    step.optional = take(parser, "?");
    *ret_step = step;
    return 0;
}

/* Parses a word of NAMES, which are terminated by NULL. */
static int parse_choice(struct parser *parser, const char *const *names, const char *should,
                        unsigned *ret)
{
    const char *at;
    const char *word = "";
    int r;

    skip_blanks(parser);
    at = parser->p;
    r = take_word(parser, should, &word);
    if (r < 0)
        return r;
    for (unsigned i = 0; names[i]; i++)
        if (strcmp(names[i], word) == 0) {
            *ret = i;
            return 0;
        }
    return fail(parser, at, should);
}

static int parse_options(struct parser *parser, struct span_rule *rule)
{
    static const char *const places[] = {"", "cpu", "thread", "vcpu", NULL};
    static const char *const agains[] = {"cut", "first", "nest", "queue", "replace", NULL};

    for (;;) {
        unsigned choice;
        int r = 0;

        skip_blanks(parser);
        if (*parser->p == '\0')
            return 0;
        if (take(parser, "by ")) {
            r = parse_choice(parser, places, "'by' requires cpu, thread or vcpu", &choice);
            rule->place = r < 0 ? 0 : choice;
        } else if (take(parser, "again=")) {
            r = parse_choice(parser, agains, "'again' requires cut, first, nest, queue or replace",
                             &choice);
            rule->again = r < 0 ? 0 : choice;
        } else if (take(parser, "unique")) {
            rule->unique = true;
        } else {
            return fail(parser, parser->p, "'->', 'by', 'again=' or 'unique' should stand here");
        }
        if (r < 0)
            return r;
    }
}

/* Parses "NAME: " at the start. A blank must follow the colon. */
static int parse_name(struct parser *parser, struct span_rule *rule)
{
    size_t len;

    skip_blanks(parser);
    len = word_length(parser->p);
    if (len == 0 || parser->p[len] != ':' ||
        (parser->p[len + 1] != ' ' && parser->p[len + 1] != '\t'))
        return 0;
    rule->name = arena_strndup(parser->arena, parser->p, len);
    parser->p += len + 1;
    return rule->name ? 0 : -ENOMEM;
}

/* Makes the name of a rule without one: "BEGIN -> END". */
static int make_name(struct arena *arena, struct span_rule *rule)
{
    const char *begin = rule->steps[0].event;
    const char *end = rule->steps[rule->n_steps - 1].event;
    size_t size = strlen(begin) + strlen(end) + sizeof " -> ";
    char *name = arena_alloc(arena, size);

    if (!name)
        return -ENOMEM;
    snprintf(name, size, "%s -> %s", begin, end);
    rule->name = name;
    return 0;
}

int span_rule_parse(const char *text, const char *where, struct arena *arena,
                    struct span_rule *ret_rule, struct error *error)
{
    struct parser parser = {
        .text = text, .p = text, .where = where, .arena = arena, .error = error};
    struct span_rule rule = {0};
    int r = parse_name(&parser, &rule);

    while (r == 0) {
        const char *at = parser.p;
        unsigned n_keys = 0;

        if (rule.n_steps == SPAN_STEPS)
            return fail(&parser, at, "a rule has at most 8 steps");
        r = parse_step(&parser, &rule.steps[rule.n_steps], &n_keys);
        if (r < 0)
            return r;
        if (rule.n_steps > 0 && n_keys != rule.n_keys)
            return fail(&parser, at, "all steps must have the same number of keys");
        rule.n_keys = n_keys;
        rule.n_steps++;
        if (!take(&parser, "->"))
            break;
    }
    if (r < 0)
        return r;
    if (rule.n_steps < 2)
        return fail(&parser, parser.p, "'->' and the event that ends it should stand here");
    if (rule.steps[0].optional || rule.steps[rule.n_steps - 1].optional)
        return fail(&parser, text, "the first and the last step cannot be missing");
    r = parse_options(&parser, &rule);
    if (r == 0 && !rule.name)
        r = make_name(arena, &rule);
    if (r == 0)
        *ret_rule = rule;
    return r;
}

int span_rule_list_add(struct span_rule_list *list, const struct span_rule *rule)
{
    struct span_rule *more = realloc(list->rules, (list->n + 1) * sizeof *more);

    if (!more)
        return -ENOMEM;
    more[list->n++] = *rule;
    list->rules = more;
    return 0;
}

void span_rule_list_done(struct span_rule_list *list)
{
    free(list->rules);
    *list = (struct span_rule_list){0};
}

int span_rules_read(const char *text, size_t len, const char *path, struct arena *arena,
                    struct span_rule_list *list, struct error *error)
{
    const char *end = text + len;
    uint32_t number = 0;

    while (text < end) {
        const char *eol = memchr(text, '\n', (size_t)(end - text));
        const char *comment;
        struct error why = {0};
        struct span_rule rule;
        char *line;
        int r;

        eol = eol ? eol : end;
        comment = memchr(text, '#', (size_t)(eol - text));
        line = arena_strndup(arena, text, (size_t)((comment ? comment : eol) - text));
        if (!line)
            return -ENOMEM;
        number++;
        text = eol + 1;
        if (line[strspn(line, " \t\r")] == '\0')
            continue;
        line[strcspn(line, "\r")] = '\0';
        r = span_rule_parse(line, NULL, arena, &rule, &why);
        if (r == -EINVAL)
            return error_on_line(error, r, path, number, "%s", why.what);
        if (r == 0)
            r = span_rule_list_add(list, &rule);
        if (r < 0)
            return r;
    }
    return 0;
}
