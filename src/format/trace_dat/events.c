/* SPDX-License-Identifier: MIT */
#include "format/trace_dat/events.h"

#include <stdlib.h>

#include "base/macro.h"

/* The texts of the file, for its events. */
struct dat_formats {
    struct kernel_formats formats;
    struct dat_file *file;
    char *text; /* of the format lent last */
};

static int lend_format(struct dat_formats *formats, const struct dat_format *format,
                       struct kernel_format *ret)
{
    size_t len;
    int r;

    free(TAKE_PTR(formats->text));
    r = dat_file_text(formats->file, &format->text, &formats->text, &len);
    if (r < 0)
        return r;
    *ret = (struct kernel_format){.text = formats->text, .len = len, .system = format->system};
    return 0;
}

static int formats_format(struct kernel_formats *base, uint16_t id, struct kernel_format *ret)
{
    struct dat_formats *formats = container_of(base, struct dat_formats, formats);
    const struct dat_format *format = map_get(&formats->file->formats, id);

    return format ? lend_format(formats, format, ret) : -ENOENT;
}

static int formats_kallsyms(struct kernel_formats *base, char **ret_text, size_t *ret_len)
{
    return dat_file_kallsyms(container_of(base, struct dat_formats, formats)->file, ret_text,
                             ret_len);
}

static void formats_free(struct kernel_formats *base)
{
    struct dat_formats *formats = container_of(base, struct dat_formats, formats);

    dat_file_unref(formats->file);
    free(formats->text);
    free(formats);
}

/* A text without which only names are unknown. 1: it is there, 0: missing or damaged. */
static int read_optional(struct dat_file *file, const struct dat_text *at, char **ret_text,
                         size_t *ret_len)
{
    int r = dat_file_text(file, at, ret_text, ret_len);

    return r == 0 ? 1 : error_is_local(r) ? r : 0;
}

int dat_events_open(struct dat_file *file, struct catalogue *catalogue,
                    struct kernel_events **ret_events, struct error *error)
{
    struct kernel_facts facts = {
        .swap = file->swap, .big_endian = file->big_endian, .long_size = file->layout.long_size};
    struct dat_formats *formats = calloc(1, sizeof *formats);
    struct kernel_events *events;
    struct kernel_format format;
    size_t len = 0;
    char *text = NULL;
    int r;

    if (!formats)
        return error_set(error, -ENOMEM, file->path, "out of memory");
    formats->formats.format = formats_format;
    formats->formats.kallsyms = formats_kallsyms;
    formats->formats.free = formats_free;
    formats->file = dat_file_ref(file);
    r = kernel_events_new(catalogue, &facts, &formats->formats, &events);
    if (r < 0)
        return error_set(error, r, file->path, "out of memory");

    if (file->any) {
        r = lend_format(formats, file->any, &format);
        if (r == 0) {
            format.path = file->path;
            r = kernel_events_set_common(events, &format, error);
        } else if (!error_is_local(r)) {
            r = 0; /* damaged: events are shown by their numbers */
        }
    }
    if (r == 0)
        r = read_optional(file, &file->printk, &text, &len);
    if (r > 0)
        r = kernel_events_read_printk(events, text, len);
    if (r == 0)
        r = read_optional(file, &file->cmdlines, &text, &len);
    if (r > 0)
        r = kernel_events_read_cmdlines(events, text, len);
    if (r < 0) {
        kernel_events_unref(events);
        return dat_file_error(file, r, error);
    }
    *ret_events = events;
    return 0;
}
