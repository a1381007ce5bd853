/* SPDX-License-Identifier: MIT */
/* A database of SQLite 3 is pages of one size, numbered from 1. All numbers are big-endian; a varint is
 * seven bits a byte, the highest first, the top bit set where more follow, and the ninth byte holds eight.
 *
 *   first page   100 bytes (see put_header), then a page of the schema's tree
 *   page         u8 type (13: rows, 5: inner), u16 0, u16 number of cells, u16 where the cells begin,
 *                u8 0, u32 rightmost child (inner), u16 place of each cell; the cells lie at its end
 *   row's cell   varint bytes of the record, varint rowid, the record; of a long one only the beginning,
 *                and u32 the page where it goes on
 *   inner cell   u32 child, varint highest rowid in it
 *   overflow     u32 next page or 0, bytes
 *   record       varint bytes of the header, itself included; a varint type for each column; the values:
 *                0 null; 1 to 6 integers of 1, 2, 3, 4, 6 and 8 bytes; 7 a double; 8 and 9 the integers
 *                0 and 1, without bytes; 12 + 2n a blob of n bytes, 13 + 2n a text
 *   schema       rows of type, name, name of the table, root page, SQL
 *
 * Rows come in ascending order, so each level of a tree is filled page by page, and a page that is full
 * gets the next number and is never seen again: memory is a page for each level of each table. An inner
 * page takes a child when the next one comes, as its last child has no cell; and has one cell at least.
 * The first page is an inner page with one child and no cell, which it alone may be.
 *
 * Source of the facts: "Database File Format", sqlite.org/fileformat2.html (public domain). */

#include "export/sqlite_file.h"

#include <unistd.h>

#include "base/bytes.h"

#define PAGE 4096
#define OUT_SIZE ((size_t)1024 * 1024)
#define LEAF 13
#define INNER 5
#define LOCAL_MAX (PAGE - 35)
#define LOCAL_MIN ((PAGE - 12) * 32 / 255 - 23)
#define HEADER_SIZE 100
/* What the header says has written it last. */
#define SQLITE_VERSION 3040001

/* A page that is being filled. */
struct sqlite_level {
    uint8_t page[PAGE];
    unsigned head;  /* bytes before the places of the cells */
    unsigned n;     /* cells */
    unsigned begin; /* of the cells */
    bool pending;   /* inner: a child that has no cell yet */
    uint32_t child;
    int64_t key;
    int64_t last_key;    /* inner: of the last cell, */
    uint32_t last_child; /* which is taken out again */
    unsigned last_size;
};

static void put_be16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static void put_be32(uint8_t *p, uint32_t v)
{
    put_be16(p, v >> 16);
    put_be16(p + 2, v & 0xffff);
}

/* Up to 9 bytes at P; returns how many. */
static unsigned put_varint(uint8_t *p, uint64_t v)
{
    uint8_t reverse[10];
    unsigned n = 0;

    if (v < 128) {
        *p = (uint8_t)v;
        return 1;
    }
    if (v >> 56) {
        p[8] = (uint8_t)v;
        v >>= 8;
        for (int i = 7; i >= 0; i--, v >>= 7)
            p[i] = (uint8_t)(v | 0x80);
        return 9;
    }
    for (; v; v >>= 7)
        reverse[n++] = (uint8_t)(v | 0x80);
    reverse[0] &= 0x7f;
    for (unsigned i = 0; i < n; i++)
        p[i] = reverse[n - 1 - i];
    return n;
}

static void put_type(struct sqlite_row *row, uint64_t type)
{
    char *p = text_room(&row->types, 9);

    row->types.next = p + put_varint((uint8_t *)p, type);
}

void sqlite_row_null(struct sqlite_row *row)
{
    put_type(row, 0);
}

void sqlite_row_integer(struct sqlite_row *row, int64_t v)
{
    static const uint8_t types[9] = {0, 1, 2, 3, 4, 5, 5, 6, 6};
    static const uint8_t sizes[7] = {0, 1, 2, 3, 4, 6, 8};
    uint64_t magnitude = v < 0 ? ~(uint64_t)v : (uint64_t)v;
    unsigned bits = 65 - (unsigned)__builtin_clzll(magnitude | 1); /* with the sign */
    unsigned size;
    unsigned type;
    char *p;

    if (v == 0 || v == 1) {
        put_type(row, 8 + (uint64_t)v);
        return;
    }
    type = types[(bits + 7) / 8];
    size = sizes[type];
    put_type(row, type);
    p = text_room(&row->body, 8);
    for (unsigned i = 0; i < size; i++)
        p[i] = (char)((uint64_t)v >> 8 * (size - 1 - i));
    row->body.next = p + size;
}

void sqlite_row_real(struct sqlite_row *row, uint64_t bits)
{
    uint8_t *p = (uint8_t *)text_room(&row->body, 8);

    put_type(row, 7);
    put_be32(p, (uint32_t)(bits >> 32));
    put_be32(p + 4, (uint32_t)bits);
    row->body.next += 8;
}

void sqlite_row_text(struct sqlite_row *row, const char *s, size_t len)
{
    put_type(row, 13 + 2 * (uint64_t)len);
    text_put(&row->body, s, len);
}

void sqlite_row_blob(struct sqlite_row *row, const void *p, size_t len)
{
    put_type(row, 12 + 2 * (uint64_t)len);
    text_put(&row->body, p, len);
}

static struct sqlite_level *level_new(unsigned head)
{
    struct sqlite_level *level = calloc(1, sizeof *level);

    if (level) {
        level->head = head;
        level->begin = PAGE;
    }
    return level;
}

/* Gives the page the next number and writes it. */
static uint32_t write_page(struct sqlite_file *file, struct sqlite_level *level, uint32_t rightmost)
{
    uint8_t *page = level->page;

    page[0] = level->head == 8 ? LEAF : INNER;
    put_be16(page + 1, 0);
    put_be16(page + 3, level->n);
    put_be16(page + 5, level->begin);
    page[7] = 0;
    if (level->head == 12)
        put_be32(page + 8, rightmost);
    memset(page + level->head + 2 * level->n, 0, level->begin - level->head - 2 * level->n);
    text_put(&file->out, (const char *)page, PAGE);
    level->n = 0;
    level->begin = PAGE;
    return ++file->n_pages;
}

/* Room for a cell of SIZE bytes, or NULL. */
static uint8_t *make_cell(struct sqlite_level *level, unsigned size)
{
    if (level->head + 2 * (level->n + 1) + size > level->begin)
        return NULL;
    level->begin -= size;
    put_be16(level->page + level->head + 2 * level->n++, level->begin);
    return level->page + level->begin;
}

static bool put_inner_cell(struct sqlite_level *level, uint32_t child, int64_t key)
{
    uint8_t room[9];
    unsigned size = put_varint(room, (uint64_t)key);
    uint8_t *cell = make_cell(level, 4 + size);

    if (!cell)
        return false;
    put_be32(cell, child);
    memcpy(cell + 4, room, size);
    level->last_child = child;
    level->last_key = key;
    level->last_size = 4 + size;
    return true;
}

/* Adds a page, whose highest rowid is KEY, to the level above it. */
static int add_child(struct sqlite_file *file, struct sqlite_table *table, unsigned above,
                     uint32_t child, int64_t key)
{
    struct sqlite_level *level = table->levels[above];
    int r = 0;

    if (!level)
        level = table->levels[above] = level_new(12);
    if (!level)
        return -ENOMEM;
    if (level->pending && !put_inner_cell(level, level->child, level->key)) {
        /* Its last cell becomes the rightmost child. */
        level->n--;
        level->begin += level->last_size;
        r = add_child(file, table, above + 1, write_page(file, level, level->last_child),
                      level->last_key);
        put_inner_cell(level, level->child, level->key);
    }
    level->pending = true;
    level->child = child;
    level->key = key;
    return r;
}

/* The bytes of the record from AT on that do not lie in the row's page; where they begin. */
static uint32_t put_overflow(struct sqlite_file *file, const char *p, size_t len)
{
    uint32_t first = file->n_pages + 1;

    while (len > 0) {
        static const char zeros[PAGE];
        size_t n = MIN(len, (size_t)PAGE - 4);
        uint8_t next[4];

        file->n_pages++;
        put_be32(next, len > n ? file->n_pages + 1 : 0);
        text_put(&file->out, (const char *)next, sizeof next);
        text_put(&file->out, p, n);
        text_put(&file->out, zeros, PAGE - 4 - n);
        p += n;
        len -= n;
    }
    return first;
}

int sqlite_put_row(struct sqlite_file *file, struct sqlite_table *table, int64_t rowid)
{
    struct sqlite_row *row = &file->row;
    size_t types = text_len(&row->types);
    size_t header = types + (types + 1 < 128 ? 1 : 2);
    size_t size = header + text_len(&row->body);
    size_t local = size;
    uint8_t head[24];
    uint32_t overflow = 0;
    unsigned n;
    uint8_t *cell;

    if (row->types.error || row->body.error)
        return -ENOMEM;
    if (!table->leaf && !(table->leaf = level_new(8)))
        return -ENOMEM;
    n = put_varint(head, size);
    n += put_varint(head + n, (uint64_t)rowid);
    n += put_varint(head + n, header);
    if (unlikely(size > LOCAL_MAX)) {
        local = LOCAL_MIN + (size - LOCAL_MIN) % (PAGE - 4);
        if (local > LOCAL_MAX)
            local = LOCAL_MIN;
        if (unlikely(local < header)) {
            /* What overflows is then to be one piece. */
            text_put(&row->types, row->body.start, text_len(&row->body));
            if (row->types.error)
                return -ENOMEM;
            row->body.next = row->body.start;
        }
    }
    {
        size_t before = header - types; /* of the record, in `head` */
        const char *parts[2] = {row->types.start, row->body.start};
        size_t lens[2] = {text_len(&row->types), text_len(&row->body)};
        size_t total = n - before + local + (local < size ? 4 : 0);
        size_t left = local - before;

        if (local < size) {
            size_t keep = MIN(left, lens[0]);

            if (keep < lens[0])
                overflow = put_overflow(file, parts[0] + keep, lens[0] - keep);
            else
                overflow = put_overflow(file, parts[1] + (left - keep), lens[1] - (left - keep));
        }
        cell = make_cell(table->leaf, (unsigned)total);
        if (!cell) {
            int r = add_child(file, table, 0, write_page(file, table->leaf, 0), table->last);

            if (r < 0)
                return r;
            cell = make_cell(table->leaf, (unsigned)total);
        }
        memcpy(cell, head, n);
        cell += n;
        for (unsigned i = 0; i < 2; i++) {
            size_t take = MIN(left, lens[i]);

            if (take)
                memcpy(cell, parts[i], take);
            cell += take;
            left -= take;
        }
        if (overflow)
            put_be32(cell, overflow);
    }
    table->last = rowid;
    return 0;
}

void sqlite_table_done(struct sqlite_table *table)
{
    free(table->leaf);
    for (unsigned i = 0; i < ARRAY_SIZE(table->levels); i++)
        free(table->levels[i]);
    *table = (struct sqlite_table){.root = table->root};
}

int sqlite_table_finish(struct sqlite_file *file, struct sqlite_table *table)
{
    if (!table->leaf && !(table->leaf = level_new(8)))
        return -ENOMEM;
    table->root = write_page(file, table->leaf, 0);
    for (unsigned i = 0; i < ARRAY_SIZE(table->levels) && table->levels[i]; i++) {
        int r = add_child(file, table, i, table->root, table->last);

        if (r < 0)
            return r;
        table->root = write_page(file, table->levels[i], table->levels[i]->child);
    }
    sqlite_table_done(table);
    return 0;
}

int sqlite_put_schema(struct sqlite_file *file, const char *type, const char *name, uint32_t root,
                      const char *sql, size_t len)
{
    struct sqlite_row *row = &file->row;

    sqlite_row_begin(row);
    sqlite_row_text(row, type, strlen(type));
    sqlite_row_text(row, name, strlen(name));
    sqlite_row_text(row, name, strlen(name));
    sqlite_row_integer(row, root);
    sqlite_row_text(row, sql, len);
    return sqlite_put_row(file, &file->schema, ++file->n_schema);
}

int sqlite_file_open(int fd, struct sqlite_file *ret)
{
    struct sqlite_file file = {.fd = fd, .row = {TEXT_IN_MEMORY, TEXT_IN_MEMORY}, .n_pages = 1};
    static const char zeros[PAGE];

    if (text_open_fd(&file.out, fd, OUT_SIZE) < 0)
        return -ENOMEM;
    text_put(&file.out, zeros, PAGE); /* the first page, which is written last */
    *ret = file;
    return 0;
}

void sqlite_file_done(struct sqlite_file *file)
{
    sqlite_table_done(&file->schema);
    text_done(&file->out);
    text_done(&file->row.types);
    text_done(&file->row.body);
}

static void put_header(uint8_t *page, const struct sqlite_file *file, uint32_t user_version)
{
    memcpy(page, "SQLite format 3", 16);
    put_be16(page + 16, PAGE);
    page[18] = page[19] = 1; /* written and read with a rollback journal */
    page[21] = 64;           /* parts of a page that a record may fill: fixed */
    page[22] = page[23] = 32;
    put_be32(page + 24, 1); /* changes */
    put_be32(page + 28, file->n_pages);
    put_be32(page + 40, 1); /* changes of the schema */
    put_be32(page + 44, 4); /* the schema's format */
    put_be32(page + 56, 1); /* UTF-8 */
    put_be32(page + 60, user_version);
    put_be32(page + 92, 1); /* the change that the next was written at */
    put_be32(page + 96, SQLITE_VERSION);
    page[HEADER_SIZE] = INNER;
    put_be16(page + HEADER_SIZE + 5, PAGE);
    put_be32(page + HEADER_SIZE + 8, file->schema.root);
}

int sqlite_file_finish(struct sqlite_file *file, uint32_t user_version)
{
    uint8_t page[PAGE] = {0};
    int r = sqlite_table_finish(file, &file->schema);
    ssize_t n;

    if (r < 0)
        return r;
    r = text_flush(&file->out);
    if (r < 0)
        return r;
    put_header(page, file, user_version);
    do
        n = pwrite(file->fd, page, PAGE, 0);
    while (n < 0 && errno == EINTR);
    return n == PAGE ? 0 : n < 0 ? -errno : -EIO;
}
