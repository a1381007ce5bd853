/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "schema/xen/table.h"

/* A table, parsed on top of nothing. Its fields must lie within a record's words. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct xen_table table = {0};
    struct error error = {0};
    int r = xen_table_parse(&table, "f", (const char *)data, size, &error);
    size_t at = 0;
    uint64_t id;
    void *value;

    if ((r < 0) != (error.code < 0))
        abort();
    while (map_next(&table.events, &at, &id, &value)) {
        for (const struct xen_event *event = value; event; event = event->before) {
            for (unsigned i = 0; i < event->n_fields; i++) {
                const struct field *field = &event->fields[i];
                if (field->offset + field->size > 28 || field->shift + field->bits > 32 ||
                    (field->names && field->names->n > 0 && !field->names->names) ||
                    (field->names && field->names->bits && field->names->n > 64))
                    abort();
                for (uint32_t j = 1; field->names && j < field->names->n_more; j++)
                    if (field->names->more[j - 1].value >= field->names->more[j].value)
                        abort();
            }
        }
        xen_table_find(&table, (uint32_t)id, 3, 418, XEN_CPU_UNKNOWN);
    }
    for (const struct xen_call *call = table.calls; call; call = call->next)
        for (unsigned i = 0; i < XEN_CALL_ARGUMENTS; i++)
            if (call->arguments[i].names && !call->arguments[i].name)
                abort();
    xen_table_done(&table);
    return 0;
}
