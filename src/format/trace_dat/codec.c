/* SPDX-License-Identifier: MIT */
#include "format/trace_dat/codec.h"

#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/macro.h"

int dat_codec_find(const char *name, enum dat_codec *ret)
{
    if (strcmp(name, "none") == 0)
        *ret = DAT_CODEC_NONE;
    else if (strcmp(name, "zlib") == 0)
        *ret = DAT_CODEC_ZLIB;
    else if (strcmp(name, "zstd") == 0)
        *ret = DAT_CODEC_ZSTD;
    else
        return -ENOTSUP;
    return 0;
}

int dat_codec_unpack_into(enum dat_codec codec, const uint8_t *p, size_t n, uint8_t *buf,
                          size_t size, size_t *ret_size)
{
    uLongf zlib_size = size;
    size_t zstd_size;
    int status;

    switch (codec) {
    case DAT_CODEC_NONE: break;
    case DAT_CODEC_ZLIB:
        status = uncompress(buf, &zlib_size, p, n);
        if (status != Z_OK)
            return status == Z_BUF_ERROR ? -ENOSPC : status == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
        *ret_size = zlib_size;
        return 0;
    case DAT_CODEC_ZSTD:
        zstd_size = ZSTD_decompress(buf, size, p, n);
        switch (ZSTD_getErrorCode(zstd_size)) {
        case ZSTD_error_no_error: break;
        case ZSTD_error_dstSize_tooSmall: return -ENOSPC;
        case ZSTD_error_memory_allocation: return -ENOMEM;
        default: return -EBADMSG;
        }
        *ret_size = zstd_size;
        return 0;
    }
    if (n > size)
        return -ENOSPC;
    memcpy(buf, p, n);
    *ret_size = n;
    return 0;
}

struct growing {
    uint8_t *bytes;
    size_t size, capacity, max;
};

/* Makes room for more; one byte is kept for the NUL. */
static int make_room(struct growing *g)
{
    uint8_t *bigger;
    size_t capacity;

    if (g->size + 1 < g->capacity)
        return 0;
    if (g->size > g->max)
        return -EFBIG;
    capacity = g->capacity ? g->capacity * 2 : 64 * 1024;
    bigger = realloc(g->bytes, capacity);
    if (!bigger)
        return -ENOMEM;
    g->bytes = bigger;
    g->capacity = capacity;
    return 0;
}

static int unpack_zlib(const uint8_t *p, size_t n, struct growing *g)
{
    z_stream stream = {0};
    int status = Z_OK, r = 0;

    if (inflateInit(&stream) != Z_OK)
        return -ENOMEM;
    stream.next_in = (Bytef *)(uintptr_t)p;
    stream.avail_in = (uInt)MIN(n, (size_t)UINT32_MAX);
    while (status == Z_OK && (r = make_room(g)) == 0) {
        size_t room = g->capacity - 1 - g->size;

        stream.next_out = g->bytes + g->size;
        stream.avail_out = (uInt)MIN(room, (size_t)UINT32_MAX);
        status = inflate(&stream, Z_NO_FLUSH);
        g->size = (size_t)(stream.next_out - g->bytes);
    }
    inflateEnd(&stream);
    if (r < 0)
        return r;
    return status == Z_STREAM_END ? 0 : status == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

static int unpack_zstd(const uint8_t *p, size_t n, struct growing *g)
{
    ZSTD_DCtx *context = ZSTD_createDCtx();
    ZSTD_inBuffer in = {.src = p, .size = n};
    size_t left = 1;
    int r = 0;

    if (!context)
        return -ENOMEM;
    /* A frame may ask for a window of gigabytes. */
    ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, 25);
    while (left != 0 && (r = make_room(g)) == 0) {
        ZSTD_outBuffer out = {.dst = g->bytes + g->size, .size = g->capacity - 1 - g->size};
        size_t read_before = in.pos;

        left = ZSTD_decompressStream(context, &out, &in);
        g->size += out.pos;
        /* A frame that is cut short makes no headway. */
        if (ZSTD_isError(left) || (left != 0 && out.pos == 0 && in.pos == read_before)) {
            r = ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation ? -ENOMEM : -EBADMSG;
            break;
        }
    }
    ZSTD_freeDCtx(context);
    return r;
}

int dat_codec_unpack(enum dat_codec codec, const uint8_t *p, size_t n, size_t max,
                     uint8_t **ret_bytes, size_t *ret_size)
{
    struct growing g = {.max = max};
    int r;

    switch (codec) {
    case DAT_CODEC_ZLIB: r = unpack_zlib(p, n, &g); break;
    case DAT_CODEC_ZSTD: r = unpack_zstd(p, n, &g); break;
    default: r = -EBADMSG; break;
    }
    if (r == 0 && g.size > max)
        r = -EFBIG;
    if (r < 0) {
        free(g.bytes);
        return r;
    }
    g.bytes[g.size] = '\0';
    *ret_bytes = g.bytes;
    *ret_size = g.size;
    return 0;
}
