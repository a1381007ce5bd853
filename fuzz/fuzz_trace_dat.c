/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "event/program.h"
#include "format/trace_dat/trace_dat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader_options options = {.keep_going = size & 1};
    struct catalogue catalogue = {0};
    struct text text = TEXT_IN_MEMORY;
    struct source **sources;
    struct input in;
    unsigned n;

    if (input_open_memory(&in, data, size, "f") < 0)
        abort();
    if (trace_dat_open(&in, "f", LAYER_GUEST, NULL, true, NULL, &catalogue, &options, &sources, &n,
                       NULL) >= 0) {
        for (unsigned i = 0; i < n; i++) {
            const struct item *items;
            size_t total = 0;
            int got;

            /* The pages of several CPUs may be the same bytes, and packed ones expand: it is the
             * walk that is tried here, not the amount. */
            while (total < 100000 && (got = source_next(sources[i], &items)) > 0) {
                if (total == 0 && size & 2)
                    source_seek(sources[i], items[got - 1].time);
                total += (size_t)got;
                for (int k = 0; k < got && total < 2000; k++) {
                    if (items[k].kind == ITEM_LOSS)
                        continue;
                    item_put_text(&items[k], &text);
                    text_put_str(&text, items[k].origin->task_name(items[k].origin, items[k].pid)
                                            ? "known"
                                            : "unknown");
                }
                text.next = text.start;
            }
            source_free(sources[i]);
        }
        free(sources);
    }
    catalogue_done(&catalogue);
    text_done(&text);
    return 0;
}
