/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/qemu/command_line.h"

/* A command line of QEMU: a word a line, until an empty line; the rest is the text of each file of -readconfig. */

#define WORDS_MAX 64u
#define FILES_MAX 4u

struct file {
    const uint8_t *text;
    size_t size;
    unsigned n_opened;
};

static int open_file(void *userdata, const char *path)
{
    struct file *file = userdata;
    int fd;

    (void)path;
    if (file->n_opened++ == FILES_MAX)
        return -1;
    fd = memfd_create("config", MFD_CLOEXEC);
    if (fd < 0 || (file->size > 0 && write(fd, file->text, file->size) < 0) ||
        lseek(fd, 0, SEEK_SET) < 0)
        abort();
    return fd;
}

static void check(int is_true)
{
    if (!is_true)
        abort();
}

static void check_object(const struct qemu_command_line *line, unsigned first, unsigned end)
{
    for (unsigned i = first; i < end; i++) {
        const struct qemu_setting *setting = &line->settings[i];

        check(setting->group && setting->object == line->settings[first].object);
        check(!setting->key || (*setting->key && setting->value));
        check(setting->id == line->settings[first].id);
        if (setting->key)
            check(qemu_object_value(line, i, setting->key) != NULL);
        if (setting->id)
            check(qemu_find_object(line, setting->group, setting->id) != NULL);
        (void)qemu_value_is_on(setting->value);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *words[WORDS_MAX];
    const uint8_t *end = data + size;
    struct file file = {0};
    struct arena arena = {0};
    struct qemu_command_line line;
    unsigned n = 0;

    words[n++] = "qemu";
    while (data < end && n < WORDS_MAX) {
        const uint8_t *newline = memchr(data, '\n', (size_t)(end - data));
        const uint8_t *stop = newline ? newline : end;

        if (stop == data)
            break;
        words[n] = arena_strndup(&arena, (const char *)data, (size_t)(stop - data));
        check(words[n++] != NULL);
        data = stop + (newline != NULL);
    }
    file.text = data;
    file.size = (size_t)(end - data);
    check(qemu_command_line_read(words, n, open_file, &file, &arena, &line) == 0);
    for (unsigned i = 0, next; i < line.n; i = next) {
        next = qemu_next_object(&line, i);
        check(next > i);
        check_object(&line, i, next);
    }
    arena_done(&arena);
    return 0;
}
