/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/macro.h"
#include "format/ftrace/clock.h"
#include "format/trace_dat/read.h"

#define OPTION_MAX (16 * 1024 * 1024)
#define CLOCK_TEXT_MAX 4096

static int read_options(struct dat_reader *r)
{
    for (;;) {
        _cleanup_free_ char *data = NULL;
        struct dat_text text;
        uint16_t id;
        uint32_t size;
        size_t len;
        int got;

        got = dat_read_u16(r, &id);
        if (got < 0 || id == 0)
            return got;
        got = dat_read_u32(r, &size);
        if (got < 0)
            return got;
        if (size > OPTION_MAX)
            return dat_error(r, "an option is longer than 16 MB");
        got = dat_skip_text(r, size, &text);
        if (got == 0 && size > 0)
            got = dat_file_text(r->file, &text, &data, &len);
        if (error_is_local(got))
            return dat_file_error(r->file, got, r->error);
        if (got < 0)
            return dat_error(r, "an option cannot be read");
        got = dat_read_option(r, id, data ? (const uint8_t *)data : (const uint8_t *)"", size);
        if (got < 0)
            return got;
    }
}

static int read_table(struct dat_reader *r, struct dat_buffer *buffer)
{
    unsigned n = r->file->n_cpus;
    int got = 0;

    buffer->cpus = calloc(MAX(n, 1u), sizeof *buffer->cpus);
    if (!buffer->cpus)
        return error_set(r->error, -ENOMEM, r->file->path, "out of memory");
    buffer->n_cpus = n;
    for (unsigned i = 0; i < n && got == 0; i++) {
        struct dat_cpu *cpu = &buffer->cpus[i];

        cpu->cpu = (int)i;
        got = dat_read_u64(r, &cpu->offset);
        if (got == 0)
            got = dat_read_u64(r, &cpu->size);
    }
    return got;
}

/* "options  ", "flyrecord" or "latency  ", which say what comes next. */
static int read_kind(struct dat_reader *r, struct dat_buffer *buffer)
{
    char kind[11] = {0};
    int got = 0;

    for (unsigned n = 0; n < 2 && got == 0; n++) {
        got = dat_read_string(r, kind, 10);
        if (got < 0 || strcmp(kind, "options  ") != 0)
            break;
        got = read_options(r);
    }
    if (got != 0)
        return got;
    if (strcmp(kind, "latency  ") == 0) {
        buffer->is_text = true;
        return 0;
    }
    if (strcmp(kind, "flyrecord") != 0)
        return dat_error(r, "neither \"flyrecord\" nor \"latency\" after the options");
    return read_table(r, buffer);
}

static int read_clock(struct dat_reader *r, struct dat_buffer *buffer)
{
    _cleanup_free_ char *text = NULL;
    struct dat_text at;
    uint64_t size;
    size_t len;
    int got = dat_read_u64(r, &size);

    if (got != 0)
        return got;
    if (size > CLOCK_TEXT_MAX)
        return dat_error(r, "the text of trace_clock is too long");
    got = dat_skip_text(r, size, &at);
    if (got < 0)
        return got;
    got = dat_file_text(r->file, &at, &text, &len);
    if (error_is_local(got))
        return dat_file_error(r->file, got, r->error);
    if (got < 0)
        return 0; /* without it, the clock is not known */
    r->file->clock = buffer->clock = ftrace_clock(text, len);
    return 0;
}

/* The tables of further buffers, whose offsets are in the options. */
static int read_further(struct dat_reader *r)
{
    for (unsigned i = 1; i < r->file->n_buffers; i++) {
        struct dat_buffer *buffer = &r->file->buffers[i];
        int got;

        buffer->clock = r->file->clock;
        if (buffer->is_text)
            continue;
        if (buffer->offset > r->in->size)
            return dat_error(r, "a buffer is beyond the end of the file");
        got = input_seek(r->in, buffer->offset, r->error);
        if (got == 0)
            got = dat_expect(r, "flyrecord", 10);
        if (got == 0)
            got = read_table(r, buffer);
        if (got < 0)
            return got;
    }
    return 0;
}

int dat_read_texts(struct dat_reader *r)
{
    struct dat_file *file = r->file;
    uint32_t size;
    int got;

    got = dat_read_header_info(r);
    if (got == 0)
        got = dat_read_ftrace_formats(r);
    if (got == 0)
        got = dat_read_event_formats(r);
    if (got == 0)
        got = dat_read_u32(r, &size);
    if (got == 0)
        got = dat_skip_text(r, size, &file->kallsyms);
    if (got == 0)
        got = dat_read_u32(r, &size);
    return got == 0 ? dat_skip_text(r, size, &file->printk) : got;
}

int dat_read_version6(struct dat_reader *r)
{
    struct dat_file *file = r->file;
    struct dat_buffer *top;
    uint64_t size64;
    uint32_t size;
    int got;

    got = dat_read_texts(r);
    if (got == 0)
        got = dat_read_u64(r, &size64);
    if (got == 0)
        got = dat_skip_text(r, size64, &file->cmdlines);
    if (got == 0)
        got = dat_read_u32(r, &size);
    if (got != 0)
        return got;
    if (size > DAT_CPUS_MAX)
        return dat_error(r, "more than 8192 CPUs");
    file->n_cpus = size;

    if (!dat_add_buffer(file, ""))
        return error_set(r->error, -ENOMEM, file->path, "out of memory");
    {
        /* The options add buffers, which moves the array. */
        struct dat_buffer first = file->buffers[0];

        got = read_kind(r, &first);
        file->buffers[0] = first;
    }
    top = &file->buffers[0];
    if (got == 0 && file->has_clock_text && !top->is_text)
        got = read_clock(r, top);
    if (got == 0)
        got = read_further(r);
    return got;
}
