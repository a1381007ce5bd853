/* SPDX-License-Identifier: MIT */
#include "record/percpu/chunk_memory.h"

#include <string.h>
#include <sys/mman.h>

#include "format/xentrace/record.h"

int chunk_memory_init(struct chunk_memory *ret, size_t size)
{
    uint8_t *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (bytes == MAP_FAILED)
        return -ENOMEM;
    *ret = (struct chunk_memory){.bytes = bytes, .size = size};
    return 0;
}

void chunk_memory_done(struct chunk_memory *memory)
{
    if (memory->bytes)
        munmap(memory->bytes, memory->size);
    *memory = (struct chunk_memory){0};
}

/* OFFSET bytes after the oldest one. */
static uint32_t word_at(const struct chunk_memory *memory, size_t offset)
{
    size_t at = memory->start + offset;
    uint8_t word[4];

    if (at >= memory->size)
        at -= memory->size;
    for (size_t i = 0; i < sizeof word; i++, at++)
        word[i] = memory->bytes[at < memory->size ? at : at - memory->size];
    return load_u32(word);
}

static uint32_t oldest_cpu(const struct chunk_memory *memory)
{
    return word_at(memory, 4);
}

static size_t oldest_size(const struct chunk_memory *memory)
{
    return XENTRACE_WINDOW_HEADER_SIZE + (size_t)word_at(memory, 8);
}

static bool is_event(uint32_t header)
{
    uint32_t event = xentrace_event(header);

    return event != XEN_LOST_RECORDS && event != XEN_WRAP_BUFFER;
}

/* Of events, in the oldest window. */
static uint64_t oldest_records(const struct chunk_memory *memory)
{
    size_t size = oldest_size(memory);
    size_t at = XENTRACE_WINDOW_HEADER_SIZE;
    uint64_t records = 0;

    while (size - at >= 4) {
        uint32_t header = word_at(memory, at);
        uint32_t len = xentrace_record_size(header);

        if (len > size - at)
            break;
        records += is_event(header);
        at += len;
    }
    return records;
}

/* Its events will not be written. */
static void forget_oldest(struct chunk_memory *memory)
{
    size_t size = oldest_size(memory);

    memory->dropped_records += oldest_records(memory);
    memory->start = (memory->start + size) % memory->size;
    memory->used -= size;
}

static void drop_oldest(struct chunk_memory *memory)
{
    forget_oldest(memory);
    memory->dropped++;
}

/* A round of the recorder takes CPUs by rising number; when one of a round is dropped, the rest is too,
 * so that what is left begins with all CPUs at about one time. */
static void make_room(struct chunk_memory *memory, size_t size)
{
    uint32_t cpu = 0;

    if (memory->size - memory->used >= size)
        return;
    while (memory->used > 0 && memory->size - memory->used < size) {
        cpu = oldest_cpu(memory);
        drop_oldest(memory);
    }
    while (memory->used > 0 && oldest_cpu(memory) > cpu) {
        cpu = oldest_cpu(memory);
        drop_oldest(memory);
    }
}

/* Cuts at least SIZE bytes of whole records off the front of a part. What is damaged goes as a whole. Returns how many
 * bytes went. */
static size_t cut_front(struct chunk_memory *memory, struct iovec *part, size_t size)
{
    const uint8_t *bytes = part->iov_base;
    size_t at = 0;

    while (at < size && part->iov_len - at >= 4) {
        uint32_t header = load_u32(bytes + at);
        uint32_t len = xentrace_record_size(header);

        if (len > part->iov_len - at)
            break;
        memory->dropped_records += is_event(header);
        at += len;
    }
    if (at < size)
        at = part->iov_len;
    part->iov_base = (uint8_t *)part->iov_base + at;
    part->iov_len -= at;
    return at;
}

/* Returns what is left of SIZE. */
static size_t cut_window(struct chunk_memory *memory, struct iovec *parts, unsigned n, size_t size)
{
    uint8_t *header = parts[0].iov_base;
    uint32_t left;

    if (size <= memory->size)
        return size;
    memory->dropped++;
    for (unsigned i = 1; i < n && size > memory->size; i++)
        size -= cut_front(memory, &parts[i], MIN(size - memory->size, parts[i].iov_len));
    left = (uint32_t)(size - XENTRACE_WINDOW_HEADER_SIZE);
    memcpy(header + 8, &left, sizeof left);
    return size;
}

void chunk_memory_put(struct chunk_memory *memory, struct iovec *parts, unsigned n)
{
    size_t size = 0;

    for (unsigned i = 0; i < n; i++)
        size += parts[i].iov_len;
    size = cut_window(memory, parts, n, size);
    make_room(memory, size);
    for (unsigned i = 0; i < n; i++) {
        size_t at = (memory->start + memory->used) % memory->size;
        size_t len = parts[i].iov_len;
        size_t first = MIN(len, memory->size - at);

        memcpy(memory->bytes + at, parts[i].iov_base, first);
        memcpy(memory->bytes, (const uint8_t *)parts[i].iov_base + first, len - first);
        memory->used += len;
    }
}

int chunk_memory_write(struct chunk_memory *memory, struct stream *output, struct error *error)
{
    while (memory->used > 0) {
        size_t size = oldest_size(memory);
        size_t first = MIN(size, memory->size - memory->start);
        struct iovec parts[2] = {
            {memory->bytes + memory->start, first},
            {memory->bytes, size - first},
        };
        int r = stream_write(output, parts, size > first ? 2 : 1, error);

        if (r != STREAM_WRITTEN) {
            while (memory->used > 0)
                forget_oldest(memory);
            return r;
        }
        memory->start = (memory->start + size) % memory->size;
        memory->used -= size;
    }
    return STREAM_WRITTEN;
}
