/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "declare/qemu_class.h"
#include "event/program.h"

static void count(void *arg, const char *file, uint32_t line, uint32_t column, const char *what)
{
    unsigned *n = arg;

    if (!file || line == 0 || column == 0 || !*what)
        abort();
    (*n)++;
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
    for (unsigned rules = 0; rules < 4; rules++) {
        struct declarations declarations = {.rules = rules};
        struct declarations first = {.rules = rules};
        struct fault fault = {0};
        unsigned n_errors = 0;
        int r;

        r = declarations_parse(&declarations, "f", (const char *)data, size, count, &n_errors,
                               &fault);
        if ((r < 0) != (n_errors > 0) || (r < 0) != (fault.error < 0))
            abort();
        /* Stopping at the first error is an error just then. */
        if (declarations_parse(&first, "f", (const char *)data, size, NULL, NULL, NULL) != r)
            abort();
        print_all(&declarations, rules, data, size);
        declarations_done(&declarations);
        declarations_done(&first);
    }
    return 0;
}
