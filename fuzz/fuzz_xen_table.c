/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "declare/xen_table.h"

/* A table, parsed on top of nothing. Its fields must lie within a record's words. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct xen_table table = {0};
    struct fault fault = {0};
    int r = xen_table_parse(&table, "f", (const char *)data, size, &fault);
    size_t at = 0;
    uint64_t id;
    void *value;

    if ((r < 0) != (fault.error < 0))
        abort();
    while (map_next(&table.events, &at, &id, &value)) {
        for (const struct xen_event *event = value; event; event = event->before) {
            for (unsigned i = 0; i < event->n_fields; i++) {
                const struct field *field = &event->fields[i];
                if (field->offset + field->size > 28 || field->shift + field->bits > 32 ||
                    (field->names && field->names->n > 0 && !field->names->names))
                    abort();
            }
        }
        xen_table_find(&table, (uint32_t)id, 3, 418, XEN_CPU_UNKNOWN);
    }
    xen_table_done(&table);
    return 0;
}
