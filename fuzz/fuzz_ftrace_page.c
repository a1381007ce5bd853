/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>

#include "event/program.h"
#include "format/ftrace/cpu_pages.h"
#include "kernel_fixture.h"

struct memory_feed {
    struct page_feed feed;
    const uint8_t *p;
    size_t left, page_size;
    uint8_t *page; /* a copy, so that a read beyond it is seen */
};

static int next_page(struct page_feed *feed, const uint8_t **ret_page, size_t *ret_size,
                     uint64_t *ret_offset, struct error *error)
{
    struct memory_feed *m = container_of(feed, struct memory_feed, feed);
    size_t n = MIN(m->left, m->page_size);

    (void)error;
    free(m->page);
    m->page = NULL;
    if (n == 0)
        return 0;
    m->page = malloc(n);
    if (!m->page)
        abort();
    memcpy(m->page, m->p, n);
    m->p += n;
    m->left -= n;
    *ret_page = m->page;
    *ret_size = n;
    *ret_offset = 0;
    return 1;
}

static void feed_free(struct page_feed *feed)
{
    struct memory_feed *m = container_of(feed, struct memory_feed, feed);

    free(m->page);
    free(m);
}

/* The first byte chooses order, word size and length of the pages that follow. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ftrace_layout layout = {.commit = 8};
    struct catalogue catalogue = {0};
    struct text text = TEXT_IN_MEMORY;
    struct ftrace_instance *instance;
    struct kernel_events *events;
    struct kernel_facts facts;
    struct memory_feed *feed;
    struct source *source;
    const struct item *items;
    size_t total = 0;
    int n;

    if (size == 0)
        return 0;
    layout.long_size = data[0] & 2 ? 4 : 8;
    layout.data = layout.commit + layout.long_size;
    layout.size = data[0] & 4 ? 128 : 1024;
    ftrace_layout_set_order(&layout, data[0] & 1);
    facts = (struct kernel_facts){
        .swap = layout.swap, .big_endian = layout.big_endian, .long_size = layout.long_size};

    feed = calloc(1, sizeof *feed);
    if (!feed || kernel_events_new(&catalogue, &facts, &kernel_fixture, &events) < 0 ||
        ftrace_instance_new(&catalogue, &(struct origin){.format = "ftrace"}, events, &layout,
                            data[0] & 8, &instance) < 0)
        abort();
    *feed = (struct memory_feed){.feed = {.next = next_page, .free = feed_free, .path = "f"},
                                 .p = data + 1,
                                 .left = size - 1,
                                 .page_size = layout.size};
    if (ftrace_cpu_open(instance, 0, &feed->feed, &source) < 0)
        abort();
    ftrace_instance_unref(instance);
    while ((n = source_next(source, &items)) > 0) {
        total += (size_t)n;
        for (int i = 0; i < n; i++)
            if (items[i].kind == ITEM_EVENT)
                item_put_text(&items[i], &text);
        text.next = text.start;
    }
    /* Each record takes four bytes at the least, and a page may add two losses. */
    if (total > size / 4 + 2 * (size / layout.size + 1) || source_next(source, &items) != n)
        abort();
    source_free(source);
    catalogue_done(&catalogue);
    text_done(&text);
    return 0;
}
