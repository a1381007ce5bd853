/* SPDX-License-Identifier: MIT */
/* Reads records one after the other, from the input or from what is compressed in it. */
#include <string.h>

#include "base/macro.h"
#include "format/perf_data/perf_data.h"
#include "format/perf_data/reader.h"

/* Records that have to follow one another where records seem to be. */
#define RESYNC_RECORDS 8

/* Reads the header at P. -EBADMSG. */
static int read_header(const struct perf_data *perf, const uint8_t *p, struct perf_record *ret,
                       const char **ret_what)
{
    uint16_t size = load_u16_swap(p + 6, perf->swap);

    if (size < RECORD_HEADER_SIZE) {
        *ret_what = "a record is shorter than its header";
        return -EBADMSG;
    }
    ret->type = load_u32_swap(p, perf->swap);
    ret->misc = load_u16_swap(p + 4, perf->swap);
    ret->size = size - RECORD_HEADER_SIZE;
    return 0;
}

static int next_unpacked(struct perf_data *perf, struct perf_record *ret, const char **ret_what)
{
    const uint8_t *p;
    int r = perf_unpack_need(perf->unpack, RECORD_HEADER_SIZE, &p);

    if (r > 0)
        r = read_header(perf, p, ret, ret_what);
    else if (r == -EBADMSG)
        *ret_what = "compressed records are damaged";
    else if (r == 0)
        return 0;
    if (r < 0)
        return r;
    r = perf_unpack_need(perf->unpack, RECORD_HEADER_SIZE + ret->size, &p);
    if (r == -EBADMSG)
        *ret_what = "compressed records are damaged";
    if (r <= 0)
        return r;
    ret->body = p + RECORD_HEADER_SIZE;
    perf_unpack_skip(perf->unpack, RECORD_HEADER_SIZE + ret->size);
    return 1;
}

static uint64_t left_of(const struct perf_data *perf)
{
    return perf->end == UINT64_MAX ? UINT64_MAX
                                   : perf->end - MIN(perf->end, input_offset(&perf->in));
}

/* 1, 0 at the end, or an errno. */
static int next_plain(struct perf_data *perf, struct perf_record *ret, const char **ret_what)
{
    struct input *in = &perf->in;
    uint64_t left = left_of(perf);
    int r;

    if (left == 0)
        return 0;
    *ret_what = "the file ends inside a record";
    if (left < RECORD_HEADER_SIZE)
        return -EBADMSG;
    r = input_need(in, RECORD_HEADER_SIZE, &perf->source.error);
    if (r <= 0)
        return r < 0 ? r : input_buffered(in) || perf->end != UINT64_MAX ? -EBADMSG : 0;
    ret->offset = input_offset(in);
    r = read_header(perf, input_at(in), ret, ret_what);
    if (r < 0)
        return r;
    if (ret->size > left - RECORD_HEADER_SIZE)
        return -EBADMSG;
    r = input_need(in, RECORD_HEADER_SIZE + ret->size, &perf->source.error);
    if (r <= 0)
        return r < 0 ? r : -EBADMSG;
    ret->body = input_at(in) + RECORD_HEADER_SIZE;
    input_skip(in, RECORD_HEADER_SIZE + ret->size);
    return 1;
}

static int add_packed(struct perf_data *perf, const struct perf_record *record,
                      const char **ret_what)
{
    const uint8_t *p = record->body;
    uint64_t size = record->size;
    int r = 0;

    if (record->type == RECORD_COMPRESSED2) {
        *ret_what = "a record is too short";
        if (record->size < 8)
            return -EBADMSG;
        size = load_u64_swap(record->body, perf->swap);
        *ret_what = "the compressed data of a record is longer than the record";
        if (size > record->size - 8)
            return -EBADMSG;
        p += 8;
    }
    if (!perf->unpack)
        r = perf_unpack_new(&perf->unpack);
    return r < 0 ? r : perf_unpack_add(perf->unpack, p, (size_t)size);
}

int perf_record_next(struct perf_data *perf, struct perf_record *ret, const char **ret_what)
{
    int r = 0;

    while (r == 0) {
        r = perf->unpack ? next_unpacked(perf, ret, ret_what) : 0;
        if (r != 0)
            break;
        r = next_plain(perf, ret, ret_what);
        if (r == 0) {
            if (!perf->unpack || !perf_unpack_is_cut(perf->unpack))
                return 0;
            *ret_what = "the compressed records end inside one";
            return -EBADMSG;
        }
        if (r < 0 || (ret->type != RECORD_COMPRESSED && ret->type != RECORD_COMPRESSED2))
            break;
        r = add_packed(perf, ret, ret_what);
    }
    return r;
}

int perf_record_skip_data(struct perf_data *perf, uint64_t size, const char **ret_what)
{
    struct input *in = &perf->in;
    int r;

    *ret_what = "the file ends inside the data of a record";
    if (size > left_of(perf))
        return -EBADMSG;
    if (in->seekable && in->size != UINT64_MAX && size > in->size - MIN(in->size, input_offset(in)))
        return -EBADMSG;
    if (in->seekable)
        return input_seek(in, input_offset(in) + size, &perf->source.error);
    while (size > 0) {
        size_t n = (size_t)MIN(size, (uint64_t)65536);

        r = input_need(in, n, &perf->source.error);
        if (r <= 0)
            return r < 0 ? r : -EBADMSG;
        input_skip(in, n);
        size -= n;
    }
    return 0;
}

int perf_record_read_data(struct perf_data *perf, uint64_t size, size_t max, uint8_t **ret,
                          const char **ret_what)
{
    _cleanup_free_ uint8_t *bytes = NULL;
    size_t done = 0, capacity = 0;

    *ret_what = "the data of a record is too long";
    if (size > max)
        return -EFBIG;
    *ret_what = "the file ends inside the data of a record";
    if (size > left_of(perf))
        return -EBADMSG;
    do {
        size_t n = MIN((size_t)size - done, (size_t)65536);
        int r;

        /* Memory grows with what there is, not with what the file says. */
        if (done + n > capacity || !bytes) {
            uint8_t *bigger;

            capacity = MAX(done + n, capacity * 2);
            bigger = realloc(bytes, MAX(capacity, (size_t)1));
            if (!bigger)
                return -ENOMEM;
            bytes = bigger;
        }
        r = input_need(&perf->in, n, &perf->source.error);
        if (r <= 0)
            return r < 0 ? r : -EBADMSG;
        memcpy(bytes + done, input_at(&perf->in), n);
        input_skip(&perf->in, n);
        done += n;
    } while (done < size);
    *ret = TAKE_PTR(bytes);
    return 0;
}

/* Whether a record may begin at P, where LEFT bytes are. */
static bool may_begin(const struct perf_data *perf, const uint8_t *p, size_t left, size_t *ret_size)
{
    uint32_t type = load_u32_swap(p, perf->swap);
    uint16_t size = load_u16_swap(p + 6, perf->swap);

    *ret_size = size;
    if (size < RECORD_HEADER_SIZE || size % 8 != 0 || size > left)
        return false;
    if (type == 0 || type > RECORD_USER_LAST ||
        (type > RECORD_KERNEL_LAST && type < RECORD_USER_FIRST))
        return false;
    return size > RECORD_HEADER_SIZE || type >= RECORD_USER_FIRST;
}

/* Whether records seem to follow one another from P on, where LEFT bytes are buffered; at the end of all, fewer do. */
static bool seem_to_follow(const struct perf_data *perf, const uint8_t *p, size_t left)
{
    for (unsigned i = 0; i < RESYNC_RECORDS; i++) {
        size_t size;

        if (left == 0 && i > 1)
            return true;
        if (left < RECORD_HEADER_SIZE || !may_begin(perf, p, left, &size))
            return false;
        p += size;
        left -= size;
    }
    return true;
}

int perf_record_resync(struct perf_data *perf, uint64_t *ret_skipped)
{
    struct input *in = &perf->in;
    uint64_t begin = input_offset(in);

    perf_unpack_free(perf->unpack);
    perf->unpack = NULL;
    /* Records of a file begin at multiples of 8 from the first one. */
    for (uint64_t n = 0;; n += 8) {
        uint64_t left = left_of(perf);
        size_t here;

        *ret_skipped = input_offset(in) - begin;
        if (left < 8)
            return 0;
        if (input_buffered(in) < PERF_DATA_INPUT_SIZE && !in->ended &&
            input_need(in, (size_t)MIN(left, (uint64_t)PERF_DATA_INPUT_SIZE), NULL) < 0)
            return 0;
        here = (size_t)MIN(left, (uint64_t)input_buffered(in));
        if (here < 8)
            return 0;
        if (n > 0 && seem_to_follow(perf, input_at(in), here))
            return 1;
        input_skip(in, 8);
    }
}
