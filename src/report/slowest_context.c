/* SPDX-License-Identifier: MIT */
#include "report/slowest_context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ticks.h"
#include "report/print_result.h"
#include "report/trace_view.h"
#include "trace/read.h"

void slowest_context_done(struct slowest_context *context)
{
    for (unsigned i = 0; i < context->n; i++)
        free(context->spans[i].keys);
    free(context->spans);
    *context = (struct slowest_context){0};
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

int slowest_context_init(struct slowest_context *context, const struct result *result,
                         int64_t around)
{
    *context = (struct slowest_context){0};
    if (result->n_slowest == 0)
        return 0;
    context->spans = calloc(result->n_slowest, sizeof *context->spans);
    if (!context->spans)
        return -ENOMEM;
    for (unsigned i = 0; i < result->n_slowest; i++) {
        const struct result_slow *slow = &result->slowest[i];
        int64_t first = MIN(slow->begin, slow->end), last = MAX(slow->begin, slow->end);
        struct context_span *span = &context->spans[context->n++];

        *span = (struct context_span){
            .begin = slow->begin,
            .end = slow->end,
            .from = first < around ? 0 : first - around,
            .until = last > INT64_MAX - around ? INT64_MAX : last + around,
            .keys = slow->name ? strdup(slow->name) : join_keys(result, slow->row)};
        if (!span->keys)
            return -ENOMEM;
    }
    return 0;
}

/* Makes a limit of a selection from TICKS, rounded up or down to ns. */
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

/* Returns the paths of TRACE, each once. */
static const char **get_paths(const struct trace *trace, unsigned *ret_n)
{
    const char **paths = calloc(trace->n_inputs, sizeof *paths);
    unsigned n = 0;

    for (unsigned i = 0; paths && i < trace->n_inputs; i++)
        if (i == 0 || strcmp(trace->inputs[i].path, trace->inputs[i - 1].path) != 0)
            paths[n++] = trace->inputs[i].path;
    *ret_n = n;
    return paths;
}

static int print_span(const struct context_span *span, const struct clock *clock,
                      struct trace *trace, struct text *out, struct error *error)
{
    const struct select_options select = {.from = make_limit(clock, span->from, false),
                                          .to = make_limit(clock, span->until, true)};
    const struct view_options view_options = trace_view_options(trace);
    struct selection selection = {0};
    struct sink *view = NULL;
    struct trace_reading reading = {.trace = trace, .selection = &selection};
    int r;

    text_put_literal(out, "\nEvents around the span of ");
    print_duration(clock, ticks_between(span->begin, span->end), out);
    text_put_literal(out, " at ");
    clock_put_time(clock, span->begin, out);
    text_printf(out, ", %s:\n", span->keys);
    if (selection_init(&selection, &select) < 0 || line_text_open(&view_options, out, &view) < 0) {
        r = error_set(error, -ENOMEM, NULL, "out of memory");
    } else {
        sink_begin(view);
        reading.sink = view;
        r = trace_read(&reading);
        if (r < 0)
            *error = reading.error;
        trace_reading_done(&reading);
    }
    sink_free(view);
    selection_done(&selection);
    return r;
}

int slowest_context_print(const struct slowest_context *context,
                          const struct trace_options *options, const struct trace *trace,
                          struct text *out, struct error *error)
{
    const struct clock clock = trace->inputs[0].origin->clock;
    unsigned n;
    _cleanup_free_ const char **paths = get_paths(trace, &n);
    int r = 0;

    if (!paths)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    for (unsigned i = 0; r == 0 && i < n; i++)
        if (strcmp(paths[i], "-") == 0)
            r = error_set(error, -EINVAL, NULL,
                          "--context requires a file: standard input cannot be read again");
    for (unsigned i = 0; r == 0 && i < context->n; i++) {
        struct trace *again;

        r = trace_open(paths, n, options, &again, error);
        if (r < 0)
            break;
        r = print_span(&context->spans[i], &clock, again, out, error);
        trace_free(again);
    }
    return r;
}
