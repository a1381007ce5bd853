/* SPDX-License-Identifier: MIT */
/* The text of ftrace and of perf script, and lines of trace_marker in it. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "event/marker.h"
#include "event/program.h"
#include "event/value.h"
#include "format/kernel_text/kernel_text.h"

/* All fields can be read, and the text is the line's own; of a function, its name is. */
static void check_event(const struct item *item, const uint8_t *data, size_t size,
                        struct text *text)
{
    struct marker marker;

    assert(item->class->n_fields > 0 && item->size <= 64 * 1024);
    for (unsigned i = 0; i < item->class->n_fields; i++) {
        struct value value = item_value(item, i);

        if (value.present && item->class->fields[i].type == FIELD_STRING &&
            marker_parse(value.s, value.len, &marker))
            assert(marker.name >= value.s && marker.name + marker.len <= value.s + value.len);
    }
    (void)item_task_name(item);
    text->next = text->start;
    item_put_text(item, text);
    /* Its text is not of the input. Of a name that no text can have between its blanks, the text is the only field. */
    if (strncmp(item->class->name, "funcgraph_", 10) == 0) {
        struct value function = item_value(item, 0);

        if (strcmp(item->class->fields[0].name, "func") != 0)
            return;

        assert(!function.present || function.len == 0 ||
               memmem(data, size, function.s, function.len));
        return;
    }
    assert(text_len(text) == 0 || memmem(data, size, text->start, text_len(text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct catalogue catalogue = {0};
    struct text text = TEXT_IN_MEMORY;
    struct error error = {0};
    struct source *source;
    struct input in;
    const struct item *items;
    size_t n_items = 0;
    int n;

    (void)kernel_text_probe(data, size);
    if (input_open_memory(&in, data, size, "fuzz") < 0)
        abort();
    n = kernel_text_open(&in, &catalogue, &source, &error);
    if (n == -EOPNOTSUPP && error.code == n) {
        catalogue_done(&catalogue);
        return 0;
    }
    assert(n == 0);
    while ((n = source_next(source, &items)) > 0) {
        n_items += (size_t)n;
        for (int i = 0; i < n && size < 4096; i++)
            if (items[i].kind == ITEM_EVENT)
                check_event(&items[i], data, size, &text);
    }
    /* CPUs that are not in the text are losses. */
    assert(n == 0 && n_items <= size + CPU_SET_MAX);
    source_free(source);
    catalogue_done(&catalogue);
    text_done(&text);
    return 0;
}
