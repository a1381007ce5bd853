/* SPDX-License-Identifier: MIT */
#include "format/trace_dat/feed.h"

#include "base/macro.h"

/* Chunks have ten pages. The memory for a chunk begins with this size, and grows only if the chunk really unpacks to
 * more. */
#define CHUNK_ROOM ((size_t)64 * 1024)
/* Bytes of chunks of all CPUs in memory at once: real ones of 8192 CPUs are 320 MB. A small file may have many that unpack
 * to much. */
#define CHUNKS_SIZE_MAX (UINT64_C(512) * 1024 * 1024)

struct dat_feed {
    struct page_feed feed;
    struct dat_file *file;
    uint64_t next, end; /* of what is to be read, in the file */
    uint32_t page_size;
    uint8_t *buf; /* pages */
    size_t at, filled, capacity;
    uint64_t buf_offset; /* of buf[0] in the file; of a chunk: where the chunk is */
    bool compressed;
    uint32_t n_chunks; /* that are left */
    bool counted;      /* n_chunks is known */
    uint8_t *packed;
    size_t packed_capacity;
    size_t chunk_max; /* longer chunks are refused */
};

static int cut_short(struct dat_feed *f, uint64_t offset, struct error *error)
{
    return error_at(error, -EBADMSG, f->feed.path, offset,
                    "the file ends before the pages that its header names");
}

/* The next run of whole pages. 1, 0: the end. */
static int fill_plain(struct dat_feed *f, struct error *error)
{
    size_t wanted = (size_t)MIN(f->end - f->next, (uint64_t)f->capacity);
    int64_t n;

    if (wanted == 0)
        return 0;
    n = input_read_at(&f->file->in, f->next, f->buf, wanted, error);
    if (n < 0)
        return (int)n;
    if (n == 0)
        return cut_short(f, f->next, error);
    f->buf_offset = f->next;
    f->at = 0;
    f->filled = (size_t)n;
    f->next += (uint64_t)n;
    /* The file is shorter than its table says: the pages that exist are read, then it is reported. */
    if ((size_t)n < wanted)
        f->end = MAX(f->next, f->end);
    return 1;
}

static int read_words(struct dat_feed *f, uint32_t *words, unsigned n, struct error *error)
{
    uint8_t bytes[8];
    int64_t got = input_read_at(&f->file->in, f->next, bytes, 4 * (size_t)n, error);

    if (got < 0)
        return (int)got;
    if ((size_t)got < 4 * (size_t)n)
        return cut_short(f, f->next, error);
    for (unsigned i = 0; i < n; i++)
        words[i] = load_u32_swap(bytes + 4 * i, f->file->swap);
    f->next += 4 * (uint64_t)n;
    return 0;
}

/* -ENOMEM; -EFBIG: the chunks of the file would take too much memory. */
static int grow(struct dat_feed *f, uint8_t **buf, size_t *capacity, size_t size)
{
    uint8_t *bigger;

    if (size <= *capacity)
        return 0;
    if (size - *capacity > CHUNKS_SIZE_MAX - f->file->chunks_size)
        return -EFBIG;
    bigger = realloc(*buf, size);
    if (!bigger)
        return -ENOMEM;
    f->file->chunks_size += size - *capacity;
    *buf = bigger;
    *capacity = size;
    return 0;
}

/* Unpacks the N bytes of f->packed, which should become SIZE. */
static int unpack(struct dat_feed *f, size_t n, size_t size)
{
    size_t room = MIN(size, MAX(CHUNK_ROOM, f->capacity));

    for (;;) {
        int r = grow(f, &f->buf, &f->capacity, room);

        if (r < 0)
            return r;
        r = dat_codec_unpack_into(f->file->codec, f->packed, n, f->buf, room, &f->filled);
        if (r != -ENOSPC || room == size)
            return r;
        room = MIN(size, room * 2);
    }
}

static int chunk_error(const struct dat_feed *f, int r, struct error *error)
{
    if (r == -ENOMEM)
        return error_set(error, r, f->feed.path, "out of memory");
    return error_at(error, -EBADMSG, f->feed.path, f->buf_offset,
                    r == -EFBIG ? "the chunks of its CPUs unpack to more than 512 MB at once"
                                : "a chunk cannot be unpacked");
}

static int fill_chunk(struct dat_feed *f, struct error *error)
{
    uint32_t sizes[2] = {0, 0};
    int64_t n;
    int r;

    if (!f->counted) {
        r = read_words(f, &f->n_chunks, 1, error);
        if (r < 0)
            return r;
        f->counted = true;
    }
    if (f->n_chunks == 0)
        return 0;
    f->buf_offset = f->next;
    r = read_words(f, sizes, 2, error);
    if (r < 0)
        return r;
    if (sizes[0] > f->chunk_max || sizes[1] > f->chunk_max || sizes[0] == 0 || sizes[1] == 0)
        return error_at(error, -EBADMSG, f->feed.path, f->buf_offset,
                        "invalid chunk: %u bytes that unpack to %u", sizes[0], sizes[1]);
    if (f->file->in.size - MIN(f->next, f->file->in.size) < sizes[0])
        return cut_short(f, f->next, error);
    r = grow(f, &f->packed, &f->packed_capacity, sizes[0]);
    if (r < 0)
        return chunk_error(f, r, error);
    n = input_read_at(&f->file->in, f->next, f->packed, sizes[0], error);
    if (n < 0)
        return (int)n;
    if ((size_t)n < sizes[0])
        return cut_short(f, f->next, error);
    f->next += sizes[0];
    f->at = f->filled = 0;
    r = unpack(f, sizes[0], sizes[1]);
    if (r < 0)
        return chunk_error(f, r, error);
    f->n_chunks--;
    return 1;
}

static int feed_next(struct page_feed *feed, const uint8_t **ret_page, size_t *ret_size,
                     uint64_t *ret_offset, struct error *error)
{
    struct dat_feed *f = container_of(feed, struct dat_feed, feed);

    while (f->at >= f->filled) {
        int r = f->compressed ? fill_chunk(f, error) : fill_plain(f, error);
        if (r <= 0)
            return r;
    }
    *ret_page = f->buf + f->at;
    *ret_size = MIN(f->filled - f->at, f->page_size);
    /* Of an unpacked page only its chunk has a place. */
    *ret_offset = f->compressed ? f->buf_offset : f->buf_offset + f->at;
    f->at += *ret_size;
    feed->done = feed->total - MIN(feed->total, f->end - MIN(f->next, f->end));
    return 1;
}

/* Where the next page is; of pages that are not compressed. */
static uint64_t next_offset(const struct dat_feed *f)
{
    return f->next - (f->filled - MIN(f->at, f->filled));
}

static uint64_t feed_left(const struct page_feed *feed)
{
    const struct dat_feed *f = container_of(feed, struct dat_feed, feed);
    uint64_t end = MIN(f->end, f->file->in.size);
    uint64_t next = next_offset(f);

    return next < end ? (end - next) / f->page_size : 0;
}

static int feed_peek(const struct page_feed *feed, uint64_t number, uint8_t *p, size_t size,
                     struct error *error)
{
    const struct dat_feed *f = container_of(feed, struct dat_feed, feed);
    int64_t n = input_read_at(&f->file->in, next_offset(f) + number * f->page_size, p, size, error);

    return n < 0 ? (int)n : (size_t)n < size ? -EIO : 0;
}

static int feed_skip(struct page_feed *feed, uint64_t number, struct error *error)
{
    struct dat_feed *f = container_of(feed, struct dat_feed, feed);

    (void)error;
    f->next = next_offset(f) + number * f->page_size;
    f->at = f->filled = 0;
    return 0;
}

static void feed_free(struct page_feed *feed)
{
    struct dat_feed *f = container_of(feed, struct dat_feed, feed);

    if (f->compressed)
        f->file->chunks_size -= f->capacity + f->packed_capacity;
    dat_file_unref(f->file);
    free(f->buf);
    free(f->packed);
    free(f);
}

int dat_feed_new(struct dat_file *file, const struct dat_buffer *buffer, const struct dat_cpu *cpu,
                 uint32_t page_size, size_t buffer_size, struct page_feed **ret_feed)
{
    struct dat_feed *f = calloc(1, sizeof *f);

    if (!f)
        return -ENOMEM;
    f->feed.next = feed_next;
    f->feed.free = feed_free;
    f->feed.path = file->path;
    f->feed.total = cpu->size;
    f->file = dat_file_ref(file);
    f->next = cpu->offset;
    f->end = cpu->offset + MIN(cpu->size, UINT64_MAX - cpu->offset);
    f->page_size = page_size;
    f->compressed = buffer->compressed;
    f->counted = cpu->size == 0;
    f->chunk_max = MAX(buffer_size * 2, (size_t)page_size * 64);
    if (!f->compressed) {
        f->capacity = MAX(buffer_size / page_size, (size_t)1) * page_size;
        f->buf = malloc(f->capacity);
        if (!f->buf) {
            feed_free(&f->feed);
            return -ENOMEM;
        }
        f->feed.left = feed_left;
        f->feed.peek = feed_peek;
        f->feed.skip = feed_skip;
    }
    *ret_feed = &f->feed;
    return 0;
}
