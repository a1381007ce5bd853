/* SPDX-License-Identifier: MIT */
#include "export/trace_dat/ring_page.h"

#define PAGE_SIZE_LEAST 4096
#define DELTA_BITS 27
#define TYPE_PADDING 29
#define TYPE_EXTEND 30
#define WORDS_MAX 28
/* Largest time since the previous record: an extend has 59 bits. */
#define DELTA_MAX ((UINT64_C(1) << 59) - 1)
#define COMMIT_MISSED (UINT64_C(1) << 31)
#define COMMIT_STORED (UINT64_C(1) << 30)
/* A record's header, the word of its length, the time extend before it, and the end of a page. */
#define ENDS_MAX 24

static uint32_t padded(uint32_t size)
{
    return (size + 3) & ~UINT32_C(3);
}

uint32_t ring_page_size(uint8_t long_size, uint32_t size)
{
    uint32_t page = PAGE_SIZE_LEAST;

    while (page < 8U + long_size + ENDS_MAX + padded(size))
        page *= 2;
    return page;
}

static void put_u32(struct ring_page *page, uint32_t v)
{
    store_u32(page->bytes + page->used, page->layout->swap ? __builtin_bswap32(v) : v);
    page->used += 4;
}

static void put_long(const struct ring_layout *layout, uint8_t *p, uint64_t v)
{
    if (layout->long_size == 4)
        store_u32(p, layout->swap ? __builtin_bswap32((uint32_t)v) : (uint32_t)v);
    else
        store_u64(p, layout->swap ? __builtin_bswap64(v) : v);
}

static void put_header(struct ring_page *page, uint32_t type_len, uint64_t delta)
{
    uint32_t low = (uint32_t)(delta & ((UINT32_C(1) << DELTA_BITS) - 1));

    put_u32(page, page->layout->big_endian ? type_len << DELTA_BITS | low : low << 5 | type_len);
}

void ring_page_begin(struct ring_page *page, uint64_t time)
{
    store_u64(page->bytes, page->layout->swap ? __builtin_bswap64(time) : time);
    page->used = ring_data_offset(page->layout);
    page->time = time;
    page->missed = false;
    page->n_missed = 0;
}

bool ring_page_put(struct ring_page *page, uint64_t time, const void *p, uint32_t size)
{
    uint32_t whole = padded(size);
    uint64_t delta = time - page->time;
    bool extend = delta >> DELTA_BITS;
    uint32_t headers = (extend ? 8U : 0U) + (whole == 0 || whole > WORDS_MAX * 4 ? 8U : 4U);
    uint32_t end = page->missed ? page->layout->long_size : 0;

    if (unlikely(delta > DELTA_MAX || headers + whole + end > page->layout->size - page->used))
        return false;
    if (unlikely(extend)) {
        put_header(page, TYPE_EXTEND, delta);
        put_u32(page, (uint32_t)(delta >> DELTA_BITS));
        delta = 0;
    }
    if (likely(headers & 4)) {
        put_header(page, whole / 4, delta);
    } else {
        put_header(page, 0, delta);
        put_u32(page, whole + 4);
    }
    memcpy(page->bytes + page->used, p, size);
    memset(page->bytes + page->used + size, 0, whole - size);
    page->used += whole;
    page->time = time;
    return true;
}

void ring_page_end(struct ring_page *page)
{
    const struct ring_layout *layout = page->layout;
    uint32_t first = ring_data_offset(layout);
    uint64_t commit = page->used - first;
    uint32_t left = layout->size - page->used;
    uint8_t *end = page->bytes + page->used;

    memset(end, 0, left);
    if (page->missed) {
        commit |= COMMIT_MISSED;
        if (page->n_missed != UINT64_MAX && left >= layout->long_size &&
            (layout->long_size == 8 || page->n_missed <= UINT32_MAX)) {
            commit |= COMMIT_STORED;
            put_long(layout, end, page->n_missed);
        }
    }
    put_long(layout, page->bytes + 8, commit);
    page->used = 0;
}
