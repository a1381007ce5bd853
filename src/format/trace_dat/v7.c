/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/macro.h"
#include "format/trace_dat/read.h"

#define SECTION_COMPRESSED 1
#define OPTIONS_MAX 1024 /* sections of options: they may point at each other */
/* What all options and unpacked sections may be together, however often they are pointed at. */
#define METADATA_MAX (4 * (uint64_t)DAT_TEXT_MAX)

enum {
    SECTION_OPTIONS = 0,
    SECTION_HEADER_INFO = 16,
    SECTION_FTRACE_FORMATS = 17,
    SECTION_EVENT_FORMATS = 18,
    SECTION_KALLSYMS = 19,
    SECTION_PRINTK = 20,
    SECTION_CMDLINES = 21,
};

/* A section being read. */
struct section {
    struct dat_reader reader;
    struct input own; /* of unpacked bytes */
    bool is_own;
};

static void section_done(struct section *section)
{
    if (section->is_own)
        input_done(&section->own);
}

/* Forgets a section that is not used later: its bytes need not live as long as the file. */
static void section_forget(struct section *section)
{
    struct dat_file *file = section->reader.file;

    if (section->is_own)
        free(file->unpacked[--file->n_unpacked]);
    section_done(section);
}

static int count_metadata(struct dat_reader *r, uint64_t size)
{
    r->file->n_metadata += size;
    if (r->file->n_metadata > METADATA_MAX)
        return dat_error(r, "its options and sections are longer than 256 MB, or do not end");
    return 0;
}

static int unpack_section(struct dat_reader *r, uint64_t size, struct section *section)
{
    struct dat_file *file = r->file;
    _cleanup_free_ char *packed = NULL;
    struct dat_text text;
    uint8_t *bytes, **bigger;
    uint32_t n, unpacked;
    size_t len;
    int got;

    got = dat_read_u32(r, &n);
    if (got == 0)
        got = dat_read_u32(r, &unpacked);
    if (got == 0)
        got = dat_skip_text(r, n, &text);
    if (got != 0)
        return got;
    if (n > size)
        return dat_error(r, "a compressed section is longer than its header says");
    got = dat_file_text(file, &text, &packed, &len);
    if (got == 0)
        got =
            dat_codec_unpack(file->codec, (const uint8_t *)packed, len, DAT_TEXT_MAX, &bytes, &len);
    if (error_is_local(got))
        return dat_file_error(file, got, r->error);
    if (got != 0)
        return dat_error(r, got == -EFBIG ? "a section unpacks to more than 64 MB"
                                          : "a section cannot be unpacked");
    got = count_metadata(r, len);
    if (got != 0) {
        free(bytes);
        return got;
    }
    bigger = realloc(file->unpacked, (file->n_unpacked + 1) * sizeof *bigger);
    if (!bigger) {
        free(bytes);
        return error_set(r->error, -ENOMEM, file->path, "out of memory");
    }
    file->unpacked = bigger;
    file->unpacked[file->n_unpacked++] = bytes;
    if (input_open_memory(&section->own, bytes, len, file->path) < 0)
        return error_set(r->error, -ENOMEM, file->path, "out of memory");
    section->is_own = true;
    section->reader.in = &section->own;
    section->reader.memory = bytes;
    return 0;
}

/* Begins to read the section at OFFSET, which must be of the number ID. */
static int section_open(struct dat_file *file, uint64_t offset, unsigned id,
                        struct section *section, struct error *error)
{
    struct dat_reader r = {.file = file, .in = &file->in, .error = error};
    uint16_t found, flags;
    uint32_t description;
    uint64_t size;
    int got;

    *section = (struct section){.reader = r};
    if (offset > file->in.size)
        return error_at(error, -EBADMSG, file->path, offset,
                        "the file was cut: it ends before this section; which pages are a CPU's "
                        "is written last, so no event can be read");
    if (offset == 0)
        return error_at(error, -EBADMSG, file->path, offset,
                        "a section is beyond the end of the file");
    got = input_seek(&file->in, offset, error);
    if (got == 0)
        got = dat_read_u16(&r, &found);
    if (got == 0)
        got = dat_read_u16(&r, &flags);
    if (got == 0)
        got = dat_read_u32(&r, &description);
    if (got == 0)
        got = dat_read_u64(&r, &size);
    if (got != 0)
        return got;
    if (found != id)
        return dat_error(&r, "unexpected kind of section");
    return flags & SECTION_COMPRESSED ? unpack_section(&r, size, section) : 0;
}

/* Reads the options of one section; *RET_NEXT: where the next such section is, or 0. */
static int read_options(struct dat_reader *r, uint64_t *ret_next)
{
    for (;;) {
        _cleanup_free_ char *data = NULL;
        const uint8_t *p;
        struct dat_text text;
        uint16_t id;
        uint32_t size;
        size_t len;
        int got;

        got = dat_read_u16(r, &id);
        if (got == 0)
            got = dat_read_u32(r, &size);
        if (got == 0)
            got = dat_skip_text(r, size, &text);
        if (got != 0)
            return got;
        got = count_metadata(r, size);
        if (got != 0)
            return got;
        if (size > 0)
            got = dat_file_text(r->file, &text, &data, &len);
        if (error_is_local(got))
            return dat_file_error(r->file, got, r->error);
        if (got < 0)
            return dat_error(r, "an option cannot be read");
        p = data ? (const uint8_t *)data : (const uint8_t *)"";
        if (id == 0) {
            *ret_next = size >= 8 ? load_u64_swap(p, r->file->swap) : 0;
            return 0;
        }
        got = dat_read_option(r, id, p, size);
        if (got < 0)
            return got;
    }
}

static int read_all_options(struct dat_reader *r, uint64_t offset)
{
    for (unsigned n = 0; offset != 0; n++) {
        struct section section;
        int got;

        if (n == OPTIONS_MAX)
            return dat_error(r, "the sections of options do not end");
        got = section_open(r->file, offset, SECTION_OPTIONS, &section, r->error);
        if (got == 0)
            got = read_options(&section.reader, &offset);
        section_forget(&section);
        if (got < 0)
            return got;
    }
    return 0;
}

/* Reads a text whose length, of WIDTH bytes, is in the section. */
static int read_text(struct dat_reader *r, unsigned width, struct dat_text *ret)
{
    uint64_t size = 0;
    uint32_t size32 = 0;
    int got = width == 8 ? dat_read_u64(r, &size) : dat_read_u32(r, &size32);

    return got < 0 ? got : dat_skip_text(r, size + size32, ret);
}

static int read_section(struct dat_file *file, unsigned id, struct error *error)
{
    struct section section;
    int got;

    if (file->sections[id] == 0)
        return id == SECTION_HEADER_INFO
                   ? error_set(error, -EBADMSG, file->path,
                               "no section with header_page; the pages cannot be decoded")
                   : 0;
    got = section_open(file, file->sections[id], id, &section, error);
    if (got == 0) {
        switch (id) {
        case SECTION_HEADER_INFO: got = dat_read_header_info(&section.reader); break;
        case SECTION_FTRACE_FORMATS: got = dat_read_ftrace_formats(&section.reader); break;
        case SECTION_EVENT_FORMATS: got = dat_read_event_formats(&section.reader); break;
        case SECTION_KALLSYMS: got = read_text(&section.reader, 4, &file->kallsyms); break;
        case SECTION_PRINTK: got = read_text(&section.reader, 4, &file->printk); break;
        default: got = read_text(&section.reader, 8, &file->cmdlines); break;
        }
    }
    section_done(&section);
    return got;
}

/* Whether the pages of a buffer are compressed stands in its section's header. */
static int read_buffer_flags(struct dat_file *file, struct dat_buffer *buffer, struct error *error)
{
    uint8_t header[16];
    int64_t n = input_read_at(&file->in, buffer->offset, header, sizeof header, error);

    if (n < 0)
        return (int)n;
    if ((size_t)n < sizeof header)
        return error_at(error, -EBADMSG, file->path, buffer->offset,
                        "a buffer is beyond the end of the file");
    buffer->compressed = load_u16_swap(header + 2, file->swap) & SECTION_COMPRESSED;
    return 0;
}

int dat_file_kallsyms(struct dat_file *file, char **ret_text, size_t *ret_len)
{
    struct error error;
    int r;

    error_clear(&error);
    if (file->version == 7 && file->sections[SECTION_KALLSYMS]) {
        r = read_section(file, SECTION_KALLSYMS, &error);
        file->sections[SECTION_KALLSYMS] = 0;
        if (r < 0)
            return r;
    }
    return dat_file_text(file, &file->kallsyms, ret_text, ret_len);
}

int dat_read_version7(struct dat_reader *r)
{
    static const unsigned sections[] = {SECTION_HEADER_INFO, SECTION_FTRACE_FORMATS,
                                        SECTION_EVENT_FORMATS, SECTION_PRINTK, SECTION_CMDLINES};
    struct dat_file *file = r->file;
    char version[64];
    uint64_t options;
    int got;

    got = dat_read_string(r, file->codec_name, sizeof file->codec_name);
    if (got == 0)
        got = dat_read_string(r, version, sizeof version);
    if (got == 0)
        got = dat_read_u64(r, &options);
    if (got != 0)
        return got;
    if (dat_codec_find(file->codec_name, &file->codec) < 0)
        return error_set(r->error, -ENOTSUP, file->path,
                         "it is compressed by \"%.31s\"; zlib and zstd can be read: convert it "
                         "with trace-cmd convert",
                         file->codec_name);
    if (options == 0)
        return dat_error(r, "there are no options; the recording may not have been ended");
    got = read_all_options(r, options);
    for (size_t i = 0; i < ARRAY_SIZE(sections) && got == 0; i++)
        got = read_section(file, sections[i], r->error);
    for (unsigned i = 0; i < file->n_buffers && got == 0; i++)
        if (!file->buffers[i].is_text)
            got = read_buffer_flags(file, &file->buffers[i], r->error);
    return got;
}
