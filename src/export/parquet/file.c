/* SPDX-License-Identifier: MIT */
/* Writes a Parquet file in the following subset of the format (Apache Parquet, parquet.thrift and Encodings.md).
 * Numbers are little-endian:
 *
 *   "PAR1"
 *   row groups   a column after the other: a dictionary page if it has one, then data pages of up to 32,768 rows
 *   page         PageHeader, then its bytes, compressed by zstd
 *   dictionary   the values: i64 or double, or u32 length and bytes
 *   data page    of a nullable column u32 length, and a run-length encoding: 1 where there is a value; then the values:
 *                  RLE_DICTIONARY       u8 width, and a run-length encoding of places in the dictionary
 *                  DELTA_BINARY_PACKED  other integers
 *                  PLAIN                doubles, other texts; as in a dictionary
 *   FileMetaData, u32 its length, "PAR1"
 *
 * PageHeader and FileMetaData are structs of Thrift (thrift.h). Columns are flat. The metadata of a row group has the
 * least and the largest value of each column, by which engines skip the group: for numbers always, unless one is not a
 * number; for texts if they are short. */

#include "export/parquet/file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "export/parquet/encode.h"
#include "export/parquet/thrift.h"

#define MAGIC "PAR1"
#define MAGIC_LEN 4u
#define PAGE_ROWS 32768u
#define ZSTD_LEVEL 1
/* Limits of a dictionary: entries of numbers and of texts. */
#define NUMBERS_MAX 4096u
#define TEXTS_MAX 16384u
#define SLOTS (4 * TEXTS_MAX)
/* Longer texts have no statistics. */
#define STATISTIC_MAX 64u

enum physical_type { INT64 = 2, DOUBLE = 5, BYTE_ARRAY = 6 };
enum encoding { PLAIN = 0, RLE = 3, DELTA_BINARY_PACKED = 5, RLE_DICTIONARY = 8 };
enum { CODEC_ZSTD = 6 };
enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };
enum { CONVERTED_UTF8 = 0, CONVERTED_UINT_64 = 14 };

/* A column of a row group that is being written. */
struct chunk {
    const struct parquet_column *column;
    const char *p;           /* numbers or bytes */
    const uint32_t *lengths; /* NULL for numbers */
    const char *nulls;
    uint32_t n; /* number of values */
    enum encoding encoding;
    uint64_t uncompressed, compressed, first, data; /* sizes and offsets */
    uint32_t n_entries;
    uint32_t entries[TEXTS_MAX]; /* of the dictionary: index of a value for each entry */
    uint64_t offsets[TEXTS_MAX]; /* where entries are in `p`, for texts */
};

static bool is_text(const struct parquet_column *column)
{
    return column->type == COLUMN_TEXT || column->type == COLUMN_BLOB ||
           column->type == COLUMN_EITHER;
}

static enum physical_type physical_type(const struct parquet_column *column)
{
    return is_text(column) ? BYTE_ARRAY : column->type == COLUMN_REAL ? DOUBLE : INT64;
}

int parquet_writer_init(struct parquet_writer *writer)
{
    *writer = (struct parquet_writer){.page = TEXT_IN_MEMORY, .compressed = TEXT_IN_MEMORY};
    writer->zstd = ZSTD_createCCtx();
    writer->indices = malloc(PARQUET_ROWS_MAX * sizeof *writer->indices);
    writer->slots = malloc(SLOTS * sizeof *writer->slots);
    return writer->zstd && writer->indices && writer->slots ? 0 : -ENOMEM;
}

void parquet_writer_done(struct parquet_writer *writer)
{
    ZSTD_freeCCtx(writer->zstd);
    free(writer->indices);
    free(writer->slots);
    text_done(&writer->page);
    text_done(&writer->compressed);
}

static void put_text(struct parquet_column *column, const char *s, uint32_t len)
{
    size_t before = text_len(&column->values);

    if (column->type != COLUMN_BLOB && utf8_find_wrong(s, len)) {
        utf8_put(&column->values, s, len);
        len = (uint32_t)(text_len(&column->values) - before);
    } else {
        text_put(&column->values, s, len);
    }
    text_put(&column->lengths, (const char *)&len, sizeof len);
}

void parquet_put(struct parquet_file *file, unsigned number, const struct value *cell)
{
    struct parquet_column *column = &file->columns[number];
    char digits[24];

    file->size += 8;
    if (column->nullable) {
        text_put_char(&column->nulls, (char)cell->present);
        if (!cell->present)
            return;
    }
    if (!is_text(column)) {
        store_u64(text_room(&column->values, 8), cell->present ? cell->u : 0);
        column->values.next += 8;
        return;
    }
    file->size += cell->len;
    if (!cell->present)
        put_text(column, "", 0);
    else if (column->type == COLUMN_EITHER && cell->len == 0)
        put_text(column, digits, (uint32_t)snprintf(digits, sizeof digits, "%" PRId64, cell->i));
    else
        put_text(column, cell->s, cell->len);
}

/* ---- The dictionary ---- */

static bool is_same(const struct chunk *chunk, uint32_t entry, uint32_t i, uint64_t offset)
{
    uint32_t other = chunk->entries[entry];

    if (!chunk->lengths)
        return load_u64(chunk->p + (size_t)other * 8) == load_u64(chunk->p + (size_t)i * 8);
    return chunk->lengths[other] == chunk->lengths[i] &&
           memcmp(chunk->p + chunk->offsets[entry], chunk->p + offset, chunk->lengths[i]) == 0;
}

/* Makes a dictionary if CHUNK has few distinct values. Then the indices are the values' places in it. False if there
 * are too many. */
static bool make_dictionary(struct parquet_writer *writer, struct chunk *chunk)
{
    uint32_t max = MIN(chunk->lengths ? TEXTS_MAX : NUMBERS_MAX, chunk->n / 2);
    uint64_t offset = 0;

    memset(writer->slots, 0, SLOTS * sizeof *writer->slots);
    for (uint32_t i = 0; i < chunk->n; i++) {
        uint64_t hash = chunk->lengths ? hash_bytes(chunk->p + offset, chunk->lengths[i])
                                       : hash_mix(0, load_u64(chunk->p + (size_t)i * 8));
        uint32_t slot = (uint32_t)(hash >> 20) % SLOTS;

        while (writer->slots[slot] && !is_same(chunk, writer->slots[slot] - 1, i, offset))
            slot = (slot + 1) % SLOTS;
        if (!writer->slots[slot]) {
            if (chunk->n_entries == max)
                return false;
            chunk->entries[chunk->n_entries] = i;
            chunk->offsets[chunk->n_entries] = offset;
            writer->slots[slot] = ++chunk->n_entries;
        }
        writer->indices[i] = writer->slots[slot] - 1;
        offset += chunk->lengths ? chunk->lengths[i] : 0;
    }
    return true;
}

/* ---- Statistics ---- */

struct bounds {
    char least[STATISTIC_MAX], largest[STATISTIC_MAX];
    uint32_t least_len, largest_len;
    bool known;
};

static int compare(const struct parquet_column *column, const char *a, uint32_t a_len,
                   const char *b, uint32_t b_len)
{
    int r = 0;

    if (is_text(column)) {
        r = memcmp(a, b, MIN(a_len, b_len));
        return r ? r : (a_len > b_len) - (a_len < b_len);
    }
    if (column->type == COLUMN_REAL) {
        double x, y;

        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return (x > y) - (x < y);
    }
    if (column->type == COLUMN_UNSIGNED)
        return (load_u64(a) > load_u64(b)) - (load_u64(a) < load_u64(b));
    return ((int64_t)load_u64(a) > (int64_t)load_u64(b)) -
           ((int64_t)load_u64(a) < (int64_t)load_u64(b));
}

static bool is_nan(const struct parquet_column *column, const char *p)
{
    double v;

    if (column->type != COLUMN_REAL)
        return false;
    memcpy(&v, p, sizeof v);
    return isnan(v);
}

/* -0 and 0 are equal, but readers may compare bits. So a least value of zero becomes -0, and a largest one becomes
 * 0. */
static void settle_zeros(struct bounds *bounds)
{
    double least, largest;

    memcpy(&least, bounds->least, sizeof least);
    memcpy(&largest, bounds->largest, sizeof largest);
    least = least == 0 ? -0.0 : least;
    largest = largest == 0 ? 0.0 : largest;
    memcpy(bounds->least, &least, sizeof least);
    memcpy(bounds->largest, &largest, sizeof largest);
}

static void find_bounds(const struct chunk *chunk, struct bounds *bounds)
{
    bool by_entries = chunk->encoding == RLE_DICTIONARY;
    const char *p = chunk->p;

    for (uint32_t k = 0; k < (by_entries ? chunk->n_entries : chunk->n); k++) {
        uint32_t i = by_entries ? chunk->entries[k] : k;
        uint32_t len = chunk->lengths ? chunk->lengths[i] : 8;

        if (by_entries)
            p = chunk->p + (chunk->lengths ? chunk->offsets[k] : (uint64_t)i * 8);
        bounds->known = len <= STATISTIC_MAX && !is_nan(chunk->column, p);
        if (!bounds->known)
            return;
        if (k == 0 || compare(chunk->column, p, len, bounds->least, bounds->least_len) < 0) {
            memcpy(bounds->least, p, len);
            bounds->least_len = len;
        }
        if (k == 0 || compare(chunk->column, p, len, bounds->largest, bounds->largest_len) > 0) {
            memcpy(bounds->largest, p, len);
            bounds->largest_len = len;
        }
        p += len;
    }
    if (bounds->known && chunk->column->type == COLUMN_REAL)
        settle_zeros(bounds);
    /* As in the pages. */
    if (bounds->known && !is_text(chunk->column)) {
        store_le64(bounds->least, load_u64(bounds->least));
        store_le64(bounds->largest, load_u64(bounds->largest));
    }
}

/* ---- Pages ---- */

/* Writes the page in WRITER. */
static int write_page(struct parquet_writer *writer, struct parquet_file *file, struct chunk *chunk,
                      int fd, unsigned page_type, uint32_t n)
{
    size_t len = text_len(&writer->page), room = ZSTD_compressBound(len);
    struct text head = TEXT_IN_MEMORY;
    unsigned last = 0, inner = 0;
    size_t size;
    char *p;
    int r;

    writer->compressed.next = writer->compressed.start;
    p = text_room(&writer->compressed, room);
    if (writer->page.error || writer->compressed.error)
        return -ENOMEM;
    size = ZSTD_compressCCtx(writer->zstd, p, room, writer->page.start, len, ZSTD_LEVEL);
    if (ZSTD_isError(size))
        return -ENOMEM;
    thrift_number(&head, &last, 1, THRIFT_I32, page_type);
    thrift_number(&head, &last, 2, THRIFT_I32, (int64_t)len);
    thrift_number(&head, &last, 3, THRIFT_I32, (int64_t)size);
    thrift_field(&head, &last, page_type == PAGE_DICTIONARY ? 7 : 5, THRIFT_STRUCT);
    thrift_number(&head, &inner, 1, THRIFT_I32, n);
    thrift_number(&head, &inner, 2, THRIFT_I32,
                  page_type == PAGE_DICTIONARY ? PLAIN : chunk->encoding);
    if (page_type == PAGE_DATA) {
        thrift_number(&head, &inner, 3, THRIFT_I32, RLE);
        thrift_number(&head, &inner, 4, THRIFT_I32, RLE);
    }
    thrift_end(&head);
    thrift_end(&head);
    r = head.error ? -ENOMEM : write_all(fd, head.start, text_len(&head));
    if (r == 0)
        r = write_all(fd, p, size);
    file->offset += text_len(&head) + size;
    chunk->uncompressed += text_len(&head) + len;
    chunk->compressed += text_len(&head) + size;
    text_done(&head);
    writer->page.next = writer->page.start;
    return r;
}

static void put_le32(struct text *out, uint32_t v)
{
    store_le32(&v, v);
    text_put(out, (const char *)&v, sizeof v);
}

static void put_plain(struct text *page, const struct chunk *chunk, uint32_t i, uint64_t offset)
{
    if (!chunk->lengths) {
        uint64_t v = load_le64(chunk->p + (size_t)i * 8);

        text_put(page, (const char *)&v, sizeof v);
        return;
    }
    put_le32(page, chunk->lengths[i]);
    text_put(page, chunk->p + offset, chunk->lengths[i]);
}

static void put_levels(struct text *page, const char *nulls, uint32_t n, uint32_t *ret_present)
{
    uint32_t levels[PAGE_ROWS], len, start;
    uint32_t present = 0;

    for (uint32_t i = 0; i < n; i++)
        present += levels[i] = (uint32_t)nulls[i];
    start = (uint32_t)text_len(page);
    text_put(page, "\0\0\0\0", 4);
    parquet_put_rle(page, levels, n, 1);
    len = (uint32_t)text_len(page) - start - 4;
    if (!page->error)
        store_le32(page->start + start, len);
    *ret_present = present;
}

static int write_data(struct parquet_writer *writer, struct parquet_file *file, struct chunk *chunk,
                      int fd)
{
    uint32_t value = 0;
    uint64_t offset = 0;
    int r = 0;

    for (uint32_t row = 0; row < file->n_rows && r == 0; row += PAGE_ROWS) {
        uint32_t n = MIN(PAGE_ROWS, file->n_rows - row), present = n;
        unsigned width = chunk->n_entries > 1 ? parquet_width(chunk->n_entries - 1) : 0;

        if (chunk->column->nullable)
            put_levels(&writer->page, chunk->nulls + row, n, &present);
        if (chunk->encoding == RLE_DICTIONARY) {
            text_put_char(&writer->page, (char)width);
            parquet_put_rle(&writer->page, writer->indices + value, present, width);
        } else if (chunk->encoding == DELTA_BINARY_PACKED) {
            parquet_put_delta(&writer->page, (const uint64_t *)(const void *)chunk->p + value,
                              present);
        } else {
            for (uint32_t i = value; i < value + present; i++) {
                put_plain(&writer->page, chunk, i, offset);
                offset += chunk->lengths ? chunk->lengths[i] : 0;
            }
        }
        value += present;
        r = write_page(writer, file, chunk, fd, PAGE_DATA, n);
    }
    return r;
}

/* ---- Metadata ---- */

static void put_chunk(struct text *out, const struct chunk *chunk, uint32_t n_rows)
{
    const enum encoding encodings[] = {PLAIN, RLE, chunk->encoding};
    const struct parquet_column *column = chunk->column;
    size_t n_encodings = chunk->encoding == PLAIN ? 2 : 3;
    struct bounds bounds = {0};
    unsigned outer = 0, last = 0, inner = 0;

    find_bounds(chunk, &bounds);
    thrift_number(out, &outer, 2, THRIFT_I64, 0);
    thrift_field(out, &outer, 3, THRIFT_STRUCT);
    thrift_number(out, &last, 1, THRIFT_I32, physical_type(column));
    thrift_list(out, &last, 2, THRIFT_I32, n_encodings);
    for (size_t i = 0; i < n_encodings; i++)
        put_zigzag(out, encodings[i]);
    thrift_list(out, &last, 3, THRIFT_BINARY, 1);
    thrift_bytes(out, column->name, strlen(column->name));
    thrift_number(out, &last, 4, THRIFT_I32, CODEC_ZSTD);
    thrift_number(out, &last, 5, THRIFT_I64, n_rows);
    thrift_number(out, &last, 6, THRIFT_I64, (int64_t)chunk->uncompressed);
    thrift_number(out, &last, 7, THRIFT_I64, (int64_t)chunk->compressed);
    thrift_number(out, &last, 9, THRIFT_I64, (int64_t)chunk->data);
    if (chunk->encoding == RLE_DICTIONARY)
        thrift_number(out, &last, 11, THRIFT_I64, (int64_t)chunk->first);
    thrift_field(out, &last, 12, THRIFT_STRUCT);
    thrift_number(out, &inner, 3, THRIFT_I64, n_rows - chunk->n);
    if (bounds.known) {
        thrift_binary(out, &inner, 5, bounds.largest, bounds.largest_len);
        thrift_binary(out, &inner, 6, bounds.least, bounds.least_len);
    }
    thrift_end(out);
    thrift_end(out);
    thrift_end(out);
}

static int write_chunk(struct parquet_writer *writer, struct parquet_file *file,
                       struct chunk *chunk, int fd)
{
    int r = 0;

    chunk->first = file->offset;
    if (chunk->n > 0 && chunk->column->type != COLUMN_REAL && make_dictionary(writer, chunk)) {
        chunk->encoding = RLE_DICTIONARY;
        for (uint32_t i = 0; i < chunk->n_entries; i++)
            put_plain(&writer->page, chunk, chunk->entries[i], chunk->offsets[i]);
        r = write_page(writer, file, chunk, fd, PAGE_DICTIONARY, chunk->n_entries);
    } else {
        bool is_integer = !chunk->lengths && chunk->column->type != COLUMN_REAL;

        chunk->encoding = is_integer && chunk->n == file->n_rows ? DELTA_BINARY_PACKED : PLAIN;
        chunk->n_entries = 0;
    }
    chunk->data = file->offset;
    return r < 0 ? r : write_data(writer, file, chunk, fd);
}

static int write_group(struct parquet_writer *writer, struct parquet_file *file, int fd)
{
    struct chunk *chunk = malloc(sizeof *chunk);
    uint64_t uncompressed = 0;
    unsigned last = 0;
    int r = chunk ? 0 : -ENOMEM;

    thrift_list(&file->group, &last, 1, THRIFT_STRUCT, file->n_columns);
    for (unsigned i = 0; i < file->n_columns && r == 0; i++) {
        const struct parquet_column *column = &file->columns[i];

        if (column->values.error || column->nulls.error || column->lengths.error) {
            r = -ENOMEM;
            break;
        }
        chunk->column = column;
        /* A column of empty texts has no bytes. */
        chunk->p = column->values.start ? column->values.start : "";
        chunk->lengths =
            is_text(column) ? (const uint32_t *)(const void *)column->lengths.start : NULL;
        chunk->nulls = column->nulls.start;
        chunk->n = (uint32_t)(is_text(column) ? text_len(&column->lengths) / 4
                                              : text_len(&column->values) / 8);
        chunk->uncompressed = chunk->compressed = 0;
        chunk->n_entries = 0;
        r = write_chunk(writer, file, chunk, fd);
        put_chunk(&file->group, chunk, file->n_rows);
        uncompressed += chunk->uncompressed;
    }
    thrift_number(&file->group, &last, 2, THRIFT_I64, (int64_t)uncompressed);
    thrift_number(&file->group, &last, 3, THRIFT_I64, file->n_rows);
    thrift_end(&file->group);
    free(chunk);
    return r;
}

static void clear_columns(struct parquet_file *file)
{
    for (unsigned i = 0; i < file->n_columns; i++) {
        text_done(&file->columns[i].nulls);
        text_done(&file->columns[i].values);
        text_done(&file->columns[i].lengths);
        file->columns[i].nulls = file->columns[i].values = file->columns[i].lengths =
            TEXT_IN_MEMORY;
    }
    file->n_rows = 0;
    file->size = 0;
}

static int open_file(struct parquet_file *file, int dir, int *ret_fd)
{
    int fd = openat(dir, file->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    int r = fd < 0 ? -errno : 0;

    if (r == 0 && file->offset == 0) {
        r = write_all(fd, MAGIC, MAGIC_LEN);
        file->offset = MAGIC_LEN;
    }
    *ret_fd = fd;
    return r;
}

static int close_file(int fd, int r)
{
    if (fd >= 0 && close(fd) < 0 && r == 0)
        r = -errno;
    return r;
}

int parquet_flush(struct parquet_writer *writer, struct parquet_file *file, int dir)
{
    int fd = -1, r;

    if (file->n_rows == 0)
        return 0;
    r = open_file(file, dir, &fd);
    if (r == 0)
        r = write_group(writer, file, fd);
    file->n_groups++;
    file->n_total += file->n_rows;
    clear_columns(file);
    return close_file(fd, r);
}

static void put_schema(struct text *out, const struct parquet_file *file)
{
    unsigned last = 0;

    thrift_binary(out, &last, 4, "row", 3);
    thrift_number(out, &last, 5, THRIFT_I32, file->n_columns);
    thrift_end(out);
    for (unsigned i = 0; i < file->n_columns; i++) {
        const struct parquet_column *column = &file->columns[i];
        bool is_utf8 = is_text(column) && column->type != COLUMN_BLOB;
        unsigned inner = 0;

        last = 0;
        thrift_number(out, &last, 1, THRIFT_I32, physical_type(column));
        thrift_number(out, &last, 3, THRIFT_I32, column->nullable);
        thrift_binary(out, &last, 4, column->name, strlen(column->name));
        if (is_utf8 || column->type == COLUMN_UNSIGNED) {
            thrift_number(out, &last, 6, THRIFT_I32, is_utf8 ? CONVERTED_UTF8 : CONVERTED_UINT_64);
            thrift_field(out, &last, 10, THRIFT_STRUCT);
            thrift_field(out, &inner, is_utf8 ? 1 : 10, THRIFT_STRUCT);
            if (!is_utf8) {
                unsigned integer = 0;

                thrift_field(out, &integer, 1, THRIFT_BYTE);
                text_put_char(out, 64);
                thrift_field(out, &integer, 2, THRIFT_FALSE);
            }
            thrift_end(out);
            thrift_end(out);
        }
        thrift_end(out);
    }
}

static void put_metadata(struct text *out, const struct parquet_file *file,
                         const struct parquet_fact *facts, unsigned n_facts)
{
    /* As parquet.thrift asks for: a name, "version" and the version. */
    static const char created_by[] = "strata version " STRATA_VERSION;
    unsigned last = 0;

    thrift_number(out, &last, 1, THRIFT_I32, 1);
    thrift_list(out, &last, 2, THRIFT_STRUCT, file->n_columns + 1);
    put_schema(out, file);
    thrift_number(out, &last, 3, THRIFT_I64, (int64_t)file->n_total);
    thrift_list(out, &last, 4, THRIFT_STRUCT, file->n_groups);
    text_put(out, file->group.start, text_len(&file->group));
    thrift_list(out, &last, 5, THRIFT_STRUCT, n_facts);
    for (unsigned i = 0; i < n_facts; i++) {
        unsigned inner = 0;

        thrift_binary(out, &inner, 1, facts[i].key, strlen(facts[i].key));
        thrift_binary(out, &inner, 2, facts[i].value, strlen(facts[i].value));
        thrift_end(out);
    }
    thrift_binary(out, &last, 6, created_by, sizeof created_by - 1);
    /* Statistics are in the order of the type of each column. */
    thrift_list(out, &last, 7, THRIFT_STRUCT, file->n_columns);
    for (unsigned i = 0; i < file->n_columns; i++) {
        unsigned inner = 0;

        thrift_field(out, &inner, 1, THRIFT_STRUCT);
        thrift_end(out);
        thrift_end(out);
    }
    thrift_end(out);
}

int parquet_finish(struct parquet_writer *writer, struct parquet_file *file, int dir,
                   const struct parquet_fact *facts, unsigned n_facts)
{
    struct text end = TEXT_IN_MEMORY;
    int fd = -1, r = parquet_flush(writer, file, dir);

    if (r < 0)
        return r;
    put_metadata(&end, file, facts, n_facts);
    put_le32(&end, (uint32_t)text_len(&end));
    text_put(&end, MAGIC, MAGIC_LEN);
    r = end.error || file->group.error ? -ENOMEM : open_file(file, dir, &fd);
    if (r == 0)
        r = write_all(fd, end.start, text_len(&end));
    text_done(&end);
    return close_file(fd, r);
}

void parquet_file_done(struct parquet_file *file)
{
    clear_columns(file);
    text_done(&file->group);
    free(file->columns);
    free(file->path);
}
