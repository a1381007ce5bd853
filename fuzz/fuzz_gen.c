/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "gen/gen.h"

/* What comes out is text; what does not come out is said why. */
static void generate(struct gen_job *job, const struct declarations *declarations)
{
    struct text out = TEXT_IN_MEMORY;
    struct error error = {0};
    int r;

    r = gen_run(job, declarations, &out, &error);
    if (r != 0 && r != -EINVAL)
        abort();
    if ((r < 0) != (error.code < 0) || (r < 0 && !*error.what))
        abort();
    if (text_len(&out) > 0 && memchr(out.start, '\0', text_len(&out)))
        abort();
    text_done(&out);
}

/* Each format of the target, with all backends at once and with one alone. */
static void generate_all(enum gen_target target, unsigned alone,
                         const struct declarations *declarations)
{
    struct gen_job job = {
        .target = target,
        .group = "some-group",
        .binary = "/bin/\"x\\",
        .probe_prefix = "pre.fix",
        .output_name = "a \"name\\.h",
        .tree = {.log_stamps = alone & 1, .log_asks = alone & 2},
    };
    const struct gen_backend *one = gen_backends;
    unsigned n = 0;

    while (gen_backends[n].name)
        n++;
    for (unsigned i = 0; n > 0 && i < alone % n; i++)
        one++;
    for (const struct gen_format *format = gen_formats; format->name; format++) {
        job.format = format;
        job.n_backends = n;
        for (unsigned i = 0; i < n; i++)
            job.backends[i] = &gen_backends[i];
        generate(&job, declarations);
        job.n_backends = 1;
        job.backends[0] = one;
        generate(&job, declarations);
    }
}

/* With it, what is right is kept and the rest passed over. */
static void ignore(void *arg, const struct declaration_problem *problem)
{
    (void)arg, (void)problem;
}

/* The input is a trace-events file, of which what is right is generated from. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct {
        unsigned rules;
        enum gen_target target;
    } runs[] = {
        {DECLARATION_RULES_NEWEST, GEN_STRATA},
        {DECLARE_GENERATE, GEN_QEMU},
        {DECLARE_ANY_TYPE, GEN_QEMU},
    };

    /* One of them for each input, as its length has it: all would make for a third of the inputs. */
    size_t i = size % ARRAY_SIZE(runs);
    struct declarations declarations = {.rules = runs[i].rules};

    if (declarations_parse(&declarations, "dir/tr\"ace\n-events", (const char *)data, size, ignore,
                           NULL, NULL) != -ENOMEM)
        generate_all(runs[i].target, (unsigned)size, &declarations);
    declarations_done(&declarations);
    return 0;
}
