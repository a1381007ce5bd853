/* SPDX-License-Identifier: MIT */
#include "cmd/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/span_match.h"
#include "base/input.h"
#include "cmd/cmd.h"

#define PAIRS_FILE_MAX ((size_t)1 << 20)

void pairs_done(struct pairs *pairs)
{
    span_rule_list_done(&pairs->rules);
    arena_done(&pairs->arena);
}

bool pairs_is_builtin(const char *name)
{
    size_t len = strlen(name);

    for (const struct span_builtin *builtin = span_builtins; builtin->rule; builtin++)
        if (strncmp(builtin->rule, name, len) == 0 && builtin->rule[len] == ':')
            return true;
    return false;
}

/* Adds the built-in rules called NAME; NULL: all. */
static int add_builtins(struct pairs *pairs, const char *name, struct error *error)
{
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

static int read_file(struct pairs *pairs, const char *path, struct error *error)
{
    struct input in;
    int r = input_open_whole(&in, path, PAIRS_FILE_MAX, "a file of rules", error);

    if (r < 0)
        return r;
    r = span_rules_read((const char *)input_at(&in), input_buffered(&in), path, &pairs->arena,
                        &pairs->rules, error);
    input_done(&in);
    return r;
}

int pairs_read(struct pairs *pairs, char *const *names, int n, const struct strings *rules,
               const struct strings *files, struct error *error)
{
    int r = 0;

    for (int i = 0; r >= 0 && i < n; i++)
        r = add_builtins(pairs, names[i], error);
    pairs->n_builtin = pairs->rules.n;
    for (unsigned i = 0; r >= 0 && i < rules->n; i++) {
        struct span_rule rule;

        r = span_rule_parse(rules->items[i], "--pair", &pairs->arena, &rule, error);
        if (r >= 0)
            r = span_rule_list_add(&pairs->rules, &rule);
    }
    for (unsigned i = 0; r >= 0 && i < files->n; i++)
        r = read_file(pairs, files->items[i], error);
    if (r < 0 || pairs->rules.n > 0)
        return r;
    pairs->uses_all = true;
    return add_builtins(pairs, NULL, error);
}

/* Whether RULE, or a built-in one of the same name, has its events; else ERROR says which event is missing. */
static bool has_events(const struct pairs *pairs, unsigned rule, const struct catalogue *catalogue,
                       struct error *error)
{
    const struct span_rule *rules = pairs->rules.rules;

    for (unsigned i = 0; i < pairs->rules.n; i++)
        if ((i == rule || (rule < pairs->n_builtin && i < pairs->n_builtin &&
                           strcmp(rules[i].name, rules[rule].name) == 0)) &&
            span_rule_check(&rules[i], catalogue, error) == 0)
            return true;
    return false;
}

int pairs_check(const struct pairs *pairs, const struct catalogue *catalogue, bool has_spans)
{
    int status = EXIT_SUCCESS;

    if (pairs->uses_all && !has_spans) {
        cli_error("no built-in rule has its events in this trace; give one: --pair 'BEGIN -> END' "
                  "(strata latency --list shows what is built in)");
        return EXIT_FAILURE;
    }
    for (unsigned i = 0; !pairs->uses_all && i < pairs->rules.n; i++) {
        struct error error = {0};

        if (has_events(pairs, i, catalogue, &error))
            continue;
        cli_print_error(&error);
        status = EXIT_FAILURE;
    }
    return status;
}
