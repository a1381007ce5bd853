/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/text.h"
#include "event/program.h"
#include "schema/trace_events/diagnose.h"
#include "schema/trace_events/qemu_class.h"

struct told {
    struct text text;
    unsigned n_errors;
};

/* What is told is about the line, and can be shown. */
static void show(void *arg, const struct declaration_problem *problem)
{
    struct told *told = arg;

    if (!problem->file || problem->line == 0 || problem->column == 0 || !*problem->what ||
        (problem->instead && !*problem->instead) || problem->column > problem->text_len + 1 ||
        (uint64_t)problem->column - 1 + problem->length > problem->text_len)
        abort();
    told->text.next = told->text.start;
    diagnose_put(&told->text, DIAGNOSE_STRATA, 0, problem);
    for (const char *p = told->text.start; p < told->text.next; p++)
        if ((*p >= 0 && *p < ' ' && *p != '\n') || *p == 0x7f)
            abort();
    told->n_errors += !problem->warning;
}

/* Every class that the declarations stand for prints the input itself as an event. */
static void print_all(const struct declarations *declarations, unsigned layout, const uint8_t *data,
                      size_t size)
{
    struct catalogue catalogue = {0};
    struct text text = TEXT_IN_MEMORY;
    const struct origin origin = {.format = "fuzz"};
    struct qemu_events events;

    if (qemu_events_init(declarations, &events) < 0)
        abort();
    for (unsigned i = 0; i < events.n_events && i < 64; i++) {
        struct event_class *class;
        struct item item = {.origin = &origin, .payload = data, .size = (uint32_t)size};

        if (qemu_class_add(&catalogue, &events.events[i], &origin, i, layout, &class) < 0)
            abort();
        item.class = class;
        item_put_text(&item, &text);
        item_put_fields(&item, &text);
    }
    text_done(&text);
    qemu_events_done(&events);
    catalogue_done(&catalogue);
}

/* The input is a trace-events file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const unsigned all_rules[] = {
        0,
        DECLARE_ANY_TYPE,
        DECLARE_NO_NEWLINE,
        declaration_rules_of_qemu(7, 2),
        DECLARATION_RULES_NEWEST,
    };

    for (unsigned i = 0; i < ARRAY_SIZE(all_rules); i++) {
        struct declarations declarations = {.rules = all_rules[i]};
        struct declarations first = {.rules = all_rules[i]};
        struct told told = {.text = TEXT_IN_MEMORY};
        struct error error = {0};
        int r;

        r = declarations_parse(&declarations, "f", (const char *)data, size, show, &told, &error);
        if ((r < 0) != (told.n_errors > 0) || (r < 0) != (error.code < 0))
            abort();
        /* Stopping at the first error is an error just then. */
        if (declarations_parse(&first, "f", (const char *)data, size, NULL, NULL, NULL) != r)
            abort();
        print_all(&declarations, i, data, size);
        declarations_done(&declarations);
        declarations_done(&first);
        text_done(&told.text);
    }
    return 0;
}
