/* SPDX-License-Identifier: MIT */
#include "gen/generate.h"

#include <stdio.h>
#include <string.h>

#include "gen/output.h"
#include "gen/qemu_tree.h"

/* One name of a list; whether it is the first, and the last. */
static size_t put_word(char *buf, size_t size, const char *name, bool first, bool last)
{
    int n = snprintf(buf, size, "%s%s", first ? "" : (last ? " and " : ", "), name);

    return MIN((size_t)n, size - 1);
}

void generate_list_backends(char *buf, size_t size)
{
    size_t n = 0;

    for (const struct gen_backend *p = gen_backends; p->name; p++)
        n += put_word(buf + n, size - n, p->name, p == gen_backends, !p[1].name);
}

void generate_list_formats(char *buf, size_t size)
{
    size_t n = 0;

    for (const struct gen_format *p = gen_formats; p->name; p++)
        n += put_word(buf + n, size - n, p->name, p == gen_formats, !p[1].name);
}

static bool is_chosen(const struct gen_job *job, const struct gen_backend *backend)
{
    for (unsigned i = 0; i < job->n_backends; i++)
        if (job->backends[i] == backend)
            return true;
    return false;
}

int generate_backends(struct gen_job *job, const char *list, const char **ret_unknown,
                      size_t *ret_len)
{
    const char *p = list;

    for (;;) {
        size_t len = strcspn(p, ",");
        const struct gen_backend *backend = gen_backend_find(p, len);

        if (!backend) {
            *ret_unknown = p;
            *ret_len = len;
            return -EINVAL;
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
    struct diagnose diagnose = generate->diagnose;
    int r = 0;

    for (unsigned i = 0; i < generate->n_inputs; i++) {
        struct error error = {0};
        int k = diagnose_read(&diagnose, declarations, generate->inputs[i], &error);

        if (error.code)
            generate->report(&error);
        r = r < 0 ? r : k;
    }
    diagnose_end(&diagnose);
    return r;
}

/* Nothing that is read may be written, nor the two outputs be one file. */
static int check_outputs(const struct generate *generate, struct error *error)
{
    static const char message[] = "is an input as well: it would be overwritten";
    const char *depfile = generate->depfile;

    if (output_is_input(generate->output, generate->inputs, generate->n_inputs))
        return error_set(error, -EINVAL, generate->output, "%s", message);
    if (!depfile)
        return 0;
    if (output_is_input(depfile, generate->inputs, generate->n_inputs))
        return error_set(error, -EINVAL, depfile, "%s", message);
    if (strcmp(depfile, generate->output) == 0 || output_is_input(depfile, &generate->output, 1))
        return error_set(error, -EINVAL, depfile, "is both the output and the depfile");
    return 0;
}

static int run(const struct generate *generate, struct error *error)
{
    _cleanup_(declarations_done) struct declarations declarations = {.rules = generate->rules};
    _cleanup_(text_done) struct text out = TEXT_IN_MEMORY;
    int r;

    r = check_outputs(generate, error);
    if (r < 0)
        return r;
    r = read_inputs(generate, &declarations);
    if (r < 0)
        return r;
    r = gen_run(&generate->job, &declarations, &out, error);
    if (r < 0)
        return r;
    /* The output comes last: a new one beside no depfile would look up to date for good. */
    if (generate->depfile)
        r = output_write_depfile(generate->depfile, generate->output, generate->inputs,
                                 generate->n_inputs, error);
    return r < 0 ? r : output_write(generate->output, out.start, text_len(&out), error);
}

/* Which QEMU it is for, is seen from where its declarations are. */
static int look_at_tree(struct generate *generate, struct error *error)
{
    struct gen_qemu_tree *tree = &generate->job.tree;
    int r = qemu_tree_of(generate->n_inputs > 0 ? generate->inputs[0] : NULL, tree);

    if (r >= 0)
        generate->rules = declaration_rules_of_qemu(tree->major, tree->minor);
    return r < 0 ? error_set(error, r, NULL, "cannot read QEMU's source tree: %s", strerror(-r))
                 : 0;
}

int generate(const struct generate *generate, struct error *error)
{
    struct generate in_tree = *generate;
    int r = 0;

    if (generate->job.target == GEN_QEMU)
        r = look_at_tree(&in_tree, error);
    return r < 0 ? r : run(&in_tree, error);
}
