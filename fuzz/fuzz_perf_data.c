/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "event/program.h"
#include "format/perf_data/perf_data.h"

static void put_fact(void *arg, const char *key, const char *value)
{
    text_put_str(arg, key);
    text_put_str(arg, value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader_options options = {.keep_going = size & 1};
    struct catalogue catalogue = {0};
    struct text text = TEXT_IN_MEMORY;
    const struct item *items;
    struct source *source;
    struct input in;
    size_t total = 0;
    int got;

    if (input_open_memory(&in, data, size, "f") < 0)
        abort();
    if (perf_data_open(&in, "f", &catalogue, &options, &source, NULL) >= 0) {
        /* Packed records expand: it is the walk that is tried here, not the amount. */
        while (total < 100000 && (got = source_next(source, &items)) > 0) {
            if (total == 0 && size & 2)
                source_seek(source, items[got - 1].time);
            total += (size_t)got;
            for (int k = 0; k < got && total < 4000; k++) {
                const char *name = item_task_name(&items[k]);

                text_put_str(&text, name ? name : "unknown");
                if (items[k].kind == ITEM_EVENT)
                    item_put_text(&items[k], &text);
            }
            text.next = text.start;
        }
        source->ops->facts(source, put_fact, &text);
        if (source->ops->hint(source))
            text_put_str(&text, source->ops->hint(source));
        source_free(source);
    }
    catalogue_done(&catalogue);
    text_done(&text);
    return 0;
}
