/* SPDX-License-Identifier: MIT */
#include "runtime/ring/ring_copy.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/macro.h"

/* Offset of the data in the copy. */
#define DATA_OFFSET 4096
_Static_assert(sizeof(struct ring_map) <= DATA_OFFSET, "the copy's header");

/* How often the copy is retried when the owner was faster. It must go around the whole ring while one
 * sub-buffer is copied, so we were not running; the next try is made when we are. */
#define TRIES 100

/* The owner may be writing there; the caller checks that after the copy. The race is
 * intended. */
__attribute__((no_sanitize("thread"))) static void copy_words(uint8_t *to, const uint8_t *from,
                                                              size_t size)
{
    typedef uint64_t __attribute__((may_alias)) any_word;
    volatile any_word *t = (volatile any_word *)(void *)to;
    const volatile any_word *f = (const volatile any_word *)(const void *)from;

    for (size_t i = 0; i < (size + 7) / 8; i++)
        t[i] = f[i];
}

/* The sub-buffers from this one on are not written over [7, 8], as long as it has not moved on. */
static uint64_t kept_from(const struct ring_reader *ring)
{
    uint64_t position = ring->overwrite ? __atomic_load_n(&ring->map->oldest, __ATOMIC_ACQUIRE)
                                        : __atomic_load_n(&ring->map->consumed, __ATOMIC_ACQUIRE);

    return position & ~(ring->subbuffer_size - 1);
}

/* Copies backwards from COMMITTED, as the owner writes over the oldest first: so what we have is
 * without a gap when it overtakes us. Returns the begin of what was copied; COMMITTED: nothing. */
static uint64_t copy_backwards(const struct ring_reader *ring, uint8_t *data, uint64_t committed)
{
    uint64_t sub_mask = ring->subbuffer_size - 1, mask = ring->size - 1;
    uint64_t oldest = kept_from(ring), from = committed, start = committed;
    uint64_t behind = (committed + sub_mask) & ~sub_mask;

    while (start > oldest) {
        uint64_t end = start;

        start = (end - 1) & ~sub_mask;
        if (behind - start > ring->size) /* a damaged ring */
            break;
        copy_words(data + (start & mask), ring->data + (start & mask), (size_t)(end - start));
        /* Acquire fence: what may be written over is looked at after what was copied. */
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (kept_from(ring) > start)
            break;
        from = start;
    }
    return from;
}

/* The begin is read first: read last, it could have passed an end that was read long before, as the owner goes around the
 * ring while we are not running. */
static bool is_empty(const struct ring_reader *ring)
{
    uint64_t begin = kept_from(ring);

    return __atomic_load_n(&ring->map->committed, __ATOMIC_ACQUIRE) <= begin;
}

int ring_copy_take(struct ring_copy *ret, struct ring_map *map, size_t length)
{
    struct ring_reader ring;
    struct ring_map *copy;
    uint64_t committed = 0, from = 0, time = 0;
    size_t size;
    int r;

    r = ring_reader_look(&ring, map, length);
    if (r < 0)
        return r;
    if (is_empty(&ring))
        return 0;

    /* Pages that nothing is copied to take no memory. */
    size = DATA_OFFSET + (size_t)ring.size;
    copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                0);
    if (copy == MAP_FAILED)
        return -ENOMEM;
    for (unsigned i = 0; i < TRIES && from == committed; i++) {
        /* Acquire: all records before it are complete [2]. */
        committed = __atomic_load_n(&map->committed, __ATOMIC_ACQUIRE);
        /* Not before the stamp of any record that is committed: the reading of all clocks is not done
         * before what stands before it. */
        time = trace_clock_pair(NULL).ticks;
        from = copy_backwards(&ring, (uint8_t *)copy + DATA_OFFSET, committed);
    }
    if (from == committed) {
        munmap(copy, size);
        /* A consumer may have taken all of it. */
        return is_empty(&ring) ? 0 : -EAGAIN;
    }

    copy_words((uint8_t *)copy, (const uint8_t *)map, sizeof(*map));
    copy->data_offset = copy->classes_offset = DATA_OFFSET;
    copy->n_classes = 0;
    copy->size = ring.size;
    copy->subbuffer_size = ring.subbuffer_size;
    copy->committed = committed;
    copy->closed = committed & ~(ring.subbuffer_size - 1); /* [5]: committed has come there */
    copy->oldest = copy->consumed = from;
    copy->releases[0] = (struct ring_release){.end = from, .sequence = from / ring.subbuffer_size};
    copy->releases[1] = (struct ring_release){0};
    copy->time = time;
    *ret = (struct ring_copy){copy, size};
    return 1;
}

void ring_copy_done(struct ring_copy *copy)
{
    if (copy->memory)
        munmap(copy->memory, copy->length);
    *copy = (struct ring_copy){0};
}
