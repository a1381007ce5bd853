/* SPDX-License-Identifier: MIT */
/* condition CONDITION DIR FROM TO: prints what a condition of `strata record --on` reports in the window (FROM, TO] of a trace
 * directory, in ns of the host's clock. */
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "watch/evaluate.h"

static void fired(void *arg, unsigned index, int64_t ns, const char *text)
{
    (void)arg;
    (void)index;
    (void)ns;
    puts(text);
}

static void problem(void *arg, unsigned index, const char *text)
{
    (void)arg;
    (void)index;
    fprintf(stderr, "%s\n", text);
}

int main(int argc, char **argv)
{
    static const struct watch_report report = {fired, problem, NULL};
    struct watch_evaluator *evaluator = NULL;
    struct watch_condition condition = {0};
    struct live_window window = {0};
    struct arena arena = {0};
    struct error error = {0};
    struct sink *sink;
    int r;

    if (argc != 5)
        return 2;
    r = watch_condition_parse(argv[1], &arena, &condition, &error);
    if (r >= 0)
        r = watch_evaluator_new(&condition, 1, &report, &evaluator);
    if (r < 0) {
        fprintf(stderr, "%s (%d)\n", error.what, r);
        return 1;
    }
    window.dir = argv[2];
    window.from = strtoll(argv[3], NULL, 10);
    window.to = strtoll(argv[4], NULL, 10);
    r = live_window_open(&window);
    if (r >= 0)
        r = watch_evaluator_begin(evaluator, &window, &sink);
    if (r >= 0)
        r = watch_evaluator_end(evaluator, live_window_put(&window, &sink, 1));
    if (r < 0)
        fprintf(stderr, "%s (%d)\n", window.error.what, r);
    live_window_done(&window);
    watch_evaluator_free(evaluator);
    arena_done(&arena);
    return r < 0;
}
