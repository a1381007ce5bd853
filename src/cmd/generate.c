/* SPDX-License-Identifier: MIT */
#include "cmd/generate.h"

#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "gen/output.h"

/* "a, b and c" of all backends. */
static void list_backends(char *buf, size_t size)
{
    size_t n = 0;

    for (const struct gen_backend *backend = gen_backends; backend->name && n < size; backend++)
        n += (size_t)snprintf(buf + n, size - n, "%s%s",
                              backend == gen_backends ? "" : (backend[1].name ? ", " : " and "),
                              backend->name);
}

static bool is_chosen(const struct gen_job *job, const struct gen_backend *backend)
{
    for (unsigned i = 0; i < job->n_backends; i++)
        if (job->backends[i] == backend)
            return true;
    return false;
}

int generate_backends(struct gen_job *job, const char *list, struct fault *fault)
{
    const char *p = list;

    for (;;) {
        size_t len = strcspn(p, ",");
        const struct gen_backend *backend = gen_backend_find(p, len);

        if (!backend) {
            char all[160];

            list_backends(all, sizeof all);
            return fault_plain(fault, -EINVAL, NULL, "unknown backend: '%.*s'; there are %s",
                               (int)MIN(len, (size_t)60), p, all);
        }
        /* Twice the same would do everything twice. */
        if (!is_chosen(job, backend))
            job->backends[job->n_backends++] = backend;
        if (p[len] == '\0')
            return 0;
        p += len + 1;
    }
}

static int read_inputs(const struct generate *generate, struct declarations *declarations)
{
    struct diagnose diagnose = {.style = generate->style, .max = generate->max_errors};
    int r = 0;

    for (unsigned i = 0; i < generate->n_inputs; i++) {
        int k = diagnose_read(&diagnose, declarations, generate->inputs[i]);

        r = r < 0 ? r : k;
    }
    diagnose_end(&diagnose);
    return r;
}

static int run(const struct generate *generate, struct fault *fault)
{
    _cleanup_(declarations_done) struct declarations declarations = {.rules = generate->rules};
    _cleanup_(text_done) struct text out = TEXT_IN_MEMORY;
    int r;

    r = read_inputs(generate, &declarations);
    if (r < 0)
        return r;
    r = gen_run(&generate->job, &declarations, &out, fault);
    if (r < 0)
        return r;
    if (output_is_input(generate->output, generate->inputs, generate->n_inputs))
        return fault_plain(fault, -EINVAL, generate->output,
                           "is an input as well: it would be overwritten");
    r = output_write(generate->output, out.start, text_len(&out), fault);
    if (r >= 0 && generate->depfile)
        r = output_write_depfile(generate->depfile, generate->output, generate->inputs,
                                 generate->n_inputs, fault);
    return r;
}

int generate(const struct generate *generate)
{
    struct fault fault = {0};
    int r = run(generate, &fault);

    if (fault.error)
        cmd_fault(&fault);
    return r < 0 ? EXIT_COULD_NOT : EXIT_FINE;
}
