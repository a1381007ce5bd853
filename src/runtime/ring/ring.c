/* SPDX-License-Identifier: MIT */

/* Creates rings and assigns them to threads. A thread's first event takes a ring that another thread has left, or
 * creates one; at its end, a thread leaves its ring. The first event may happen in a signal handler that interrupts
 * anything, even malloc() or this code. So there is no lock, no allocation but mmap(), and every step is a
 * compare-and-exchange or may be done twice.
 *
 * A forked child must not write to its parent's rings. What a thread knows of its ring is in memory that the kernel
 * clears in the child (MADV_WIPEONFORK). So this is also true for a child of _Fork() or clone(), and in a handler that
 * runs before fork() has returned. */

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/process/proc_file.h"
#include "runtime/ring/process_dir.h"
#include "runtime/ring/reserve_memory.h"
#include "runtime/ring/ring_drops.h"
#include "runtime/ring/ring_owner.h"
#include "runtime/ring/ring_pool.h"
#include "runtime/wakeup.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define PAGE 4096U
#define SIZE_MIN (64U << 10)
#define SIZE_MAX_ (1ULL << 30)
#define SUBBUFFER_MIN (8U << 10)
#define CLASSES_MIN 1024U
#define SUBBUFFERS_SMALL 4 /* in a ring that is made when `total` is used up */

/* A dead thread may not have left its ring; whether there are such is looked at each time so many
 * rings more were made. */
#define REAP_EVERY 64

/* pthread_setspecific() allocates for keys from this on, which a signal handler must not (glibc). */
#define KEYS_IN_PLACE 32

_Static_assert(__GCC_ATOMIC_LLONG_LOCK_FREE == 2, "one instruction stores a position");
_Static_assert(offsetof(struct ring_map, committed) == 128, "as documented");
_Static_assert(offsetof(struct ring_map, closed) == 320, "as documented");
_Static_assert(offsetof(struct ring_map, consumed) == 384, "as documented");
_Static_assert(offsetof(struct ring_map, releases) == 448, "as documented");
_Static_assert(offsetof(struct ring_map, owner) == 512, "as documented");
_Static_assert(sizeof(struct ring_map) <= PAGE && RING_CLASSES_OFFSET == PAGE, "as documented");
_Static_assert(sizeof(struct ring_packet_header) == 96, "as documented");
_Static_assert(offsetof(struct strata_ring_commit, time) ==
                   offsetof(struct ring_map, time) - offsetof(struct ring_map, committed),
               "the emit path's view");
/* Like strata_ring_self: other models of thread-local storage may allocate. */
#define LOCAL_TLS __thread __attribute__((tls_model("initial-exec")))

struct strata_ring ring_none = {.busy = 1};
__thread struct strata_ring *strata_ring_self = &ring_none;

/* Its rings of the levels from 1 on; NULL: none yet. */
static LOCAL_TLS struct strata_ring *nested[RING_LEVELS - 1];

/* On a cache line of its own each. */
struct handle {
    struct strata_ring ring;
} __attribute__((aligned(128)));

/* All that a process knows of its rings; wiped in its children, which make one of their own. It stays
 * where it is for ever, as threads of the child may still point into it: what they find is zero. */
struct home {
    uint32_t alive;
    uint32_t n;      /* numbers given to rings */
    uint32_t n_free; /* about how many of them no thread owns */
    uint64_t bytes;  /* in them */
    struct ring_map *maps[RINGS_MAX];
    struct handle handles[RINGS_MAX];
};

static struct home *home;

/* What to unmap in a forked child. Not wiped. */
static struct {
    struct ring_map *map;
    size_t length;
} mapped[RINGS_MAX];
static uint32_t n_mapped;

static struct {
    uint64_t size; /* 0: not said */
    uint64_t subbuffer_size, total;
    uint32_t n_classes;
    bool overwrite;
    uint8_t uuid[16];
} setup = {
    .subbuffer_size = RING_SUBBUFFER_SIZE,
    .total = RING_TOTAL,
    .n_classes = CLASSES_MIN,
};

static pthread_key_t leave_key;
static bool have_leave_key;

/* How many events of this thread found no ring. */
static LOCAL_TLS unsigned tries;

/* ---- Options ---- */

static uint64_t power_of_two(uint64_t n, uint64_t low, uint64_t high)
{
    uint64_t size = low;

    while (size < n && size < high)
        size *= 2;
    return size;
}

int ring_setup(const struct ring_options *options)
{
    uint64_t size, subbuffer_size;

    int r;

    if (options->size > SIZE_MAX_)
        return -EINVAL;

    size = power_of_two(options->size ? options->size : RING_SIZE, SIZE_MIN, SIZE_MAX_);
    subbuffer_size =
        power_of_two(options->subbuffer_size ? options->subbuffer_size : RING_SUBBUFFER_SIZE,
                     SUBBUFFER_MIN, SIZE_MAX_);
    if (subbuffer_size > size / 2) {
        if (options->subbuffer_size)
            return -EINVAL;
        subbuffer_size = size / 2;
    }

    r = process_dir_setup(options->dir ? options->dir : "", !options->unnamed);
    if (r < 0)
        return r;
    setup.size = options->size ? size : 0;
    setup.subbuffer_size = subbuffer_size;
    setup.total = options->total ? options->total : RING_TOTAL;
    setup.n_classes =
        (uint32_t)power_of_two(options->n_classes, CLASSES_MIN, (uint64_t)RING_CLASS_MAX + 1);
    setup.overwrite = options->overwrite;
    memcpy(setup.uuid, options->uuid, sizeof(setup.uuid));
    return 0;
}

/* ---- Making ---- */

static struct home *get_home(void)
{
    struct home *now = __atomic_load_n(&home, __ATOMIC_ACQUIRE), *made;

    if (now && __atomic_load_n(&now->alive, __ATOMIC_ACQUIRE))
        return now;

    made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED)
        return NULL;
    /* Before Linux 4.14 there is none; the handlers of fork() below do then what can be done. */
    (void)madvise(made, sizeof(*made), MADV_WIPEONFORK);
    made->alive = 1;
    if (__atomic_compare_exchange_n(&home, &now, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return made;
    munmap(made, sizeof(*made)); /* another thread, or a handler above us, was faster */
    return now;
}

/* A size that a ring may have, as long as all rings have no more than LIMIT bytes. */
struct size {
    uint64_t bytes, limit;
};

/* What the next ring may have, the largest first. Returns how many there are to try. */
static unsigned sizes_to_try(struct size ret[3])
{
    uint64_t small = setup.subbuffer_size * SUBBUFFERS_SMALL, usual = setup.size;
    unsigned n = 0;

    if (!usual) {
        usual = RING_SIZE;
        /* A kernel that cannot take pages later takes all of them now. */
        if (!setup.overwrite && reserve_is_supported())
            ret[n++] = (struct size){RING_SIZE_FEW, setup.total / 4};
    }
    ret[n++] = (struct size){usual, setup.total};
    ret[n++] = (struct size){MIN(small, usual), UINT64_MAX};
    return n;
}

/* Counts the bytes of a ring before it is made: other threads make theirs at the same time. */
static bool claim_bytes(struct home *at, const struct size *size)
{
    uint64_t taken = __atomic_load_n(&at->bytes, __ATOMIC_RELAXED);

    do {
        if (size->bytes > size->limit || taken > size->limit - size->bytes)
            return false;
    } while (!__atomic_compare_exchange_n(&at->bytes, &taken, taken + size->bytes, true,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return true;
}

/* Takes the next number, and makes its ring, owned by TID. */
static struct strata_ring *make_ring(struct home *at, uint32_t tid)
{
    uint64_t subbuffer_size = setup.subbuffer_size, classes_size, length = 0, size = 0;
    struct size sizes[3];
    unsigned n_sizes = sizes_to_try(sizes);
    uint32_t number;
    struct strata_ring *ring;
    uint32_t n_classes = setup.n_classes;
    struct ring_map *map = NULL;
    bool has_file, has_all;

    classes_size = (n_classes * sizeof(uint64_t) + PAGE - 1) & ~(uint64_t)(PAGE - 1);

    /* Numbers of rings that could not be made are not used again: what is tried each time would be
     * the same. There are enough. */
    number = __atomic_fetch_add(&at->n, 1, __ATOMIC_RELAXED);
    if (number >= RINGS_MAX) {
        __atomic_store_n(&at->n, RINGS_MAX, __ATOMIC_RELAXED);
        return NULL;
    }

    /* Allocates the pages of the first sub-buffer now, and of the others when events reach them [10]. */
    for (unsigned i = 0; i < n_sizes && !map; i++) {
        if (!claim_bytes(at, &sizes[i]))
            continue;
        size = sizes[i].bytes;
        length = PAGE + classes_size + size;
        map = dir_map_ring((size_t)length, (size_t)(PAGE + classes_size + subbuffer_size), number,
                           setup.overwrite, i + 2 < n_sizes, &has_file, &has_all);
        if (!map)
            __atomic_fetch_sub(&at->bytes, size, __ATOMIC_RELAXED);
    }
    if (!map)
        return NULL;

    map->version = RING_VERSION;
    map->flags = (setup.overwrite ? RING_OVERWRITE : 0) | (has_file ? 0 : RING_NO_FILE);
    map->size = size;
    map->subbuffer_size = subbuffer_size;
    map->data_offset = PAGE + classes_size;
    map->classes_offset = RING_CLASSES_OFFSET;
    map->n_classes = n_classes;
    map->number = number;
    map->pid = (uint32_t)getpid();
    map->clock_kind = trace_clock_kind();
    memcpy(map->uuid, setup.uuid, sizeof(map->uuid));
    map->clock_hz = trace_clock_hz_known();
    map->clock_pair = trace_clock_pair(NULL);
    map->process_start = proc_start_time();
    map->owner = tid;
    map->ready = has_all ? UINT64_MAX : subbuffer_size;
    map->time = map->clock_pair.ticks;

    ring = &at->handles[number].ring;
    ring->mask = size - 1;
    ring->sub_mask = subbuffer_size - 1;
    ring->data = (uint8_t *)map + PAGE + classes_size;
    ring->n_classes = n_classes;
    ring->line = (struct strata_ring_commit *)&map->committed;

    /* Last: the magic states that the rest of the header is complete. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    memcpy(map->magic, RING_MAGIC, sizeof(map->magic));
    mapped[number].length = (size_t)length;
    mapped[number].map = map;
    while (__atomic_load_n(&n_mapped, __ATOMIC_RELAXED) <= number)
        __atomic_fetch_add(&n_mapped, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&at->maps[number], map, __ATOMIC_RELEASE);
    wakeup_post(); /* it does not look for rings where no event is on, as far as the library knows */
    return ring;
}

/* ---- Changing hands ---- */

/* Closes the packet that is open, if one is, so that the ring stands at the begin of a sub-buffer. A
 * record that is still open (its thread ended in the middle) is given up and counted. Called by
 * the owner outside of begin and end, or by the thread that claimed the ring of a dead owner. */
static void ring_settle(struct strata_ring *ring)
{
    struct strata_ring_commit *line = ring->line;
    struct ring_map *map = ring_map_of(line);

    if (__atomic_load_n(&ring->busy, __ATOMIC_RELAXED))
        ring_add(&map->discarded, 1);
    /* It may have died between two of these stores of the emit path. */
    ring->head = (__atomic_load_n(&line->committed, __ATOMIC_RELAXED) + 7) & ~7ULL;
    if (ring->head & ring->sub_mask) {
        close_packet(ring, map, line->time);
        ring->head = (ring->head + ring->sub_mask) & ~ring->sub_mask;
        __atomic_store_n(&line->committed, ring->head, __ATOMIC_RELEASE);
        __atomic_store_n(&map->closed, ring->head, __ATOMIC_RELEASE);
    }
    ring->limit = 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&ring->busy, 0, __ATOMIC_RELAXED);
}

static bool has_room(const struct ring_map *map)
{
    uint64_t committed = __atomic_load_n(&map->committed, __ATOMIC_RELAXED);

    return map->flags & RING_OVERWRITE ||
           committed + map->subbuffer_size - __atomic_load_n(&map->consumed, __ATOMIC_RELAXED) <=
               map->size;
}

/* A ring that its thread left. With ROOM: one in which a packet can be opened now. */
static struct strata_ring *take_free(struct home *at, uint32_t tid, bool room)
{
    uint32_t n = MIN(__atomic_load_n(&at->n, __ATOMIC_RELAXED), (uint32_t)RINGS_MAX);

    if (__atomic_load_n(&at->n_free, __ATOMIC_RELAXED) == 0)
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        struct ring_map *map = __atomic_load_n(&at->maps[i], __ATOMIC_ACQUIRE);
        uint32_t nobody = 0;

        if (!map || __atomic_load_n(&map->owner, __ATOMIC_RELAXED) != 0 ||
            (map->flags & RING_OVERWRITE) != (setup.overwrite ? RING_OVERWRITE : 0) ||
            (room && !has_room(map)))
            continue;
        /* Acquire: all that the last owner wrote, to the handle too, is seen. */
        if (!__atomic_compare_exchange_n(&map->owner, &nobody, tid, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        __atomic_fetch_sub(&at->n_free, 1, __ATOMIC_RELAXED);
        return &at->handles[i].ring;
    }
    return NULL;
}

/* A ring whose thread is dead and did not leave it: it ended before the library was ready to hear of
 * it, or by a bare system call. */
static struct strata_ring *take_dead(struct home *at, uint32_t tid)
{
    uint32_t n = MIN(__atomic_load_n(&at->n, __ATOMIC_RELAXED), (uint32_t)RINGS_MAX);
    pid_t pid = getpid();

    for (uint32_t i = 0; i < n; i++) {
        struct ring_map *map = __atomic_load_n(&at->maps[i], __ATOMIC_ACQUIRE);
        uint32_t owner;

        if (!map)
            continue;
        owner = __atomic_load_n(&map->owner, __ATOMIC_ACQUIRE);
        if (owner == 0 || owner == tid || syscall(SYS_tgkill, pid, (pid_t)owner, 0) == 0 ||
            errno != ESRCH)
            continue;
        if (!__atomic_compare_exchange_n(&map->owner, &owner, tid, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        ring_settle(&at->handles[i].ring);
        return &at->handles[i].ring;
    }
    return NULL;
}

static struct strata_ring *find_ring(struct home *at, uint32_t tid)
{
    struct strata_ring *ring = take_free(at, tid, true);
    uint32_t n = __atomic_load_n(&at->n, __ATOMIC_RELAXED);

    if (!ring && (n >= RINGS_MAX || (n > 0 && n % REAP_EVERY == 0)))
        ring = take_dead(at, tid);
    if (!ring)
        ring = make_ring(at, tid);
    if (!ring)
        ring = take_free(at, tid, false);
    return ring;
}

/* The ring is the thread's from now on. */
static void name_thread(struct ring_map *map, uint32_t tid)
{
    char name[16] = "";

    (void)prctl(PR_GET_NAME, name);
    map->tid = tid;
    memcpy(map->thread_name, name, sizeof(map->thread_name));
}

static void give_back(struct home *at, struct ring_map *map)
{
    /* Release: the next owner sees what we wrote. */
    __atomic_store_n(&map->owner, 0, __ATOMIC_RELEASE);
    __atomic_fetch_add(&at->n_free, 1, __ATOMIC_RELAXED);
}

static struct strata_ring **place_of_level(unsigned level)
{
    return level == 0 ? &strata_ring_self : &nested[level - 1];
}

struct strata_ring *ring_of_level(unsigned level)
{
    struct strata_ring *ring = *place_of_level(level);

    return ring ? ring : &ring_none;
}

/* A ring for the thread, which has none of this level as far as it knows. */
static struct strata_ring *acquire(unsigned level)
{
    struct strata_ring **place = place_of_level(level), *before = *place, *ring = NULL;
    struct home *at;
    uint32_t tid;

    if (before && before->line)
        return before; /* a handler found one, after the thread had looked */

    tid = (uint32_t)syscall(SYS_gettid);
    at = get_home();
    if (at)
        ring = find_ring(at, tid);
    if (!ring) {
        ring = ring_of_level(level);
        return ring->line ? ring : NULL;
    }
    name_thread(ring_map_of(ring->line), tid);
    /* A handler that came meanwhile may have found a ring for this thread: one is enough. */
    if (!__atomic_compare_exchange_n(place, &before, ring, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED)) {
        give_back(at, ring_map_of(ring->line));
        return before;
    }
    if (level == 0 && have_leave_key && leave_key < KEYS_IN_PLACE)
        (void)pthread_setspecific(leave_key, ring);
    return ring;
}

struct strata_ring *ring_acquire(unsigned level)
{
    static const int own_error[] = {SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
    struct strata_ring *ring = NULL;
    int saved_errno = errno;
    sigset_t all, mask;

    /* Each attempt is some system calls; when there was no ring to be had, few events try again. */
    if ((tries & 1023) == 0) {
        /* Handlers wait, as far as they can: where signals come often, the kernel would break off the
         * taking of space for a file again and again. */
        sigfillset(&all);
        for (size_t i = 0; i < sizeof(own_error) / sizeof(*own_error); i++)
            sigdelset(&all, own_error[i]);
        pthread_sigmask(SIG_BLOCK, &all, &mask);
        ring = acquire(level);
        pthread_sigmask(SIG_SETMASK, &mask, NULL);
    }
    tries = ring ? 0 : tries + 1;
    errno = saved_errno;
    return ring;
}

/* At the end of a thread, which is outside of begin and end. */
static void leave(void *p)
{
    struct home *at = __atomic_load_n(&home, __ATOMIC_ACQUIRE);

    (void)p;
    for (unsigned level = RING_LEVELS; level-- > 0;) {
        struct strata_ring **place = place_of_level(level), *ring = *place;

        if (!ring || ring == &ring_none)
            continue;
        /* After this, an event of a signal handler or of a later destructor claims another ring. */
        *place = level == 0 ? &ring_none : NULL;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        if (!at || !ring->line)
            continue;
        ring_settle(ring);
        give_back(at, ring_map_of(ring->line));
    }
}

/* ---- Fork ---- */

static LOCAL_TLS sigset_t mask_before_fork;

/* A handler in the child before after_fork_child() has run would do no harm, as what it finds is wiped;
 * without MADV_WIPEONFORK it would write to the parent's ring. */
static void before_fork(void)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask_before_fork);
}

static void after_fork_parent(void)
{
    pthread_sigmask(SIG_SETMASK, &mask_before_fork, NULL);
}

/* Whether ring NUMBER of OLD is one of this thread's. */
static bool is_mine(struct home *old, size_t number)
{
    for (unsigned level = 0; level < RING_LEVELS; level++)
        if (ring_of_level(level) == &old->handles[number].ring)
            return true;
    return false;
}

static void after_fork_child(void)
{
    struct home *old = __atomic_load_n(&home, __ATOMIC_RELAXED);

    for (size_t i = 0; i < n_mapped; i++) {
        struct ring_map *map = mapped[i].map;
        bool mine = old && is_mine(old, i);

        /* Where it was not wiped. */
        if (mine)
            memset(&old->handles[i], 0, sizeof(old->handles[i]));
        if (!map)
            continue;
        mapped[i].map = NULL;
        /* fork() may have been called by a handler that interrupted this thread between begin and end.
         * There the child goes on, with addresses in the ring: they must stay good, but be its own. */
        if (mine &&
            mmap(map, mapped[i].length, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED) {
            if (ring_pool_contains(map))
                ring_pool_spoil(map);
        } else if (!ring_pool_contains(map)) {
            munmap(map, mapped[i].length);
        }
    }
    n_mapped = 0;
    if (old)
        old->alive = 0;
    strata_ring_self = &ring_none;
    memset(nested, 0, sizeof(nested));
    tries = 0;
    process_dir_forget();
    ring_drops_forget();
    pthread_sigmask(SIG_SETMASK, &mask_before_fork, NULL);
}

static void RUNS_FIRST ring_begin(void)
{
    have_leave_key = pthread_key_create(&leave_key, leave) == 0;
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* ---- What others ask ---- */

void ring_count_no_ring(uint32_t class_id)
{
    ring_drops_add(class_id);
    process_dir_count_no_ring();
}

unsigned ring_count(void)
{
    struct home *at = __atomic_load_n(&home, __ATOMIC_ACQUIRE);

    return at ? MIN(__atomic_load_n(&at->n, __ATOMIC_ACQUIRE), (uint32_t)RINGS_MAX) : 0;
}

struct ring_map *ring_at(unsigned number)
{
    struct home *at = __atomic_load_n(&home, __ATOMIC_ACQUIRE);

    return at && number < RINGS_MAX ? __atomic_load_n(&at->maps[number], __ATOMIC_ACQUIRE) : NULL;
}

size_t ring_length(unsigned number)
{
    return number < RINGS_MAX ? mapped[number].length : 0;
}

uint64_t ring_drops_of(uint32_t class_id)
{
    uint64_t n = ring_no_ring_drops_of(class_id);

    for (unsigned i = 0; i < ring_count(); i++) {
        struct ring_map *map = ring_at(i);

        if (map && class_id < home->handles[i].ring.n_classes)
            n += __atomic_load_n(&ring_drops(map)[class_id], __ATOMIC_RELAXED);
    }
    return n;
}

bool ring_all_taken(void)
{
    const struct home *at = __atomic_load_n(&home, __ATOMIC_ACQUIRE);

    for (unsigned i = 0; i < ring_count(); i++) {
        const struct ring_map *map = ring_at(i);
        bool busy;

        if (!map)
            continue;
        busy = __atomic_load_n(&at->handles[i].ring.busy, __ATOMIC_RELAXED);
        if (busy || __atomic_load_n(&map->consumed, __ATOMIC_ACQUIRE) <
                        __atomic_load_n(&map->committed, __ATOMIC_ACQUIRE))
            return false;
    }
    return true;
}

void ring_end(bool remove)
{
    process_dir_end(ring_count(), remove);
}
