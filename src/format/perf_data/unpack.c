/* SPDX-License-Identifier: MIT */
#include "format/perf_data/unpack.h"

#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/macro.h"

/* What zstd wants next between two blocks of a frame: the header of a block. */
#define BLOCK_HEADER_SIZE 3

/* Room for records as they unpack; the longest is 65,535 bytes. */
#define OUT_SIZE ((size_t)256 * 1024)

struct perf_unpack {
    ZSTD_DCtx *context;
    uint8_t *packed;
    size_t packed_at, packed_size, capacity;
    bool flushed;   /* nothing is left in the context */
    bool is_inside; /* what was unpacked last ends inside a block, whose bytes the context holds */
    size_t next, filled;
    uint8_t out[OUT_SIZE];
};

int perf_unpack_new(struct perf_unpack **ret_unpack)
{
    struct perf_unpack *unpack = malloc(sizeof *unpack);

    if (!unpack)
        return -ENOMEM;
    memset(unpack, 0, offsetof(struct perf_unpack, out));
    unpack->flushed = true;
    unpack->context = ZSTD_createDCtx();
    if (!unpack->context) {
        free(unpack);
        return -ENOMEM;
    }
    *ret_unpack = unpack;
    return 0;
}

void perf_unpack_free(struct perf_unpack *unpack)
{
    if (!unpack)
        return;
    ZSTD_freeDCtx(unpack->context);
    free(unpack->packed);
    free(unpack);
}

int perf_unpack_add(struct perf_unpack *unpack, const uint8_t *p, size_t size)
{
    if (size > unpack->capacity) {
        uint8_t *bigger = realloc(unpack->packed, size);

        if (!bigger)
            return -ENOMEM;
        unpack->packed = bigger;
        unpack->capacity = size;
    }
    if (size > 0)
        memcpy(unpack->packed, p, size);
    unpack->packed_at = 0;
    unpack->packed_size = size;
    unpack->flushed = false;
    return 0;
}

static int fill(struct perf_unpack *unpack)
{
    ZSTD_inBuffer in = {unpack->packed, unpack->packed_size, unpack->packed_at};
    ZSTD_outBuffer out = {unpack->out, OUT_SIZE, 0};
    size_t r;

    memmove(unpack->out, unpack->out + unpack->next, unpack->filled - unpack->next);
    unpack->filled -= unpack->next;
    unpack->next = 0;
    out.pos = unpack->filled;
    r = ZSTD_decompressStream(unpack->context, &out, &in);
    if (ZSTD_isError(r))
        return ZSTD_getErrorCode(r) == ZSTD_error_memory_allocation ? -ENOMEM : -EBADMSG;
    unpack->is_inside = r != 0 && r != BLOCK_HEADER_SIZE;
    /* With room left, all that was added is written. */
    unpack->flushed = in.pos == in.size && out.pos < out.size;
    if (in.pos == unpack->packed_at && out.pos == unpack->filled)
        unpack->flushed = true;
    unpack->packed_at = in.pos;
    unpack->filled = out.pos;
    return 0;
}

int perf_unpack_need(struct perf_unpack *unpack, size_t n, const uint8_t **ret)
{
    while (unpack->filled - unpack->next < n) {
        int r = unpack->flushed ? 0 : fill(unpack);

        if (r < 0)
            return r;
        if (unpack->flushed && unpack->filled - unpack->next < n)
            return 0;
    }
    *ret = unpack->out + unpack->next;
    return 1;
}

void perf_unpack_skip(struct perf_unpack *unpack, size_t n)
{
    unpack->next += n;
}

bool perf_unpack_is_cut(const struct perf_unpack *unpack)
{
    return unpack->filled > unpack->next || unpack->is_inside;
}
