/* SPDX-License-Identifier: MIT */
/* QEMU's log text. The input: declarations, a line "---", the log; without such a line the log alone,
 * under some declarations of every shape. */
#include <assert.h>
#include <string.h>

#include "event/program.h"
#include "format/qemu_log/qemu_log.h"

static const char usual[] = "a(int v) \"v %d\"\n"
                            "b(const char *s, unsigned n) \"%s n %u 0x%08x\"\n"
                            "b(const char *s, unsigned n) \"%s n %u\"\n"
                            "c(void *p, uint8_t x, uint8_t y) \"%p %02x%02x\"\n"
                            "d(const char *s, size_t n, const char *t) \"%s: %zu\\n%s\"\n"
                            "e(int a, int b) \"a %3d\\n b %-3d|\"\n"
                            "f(int w, int v, const char *s) \"%*d '%5s'\"\n"
                            "g(const char *s, const char *t, const char *u) \"%s%s, %.3s\"\n";

/* What an event's class says of it must stand in the log, newlines and all; only control characters
 * are written otherwise. */
static void check_text(const struct item *item, const uint8_t *log, size_t size, struct text *text)
{
    text->next = text->start;
    item_put_text(item, text);
    if (text_len(text) == 0 || memchr(text->start, '\\', text_len(text)))
        return;
    assert(memmem(log, size, text->start, text_len(text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *mark = memmem(data, size, "\n---\n", 5);
    const char *declared = mark ? (const char *)data : usual;
    size_t declared_size = mark ? (size_t)(mark - data) + 1 : sizeof usual - 1;
    const uint8_t *log = mark ? mark + 5 : data;
    size_t log_size = size - (size_t)(log - data);
    struct declarations declarations = {0};
    struct qemu_events events;
    struct catalogue catalogue = {0};
    struct text text = TEXT_IN_MEMORY;
    struct source *source;
    struct input in;
    struct error error = {0};
    size_t bytes = 0;
    const struct item *items;
    int n;

    (void)declarations_parse(&declarations, "fuzz", declared, declared_size, NULL, NULL, &error);
    if (qemu_events_init(&declarations, &events) < 0)
        abort();
    qemu_log_probe(log, log_size);
    if (input_open_memory(&in, log, log_size, "fuzz") < 0 ||
        qemu_log_open(&in, &catalogue, &events, &source, &error) < 0)
        abort();
    while ((n = source_next(source, &items)) > 0)
        for (int i = 0; i < n; i++) {
            if (items[i].kind != ITEM_EVENT)
                continue;
            bytes += items[i].size;
            if (size < 4096)
                check_text(&items[i], log, log_size, &text);
        }
    assert(n == 0);
    assert(bytes <= 16 * size + 64);
    source_free(source);
    catalogue_done(&catalogue);
    qemu_events_done(&events);
    declarations_done(&declarations);
    text_done(&text);
    return 0;
}
