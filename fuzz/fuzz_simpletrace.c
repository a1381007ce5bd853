/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "event/program.h"
#include "format/simpletrace/simpletrace.h"
#include "print/simpletrace_text.h"

static const char declared[] =
    "none(void) \"\"\n"
    "numbers(int a, uint8_t b, void *c) \"a %d b 0x%x c %p\"\n"
    "disable text(const char *s) \"s '%s'\"\n"
    "mixed(uint64_t n, char *s, bool b, const char *t) \"%lu %s %d %.8s\"\n"
    "vcpu cpu(int n) \"n %d\"\n";

/* Touches all that was lent, and prints it in both ways. */
static void use(const struct item *items, unsigned n, struct simpletrace_text *printer,
                struct text *text)
{
    unsigned done;

    for (unsigned i = 0; i < n; i++) {
        if (items[i].kind == ITEM_LOSS)
            continue;
        for (uint32_t k = 0; k < items[i].size; k++)
            *text_room(text, 1) ^= (char)items[i].payload[k];
        item_put_text(&items[i], text);
    }
    for (unsigned i = 0; i < n; i += done + 1)
        simpletrace_text_put(printer, items + i, n - i, &done);
    text->next = text->start;
}

/* The first byte chooses the options, the rest is a trace. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct declarations declarations = {0};
    struct catalogue catalogue = {0};
    struct text text = TEXT_IN_MEMORY;
    struct simpletrace_text *printer = NULL;
    struct simpletrace_options options = {0};
    struct source *source;
    struct qemu_events events;
    struct input in;

    if (size == 0)
        return 0;
    if (declarations_parse(&declarations, "f", declared, strlen(declared), NULL, NULL, NULL) < 0 ||
        qemu_events_init(&declarations, &events) < 0 ||
        simpletrace_text_new(&text, data[0] & 4 ? SIMPLETRACE_AS_10 : 0, &printer) < 0 ||
        input_open_memory(&in, data + 1, size - 1, "f") < 0)
        abort();
    options.events = &events;
    options.no_header = data[0] & 1;
    options.reader.keep_going = data[0] & 2;
    if (simpletrace_open(&in, &catalogue, &options, &source, NULL) >= 0) {
        const struct item *items;
        size_t total = 0;
        int n;

        text_put_char(&text, ' ');
        while ((n = source_next(source, &items)) > 0) {
            use(items, (unsigned)n, printer, &text);
            total += (size_t)n;
        }
        /* An event has 24 bytes, damage one at least. */
        if (total > size || (n < 0) != (source->error.code < 0) || source_next(source, &items) != n)
            abort();
        source_free(source);
    }
    simpletrace_text_free(printer);
    text_done(&text);
    catalogue_done(&catalogue);
    qemu_events_done(&events);
    declarations_done(&declarations);
    return 0;
}
