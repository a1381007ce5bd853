/* SPDX-License-Identifier: MIT */
#include "query/intervals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/macro.h"
#include "base/unnamed_file.h"

/* A node in the tree of ends covers 64 entries below it. */
#define INDEX_SHIFT 6
#define SPILL_FIRST ((size_t)1 << 20)

/* ---- Memory in a file ---- */

static int spill_open(struct spill *spill, const char *dir)
{
    *spill = (struct spill){.fd = unnamed_file_open(AT_FDCWD, dir)};
    return spill->fd < 0 ? spill->fd : 0;
}

static void spill_done(struct spill *spill)
{
    if (spill->bytes)
        munmap(spill->bytes, spill->room);
    if (spill->fd >= 0)
        close(spill->fd);
    *spill = (struct spill){.fd = -1};
}

/* Makes room for SIZE more bytes. The file's blocks are allocated before they are mapped, so a full disk causes an
 * error here. */
static _cold_ int spill_grow(struct spill *spill, size_t size)
{
    size_t room = MAX(spill->room, SPILL_FIRST);
    void *bytes;
    int r;

    while (room - spill->n < size)
        room += room / 2;
    room = (room + 4095) & ~(size_t)4095;
    r = posix_fallocate(spill->fd, 0, (off_t)room);
    if (r != 0)
        return -r;
    bytes = spill->bytes ? mremap(spill->bytes, spill->room, room, MREMAP_MAYMOVE)
                         : mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED, spill->fd, 0);
    if (bytes == MAP_FAILED)
        return -errno;
    spill->bytes = bytes;
    spill->room = room;
    return 0;
}

static inline int spill_reserve(struct spill *spill, size_t size)
{
    return likely(spill->room - spill->n >= size) ? 0 : spill_grow(spill, size);
}

/* ---- Intervals ---- */

int intervals_init(struct intervals *intervals, const char *dir)
{
    int r;

    *intervals = (struct intervals){.items.fd = -1, .texts.fd = -1, .dir = dir};
    r = spill_open(&intervals->items, dir);
    return r < 0 ? r : spill_open(&intervals->texts, dir);
}

static void index_done(struct interval_index *index)
{
    free(index->ends);
    spill_done(&index->spill);
}

void intervals_done(struct intervals *intervals)
{
    for (unsigned i = 0; i < intervals->n_indexes; i++)
        index_done(&intervals->indexes[i]);
    spill_done(&intervals->items);
    spill_done(&intervals->texts);
    map_done(&intervals->numbers);
    free(intervals->names);
    free(intervals->name_lens);
    arena_done(&intervals->arena);
}

int intervals_find_number(const struct intervals *intervals, const char *s, uint32_t len,
                          int32_t *ret)
{
    void *found = map_get_str(&intervals->numbers, s, len);

    if (!found)
        return -ENOENT;
    *ret = (int32_t)((uintptr_t)found - 1);
    return 0;
}

static _cold_ int add_number(struct intervals *intervals, const char *s, uint32_t len, int32_t *ret)
{
    uint32_t n = intervals->n_names;
    const char *kept = arena_strndup(&intervals->arena, s, len);

    if (!kept)
        return -ENOMEM;
    if ((n & (n - 1)) == 0) {
        size_t room = MAX((size_t)n * 2, (size_t)16);
        const char **names = realloc(intervals->names, room * sizeof *names);
        uint32_t *lens;

        if (!names)
            return -ENOMEM;
        intervals->names = names;
        lens = realloc(intervals->name_lens, room * sizeof *lens);
        if (!lens)
            return -ENOMEM;
        intervals->name_lens = lens;
    }
    if (map_put_str(&intervals->numbers, kept, len, (void *)((uintptr_t)n + 1)) < 0)
        return -ENOMEM;
    intervals->names[n] = kept;
    intervals->name_lens[n] = len;
    intervals->n_names++;
    *ret = (int32_t)n;
    return 0;
}

int intervals_number(struct intervals *intervals, const char *s, uint32_t len, int32_t *ret)
{
    if (likely(intervals_find_number(intervals, s, len, ret) == 0))
        return 0;
    return add_number(intervals, s, len, ret);
}

int intervals_add(struct intervals *intervals, const struct interval *item, const char *text)
{
    struct spill *items = &intervals->items, *texts = &intervals->texts;
    struct interval *added;
    int r = spill_reserve(items, sizeof *item);

    if (r == 0 && item->text_len > 0)
        r = spill_reserve(texts, item->text_len);
    if (r < 0)
        return r;
    if (intervals->n == UINT32_MAX)
        return -EFBIG;
    added = (struct interval *)(items->bytes + items->n);
    *added = *item;
    added->text = texts->n;
    if (item->text_len > 0)
        memcpy(texts->bytes + texts->n, text, item->text_len);
    texts->n += item->text_len;
    items->n += sizeof *item;
    intervals->n++;
    return 0;
}

/* ---- Indexes ---- */

static uint32_t hash_codes(unsigned given, const int32_t *codes)
{
    uint64_t hash = 0;

    for (unsigned i = 0; i < INTERVAL_CODES; i++)
        if (given >> i & 1)
            hash = hash_mix(hash, (uint32_t)codes[i]);
    return (uint32_t)(hash ^ hash >> 32);
}

static int compare_places(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static int64_t end_of(const struct intervals *intervals, uint64_t place)
{
    return intervals_item(intervals, (uint32_t)place)->end;
}

/* Fills the levels of the tree, which follow the places in the spill. */
static void make_ends(const struct intervals *intervals, struct interval_index *index)
{
    uint64_t n = intervals->n;

    for (unsigned level = 0; level < index->n_levels; level++) {
        uint64_t below = n;

        n = (n + (1u << INDEX_SHIFT) - 1) >> INDEX_SHIFT;
        for (uint64_t i = 0; i < n; i++) {
            int64_t latest = INT64_MIN;

            for (uint64_t k = i << INDEX_SHIFT; k < MIN((i + 1) << INDEX_SHIFT, below); k++) {
                int64_t end =
                    level == 0 ? end_of(intervals, index->places[k]) : index->ends[level - 1][k];

                latest = MAX(latest, end);
            }
            index->ends[level][i] = latest;
        }
    }
}

static _cold_ int make_index(struct intervals *intervals, unsigned given,
                             struct interval_index *index)
{
    size_t n = intervals->n, size = n, total = n;
    int r;

    *index = (struct interval_index){.codes = given};
    for (; size > 1; index->n_levels++) {
        size = (size + (1u << INDEX_SHIFT) - 1) >> INDEX_SHIFT;
        total += size;
    }
    r = spill_open(&index->spill, intervals->dir);
    if (r == 0)
        r = spill_reserve(&index->spill, total * sizeof(uint64_t));
    index->ends = calloc(index->n_levels + 1, sizeof *index->ends);
    if (r == 0 && !index->ends)
        r = -ENOMEM;
    if (r < 0) {
        index_done(index);
        return r;
    }
    index->places = (uint64_t *)index->spill.bytes;
    size = n;
    total = n;
    for (unsigned level = 0; level < index->n_levels; level++) {
        index->ends[level] = (int64_t *)index->spill.bytes + total;
        size = (size + (1u << INDEX_SHIFT) - 1) >> INDEX_SHIFT;
        total += size;
    }
    for (size_t i = 0; i < n; i++)
        index->places[i] =
            (uint64_t)hash_codes(given, intervals_item(intervals, (uint32_t)i)->codes) << 32 | i;
    if (given && n > 1)
        qsort(index->places, n, sizeof *index->places, compare_places);
    make_ends(intervals, index);
    return 0;
}

/* If there are too many indexes, uses the index without codes. */
static int find_index(struct intervals *intervals, unsigned given,
                      const struct interval_index **ret_index)
{
    int r;

    for (unsigned i = 0; i < intervals->n_indexes; i++)
        if (intervals->indexes[i].codes == given) {
            *ret_index = &intervals->indexes[i];
            return 0;
        }
    if (intervals->n_indexes == INDEXES_MAX) {
        *ret_index = &intervals->indexes[0];
        return 0;
    }
    r = make_index(intervals, given, &intervals->indexes[intervals->n_indexes]);
    if (r < 0)
        return r;
    *ret_index = &intervals->indexes[intervals->n_indexes++];
    return 0;
}

static int compare_begins(const void *a, const void *b)
{
    const struct interval *x = a, *y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->text < y->text ? -1 : x->text > y->text;
}

int intervals_sort(struct intervals *intervals)
{
    const struct interval_index *index;

    if (intervals->n > 1)
        qsort(intervals->items.bytes, intervals->n, sizeof(struct interval), compare_begins);
    return find_index(intervals, 0, &index);
}

/* Returns the number of the first interval that begins at TIME or later. */
static uint32_t first_from(const struct intervals *intervals, int64_t time)
{
    uint32_t low = 0, high = intervals->n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (intervals_item(intervals, middle)->begin < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the first place in INDEX that is PLACE or later. */
static uint64_t first_place(const struct intervals *intervals, const struct interval_index *index,
                            uint64_t place)
{
    uint64_t low = 0, high = intervals->n;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (index->places[middle] < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int interval_walk_start(struct intervals *intervals, const struct interval_range *range,
                        struct interval_walk *ret_walk)
{
    uint64_t first = first_from(intervals, range->begin_from);
    uint64_t end =
        range->begin_to == INT64_MAX ? intervals->n : first_from(intervals, range->begin_to + 1);
    int r = find_index(intervals, range->codes_given, &ret_walk->index);
    uint64_t hash;

    if (r < 0)
        return r;
    hash = (uint64_t)hash_codes(ret_walk->index->codes, range->codes) << 32;
    ret_walk->end_from = range->end_from;
    ret_walk->at = first_place(intervals, ret_walk->index, hash | first);
    ret_walk->to =
        end <= first ? ret_walk->at : first_place(intervals, ret_walk->index, hash | end);
    return 0;
}

/* Returns the first place from AT on, below TO, that may end at END or later. Skips nodes of the tree that end
 * earlier. */
static uint64_t skip(const struct intervals *intervals, const struct interval_index *index,
                     uint64_t at, uint64_t to, int64_t end)
{
    while (at < to) {
        unsigned level = 0;

        if (end_of(intervals, index->places[at]) >= end)
            return at;
        at++;
        /* Up as long as a whole node is too early. */
        while (at < to && level < index->n_levels &&
               (at & ((UINT64_C(1) << (INDEX_SHIFT * (level + 1))) - 1)) == 0 &&
               index->ends[level][at >> (INDEX_SHIFT * (level + 1))] < end) {
            unsigned top = level;

            while (top + 1 < index->n_levels &&
                   (at & ((UINT64_C(1) << (INDEX_SHIFT * (top + 2))) - 1)) == 0 &&
                   index->ends[top + 1][at >> (INDEX_SHIFT * (top + 2))] < end)
                top++;
            at += UINT64_C(1) << (INDEX_SHIFT * (top + 1));
        }
    }
    return to;
}

const struct interval *interval_walk_next(const struct intervals *intervals,
                                          struct interval_walk *walk)
{
    walk->at = skip(intervals, walk->index, walk->at, walk->to, walk->end_from);
    if (walk->at >= walk->to)
        return NULL;
    return intervals_item(intervals, (uint32_t)walk->index->places[walk->at++]);
}
