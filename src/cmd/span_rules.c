/* SPDX-License-Identifier: MIT */
#include "cmd/span_rules.h"

#include <stdio.h>
#include <stdlib.h>

#include "cmd/cmd.h"

/* Returns $XDG_CONFIG_HOME/strata/pairs, or ~/.config/strata/pairs; NULL if neither variable is set. */
static const char *find_own_path(char *path, size_t size)
{
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    const char *in_home = "";

    if (!config || !*config) {
        config = home;
        in_home = "/.config";
    }
    if (!config || !*config ||
        (size_t)snprintf(path, size, "%s%s/strata/pairs", config, in_home) >= size)
        return NULL;
    return path;
}

int span_rules_init(struct span_rules_user *pairs, struct error *error)
{
    char path[4096];

    return span_rules_user_init(pairs, find_own_path(path, sizeof path), error);
}

int span_rules_check_syntax(const char *verb, const struct strings *rules)
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

int span_rules_check(const struct span_rules_user *pairs, const struct catalogue *catalogue,
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

        if (span_rules_user_has_events(pairs, i, catalogue, &error))
            continue;
        cli_print_error(&error);
        status = EXIT_FAILURE;
    }
    return status;
}
