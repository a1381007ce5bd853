/* SPDX-License-Identifier: MIT */
/* The ring pool (runtime/ring/pool_file.h) as its recorder reads it: processes of other users can write anything there. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/rings/drain.h"
#include "record/rings/pool.h"
#include "record/rings/process.h"

#define PATCH_HEAD 6 /* bytes: slot, 0, offset / 8 (2), length (2) */

static char parent[] = "/dev/shm/strata-fuzz-pool-XXXXXX";
static struct pool *pool;
static uint8_t *slots;

static void clean(void)
{
    struct pool_slot none = {0};

    for (unsigned i = 0; i < POOL_SLOTS; i++)
        pool->file->slots[i] = none;
    pool_remove(parent);
    (void)rmdir(parent);
}

static void prepare(void)
{
    if (pool)
        return;
    if (!mkdtemp(parent) || pool_make(parent, &pool) < 0)
        abort();
    slots = mmap(NULL, POOL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, pool->fd, 0);
    if (slots == MAP_FAILED)
        abort();
    atexit(clean);
}

static void check(const struct drain_stats *stats)
{
    if (stats->rings > POOL_SLOTS || stats->damaged > POOL_SLOTS)
        abort();
}

static int read_process(const char *path, void *userdata)
{
    struct process *process;
    struct ring_drain *drain = NULL;
    struct drain_stats stats;

    (void)userdata;
    if (!process_is_slot(path))
        abort();
    if (process_open(path, true, &process, NULL) < 0)
        return 0;
    if (ring_drain_count(process, &stats, NULL) >= 0)
        check(&stats);
    /* As of one that lives: what is read is released in the pool. */
    if (ring_drain_new(process, NULL, true, true, &drain, NULL) >= 0) {
        for (enum drain_mode mode = DRAIN_OFTEN; mode <= DRAIN_ALL; mode++)
            (void)ring_drain_take(drain, mode, NULL);
        stats = ring_drain_taken(drain, NULL);
        check(&stats);
        ring_drain_free(drain);
    }
    process_free(process);
    return 0;
}

/* A byte says how many entries follow, of slots from 0 on; the rest is written to the slots piece by piece. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t n = size > 0 ? data[0] % 8 : 0;

    if (size < 1 + n * sizeof(struct pool_slot))
        return 0;
    prepare();
    memset(pool->file->slots, 0, sizeof pool->file->slots);
    if (fallocate(pool->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)pool_slot_offset(0),
                  (off_t)(8 * POOL_SLOT_SIZE)) < 0)
        abort();
    memcpy(pool->file->slots, data + 1, n * sizeof(struct pool_slot));
    data += 1 + n * sizeof(struct pool_slot);
    size -= 1 + n * sizeof(struct pool_slot);
    while (size > PATCH_HEAD) {
        size_t offset = 8 * ((size_t)data[2] | (size_t)data[3] << 8);
        size_t length = (size_t)data[4] | (size_t)data[5] << 8;
        uint8_t *to = slots + pool_slot_offset(data[0] % 8) + offset;

        data += PATCH_HEAD;
        size -= PATCH_HEAD;
        length = length > size ? size : length;
        memcpy(to, data, length);
        data += length;
        size -= length;
    }
    pool->file->changes++; /* else no rings are looked for */
    (void)process_foreach(parent, read_process, NULL);
    return 0;
}
