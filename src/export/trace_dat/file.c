/* SPDX-License-Identifier: MIT */
/* Writes the file: the sections before the pages, the tables of rows, the pages. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/saturate.h"
#include "event/origin_flags.h"
#include "export/put_binary.h"
#include "export/trace_dat/export.h"
#include "export/trace_dat/ring_page.h"

/* The kernel needs three times as long for pieces of 256 KB. */
#define OUT_SIZE ((size_t)64 * 1024)

enum {
    OPTION_CPUSTAT = 2,
    OPTION_BUFFER = 3,
    OPTION_TRACE_CLOCK = 4,
    OPTION_UNAME = 5,
    OPTION_OFFSET = 7,
    OPTION_CPU_COUNT = 8,
};

static void put_headers(struct dat_export *dat, uint32_t page_size)
{
    static const char event[] = "# compressed entry header\n"
                                "\ttype_len    :    5 bits\n"
                                "\ttime_delta  :   27 bits\n"
                                "\tarray       :   32 bits\n"
                                "\n"
                                "\tpadding     : type == 29\n"
                                "\ttime_extend : type == 30\n"
                                "\ttime_stamp : type == 31\n"
                                "\tdata max type_len  == 28\n";
    unsigned long_size = dat->events.long_size;
    struct text page = TEXT_IN_MEMORY;

    text_printf(&page,
                "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
                "\tfield: local_t commit;\toffset:8;\tsize:%u;\tsigned:1;\n"
                "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
                "\tfield: char data;\toffset:%u;\tsize:%u;\tsigned:1;\n",
                long_size, 8 + long_size, page_size - 8 - long_size);
    text_put(&dat->out, "header_page", sizeof "header_page");
    dat_put_sized(dat, &page);
    text_put(&dat->out, "header_event", sizeof "header_event");
    dat_put_u64(dat, sizeof event - 1);
    text_put(&dat->out, event, sizeof event - 1);
    text_done(&page);
}

/* The kernel's name of the clock. Other clocks count nanoseconds, or, with an unknown rate, something else, as these
 * two do. */
static const char *clock_name(const struct dat_export *dat)
{
    static const char *const names[][2] = {
        {"monotonic", "mono"},    {"global", "global"}, {"perf", "perf"},
        {"mono_raw", "mono_raw"}, {"boot", "boot"},     {"tai", "tai"},
    };
    const struct clock *clock = dat->buffers ? &dat->buffers->origin->clock : NULL;

    if (clock && clock->hz == 0)
        return "x86-tsc";
    for (unsigned i = 0; clock && i < ARRAY_SIZE(names); i++)
        if (strcmp(clock->name, names[i][0]) == 0)
            return names[i][1];
    return "local";
}

static void put_option(struct dat_export *dat, uint16_t id, uint32_t size)
{
    dat_put_u16(dat, id);
    dat_put_u32(dat, size);
}

/* Puts the top buffer first, and names the others. */
static int arrange(struct dat_export *dat)
{
    struct class_names names = {0};
    struct dat_buffer **top = &dat->buffers;
    struct dat_buffer *first;
    int r = 0;

    while (*top && !(*top)->origin->kernel)
        top = &(*top)->next;
    first = *top;
    if (first && first != dat->buffers) {
        *top = first->next;
        first->next = dat->buffers;
        dat->buffers = first;
    }
    if (dat->buffers)
        dat->buffers->name = "";
    for (struct dat_buffer *b = dat->buffers ? dat->buffers->next : NULL; b && r == 0;
         b = b->next) {
        const char *name = class_names_fresh(&names, layer_name(b->origin->layer));

        b->name = name ? arena_strdup(&dat->events.arena, name) : NULL;
        r = b->name ? 0 : -ENOMEM;
    }
    class_names_done(&names);
    return r;
}

/* Counts the rows of each buffer. Returns the largest count, because the format has one number. */
static uint32_t count_rows(struct dat_export *dat)
{
    int32_t n = 1;

    for (struct dat_buffer *b = dat->buffers; b; b = b->next) {
        int32_t last = (int32_t)MIN(b->origin->n_cpus, (unsigned)DAT_ROWS_MAX - 1) - 1;
        bool without = false;

        for (const struct dat_row *row = b->rows; row; row = row->next) {
            last = MAX(last, row->number);
            without = without || row->number == CPU_UNKNOWN;
        }
        b->n_rows = last + 1 + without;
        n = MAX(n, b->n_rows);
    }
    return (uint32_t)n;
}

static void put_clock(struct dat_export *dat, const char *clock)
{
    text_put_char(&dat->out, '[');
    text_put_str(&dat->out, clock);
    text_put_char(&dat->out, ']');
}

/* The number of ROW in the table of BUFFER. */
static int32_t row_number(const struct dat_buffer *buffer, const struct dat_row *row)
{
    return row->number == CPU_UNKNOWN ? buffer->n_rows - 1 : row->number;
}

/* Puts the option ID with TEXT, and empties TEXT. */
static void put_text_option(struct dat_export *dat, uint16_t id, struct text *text)
{
    text_put_char(text, '\0');
    put_option(dat, id, (uint32_t)text_len(text));
    text_put(&dat->out, text->start ? text->start : "", text_len(text));
    if (text->error)
        dat->out.error = text->error;
    text_done(text);
    *text = TEXT_IN_MEMORY;
}

/* Puts how many events each row has, like a kernel whose events were all read. So a reader knows if pages are
 * missing. */
static void put_stats(struct dat_export *dat)
{
    struct text stat = TEXT_IN_MEMORY;

    for (const struct dat_buffer *b = dat->buffers; b; b = b->next) {
        if (b != dat->buffers) {
            text_printf(&stat, "\nBuffer: %s\n\n", b->name);
            put_text_option(dat, OPTION_CPUSTAT, &stat);
        }
        for (const struct dat_row *row = b->rows; row; row = row->next) {
            text_printf(&stat, "CPU: %d\nentries: 0\ndropped events: 0\nread events: %" PRIu64 "\n",
                        row_number(b, row), row->n_events);
            put_text_option(dat, OPTION_CPUSTAT, &stat);
        }
    }
}

/* Puts the layers of the buffers, and what is unknown of them. A trace.dat has no place for these; readers show or skip
 * this text. */
static void put_layers(struct dat_export *dat)
{
    struct text layers = TEXT_IN_MEMORY;

    text_put_literal(&layers, "strata-export");
    for (const struct dat_buffer *b = dat->buffers; b; b = b->next) {
        text_put_char(&layers, ' ');
        text_put_str(&layers, layer_name(b->origin->layer));
        for (unsigned i = 0; origin_flag_names[i]; i++)
            if (origin_has_flag(b->origin, i))
                text_printf(&layers, "+%s", origin_flag_names[i]);
    }
    put_text_option(dat, OPTION_UNAME, &layers);
}

static void put_options(struct dat_export *dat, uint32_t n_rows)
{
    /* The tables follow each other, after the options and the first table's clock. */
    uint64_t table = 10 + 16 * (uint64_t)n_rows;
    const char *clock = clock_name(dat);
    uint64_t place;
    char offset[32];
    int len = 0;

    text_put(&dat->out, "options  ", 10);
    put_option(dat, OPTION_CPU_COUNT, 4);
    dat_put_u32(dat, n_rows);
    /* Older readers expect the option alone, and the text after the table. */
    put_option(dat, OPTION_TRACE_CLOCK, (uint32_t)strlen(clock) + 3);
    put_clock(dat, clock);
    text_put_char(&dat->out, '\0');
    if (dat->base < 0) {
        len = snprintf(offset, sizeof offset, "%lld", (long long)dat->base) + 1;
        put_option(dat, OPTION_OFFSET, (uint32_t)len);
        text_put(&dat->out, offset, (size_t)len);
    }
    put_layers(dat);
    put_stats(dat);
    place = text_total(&dat->out) + 2;
    for (const struct dat_buffer *b = dat->buffers ? dat->buffers->next : NULL; b; b = b->next)
        place += 6 + 8 + strlen(b->name) + 1;
    for (struct dat_buffer *b = dat->buffers; b; b = b->next) {
        b->table = place;
        if (b != dat->buffers) {
            put_option(dat, OPTION_BUFFER, (uint32_t)(8 + strlen(b->name) + 1));
            dat_put_u64(dat, b->table);
            text_put(&dat->out, b->name, strlen(b->name) + 1);
        }
        place += table + (b == dat->buffers ? 8 + strlen(clock) + 3 : 0);
    }
    dat_put_u16(dat, 0);
}

/* Puts the tables, with zeros until the pages are written. */
static void put_tables(struct dat_export *dat, uint32_t n_rows)
{
    const char *clock = clock_name(dat);
    const struct dat_buffer *b = dat->buffers;

    do {
        text_put(&dat->out, "flyrecord", 10);
        for (uint32_t i = 0; i < 2 * n_rows; i++)
            put_u64(&dat->out, 0);
        if (b == dat->buffers) {
            dat_put_u64(dat, strlen(clock) + 3);
            put_clock(dat, clock);
            text_put_char(&dat->out, '\n');
        }
        b = b ? b->next : NULL;
    } while (b);
}

static void put_header(struct dat_export *dat, uint32_t page_size, uint32_t n_rows)
{
    text_put(&dat->out, "\x17\x08\x44tracing6", 12);
    text_put_char(&dat->out, (char)dat->events.big_endian);
    text_put_char(&dat->out, (char)dat->events.long_size);
    dat_put_u32(dat, page_size);
    put_headers(dat, page_size);
    dat_events_put_formats(&dat->events, &dat->out);
    dat_put_kallsyms(dat);
    dat_put_printk_formats(dat);
    dat_put_cmdlines(dat);
    dat_put_u32(dat, n_rows);
    put_options(dat, n_rows);
    put_tables(dat, n_rows);
}

static void put_page(struct dat_export *dat, struct ring_page *page)
{
    ring_page_end(page);
    text_put(&dat->out, (const char *)page->bytes, page->layout->size);
}

static void put_loss(struct dat_export *dat, struct ring_page *page, uint64_t time, uint64_t lost)
{
    /* Nothing has come since the last loss: it is one, up to the end of both. */
    if (page->used && page->missed && page->used == ring_data_offset(page->layout))
        lost = add_saturated(page->n_missed, lost);
    else if (page->used)
        put_page(dat, page);
    ring_page_begin(page, time);
    page->missed = true;
    page->n_missed = lost;
}

/* Writes all pages of a row. */
static int put_row(struct dat_export *dat, const struct dat_row *row, struct ring_page *page)
{
    struct spool_record record;
    struct spool_reader reader;
    const uint8_t *bytes;
    int r;

    page->used = 0;
    spool_reader_open(&dat->spool, &row->records, &reader);
    while ((r = spool_reader_next(&reader, &record, &bytes)) > 0 && !dat->out.error) {
        if (unlikely(record.kind == SPOOL_LOSS)) {
            put_loss(dat, page, record.time, load_u64(bytes));
            continue;
        }
        if (page->used == 0)
            ring_page_begin(page, record.time);
        if (likely(ring_page_put(page, record.time, bytes, record.size)))
            continue;
        put_page(dat, page);
        ring_page_begin(page, record.time);
        /* The page is as long as that. */
        (void)ring_page_put(page, record.time, bytes, record.size);
    }
    if (page->used)
        put_page(dat, page);
    spool_reader_done(&reader);
    return r;
}

/* Stores the place of a row's pages in the table. */
static int set_table(struct dat_export *dat, const struct dat_buffer *buffer, int32_t row,
                     uint64_t offset, uint64_t size)
{
    uint64_t entry[2] = {offset, size};

    if (dat->events.swap) {
        entry[0] = __builtin_bswap64(offset);
        entry[1] = __builtin_bswap64(size);
    }
    return dat_write_at(dat->options->fd, entry, sizeof entry,
                        buffer->table + 10 + 16 * (uint64_t)row);
}

static int put_buffers(struct dat_export *dat, struct ring_page *page)
{
    static const char zeros[TEXT_ROOM_MAX];
    uint32_t page_size = page->layout->size;

    for (uint64_t rest = text_total(&dat->out) % page_size; rest && rest < page_size;) {
        size_t n = (size_t)MIN(page_size - rest, (uint64_t)sizeof zeros);

        text_put(&dat->out, zeros, n);
        rest += n;
    }
    for (const struct dat_buffer *b = dat->buffers; b; b = b->next)
        for (const struct dat_row *row = b->rows; row; row = row->next) {
            uint64_t offset = text_total(&dat->out);
            int r = put_row(dat, row, page);

            /* The table is in the file by then. */
            if (r == 0)
                r = text_flush(&dat->out);
            if (r == 0)
                r = set_table(dat, b, row_number(b, row), offset, text_total(&dat->out) - offset);
            if (r < 0)
                return r;
        }
    return text_flush(&dat->out);
}

int dat_file_write(struct dat_export *dat)
{
    struct ring_layout layout = {
        .swap = dat->events.swap,
        .big_endian = dat->events.big_endian,
        .long_size = dat->events.long_size,
        .size = ring_page_size(dat->events.long_size, dat->longest),
    };
    struct ring_page page = {.layout = &layout, .bytes = malloc(layout.size)};
    int r = page.bytes ? record_spool_flush(&dat->spool) : -ENOMEM;

    if (r == 0)
        r = arrange(dat);
    if (r == 0)
        r = text_open_fd(&dat->out, dat->options->fd, OUT_SIZE);
    if (r == 0) {
        put_header(dat, layout.size, count_rows(dat));
        r = put_buffers(dat, &page);
    }
    free(page.bytes);
    return r;
}
