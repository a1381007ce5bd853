/* SPDX-License-Identifier: MIT */
/* What a recorder is told and what it finds: the first line is a choice of events, the second a list of CPUs,
 * the rest a window of records, which must come out the same, or shorter and no less whole. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_set.h"
#include "format/xentrace/record.h"
#include "record/percpu/cpu_chunk.h"

static struct xen_table table;

/* Takes a line off. */
static char *line(const uint8_t **data, size_t *size)
{
    const uint8_t *end = *size ? memchr(*data, '\n', *size) : NULL;
    size_t len = end ? (size_t)(end - *data) : *size;
    char *text = malloc(len + 1);

    if (!text)
        abort();
    if (len)
        memcpy(text, *data, len);
    text[len] = 0;
    *data += len + (end != NULL);
    *size -= len + (end != NULL);
    return text;
}

static void try_window(const struct xen_event_mask *choice, const uint8_t *data, size_t size)
{
    struct chunk_state all = {0};
    struct chunk_state some = {0};
    struct chunk_state again = {0};
    uint8_t *out = malloc(size + 8);
    size_t kept;
    int r, q;

    if (!out)
        abort();
    r = chunk_count(&all, data, size);
    q = chunk_filter(&some, choice, data, size, out, &kept);
    if ((r < 0) != (q < 0) || kept > size + 8)
        abort();
    if (some.counts.records + some.counts.left_out != all.counts.records ||
        some.counts.lost != all.counts.lost || some.counts.losses != all.counts.losses)
        abort();
    if (q >= 0 &&
        (chunk_count(&again, out, kept) < 0 || again.counts.records != some.counts.records ||
         again.counts.lost != all.counts.lost))
        abort();
    if (chunk_has(data, size, all.counts.records + 1))
        abort();
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct xen_event_mask choice;
    struct cpu_set cpus;
    struct error error = {0};
    char *words, *list;

    if (table.n_events == 0 && xen_table_built_in(&table, NULL) < 0)
        abort();
    if (xen_event_mask_init(&choice) < 0)
        abort();
    words = line(&data, &size);
    if (xen_event_mask_add(&choice, &table, words, &error) < 0 && error.code == 0)
        abort();
    (void)xen_event_mask_is_exact(&choice);
    free(words);

    list = line(&data, &size);
    error_clear(&error);
    if (cpu_set_parse(list, 1 + (unsigned)(size % 4096), &cpus, &error) < 0) {
        if (error.code == 0)
            abort();
    } else {
        char text[64];
        bool any = false;

        for (unsigned cpu = 0; cpu < CPU_SET_MAX; cpu++)
            any |= cpu_set_has(&cpus, cpu);
        if (!any || strlen(cpu_set_text(&cpus, CPU_SET_MAX, text, sizeof text)) >= sizeof text)
            abort();
    }
    free(list);

    try_window(&choice, data, size);
    xen_event_mask_done(&choice);
    return 0;
}
