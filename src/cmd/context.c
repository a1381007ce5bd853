/* SPDX-License-Identifier: MIT */
#include "cmd/context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ticks.h"
#include "cmd/cmd.h"
#include "print/view.h"
#include "report/print_result.h"

void context_done(struct context *context)
{
    for (unsigned i = 0; i < context->n; i++)
        free(context->spans[i].keys);
    free(context->spans);
    *context = (struct context){0};
}

static char *join_keys(const struct result *result, const struct result_row *row)
{
    _cleanup_(text_done) struct text text = TEXT_IN_MEMORY;

    for (unsigned i = 0; row && i < result->n_keys; i++) {
        text_put_str(&text, i > 0 ? " " : "");
        text_put_str(&text, row->keys[i]);
    }
    text_put_char(&text, '\0');
    return text.error ? NULL : strdup(text.start);
}

int context_init(struct context *context, const struct result *result, int64_t around)
{
    *context = (struct context){0};
    if (result->n_slowest == 0)
        return 0;
    context->spans = calloc(result->n_slowest, sizeof *context->spans);
    if (!context->spans)
        return -ENOMEM;
    for (unsigned i = 0; i < result->n_slowest; i++) {
        const struct result_slow *slow = &result->slowest[i];
        int64_t first = MIN(slow->begin, slow->end), last = MAX(slow->begin, slow->end);
        struct context_span *span = &context->spans[context->n++];

        *span =
            (struct context_span){.begin = slow->begin,
                                  .end = slow->end,
                                  .from = first < around ? 0 : first - around,
                                  .until = last > INT64_MAX - around ? INT64_MAX : last + around,
                                  .keys = join_keys(result, slow->row)};
        if (!span->keys)
            return -ENOMEM;
    }
    return 0;
}

/* TICKS as a limit of a selection, which is rounded down to ns, or up. */
static struct time_limit make_limit(const struct clock *clock, int64_t ticks, bool up)
{
    int64_t ns = clock_to_ns(clock, ticks);

    if (clock->hz == 0)
        return (struct time_limit){.given = true, .whole = ticks};
    if (up && clock->hz != NANOSECONDS && ns < INT64_MAX)
        ns++;
    return (struct time_limit){.given = true,
                               .fraction = true,
                               .whole = ns / NANOSECONDS,
                               .ns = (uint32_t)(ns % NANOSECONDS)};
}

/* The paths of TRACE, each once. */
static char **get_paths(const struct trace *trace, int *ret_n)
{
    char **paths = calloc(trace->n_inputs, sizeof *paths);
    int n = 0;

    for (unsigned i = 0; paths && i < trace->n_inputs; i++)
        if (i == 0 || strcmp(trace->inputs[i].path, trace->inputs[i - 1].path) != 0)
            paths[n++] = (char *)(uintptr_t)trace->inputs[i].path;
    *ret_n = n;
    return paths;
}

static int print_span(const struct context_span *span, const struct clock *clock,
                      struct trace *trace, struct text *out)
{
    const struct select_options select = {.from = make_limit(clock, span->from, false),
                                          .to = make_limit(clock, span->until, true)};
    struct view_options view_options = {
        .origin_number = trace_needs_numbers(trace) ? walk_input_of : NULL,
        .origin_arg = trace,
        .errors = trace_has_errors(trace),
        .layers = trace_layers(trace),
    };
    struct selection selection = {0};
    struct losses_sink counter;
    struct sink *view = NULL;
    struct walk walk = {.reading.trace = trace,
                        .reading.selection = &selection,
                        .out = out,
                        .draws = true,
                        .again = true,
                        .reading.sink = &counter.sink,
                        .losses = &counter.losses};
    int status = EXIT_FAILURE;

    view_options.input_names = walk_input_names(trace, &view_options.n_input_names);
    text_put_literal(out, "\nEvents around the span of ");
    print_duration(clock, ticks_between(span->begin, span->end), out);
    text_put_literal(out, " at ");
    clock_put_time(clock, span->begin, out);
    text_printf(out, ", %s:\n", span->keys);
    if (selection_init(&selection, &select) < 0 || line_text_open(&view_options, out, &view) < 0) {
        cli_no_memory();
    } else {
        losses_sink_init(&counter, view);
        sink_begin(&counter.sink);
        status = walk_through(&walk);
    }
    sink_free(view);
    selection_done(&selection);
    return status;
}

int context_print(const struct context *context, const struct open_options *options,
                  const struct trace *trace, struct text *out)
{
    const struct clock clock = trace->inputs[0].origin->clock;
    int status = EXIT_SUCCESS;
    int n;
    char **paths = get_paths(trace, &n);

    if (!paths) {
        cli_no_memory();
        return EXIT_FAILURE;
    }
    for (int i = 0; i < n; i++)
        if (strcmp(paths[i], "-") == 0) {
            cli_error("--context requires a file: standard input cannot be read again");
            status = EXIT_FAILURE;
        }
    for (unsigned i = 0; status == EXIT_SUCCESS && i < context->n; i++) {
        struct trace *again = walk_open_again(options, paths, n);

        status = again ? print_span(&context->spans[i], &clock, again, out) : EXIT_FAILURE;
        trace_free(again);
    }
    free(paths);
    return status;
}
