/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "event/catalogue.h"
#include "event/item.h"
#include "event/program.h"
#include "schema/xen/user_events.h"

static void check_event(const struct xen_event *event)
{
    static const uint8_t payload[28];
    struct origin origin = {.format = "xentrace", .clock = {.name = "tsc"}};
    struct catalogue catalogue = {0};
    struct event_class class = {.name = event->name,
                                .origin = &origin,
                                .fields = event->fields,
                                .n_fields = event->n_fields,
                                .format = event->format};
    struct text text = TEXT_IN_MEMORY;
    struct event_class *added;

    for (unsigned i = 0; i < event->n_fields; i++)
        if (event->fields[i].offset + event->fields[i].size > 28)
            abort();
    if (catalogue_add(&catalogue, &class, &added) < 0)
        abort();
    /* Of a record that is whole, and one that is too short. */
    for (uint32_t size = 0; size <= 28; size += 28) {
        struct item item = {.class = added, .origin = &origin, .payload = payload, .size = size};

        item_put_text(&item, &text);
    }
    text_done(&text);
    catalogue_done(&catalogue);
}

/* A table or a formats file: its events must read as text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct xen_table table = {0};
    struct error error = {0};
    int r = xen_user_events_parse(&table, "f", (const char *)data, size, &error);
    size_t at = 0;
    uint64_t id;
    void *event;

    if ((r < 0) != (error.code < 0))
        abort();
    while (map_next(&table.events, &at, &id, &event))
        check_event(event);
    xen_table_done(&table);
    return 0;
}
