/* SPDX-License-Identifier: MIT */
#include "analysis/spans/span_rules_user.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "analysis/spans/span_match.h"
#include "base/input.h"
#include "base/text.h"

#define PAIRS_FILE_MAX ((size_t)1 << 20)

void span_rules_user_done(struct span_rules_user *pairs)
{
    span_rule_list_done(&pairs->rules);
    span_rule_list_done(&pairs->own);
    arena_done(&pairs->arena);
}

bool span_rules_user_has_name(const struct span_rules_user *pairs, const char *name)
{
    size_t len = strlen(name);

    for (unsigned i = 0; i < pairs->own.n; i++)
        if (strcmp(pairs->own.rules[i].name, name) == 0)
            return true;

    for (const struct span_builtin *builtin = span_builtins; builtin->rule; builtin++)
        if (strncmp(builtin->rule, name, len) == 0 && builtin->rule[len] == ':')
            return true;
    return false;
}

/* Adds the rules called NAME; NULL: all. */
static int add_named(struct span_rules_user *pairs, const char *name, struct error *error)
{
    for (unsigned i = 0; i < pairs->own.n; i++)
        if ((!name || strcmp(pairs->own.rules[i].name, name) == 0) &&
            span_rule_list_add(&pairs->rules, &pairs->own.rules[i]) < 0)
            return -ENOMEM;
    for (const struct span_builtin *builtin = span_builtins; builtin->rule; builtin++) {
        struct span_rule rule;
        int r = span_rule_parse(builtin->rule, NULL, &pairs->arena, &rule, error);

        if (r >= 0 && (!name || strcmp(rule.name, name) == 0))
            r = span_rule_list_add(&pairs->rules, &rule);
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_file(struct span_rules_user *pairs, const char *path, struct span_rule_list *rules,
                     struct error *error)
{
    struct input in;
    int r = input_open_whole(&in, path, PAIRS_FILE_MAX, "a file of rules", error);

    if (r < 0)
        return r;
    r = span_rules_read((const char *)input_at(&in), input_buffered(&in), path, &pairs->arena,
                        rules, error);
    input_done(&in);
    return r;
}

int span_rules_user_init(struct span_rules_user *pairs, const char *path, struct error *error)
{
    *pairs = (struct span_rules_user){0};
    if (!path || (access(path, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR)))
        return 0;
    return read_file(pairs, path, &pairs->own, error);
}

int span_rules_user_read(struct span_rules_user *pairs, char *const *names, int n,
                         const struct strings *rules, const struct strings *files,
                         struct error *error)
{
    int r = 0;

    for (int i = 0; r >= 0 && i < n; i++)
        r = add_named(pairs, names[i], error);
    pairs->n_builtin = pairs->rules.n;
    for (unsigned i = 0; r >= 0 && i < rules->n; i++) {
        struct span_rule rule;

        r = span_rule_parse(rules->items[i], "--pair", &pairs->arena, &rule, error);
        if (r >= 0)
            r = span_rule_list_add(&pairs->rules, &rule);
    }
    for (unsigned i = 0; r >= 0 && i < files->n; i++)
        r = read_file(pairs, files->items[i], &pairs->rules, error);
    if (r < 0 || pairs->rules.n > 0)
        return r;
    pairs->uses_all = true;
    return add_named(pairs, NULL, error);
}

bool span_rules_user_has_events(const struct span_rules_user *pairs, unsigned rule,
                                const struct catalogue *catalogue, struct error *error)
{
    const struct span_rule *rules = pairs->rules.rules;

    for (unsigned i = 0; i < pairs->rules.n; i++)
        if ((i == rule || (rule < pairs->n_builtin && i < pairs->n_builtin &&
                           strcmp(rules[i].name, rules[rule].name) == 0)) &&
            span_rule_check(&rules[i], catalogue, error) == 0)
            return true;
    return false;
}
