/* SPDX-License-Identifier: MIT */
#include "runtime/ring/class_dump.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/macro.h"
#include "runtime/ring/process_file.h"

static struct {
    uint8_t *bytes;     /* DESCRIPTIONS_MAX, reserved at once: never moved */
    atomic_size_t size; /* of those that are whole */
} described;

const uint8_t *class_dump_all(size_t *ret_size)
{
    *ret_size = atomic_load_explicit(&described.size, memory_order_acquire);
    return described.bytes;
}

static size_t description_size(const struct trace_class *class)
{
    size_t size = sizeof(struct class_description) + strlen(class->name) + 1 +
                  (class->format ? strlen(class->format) + 1 : 0);

    for (unsigned i = 0; i < class->n_fields; i++)
        size += 2 + strlen(class->fields[i].name) + 1 + strlen(class->fields[i].type) + 1;
    return (size + 7) & ~(size_t)7;
}

static char *put_text(char *at, const char *text)
{
    return stpcpy(at, text) + 1;
}

static void put_description(uint8_t *to, const struct trace_class *class, size_t size)
{
    struct class_description head = {
        .size = (uint32_t)size,
        .id = class->id,
        .n_fields = class->n_fields,
        .has_format = class->format != NULL,
    };
    char *at = (char *)to + sizeof(head);

    memcpy(to, &head, sizeof(head));
    at = put_text(at, class->name);
    if (class->format)
        at = put_text(at, class->format);
    for (unsigned i = 0; i < class->n_fields; i++) {
        *at++ = (char)class->fields[i].kind;
        *at++ = (char)class->fields[i].size;
        at = put_text(at, class->fields[i].name);
        at = put_text(at, class->fields[i].type);
    }
}

bool class_dump_class(struct trace_class *class)
{
    size_t used = atomic_load_explicit(&described.size, memory_order_relaxed);
    size_t size;

    if (class->described)
        return true;
    if (!described.bytes) {
        void *bytes = mmap(NULL, DESCRIPTIONS_MAX, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (bytes == MAP_FAILED)
            return false;
        described.bytes = bytes;
    }
    size = description_size(class);
    if (size > DESCRIPTIONS_MAX - used)
        return false;
    class->described = true;
    put_description(described.bytes + used, class, size);
    /* Release: a reader that sees the size also sees the bytes and their address. */
    atomic_store_explicit(&described.size, used + size, memory_order_release);
    return true;
}
