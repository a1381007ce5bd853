/* SPDX-License-Identifier: MIT */
#include "cmd/declarations.h"

#include "cli/output.h"
#include "cmd/cmd.h"

static void print(void *arg, const char *text, size_t len)
{
    (void)arg;
    output_put(stderr, text, len);
}

struct diagnose diagnose_on_stderr(enum diagnose_style style, uint64_t max)
{
    return (struct diagnose){
        .style = style, .max = max, .printing = output_locale(), .print = print};
}

int run_generate(const struct generate *generate_job)
{
    struct error error = {0};
    int r = generate(generate_job, &error);

    if (error.code)
        cli_print_error(&error);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
