/* SPDX-License-Identifier: MIT */
#include "agent/readers.h"

#include <inttypes.h>
#include <string.h>

/* The number of pages of a ring. buffer_size_kb is "1408" or, before the first use, "7 (expanded:
 * 1408)"; at the top level "X" if CPUs differ. */
static uint64_t ring_pages(int dir, size_t page_size)
{
    _cleanup_free_ char *text = NULL;
    uint64_t kb = 0;
    const char *at;
    size_t len;

    if (tracefs_read(dir, "buffer_size_kb", 4096, &text, &len) >= 0) {
        at = strstr(text, "expanded: ");
        kb = strtoull(at ? at + strlen("expanded: ") : text, NULL, 10);
    }
    if (kb == 0)
        kb = 1408; /* the kernel's default */
    return kb * 1024 / page_size + 1;
}

int readers_init(struct readers *readers, int dir, size_t queue_bytes, const struct agent_log *log,
                 struct wakeup *sender, struct error *error)
{
    struct tracefs_page page;
    int r = tracefs_page(dir, &page, error);

    memset(readers, 0, sizeof *readers);
    if (r < 0)
        return r;
    readers->buffer = (struct reader_buffer){
        .dir = dir,
        .page = page,
        .queue_bytes = queue_bytes,
        .period_ms = READER_PERIOD_MS,
        .ring_pages = ring_pages(dir, page.size),
        .log = log,
        .sender = sender,
    };
    r = cpus_online(&readers->online);
    if (r == -ERANGE) {
        agent_log(log, "CPUs from %u on are not traced", CPU_SET_MAX);
        r = 0;
    }
    if (r < 0)
        return error_set(error, r, "", "cannot list the CPUs: %s", strerror(-r));
    return 0;
}

void readers_done(struct readers *readers)
{
    for (unsigned i = 0; i < atomic_load(&readers->n); i++)
        reader_free(readers->list[i]);
    atomic_store(&readers->n, 0);
    readers->have = (struct cpu_set){0};
}

int readers_add(struct readers *readers, uint32_t cpu)
{
    unsigned n = atomic_load(&readers->n);
    struct reader *reader;
    int r;

    if (cpu >= CPU_SET_MAX || cpu_set_has(&readers->have, cpu))
        return -EEXIST;
    r = reader_new(&readers->buffer, cpu, &reader);
    if (r < 0)
        return r;
    cpu_set_add(&readers->have, cpu);
    reader->index = n;
    readers->list[n] = reader;
    atomic_store(&readers->n, n + 1);
    if (readers->running)
        reader_start(reader);
    return 0;
}

int readers_update_cpus(struct readers *readers)
{
    struct cpu_set now;
    int r = cpus_online(&now);

    if (r < 0 && r != -ERANGE)
        return r;
    /* A CPU may have been offline and back between two checks; the thread's affinity shows it. */
    for (unsigned i = 0; i < atomic_load(&readers->n); i++) {
        struct reader *reader = readers->list[i];
        pid_t tid = atomic_load(&reader->tid);

        if (tid && cpu_set_has(&now, reader->cpu) && !cpus_is_bound(tid, reader->cpu))
            cpus_bind(tid, reader->cpu);
    }
    if (memcmp(&now, &readers->online, sizeof now) == 0)
        return 0;
    readers->online = now;
    return 1;
}

void readers_start(struct readers *readers)
{
    readers->running = true;
    for (unsigned i = 0; i < atomic_load(&readers->n); i++)
        reader_start(readers->list[i]);
}

void readers_stop(struct readers *readers)
{
    readers->running = false;
    for (unsigned i = 0; i < atomic_load(&readers->n); i++)
        reader_stop(readers->list[i]);
}

bool readers_are_stopped(struct readers *readers)
{
    for (unsigned i = 0; i < atomic_load(&readers->n); i++)
        if (!reader_is_stopped(readers->list[i]))
            return false;
    return true;
}

void readers_flush(struct readers *readers)
{
    for (unsigned i = 0; i < atomic_load(&readers->n); i++)
        reader_flush(readers->list[i]);
}

bool readers_are_flushed(struct readers *readers)
{
    for (unsigned i = 0; i < atomic_load(&readers->n); i++)
        if (!reader_is_flushed(readers->list[i]))
            return false;
    return true;
}

uint64_t readers_held(struct readers *readers)
{
    uint64_t held = 0;

    for (unsigned i = 0; i < atomic_load(&readers->n); i++)
        held += queue_held(&readers->list[i]->queue);
    return held;
}
