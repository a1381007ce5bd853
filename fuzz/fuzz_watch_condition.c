/* SPDX-License-Identifier: MIT */
/* Conditions of --on: arbitrary text is refused with a message, or is a condition that evaluates. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "watch/condition.h"
#include "watch/evaluate.h"

static void ignore_fired(void *arg, unsigned index, int64_t ns, const char *text)
{
    (void)arg;
    (void)index;
    (void)ns;
    (void)text;
}

static void ignore_problem(void *arg, unsigned index, const char *text)
{
    (void)arg;
    (void)index;
    (void)text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct watch_report report = {ignore_fired, ignore_problem, NULL};
    struct watch_condition condition = {0};
    struct watch_evaluator *evaluator;
    struct arena arena = {0};
    struct error error = {0};
    char *text = malloc(size + 1);
    int r;

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    r = watch_condition_parse(text, &arena, &condition, &error);
    assert(r == 0 || r == -ENOMEM || (r == -EINVAL && error.what[0]));
    if (r == 0) {
        assert(condition.text && strlen(condition.text) <= strlen(text));
        if (watch_evaluator_new(&condition, 1, &report, &evaluator) == 0) {
            assert(watch_evaluator_look_back(evaluator, NULL) >= 0);
            watch_evaluator_idle(evaluator, 0, 1);
            watch_evaluator_free(evaluator);
        }
    }
    arena_done(&arena);
    free(text);
    return 0;
}
