/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "bytes.h"
#include "event/program.h"
#include "format/ftrace/live.h"

/* A guest that is shown live and sends anything. Steps:
 *
 *   0  a file: u8 which, u16 length, text
 *   1  pages: u8 CPU, u16 offset beyond what came, u16 length, bytes
 *   2  what waits is looked at, u8 items of it
 *   3  another kernel
 *   4  the end
 */

static const char *const paths[] = {
    "events/header_page", "events/toy/beat/format", "events/toy/other/format",
    "trace_clock",        "saved_cmdlines",         "printk_formats",
    "kallsyms",           "events//format",
};

static size_t take_length(struct bytes *bytes)
{
    size_t n = take(bytes, 2);

    return MIN(n, (size_t)(bytes->end - bytes->next));
}

static void put_file(struct ftrace_live *live, struct bytes *bytes)
{
    const char *path = paths[take(bytes, 1) % ARRAY_SIZE(paths)];
    size_t n = take_length(bytes);
    char *text = malloc(n + 1);

    if (!text)
        abort();
    memcpy(text, bytes->next, n);
    text[n] = '\0';
    bytes->next += n;
    (void)ftrace_live_file(live, path, text, n);
}

static void put_pages(struct ftrace_live *live, struct bytes *bytes, uint64_t *offsets)
{
    unsigned cpu = take(bytes, 1);
    uint64_t offset = offsets[cpu] + take(bytes, 2);
    size_t n = take_length(bytes);
    uint8_t *copy = malloc(n + 1);
    struct error error = {0};

    if (!copy)
        abort();
    memcpy(copy, bytes->next, n);
    bytes->next += n;
    offsets[cpu] = offset + n;
    (void)ftrace_live_pages(live, cpu * 17, offset, copy, n, cpu, &error);
    free(copy);
}

static void look(struct ftrace_live *live, unsigned n, struct text *text)
{
    struct item *item;
    uint64_t came;

    while (n-- > 0 && ftrace_live_look(live, &item, &came)) {
        if (item->kind == ITEM_EVENT)
            item_put_text(item, text);
        (void)item->origin->task_name(item->origin, item->pid);
        ftrace_live_take(live);
        text->next = text->start;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes bytes = {data, data + size};
    struct catalogue catalogue = {0};
    struct ftrace_live *live;
    struct text text = TEXT_IN_MEMORY;
    uint64_t offsets[256] = {0};

    if (ftrace_live_new(&catalogue, "v", LAYER_GUEST, &live) < 0)
        abort();
    while (bytes.next < bytes.end) {
        switch (take(&bytes, 1) % 5) {
        case 0: put_file(live, &bytes); break;
        case 1: put_pages(live, &bytes, offsets); break;
        case 2: look(live, take(&bytes, 1), &text); break;
        case 3:
            ftrace_live_free(live);
            memset(offsets, 0, sizeof offsets);
            if (ftrace_live_new(&catalogue, "v", LAYER_GUEST, &live) < 0)
                abort();
            break;
        default: ftrace_live_end(live); break;
        }
    }
    look(live, 100000, &text);
    ftrace_live_free(live);
    text_done(&text);
    catalogue_done(&catalogue);
    return 0;
}
