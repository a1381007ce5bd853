/* SPDX-License-Identifier: MIT */
#include "format/ftrace/page.h"

#include <string.h>

#define COMMIT_SIZE ((UINT64_C(1) << 27) - 1)
#define COMMIT_STORED (UINT64_C(1) << 30)
#define COMMIT_MISSED (UINT64_C(1) << 31)

/* The number after KEY (such as "offset:") in [P, END); false: there is none. */
static bool find_number(const char *p, const char *end, const char *key, uint32_t *ret)
{
    const char *at = memmem(p, (size_t)(end - p), key, strlen(key));
    uint32_t v = 0;

    if (!at)
        return false;
    at += strlen(key);
    if (at == end || *at < '0' || *at > '9')
        return false;
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        if (v > FTRACE_PAGE_MAX)
            return false;
        v = v * 10 + (uint32_t)(*at - '0');
    }
    *ret = v;
    return true;
}

/* Offset and size of the field NAME in a line such as
 * "	field: local_t commit;	offset:8;	size:8;	signed:1;". */
static bool find_field(const char *text, size_t len, const char *name, uint32_t *ret_offset,
                       uint32_t *ret_size)
{
    const char *end = text + len;

    for (const char *line = text; line < end;) {
        const char *line_end = memchr(line, '\n', (size_t)(end - line));
        const char *semicolon;
        size_t n = strlen(name);

        if (!line_end)
            line_end = end;
        semicolon = memchr(line, ';', (size_t)(line_end - line));
        if (semicolon && (size_t)(semicolon - line) > n && memcmp(semicolon - n, name, n) == 0 &&
            semicolon[-(ptrdiff_t)n - 1] == ' ')
            return find_number(semicolon, line_end, "offset:", ret_offset) &&
                   find_number(semicolon, line_end, "size:", ret_size);
        line = line_end + 1;
    }
    return false;
}

int ftrace_layout_parse(const char *text, size_t len, const char *name,
                        struct ftrace_layout *ret_layout, struct error *error)
{
    struct ftrace_layout layout = {0};
    uint32_t offset, size, data_size;

    if (!find_field(text, len, "timestamp", &offset, &size))
        return error_set(error, -EBADMSG, name,
                         "no line for \"timestamp\": this is not a kernel's header_page");
    if (offset != 0 || size != 8)
        return error_set(error, -EBADMSG, name,
                         "timestamp is %u bytes at offset %u; only 8 bytes at 0 can be read", size,
                         offset);
    if (!find_field(text, len, "commit", &layout.commit, &size))
        return error_set(error, -EBADMSG, name, "no line for \"commit\"");
    if (size != 4 && size != 8)
        return error_set(error, -EBADMSG, name, "commit is %u bytes long, not 4 or 8", size);
    layout.long_size = (uint8_t)size;
    if (!find_field(text, len, "data", &layout.data, &data_size))
        return error_set(error, -EBADMSG, name, "no line for \"data\"");
    if (layout.commit < 8 || layout.commit > layout.data || layout.data - layout.commit < size)
        return error_set(error, -EBADMSG, name, "commit (offset %u) and data (offset %u) overlap",
                         layout.commit, layout.data);
    if (data_size < 8 || data_size > FTRACE_PAGE_MAX || layout.data > FTRACE_PAGE_MAX - data_size)
        return error_set(error, -EBADMSG, name, "data of %u bytes: no page is that long",
                         data_size);
    layout.size = layout.data + data_size;
    ftrace_layout_set_order(&layout, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    *ret_layout = layout;
    return 0;
}

void ftrace_layout_set_order(struct ftrace_layout *layout, bool big_endian)
{
    layout->big_endian = big_endian;
    layout->swap = big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

static uint64_t commit_of(const struct ftrace_layout *layout, const uint8_t *page)
{
    return load_uint(page + layout->commit, layout->long_size, layout->swap);
}

bool ftrace_page_is_after_loss(const struct ftrace_layout *layout, const uint8_t *page)
{
    return (commit_of(layout, page) & COMMIT_MISSED) != 0;
}

bool ftrace_page_is_plausible(const struct ftrace_layout *layout, const uint8_t *page, size_t size)
{
    uint64_t commit;
    uint64_t upper;

    if (size < layout->data)
        return false;
    commit = commit_of(layout, page);
    upper = commit >> 32;
    if ((commit & COMMIT_SIZE) > layout->size - layout->data)
        return false;
    /* Bits that no kernel sets; above bit 31 only the sign. */
    if (commit & (COMMIT_STORED - 1) & ~COMMIT_SIZE)
        return false;
    if (upper != 0 && upper != UINT32_MAX)
        return false;
    /* What a file has where its blocks were never written, as after a power failure. */
    return commit != 0 || load_u64_swap(page, layout->swap) != 0;
}

int ftrace_page_open(struct ftrace_page *walk, const struct ftrace_layout *layout,
                     const uint8_t *page, size_t size, const char **ret_what)
{
    uint64_t commit, used;
    size_t there;

    if (size < layout->data) {
        *ret_what = "the file ends inside the header of a page";
        return -EBADMSG;
    }
    if (!ftrace_page_is_plausible(layout, page, size)) {
        *ret_what = commit_of(layout, page) == 0
                        ? "a page that was never written: it begins with zeros"
                        : "this is not a ring-buffer page: its length field makes no sense";
        return -EBADMSG;
    }
    there = MIN(size, (size_t)layout->size) - layout->data;
    commit = commit_of(layout, page);
    used = commit & COMMIT_SIZE;

    *walk = (struct ftrace_page){
        .next = page + layout->data,
        .end = page + layout->data + MIN(used, there),
        .time = load_u64_swap(page, layout->swap),
        .missed = (commit & COMMIT_MISSED) != 0,
        .cut = used > there,
    };
    if (walk->missed && (commit & COMMIT_STORED) && used + layout->long_size <= there) {
        walk->count_known = true;
        walk->n_missed = load_uint(walk->end, layout->long_size, layout->swap);
    }
    return 0;
}

/* The low SIZE bytes, 4 or 8, of V. */
static void store_uint(uint8_t *p, unsigned size, uint64_t v, bool swap)
{
    uint32_t low = swap ? __builtin_bswap32((uint32_t)v) : (uint32_t)v;

    if (size == sizeof low)
        store_u32(p, low);
    else
        store_u64(p, swap ? __builtin_bswap64(v) : v);
}

void ftrace_page_make_loss(const struct ftrace_layout *layout, uint64_t time, uint64_t lost,
                           uint8_t *page)
{
    bool is_counted = lost < (UINT64_C(1) << (8 * layout->long_size - 1));

    memset(page, 0, layout->size);
    store_uint(page, sizeof time, time, layout->swap);
    store_uint(page + layout->commit, layout->long_size,
               COMMIT_MISSED | (is_counted ? COMMIT_STORED : 0), layout->swap);
    if (is_counted)
        store_uint(page + layout->data, layout->long_size, lost, layout->swap);
}

/* Limits for a searched page: how much later it may be (an hour and a quarter, in nanoseconds), and how many of its
 * records are examined. */
#define LATER_MAX (UINT64_C(1) << 42)
#define RECORDS_LOOKED_AT 32

bool ftrace_page_seems_to_begin(const struct ftrace_layout *layout, const uint8_t *p, size_t left,
                                uint64_t after)
{
    struct ftrace_record record;
    struct ftrace_page walk;
    const char *what;
    int r = 1;

    if (ftrace_page_open(&walk, layout, p, left, &what) < 0 || walk.cut || walk.next == walk.end)
        return false;
    if (after != 0 && (walk.time < after || walk.time - after > LATER_MAX))
        return false;
    for (unsigned n = 0; n < RECORDS_LOOKED_AT && r > 0; n++)
        r = ftrace_page_next(&walk, layout, &record);
    return r >= 0;
}

int ftrace_page_count(struct ftrace_page *walk, const struct ftrace_layout *layout, uint64_t *ref_n)
{
    struct ftrace_record record;
    int r;

    while ((r = ftrace_page_next(walk, layout, &record)) > 0)
        ++*ref_n;
    return r;
}
