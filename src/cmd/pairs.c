/* SPDX-License-Identifier: MIT */
#include "cmd/pairs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/span_match.h"
#include "base/input.h"
#include "base/text.h"
#include "cmd/cmd.h"

#define PAIRS_FILE_MAX ((size_t)1 << 20)

void pairs_done(struct pairs *pairs)
{
    span_rule_list_done(&pairs->rules);
    span_rule_list_done(&pairs->own);
    arena_done(&pairs->arena);
}

bool pairs_has_name(const struct pairs *pairs, const char *name)
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
static int add_named(struct pairs *pairs, const char *name, struct error *error)
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

static int read_file(struct pairs *pairs, const char *path, struct span_rule_list *rules,
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

/* $XDG_CONFIG_HOME/strata/pairs, or ~/.config/strata/pairs; NULL: neither variable is set. */
static char *make_own_path(struct arena *arena)
{
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    const char *in_home = "";
    char path[4096];

    if (!config || !*config) {
        config = home;
        in_home = "/.config";
    }
    if (!config || !*config ||
        (size_t)snprintf(path, sizeof path, "%s%s/strata/pairs", config, in_home) >= sizeof path)
        return NULL;
    return arena_strdup(arena, path);
}

int pairs_init(struct pairs *pairs, struct error *error)
{
    const char *path;

    *pairs = (struct pairs){0};
    path = make_own_path(&pairs->arena);
    if (!path || (access(path, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR)))
        return 0;
    return read_file(pairs, path, &pairs->own, error);
}

int pairs_check_syntax(const char *verb, const struct strings *rules)
{
    struct arena arena = {0};
    int status = EXIT_SUCCESS;

    for (unsigned i = 0; status == EXIT_SUCCESS && i < rules->n; i++) {
        struct error error = {0};
        struct span_rule rule;
        int r = span_rule_parse(rules->items[i], NULL, &arena, &rule, &error);

        if (r == -EINVAL)
            status = cli_usage_error(verb, "--pair: %s", error.what);
        else if (r < 0)
            status = cli_print_failure(&error, r);
    }
    arena_done(&arena);
    return status;
}

int pairs_read(struct pairs *pairs, char *const *names, int n, const struct strings *rules,
               const struct strings *files, struct error *error)
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

int pairs_check(const struct pairs *pairs, const struct catalogue *catalogue,
                const struct select_options *select, bool has_spans)
{
    int status = EXIT_SUCCESS;

    if (pairs->uses_all && !has_spans) {
        _cleanup_(text_done) struct text selected = TEXT_IN_MEMORY;

        select_options_put_read(select, &selected);
        text_put_char(&selected, '\0');
        if (selected.error)
            return cli_no_memory();
        cli_error("no built-in rule has its events in this trace%s%s; give one: --pair 'BEGIN -> "
                  "END' (strata latency --list shows what is built in)",
                  *selected.start ? ", as far as it is selected by " : "", selected.start);
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
