/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "event/program.h"
#include "format/xentrace/record.h"
#include "format/xentrace/xentrace.h"
#include "timeline/merge.h"

/* Reads TOTAL items at most; returns how many, and what it ended with. */
static size_t read_all(struct source *source, struct text *text, int *ret_end)
{
    const struct item *items;
    size_t total = 0;
    int n;

    while ((n = source_next(source, &items)) > 0) {
        for (int i = 0; i < n; i++) {
            if (items[i].vcpu != VCPU_UNKNOWN)
                items[i].origin->put_vcpu(items[i].origin, items[i].vcpu, text);
            if (items[i].kind == ITEM_EVENT)
                item_put_text(&items[i], text);
            text->next = text->start;
        }
        total += (size_t)n;
    }
    *ret_end = n;
    return total;
}

/* The first byte chooses the options, the rest is a stream. Read strictly and with keep_going; the
 * latter must not give less. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct xen_table table;
    struct text text = TEXT_IN_MEMORY;
    size_t n[2] = {0};

    if (size == 0)
        return 0;
    if (table.n_events == 0 && xen_table_built_in(&table, NULL) < 0)
        abort();
    text_put_char(&text, ' ');
    xentrace_recognise(data + 1, size - 1);
    for (unsigned keep_going = 0; keep_going < 2; keep_going++) {
        struct xentrace_options options = {
            .reader.keep_going = keep_going,
            .version = (xen_version)(data[0] & 1   ? 417
                                     : data[0] & 2 ? 422
                                                   : 0),
            .table = &table,
        };
        struct catalogue catalogue = {0};
        struct source **sources;
        struct source *merged;
        unsigned n_sources;
        struct input in;
        int end;

        if (input_open_memory(&in, data + 1, size - 1, "f") < 0 ||
            xentrace_open(&in, &options, &catalogue, &sources, &n_sources, NULL) < 0)
            abort();
        if (merge_open(sources, n_sources, &merged) < 0)
            abort();
        free(sources);
        n[keep_going] = read_all(merged, &text, &end);
        /* A record takes 4 bytes, and so does damage; damage behind the end tells of itself. */
        if (n[keep_going] > size / 2 + 2 * n_sources || (end < 0) != (merged->error.code < 0) ||
            (keep_going && end < 0))
            abort();
        source_free(merged);
        catalogue_done(&catalogue);
    }
    text_done(&text);
    return 0;
}
