/* SPDX-License-Identifier: MIT */
#include "record/rings/drain.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/saturate.h"

/* Limit for the rings of one process: more would take the address space for the rings of others. */
#define MAPPED_MAX (UINT64_C(1) << 40)
/* A flight recorder's sub-buffer is copied. */
#define SUBBUFFER_MAX (UINT64_C(1) << 30)

struct ring {
    unsigned number;
    struct shared_map file;
    struct ring_map *map; /* in it */
    struct ring_reader reader;
    uint8_t *copy; /* of a sub-buffer, for flight recorders that fly */
    struct native_stream stream;
    uint64_t undecoded; /* of `reader.lost` */
};

struct ring_drain {
    struct process *process;
    struct native *native; /* NULL: only counted */
    bool live, resume;
    struct ring **rings; /* by number; NULL: not seen, or not to be read */
    uint8_t *damaged;    /* likewise: is not tried again */
    struct drain_stats taken;
    double fullest;
    uint64_t mapped;                   /* bytes of all rings, so far */
    struct process_rings_state looked; /* as it was looked through last */
};

uint64_t drain_stats_lost(const struct drain_stats *stats)
{
    return add_saturated(add_saturated(stats->discarded, stats->no_ring),
                         add_saturated(stats->unwritten, stats->undecoded));
}

/* ---- Rings ---- */

static void ring_free(struct ring *ring)
{
    if (!ring)
        return;
    native_stream_done(&ring->stream);
    shared_map_done(&ring->file);
    free(ring->copy);
    free(ring);
}

bool ring_drain_is_sound(const struct ring_reader *reader)
{
    const struct ring_map *map = reader->map;
    uint64_t from = reader->position;
    /* In this order: of a ring that goes on, `closed` may have been raised since. */
    uint64_t closed = __atomic_load_n(&map->closed, __ATOMIC_ACQUIRE);
    uint64_t committed = __atomic_load_n(&map->committed, __ATOMIC_ACQUIRE);

    return closed <= committed && map->pid != 0 &&
           (from <= committed ? committed - from : from - committed) <= reader->size;
}

/* Of a ring that is written meanwhile. A flight recorder may have gone on by any number of bytes. */
static bool is_intact(const struct ring *ring)
{
    return !shared_map_is_cut(&ring->file) &&
           (ring->reader.overwrite || ring_drain_is_sound(&ring->reader));
}

static int map_ring(struct ring_drain *taker, struct ring *ring)
{
    int r = process_map_ring(taker->process, ring->number, taker->live, MAPPED_MAX - taker->mapped,
                             &ring->file);

    if (r < 0)
        return r;
    taker->mapped += ring->file.length;
    ring->map = ring->file.bytes;
    return 0;
}

/* 1: *ret; 0: it is not ready, or is gone; -EBADMSG: it is damaged. */
static int open_ring(struct ring_drain *taker, unsigned number, struct ring **ret,
                     struct error *error)
{
    static const char nothing[8];
    struct ring *ring = calloc(1, sizeof(*ring));
    int r;

    if (!ring)
        return -ENOMEM;
    ring->number = number;
    ring->stream.fd = -1;
    r = map_ring(taker, ring);
    if (r == -ENOENT || r == -EAGAIN ||
        (r >= 0 && memcmp(ring->map->magic, nothing, sizeof(nothing)) == 0)) {
        r = 0; /* is being made, or was */
    } else if (r >= 0) {
        r = ring_reader_init(&ring->reader, ring->map, ring->file.length);
        if (r >= 0 && ring->reader.subbuffer_size > SUBBUFFER_MAX)
            r = -EBADMSG;
        if (r >= 0 && (ring->map->number != number || ring->map->pid != taker->process->pid))
            r = -EBADMSG;
        if (r >= 0 && taker->resume)
            ring_reader_resume(&ring->reader);
        if (r >= 0 && !taker->live && !ring_drain_is_sound(&ring->reader))
            r = -EBADMSG;
        r = r < 0 ? -EBADMSG : 1;
    }
    if (r > 0 && taker->native) {
        r = native_stream_open(taker->native, number, ring->reader.stored, &ring->stream, error);
        r = r < 0 ? r : 1;
        if (r == -EBADMSG)
            r = -EUCLEAN; /* that is no fault of the ring's */
    }
    if (r <= 0) {
        ring_free(ring);
        return r;
    }
    *ret = ring;
    return 1;
}

/* Whether there may be rings that were not seen. What comes in the same tick of the kernel's clock does
 * not change the directory's time: it is looked at until that is over. */
static bool may_have_more(struct ring_drain *taker)
{
    struct process_rings_state state;
    struct timespec now;

    if (!taker->live || process_rings_state(taker->process, &state) < 0)
        return true;
    clock_gettime(CLOCK_REALTIME, &now);
    if (state.mtime.tv_sec == taker->looked.mtime.tv_sec &&
        state.mtime.tv_nsec == taker->looked.mtime.tv_nsec &&
        state.pool_changes == taker->looked.pool_changes)
        return false;
    if (now.tv_sec > state.mtime.tv_sec + 1)
        taker->looked = state;
    return true;
}

static int look_for_rings(struct ring_drain *taker, struct error *error)
{
    _cleanup_free_ unsigned *numbers = NULL;
    unsigned n;
    int r;

    if (!may_have_more(taker))
        return 0;
    r = process_rings(taker->process, &numbers, &n);
    if (r < 0)
        return error_set(error, r, taker->process->path, "%s", strerror(-r));
    for (unsigned i = 0; i < n; i++) {
        unsigned number = numbers[i];

        if (taker->rings[number] || taker->damaged[number])
            continue;
        r = open_ring(taker, number, &taker->rings[number], error);
        if (r == -EBADMSG) {
            taker->damaged[number] = 1;
            taker->taken.damaged++;
        } else if (r < 0) {
            return error_set(error, r, taker->process->path, "ring %u: %s", number, strerror(-r));
        } else {
            taker->taken.rings += (unsigned)r;
            if (r == 0) /* it is being made */
                taker->looked = (struct process_rings_state){0};
        }
    }
    return 0;
}

/* ---- Taking ---- */

/* Leaves out of PACKET what cannot be decoded, and counts it as lost. Returns the other records. */
static uint64_t trim(struct ring_drain *taker, struct ring *ring, struct ring_packet *packet)
{
    uint64_t records;
    size_t decoded = classes_count(&taker->process->classes, packet, &records);

    if (decoded < packet->content_size && taker->live) {
        if (process_refresh(taker->process, NULL) >= 0 && taker->native)
            (void)native_describe(taker->native, &taker->process->classes, NULL);
        decoded = classes_count(&taker->process->classes, packet, &records);
    }
    if (decoded < packet->content_size) {
        ring->reader.lost++;
        ring->undecoded++;
        taker->taken.undecoded_bytes += packet->content_size - decoded;
    }
    packet->content_size = decoded;
    return records;
}

static int write_packet(struct ring_drain *taker, struct ring *ring, enum drain_mode how,
                        struct ring_packet *packet)
{
    uint64_t records = trim(taker, ring, packet);
    int r = 0;

    if (taker->native && packet->content_size > 0)
        r = native_stream_write(&ring->stream, packet, ring->reader.lost);
    if (r >= 0) {
        taker->taken.events += records;
        return 0;
    }
    taker->taken.error = r;
    taker->taken.full |= taker->native->full;
    /* Else it stays in its ring, which is read again, or recovered. */
    if (!taker->native->full && how != DRAIN_ALL)
        return r;
    ring->reader.lost += records;
    return 0;
}

static int next_packet(struct ring *ring, enum drain_mode how, struct ring_packet *ret)
{
    static const enum ring_reading readings[] = {
        [DRAIN_OFTEN] = RING_CLOSED, [DRAIN_OPEN] = RING_FLUSH, [DRAIN_SAVE] = RING_FLUSH,
        [DRAIN_ALL] = RING_FLUSH,    [DRAIN_DEAD] = RING_FLUSH,
    };

    if (!ring->reader.overwrite || how == DRAIN_DEAD)
        return ring_reader_next(&ring->reader, readings[how], ret);
    if (how != DRAIN_ALL)
        return 0;
    if (!ring->copy)
        ring->copy = malloc((size_t)ring->reader.subbuffer_size);
    return ring->copy ? ring_reader_copy(&ring->reader, RING_FLUSH, ring->copy, ret) : -ENOMEM;
}

/* Writes, as a packet without events, the losses that are in no packet. */
static int print_losses(struct ring_drain *taker, struct ring *ring)
{
    const struct ring_map *map = ring->map;
    uint64_t discarded = ring_discarded(map);
    struct ring_packet packet;

    if (!taker->native || discarded + ring->reader.lost <= ring->stream.discarded)
        return 0;
    ring_reader_losses(&ring->reader, map->time, &packet);
    return native_stream_write(&ring->stream, &packet, ring->reader.lost);
}

static int take_ring(struct ring_drain *taker, struct ring *ring, enum drain_mode how)
{
    uint64_t started = ring->reader.position, limit = ring->reader.size;
    struct ring_packet packet;
    double full;
    int r = 0;

    if (how == DRAIN_DEAD ? !ring_drain_is_sound(&ring->reader) : !is_intact(ring))
        return -EBADMSG;
    /* Not for ever, should the ring be filled as fast as it is read. */
    while (ring->reader.position - started < limit) {
        struct ring_reader before = ring->reader;
        uint64_t undecoded = ring->undecoded;

        if (next_packet(ring, how, &packet) <= 0)
            break;
        r = write_packet(taker, ring, how, &packet);
        if (r == -EFAULT || shared_map_is_cut(&ring->file))
            return -EBADMSG; /* the file was cut short meanwhile */
        if (r < 0 && how == DRAIN_DEAD)
            return r;
        if (r < 0) {
            ring->reader = before;
            ring->undecoded = undecoded;
            break;
        }
        if (taker->live)
            ring_reader_release(&ring->reader, &packet);
    }
    full = (double)(ring->reader.position - started) / (double)ring->reader.size;
    if (!ring->reader.overwrite && full > taker->fullest)
        taker->fullest = full;
    return how >= DRAIN_SAVE ? print_losses(taker, ring) : 0;
}

/* Writes how many events of threads that got no ring were lost, after all others. */
static int report_no_ring(struct ring_drain *taker, struct error *error)
{
    const struct process *process = taker->process;
    uint64_t lost = __atomic_load_n(&process->file->no_ring, __ATOMIC_RELAXED);
    uint64_t ticks = process->clock_pair.ticks;

    if (!taker->native || lost == 0)
        return 0;
    for (unsigned i = 0; i < RINGS_MAX; i++)
        if (taker->rings[i])
            ticks = MAX(ticks, __atomic_load_n(&taker->rings[i]->map->time, __ATOMIC_RELAXED));
    return native_put_no_ring(taker->native, lost, false, ticks, process->pid, error);
}

static void count_kept(struct ring_drain *taker)
{
    struct drain_stats left;

    if (ring_drain_count(taker->process, &left, NULL) >= 0)
        taker->taken.kept = left.events;
}

/* New rings, and classes. */
static int look(struct ring_drain *taker, enum drain_mode how, struct error *error)
{
    int r = look_for_rings(taker, error);

    if (r < 0)
        return r;
    r = process_refresh(taker->process, how == DRAIN_DEAD ? NULL : error);
    if (r < 0 && how != DRAIN_DEAD)
        return r;
    return taker->native ? native_describe(taker->native, &taker->process->classes, error) : 0;
}

int ring_drain_take(struct ring_drain *taker, enum drain_mode how, struct error *error)
{
    struct process *process = taker->process;
    int r = look(taker, how, error);

    /* There may be descriptors and memory again later: until then, the rings hold what comes. */
    if ((r == -EMFILE || r == -ENFILE || r == -ENOMEM) && how < DRAIN_SAVE) {
        taker->looked = (struct process_rings_state){0};
        if (error)
            error_clear(error);
        return 0;
    }
    if (r < 0)
        return r;
    taker->fullest = 0;
    for (unsigned i = 0; i < RINGS_MAX; i++) {
        struct ring *ring = taker->rings[i];

        if (!ring)
            continue;
        r = take_ring(taker, ring, how);
        if (r == -EBADMSG) {
            ring_free(ring);
            taker->rings[i] = NULL;
            taker->damaged[i] = 1;
            taker->taken.damaged++;
            taker->taken.rings--;
        } else if (r < 0 && how == DRAIN_DEAD) {
            count_kept(taker);
            return error_set(error, r, taker->native ? taker->native->path : process->path,
                             "cannot be written: %s; the rings stay as they are", strerror(-r));
        }
    }
    if (!taker->native || how < DRAIN_ALL)
        return 0;
    r = report_no_ring(taker, error);
    return r < 0 ? r : native_sync(taker->native, error);
}

struct drain_stats ring_drain_taken(const struct ring_drain *taker, double *ret_fullest)
{
    struct drain_stats taken = taker->taken;

    taken.no_ring = __atomic_load_n(&taker->process->file->no_ring, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < RINGS_MAX; i++)
        if (taker->rings[i]) {
            taken.discarded = add_saturated(taken.discarded, ring_discarded(taker->rings[i]->map));
            taken.undecoded += taker->rings[i]->undecoded;
            taken.unwritten += taker->rings[i]->reader.lost - taker->rings[i]->undecoded;
        }
    if (ret_fullest)
        *ret_fullest = taker->fullest;
    return taken;
}

int ring_drain_new(struct process *process, struct native *native, bool live, bool resume,
                   struct ring_drain **ret, struct error *error)
{
    struct ring_drain *taker = calloc(1, sizeof(*taker));
    int r;

    if (!taker)
        return error_set(error, -ENOMEM, process->path, "out of memory");
    *taker =
        (struct ring_drain){.process = process, .native = native, .live = live, .resume = resume};
    taker->rings = calloc(RINGS_MAX, sizeof(*taker->rings));
    taker->damaged = calloc(RINGS_MAX, sizeof(*taker->damaged));
    r = taker->rings && taker->damaged ? look_for_rings(taker, error)
                                       : error_set(error, -ENOMEM, process->path, "out of memory");
    if (r < 0) {
        ring_drain_free(taker);
        return r;
    }
    *ret = taker;
    return 0;
}

void ring_drain_free(struct ring_drain *taker)
{
    if (!taker)
        return;
    for (unsigned i = 0; taker->rings && i < RINGS_MAX; i++)
        ring_free(taker->rings[i]);
    free(taker->rings);
    free(taker->damaged);
    free(taker);
}

uint64_t ring_drain_clock_hz(const struct ring_drain *taker)
{
    for (unsigned i = 0; i < RINGS_MAX; i++)
        if (taker->rings[i] && taker->rings[i]->map->clock_hz)
            return taker->rings[i]->map->clock_hz;
    return 0;
}

int ring_drain_count(struct process *process, struct drain_stats *ret, struct error *error)
{
    struct ring_drain *taker = NULL;
    int r = ring_drain_new(process, NULL, false, true, &taker, error);

    if (r < 0 || !taker)
        return r;
    r = ring_drain_take(taker, DRAIN_DEAD, error);
    if (r >= 0)
        *ret = ring_drain_taken(taker, NULL);
    ring_drain_free(taker);
    return r;
}
