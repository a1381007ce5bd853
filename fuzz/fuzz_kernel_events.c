/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "event/program.h"
#include "schema/kernel/events.h"
#include "schema/kernel/format.h"

struct one_format {
    struct kernel_formats formats;
    const char *text;
    size_t len;
};

static int lend(struct kernel_formats *formats, uint16_t id, struct kernel_format *ret)
{
    struct one_format *one = container_of(formats, struct one_format, formats);

    (void)id;
    *ret = (struct kernel_format){.text = one->text, .len = one->len, .system = "ftrace"};
    return 0;
}

static int kallsyms(struct kernel_formats *formats, char **ret_text, size_t *ret_len)
{
    static const char text[] = "ffffffff81000000 T _stext\nffffffff81000100 t schedule\n"
                               "ffffffff81000200 T last\t[module]\n";

    (void)formats;
    *ret_text = strdup(text);
    *ret_len = sizeof text - 1;
    return *ret_text ? 0 : -ENOMEM;
}

static void no_free(struct kernel_formats *formats)
{
    (void)formats;
}

/* Puts ITEM, and, if its class is open, what it is by the fields that it has with it. */
static void put(struct kernel_events *events, struct item *item, struct text *text)
{
    const struct event_class *class = item->class;
    struct text made = TEXT_IN_MEMORY;

    item_put_text(item, text);
    item_put_fields(item, text);
    if (!class->task_data || !kernel_class_is_open(class))
        return;
    item->class = kernel_events_decode(events, class, item->payload, item->size, &made);
    if (!item->class || (item->class == class) != (text_len(&made) == 0))
        abort();
    if (item->class != class) {
        item->payload = (const uint8_t *)made.start;
        item->size = (uint32_t)text_len(&made);
        item_put_text(item, text);
        item_put_fields(item, text);
    }
    text_done(&made);
}

/* The first byte chooses the kernel's kind; then a format, up to a NUL, and then an event. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char printk[] = "0xffffffff82000000 : \"%d of %s at %pS\\n\"\n";
    struct one_format one = {.formats = {.format = lend, .kallsyms = kallsyms, .free = no_free}};
    struct kernel_facts facts = {0};
    struct catalogue catalogue = {0};
    struct origin origin = {0};
    struct text text = TEXT_IN_MEMORY;
    struct kernel_events *events;
    const uint8_t *nul;
    uint8_t *event;
    int id;

    if (size < 2)
        return 0;
    facts.big_endian = data[0] & 1;
    facts.swap = data[0] & 1;
    facts.long_size = data[0] & 2 ? 4 : 8;
    nul = memchr(data + 1, '\0', size - 1);
    if (!nul)
        return 0;
    one.text = (const char *)data + 1;
    one.len = (size_t)(nul - data - 1);
    id = kernel_format_id(one.text, one.len);
    if (id < 0)
        return 0;
    size -= (size_t)(nul + 1 - data);

    if (kernel_events_new(&catalogue, &facts, &one.formats, &events) < 0 ||
        kernel_events_read_printk(events, strdup(printk), sizeof printk - 1) < 0)
        abort();
    kernel_events_set_origin(events, &origin);
    /* Just as long as the event, so that a read beyond it is seen. */
    event = malloc(size ? size : 1);
    if (!event)
        abort();
    memcpy(event, nul + 1, size);
    for (size_t n = size + 1; n > 0; n = n > 16 ? n / 2 : n - 1) {
        struct item item = {.origin = &origin, .payload = event, .size = (uint32_t)n - 1};

        item.class = kernel_events_class(events, (uint16_t)id);
        if (!item.class)
            abort();
        put(events, &item, &text);
        text.next = text.start;
    }
    kernel_events_hint(events);
    free(event);
    kernel_events_unref(events);
    catalogue_done(&catalogue);
    text_done(&text);
    return 0;
}
