/* SPDX-License-Identifier: MIT */
#include "format/trace_dat/read.h"

#include <string.h>

#include "base/macro.h"
#include "format/ftrace/clock.h"
#include "format/trace_dat/cpustat.h"
#include "schema/kernel/format.h"

#define SYSTEM_NAME_MAX 256
/* The "ID:" line is the second of a format. */
#define FORMAT_HEAD 512
#define HEADER_TEXT_MAX 65536

enum {
    OPTION_DATE = 1,
    OPTION_CPUSTAT = 2,
    OPTION_BUFFER = 3,
    OPTION_TRACE_CLOCK = 4,
    OPTION_UNAME = 5,
    OPTION_OFFSET = 7,
    OPTION_CPU_COUNT = 8,
    OPTION_TIME_SHIFT = 12,
    OPTION_TSC_TO_NS = 14,
    OPTION_FIRST_SECTION = 16,
    OPTION_LAST_SECTION = 21,
    OPTION_BUFFER_TEXT = 22,
};

int dat_error(struct dat_reader *r, const char *what)
{
    /* An offset within an unpacked section would mislead. */
    return error_at(r->error, -EBADMSG, r->file->path,
                    r->memory ? ERROR_NO_OFFSET : input_offset(r->in), "%s", what);
}

static int need(struct dat_reader *r, size_t n)
{
    int got = input_need(r->in, n, r->error);

    if (got == 0)
        return dat_error(r, "the file ends inside its header");
    return got < 0 ? got : 0;
}

int dat_read_u16(struct dat_reader *r, uint16_t *ret)
{
    int got = need(r, 2);

    if (got < 0)
        return got;
    *ret = load_u16_swap(input_at(r->in), r->file->swap);
    input_skip(r->in, 2);
    return 0;
}

int dat_read_u32(struct dat_reader *r, uint32_t *ret)
{
    int got = need(r, 4);

    if (got < 0)
        return got;
    *ret = load_u32_swap(input_at(r->in), r->file->swap);
    input_skip(r->in, 4);
    return 0;
}

int dat_read_u64(struct dat_reader *r, uint64_t *ret)
{
    int got = need(r, 8);

    if (got < 0)
        return got;
    *ret = load_u64_swap(input_at(r->in), r->file->swap);
    input_skip(r->in, 8);
    return 0;
}

int dat_expect(struct dat_reader *r, const char *bytes, size_t n)
{
    int got = need(r, n);

    if (got < 0)
        return got;
    if (memcmp(input_at(r->in), bytes, n) != 0)
        return dat_error(r, "no header part at its place");
    input_skip(r->in, n);
    return 0;
}

int dat_read_string(struct dat_reader *r, char *buf, size_t max)
{
    for (size_t i = 0; i < max; i++) {
        int got = need(r, 1);

        if (got < 0)
            return got;
        buf[i] = (char)*input_at(r->in);
        input_skip(r->in, 1);
        if (buf[i] == '\0')
            return 0;
    }
    return dat_error(r, "a name is too long");
}

int dat_skip_text(struct dat_reader *r, uint64_t size, struct dat_text *ret)
{
    uint64_t at = input_offset(r->in);
    struct input *in = r->in;

    if (in->size != UINT64_MAX && (at > in->size || size > in->size - at))
        return dat_error(r, "a text of the header is longer than the file");
    *ret = (struct dat_text){.memory = r->memory, .offset = at, .size = size};
    return input_seek(in, at + size, r->error);
}

int dat_read_header_info(struct dat_reader *r)
{
    struct dat_file *file = r->file;
    struct dat_text ignored;
    uint64_t size = 0;
    int got;

    got = dat_expect(r, "header_page", 12);
    if (got == 0)
        got = dat_read_u64(r, &size);
    if (got < 0)
        return got;
    if (size == 0 || size > HEADER_TEXT_MAX)
        return dat_error(r, "header_page is missing or too long");
    got = need(r, (size_t)size);
    if (got < 0)
        return got;
    got = ftrace_layout_parse((const char *)input_at(r->in), (size_t)size, file->path,
                              &file->layout, r->error);
    if (got < 0)
        return got;
    ftrace_layout_set_order(&file->layout, file->big_endian);
    input_skip(r->in, (size_t)size);

    got = dat_expect(r, "header_event", 13);
    if (got == 0)
        got = dat_read_u64(r, &size);
    return got < 0 ? got : dat_skip_text(r, size, &ignored);
}

/* Notes the format that begins here; *SYSTEM is made an arena's string when the first is kept. */
static int read_format(struct dat_reader *r, const char *name, const char **system)
{
    struct dat_file *file = r->file;
    struct dat_format *format;
    struct dat_text text;
    uint64_t size;
    int got, id;
    size_t head;

    got = dat_read_u64(r, &size);
    if (got < 0)
        return got;
    head = (size_t)MIN(size, (uint64_t)FORMAT_HEAD);
    got = need(r, head);
    if (got < 0)
        return got;
    id = kernel_format_id((const char *)input_at(r->in), head);
    got = dat_skip_text(r, size, &text);
    if (got < 0 || id < 0 || map_get(&file->formats, (uint64_t)id))
        return got;

    format = arena_alloc(&file->arena, sizeof *format);
    if (!*system)
        *system = arena_strdup(&file->arena, name);
    if (!format || !*system)
        return error_set(r->error, -ENOMEM, file->path, "out of memory");
    *format = (struct dat_format){.text = text, .system = *system};
    file->any = format;
    if (map_put(&file->formats, (uint64_t)id, format) < 0)
        return error_set(r->error, -ENOMEM, file->path, "out of memory");
    return 0;
}

int dat_read_ftrace_formats(struct dat_reader *r)
{
    const char *system = NULL;
    uint32_t n;
    int got = dat_read_u32(r, &n);

    for (; got == 0 && n > 0; n--)
        got = read_format(r, "ftrace", &system);
    return got;
}

int dat_read_event_formats(struct dat_reader *r)
{
    uint32_t n_systems;
    int got = dat_read_u32(r, &n_systems);

    for (; got == 0 && n_systems > 0; n_systems--) {
        char name[SYSTEM_NAME_MAX];
        const char *system = NULL;
        uint32_t n;

        got = dat_read_string(r, name, sizeof name);
        if (got == 0)
            got = dat_read_u32(r, &n);
        for (; got == 0 && n > 0; n--)
            got = read_format(r, name, &system);
    }
    return got;
}

struct dat_buffer *dat_add_buffer(struct dat_file *file, const char *name)
{
    struct dat_buffer *bigger =
        realloc(file->buffers, (file->n_buffers + 1) * sizeof *file->buffers);

    if (!bigger)
        return NULL;
    file->buffers = bigger;
    bigger += file->n_buffers;
    *bigger = (struct dat_buffer){.name = arena_strdup(&file->arena, name), .clock = file->clock};
    if (!bigger->name)
        return NULL;
    file->n_buffers++;
    return bigger;
}

/* A string of an option's data, and what follows it. */
static const char *take_string(const uint8_t **p, const uint8_t *end)
{
    const char *s = (const char *)*p;
    const uint8_t *nul = memchr(*p, '\0', (size_t)(end - *p));

    if (!nul)
        return NULL;
    *p = nul + 1;
    return s;
}

static int read_buffer_cpus(struct dat_reader *r, const uint8_t *p, const uint8_t *end,
                            struct dat_buffer *buffer)
{
    bool swap = r->file->swap;
    uint32_t n;

    if (end - p < 8)
        return dat_error(r, "a buffer's option is too short");
    buffer->page_size = load_u32_swap(p, swap);
    n = load_u32_swap(p + 4, swap);
    p += 8;
    if (n > DAT_CPUS_MAX || n > (size_t)(end - p) / 20)
        return dat_error(r, "a buffer's option names more CPUs than it has room for");
    buffer->cpus = calloc(MAX(n, 1u), sizeof *buffer->cpus);
    if (!buffer->cpus)
        return error_set(r->error, -ENOMEM, r->file->path, "out of memory");
    buffer->n_cpus = n;
    for (uint32_t i = 0; i < n; i++, p += 20) {
        uint32_t cpu = load_u32_swap(p, swap);

        if (cpu >= DAT_CPUS_MAX)
            return dat_error(r, "a buffer's option names an invalid CPU");
        buffer->cpus[i] = (struct dat_cpu){.cpu = (int)cpu,
                                           .offset = load_u64_swap(p + 4, swap),
                                           .size = load_u64_swap(p + 12, swap)};
    }
    return 0;
}

static int read_buffer(struct dat_reader *r, unsigned id, const uint8_t *p, uint32_t size)
{
    const uint8_t *end = p + size;
    const char *name, *clock;
    struct dat_buffer *buffer;
    uint64_t offset;

    if (size < 9)
        return dat_error(r, "a buffer's option is too short");
    offset = load_u64_swap(p, r->file->swap);
    p += 8;
    name = take_string(&p, end);
    if (!name)
        return dat_error(r, "a buffer's name has no end");
    /* Version 6 may name the top buffer here; it has its own table. */
    if (r->file->version == 6 && *name == '\0')
        return 0;
    if (r->file->n_buffers >= 1024)
        return dat_error(r, "more than 1024 buffers");
    buffer = dat_add_buffer(r->file, name);
    if (!buffer)
        return error_set(r->error, -ENOMEM, r->file->path, "out of memory");
    buffer->offset = offset;
    buffer->is_text = id == OPTION_BUFFER_TEXT;
    if (r->file->version == 6)
        return 0;
    clock = take_string(&p, end);
    if (!clock)
        return dat_error(r, "the name of a buffer's clock has no end");
    buffer->clock = ftrace_clock(clock, strlen(clock));
    /* trace-cmd 3.1 writes this for an instance, whatever its clock is, and the right one into the option of all buffers. */
    if (strcmp(clock, "local") == 0 && r->file->has_clock_text && r->file->clock.name)
        buffer->clock = r->file->clock;
    return buffer->is_text ? 0 : read_buffer_cpus(r, p, end, buffer);
}

/* What the system was called: an export has its layers there. */
static int read_uname(struct dat_reader *r, const uint8_t *p, uint32_t size)
{
    static const char exported[] = "strata-export";
    size_t start = strlen(exported);

    if (size <= start || memcmp(p, exported, start) != 0)
        return 0;
    r->file->layers = arena_strndup(&r->file->arena, (const char *)p + start,
                                    strnlen((const char *)p, size) - start);
    return r->file->layers ? 0 : error_set(r->error, -ENOMEM, r->file->path, "out of memory");
}

/* A number as text; the data need not end in a NUL. */
static int64_t option_number(const uint8_t *p, uint32_t size)
{
    char buf[32] = {0};

    memcpy(buf, p, MIN(size, (uint32_t)sizeof buf - 1));
    return strtoll(buf, NULL, 0);
}

int dat_read_option(struct dat_reader *r, unsigned id, const uint8_t *p, uint32_t size)
{
    struct dat_file *file = r->file;
    uint64_t offset = (uint64_t)file->times.offset;
    uint32_t n;
    int got;

    switch (id) {
    case OPTION_DATE:
        /* Microseconds. */
        file->times.offset = (int64_t)(offset + (uint64_t)option_number(p, size) * 1000);
        file->is_realtime = true;
        return 0;
    case OPTION_OFFSET:
        file->times.offset = (int64_t)(offset + (uint64_t)option_number(p, size));
        return 0;
    case OPTION_CPUSTAT:
        got = dat_cpustat_read(file, p, size);
        return got < 0 ? error_set(r->error, got, file->path, "out of memory") : 0;
    case OPTION_BUFFER:
    case OPTION_BUFFER_TEXT: return read_buffer(r, id, p, size);
    case OPTION_TRACE_CLOCK:
        file->has_clock_text = true;
        if (size > 1)
            file->clock = ftrace_clock((const char *)p, size);
        return 0;
    case OPTION_UNAME: return read_uname(r, p, size);
    case OPTION_CPU_COUNT:
        if (size < 4)
            return dat_error(r, "the option with the number of CPUs is too short");
        n = load_u32_swap(p, file->swap);
        if (n > DAT_CPUS_MAX)
            return dat_error(r, "more than 8192 CPUs");
        file->n_cpus = n;
        return 0;
    case OPTION_TIME_SHIFT:
        if (size < 16)
            return 0;
        got = ftrace_times_read_shift(&file->times, p, size, file->swap);
        return got < 0 ? dat_error(r, "the option with the clock's corrections is damaged") : 0;
    case OPTION_TSC_TO_NS:
        if (size < 16)
            return 0;
        file->times.mult = load_u32_swap(p, file->swap);
        file->times.shift = load_u32_swap(p + 4, file->swap);
        return 0;
    default:
        if (id >= OPTION_FIRST_SECTION && id <= OPTION_LAST_SECTION && size >= 8)
            file->sections[id] = load_u64_swap(p, file->swap);
        return 0;
    }
}
