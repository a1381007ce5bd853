/* SPDX-License-Identifier: MIT */
#include "format/trace_dat/file.h"

#include <string.h>

#include "base/macro.h"
#include "format/ftrace/clock.h"
#include "format/trace_dat/read.h"
#include "format/trace_dat/trace_dat.h"

static const char magic[] = "\x17\x08\x44tracing";
#define MAGIC_SIZE (sizeof magic - 1)

bool trace_dat_is(const uint8_t *head, size_t size)
{
    return size >= MAGIC_SIZE && memcmp(head, magic, MAGIC_SIZE) == 0;
}

struct dat_file *dat_file_ref(struct dat_file *file)
{
    file->n_refs++;
    return file;
}

void dat_file_unref(struct dat_file *file)
{
    if (!file || --file->n_refs > 0)
        return;
    for (unsigned i = 0; i < file->n_buffers; i++)
        free(file->buffers[i].cpus);
    for (unsigned i = 0; i < file->n_unpacked; i++)
        free(file->unpacked[i]);
    free(file->buffers);
    free(file->cpustats);
    free(file->unpacked);
    map_done(&file->formats);
    arena_done(&file->arena);
    ftrace_times_done(&file->times);
    input_done(&file->in);
    free(file->path);
    free(file);
}

int dat_file_text(struct dat_file *file, const struct dat_text *text, char **ret_text,
                  size_t *ret_len)
{
    char *copy;

    if (text->size == 0)
        return -ENOENT;
    if (text->size > DAT_TEXT_MAX)
        return -EFBIG;
    if (!text->memory)
        return input_load_at(&file->in, text->offset, (size_t)text->size, ret_text, ret_len);
    copy = malloc((size_t)text->size + 1);
    if (!copy)
        return -ENOMEM;
    memcpy(copy, text->memory + text->offset, (size_t)text->size);
    copy[text->size] = '\0';
    *ret_len = (size_t)text->size;
    *ret_text = copy;
    return 0;
}

int dat_file_error(const struct dat_file *file, int err, struct error *error)
{
    return error_set(error, err, file->path, "%s", error_text(err));
}

/* Up to the page size. */
static int read_start(struct dat_reader *r, char version[8])
{
    struct dat_file *file = r->file;
    int got;

    got = dat_expect(r, magic, MAGIC_SIZE);
    if (got == 0)
        got = dat_read_string(r, version, 8);
    if (got != 0)
        return got;
    if (input_need(r->in, 2, r->error) <= 0)
        return dat_error(r, "the file ends inside its header");
    file->big_endian = input_at(r->in)[0] != 0;
    file->swap = file->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    /* The size of a long of programs; what counts is the kernel's, in header_page. */
    input_skip(r->in, 2);
    return dat_read_u32(r, &file->page_size);
}

static int read_file(struct dat_reader *r)
{
    struct dat_file *file = r->file;
    char version[8];
    int got;

    if (!file->in.seekable)
        return error_set(r->error, -ESPIPE, file->path,
                         "a trace.dat cannot be read from a pipe; give the file itself");
    got = read_start(r, version);
    if (got != 0)
        return got;
    if (strcmp(version, "6") != 0 && strcmp(version, "7") != 0)
        return error_set(r->error, -ENOTSUP, file->path,
                         "trace.dat of version %s; 6 and 7 can be read", version);
    file->version = (unsigned)(version[0] - '0');
    return file->version == 6 ? dat_read_version6(r) : dat_read_version7(r);
}

static int read_tracing_data(struct dat_reader *r)
{
    char version[8];
    int got = read_start(r, version);

    if (got != 0)
        return got;
    if (strcmp(version, "0.5") != 0 && strcmp(version, "0.6") != 0)
        return error_set(r->error, -ENOTSUP, r->file->path,
                         "tracing data of version %s; 0.5 and 0.6 can be read", version);
    r->file->version = 6;
    /* Not the saved_cmdlines of 0.6, at the end: they are of when ftrace last recorded, and since then other threads may
     * have got the numbers. perf records names itself. */
    return dat_read_texts(r);
}

static int open_by(int (*read)(struct dat_reader *r), struct input *in, const char *name,
                   struct dat_file **ret_file, struct error *error)
{
    struct dat_file *file = calloc(1, sizeof *file);
    struct dat_reader reader;
    int r;

    if (!file) {
        input_done(in);
        return error_set(error, -ENOMEM, name, "out of memory");
    }
    file->n_refs = 1;
    file->in = *in;
    file->path = strdup(name);
    file->clock = ftrace_clock("", 0);
    reader = (struct dat_reader){.file = file, .in = &file->in, .error = error};
    r = file->path ? read(&reader) : error_set(error, -ENOMEM, name, "out of memory");
    if (r < 0) {
        dat_file_unref(file);
        return r;
    }
    *ret_file = file;
    return 0;
}

int dat_file_open(struct input *in, const char *name, struct dat_file **ret_file,
                  struct error *error)
{
    return open_by(read_file, in, name, ret_file, error);
}

int dat_file_open_tracing_data(struct input *in, const char *name, struct dat_file **ret_file,
                               struct error *error)
{
    return open_by(read_tracing_data, in, name, ret_file, error);
}
