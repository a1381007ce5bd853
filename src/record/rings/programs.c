/* SPDX-License-Identifier: MIT */
#include "record/rings/programs.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/futex_fd.h"
#include "record/recording.h"
#include "tracedir/host.h"

/* A process makes its directory, and a moment later is what has to be in it. */
#define LOOK_FOR NSEC_PER_SEC
#define LOOK_EVERY (NSEC_PER_MSEC / 2)
/* … and where new directories are not announced. */
#define LOOK_BLINDLY (2 * NSEC_PER_MSEC)
#define SAMPLE_EVERY (250 * NSEC_PER_MSEC)
/* While processes wake us. */
#define IDLE_SLEEP (300 * NSEC_PER_MSEC)
/* So many processes are in the manifest before anything of them is; further ones soon after that. */
#define NOTED_AT_ONCE 16u
/* After the pool said that we were woken, and we were not: another user's process may have written there. Nothing wakes us
 * meanwhile, so the rings are looked at by time; while all are nearly empty, twice as long after the last time each time. */
#define DISTRUST (10 * NSEC_PER_SEC)

int programs_open(const char *dir, struct programs *ret_programs, struct error *error)
{
    struct programs programs = {.max = PROGRAMS_MAX, .rings.fd = -1, .watch = -1};
    int r;

    programs.dir = strdup(dir);
    if (!programs.dir || clock_samples_init(&programs.samples) < 0)
        r = error_set(error, -ENOMEM, dir, "out of memory");
    else
        r = rings_dir_make(&programs.rings, error);
    if (r < 0) {
        free(programs.dir);
        free(programs.samples.items);
        return r;
    }
    /* Without it processes that have changed their user are not recorded; that is counted. */
    (void)pool_make(programs.rings.path, &programs.pool);
    if (programs.pool)
        (void)futex_fd_new(&programs.pool->file->asleep, &programs.wake);
    programs.watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (programs.watch >= 0 && inotify_add_watch(programs.watch, programs.rings.path,
                                                 IN_CREATE | IN_MOVED_TO | IN_ONLYDIR) < 0) {
        close(programs.watch);
        programs.watch = -1;
    }
    *ret_programs = programs;
    return 0;
}

char *programs_environment(const struct programs *programs, const char *before,
                           const char *const *patterns, unsigned n)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    if (!f)
        return NULL;
    if (before && *before)
        fprintf(f, "%s;", before);
    for (unsigned i = 0; i < n; i++) {
        fprintf(f, "%s;", patterns[i]);
    }
    fprintf(f, "writer=none,rings=%s", programs->rings.path);
    if (fclose(f) != 0 || !text) { /* glibc leaves no text where memory is out, and returns 0 */
        free(text);
        return NULL;
    }
    return text;
}

/* ---- Clocks ---- */

int clock_samples_init(struct clock_samples *ret)
{
    *ret = (struct clock_samples){.every = SAMPLE_EVERY};
    ret->items = calloc(CLOCK_SAMPLES_MAX, sizeof *ret->items);
    return ret->items ? 0 : -ENOMEM;
}

void clock_samples_take(struct clock_samples *samples, uint64_t now)
{
    struct clock_sample *item;

    if (now < samples->next)
        return;
    if (samples->n == CLOCK_SAMPLES_MAX) {
        for (unsigned i = 0; i < samples->n / 2; i++)
            samples->items[i] = samples->items[2 * i];
        samples->n /= 2;
        samples->every *= 2;
    }
    item = &samples->items[samples->n++];
    item->pair = trace_clock_pair(&item->error_ns);
    samples->next = now + samples->every;
}

uint64_t programs_no_ring(const struct programs *programs, uint32_t *ret_processes)
{
    const struct pool_file *pool = programs->pool ? programs->pool->file : NULL;

    *ret_processes = pool ? __atomic_load_n(&pool->no_ring_processes, __ATOMIC_RELAXED) : 0;
    return pool ? __atomic_load_n(&pool->no_ring_events, __ATOMIC_RELAXED) : 0;
}

/* ---- A process ---- */

static void fail(struct program *program, int err, const struct error *error)
{
    program->error = err;
    snprintf(program->what, sizeof program->what, "%s",
             error->what[0] ? error->what : strerror(-err));
}

void program_note_clock(struct program *program, const struct native *native)
{
    program->counts = native->metadata.clock_kind != CLOCK_KIND_MONOTONIC;
    program->start = native->metadata.start;
    program->hz = native->metadata.clock_hz;
    memcpy(program->uuid, native->uuid, sizeof program->uuid);
}

struct drain_stats program_taken(const struct program *program)
{
    return program->collecting ? ring_drain_taken(program->collector.taker, NULL) : program->taken;
}

/* It is over: nothing more is taken. REMOVE: its rings are of no more use. */
static void end(struct programs *programs, struct program *program, bool remove)
{
    struct error error = {0};

    program->ended = true;
    program->finished = host_moment();
    if (program->collecting) {
        program->taken = ring_drain_taken(program->collector.taker, NULL);
        program_note_clock(program, program->collector.native);
        collector_done(&program->collector);
    }
    program->collecting = false;
    /* A process that has ended after everything was drained has removed them itself, whatever the result. */
    program->left = (program->error < 0 || program->taken.damaged) &&
                    (process_is_slot(program->rings) || access(program->rings, F_OK) == 0);
    if (remove && !program->left && process_remove(program->process, &error) < 0) {
        program->left = true;
        fail(program, error.code ? error.code : -EIO, &error);
    }
    process_free(program->process);
    program->process = NULL;
    programs->changed = true;
}

static void free_program(struct program *program)
{
    if (program)
        free(program->rings);
    free(program);
}

static bool name_is_taken(const struct programs *programs, const char *name)
{
    for (unsigned i = 0; i < programs->n; i++)
        if (strcmp(programs->items[i]->name, name) == 0)
            return true;
    return false;
}

static void choose_name(const struct programs *programs, struct program *program)
{
    char base[32] = "program";

    if (program->pid != programs->main_pid)
        snprintf(base, sizeof base, "program-%u", program->pid);
    snprintf(program->name, sizeof program->name, "%s", base);
    /* A process that has executed another program has rings of both. */
    for (unsigned i = 2; name_is_taken(programs, program->name); i++)
        snprintf(program->name, sizeof program->name, "%s.%u", base, i);
}

static bool is_known(const struct programs *programs, const char *path)
{
    for (unsigned i = 0; i < programs->n; i++)
        if (strcmp(programs->items[i]->rings, path) == 0)
            return true;
    return false;
}

static int add(const char *path, void *userdata)
{
    struct programs *programs = userdata;
    struct error error = {0};
    struct program *program, **bigger;
    _cleanup_free_ char *dir = NULL;
    int r;

    if (is_known(programs, path))
        return 0;
    if (programs->n >= programs->max) {
        programs->n_passed_over++;
        return 0;
    }
    program = calloc(1, sizeof *program);
    bigger = program ? realloc(programs->items, (programs->n + 1) * sizeof *bigger) : NULL;
    if (bigger)
        programs->items = bigger;
    if (bigger)
        program->rings = strdup(path);
    r = bigger && program->rings ? process_open(path, true, &program->process, &error) : -ENOMEM;
    if (r < 0) {
        (void)error_set(&error, r, path, "%s", error_text(r)); /* where nothing is set yet */
        free_program(program);
        /* It is looked at again. One that has ended may have removed its rings by itself; damaged slots of the pool
         * are counted at the end. */
        if (r != -ENOENT && r != -ESTALE && !programs->unread.code &&
            (error_is_shortage(r) || !process_is_slot(path)))
            programs->unread = error;
        return 0;
    }
    program->pid = program->process->pid;
    memcpy(program->program, program->process->program, sizeof program->program);
    program->began = host_moment();
    choose_name(programs, program);
    programs->items[programs->n++] = program;
    programs->changed = true;
    if (asprintf(&dir, "%s/%s", programs->dir, program->name) < 0) {
        dir = NULL;
        r = -ENOMEM;
    } else {
        r = collector_init(&program->collector, program->process, dir, true, &error);
    }
    if (r < 0) {
        fail(program, r, &error);
        end(programs, program, false);
        return 0;
    }
    program->collector.native->max_size = programs->max_size;
    program->collecting = true;
    program->refine_after = NSEC_PER_SEC;
    program->refine_at = clock_ns(CLOCK_MONOTONIC) + NSEC_PER_SEC;
    program_note_clock(program, program->collector.native);
    return 0;
}

/* The longer it runs, the better its clock's rate is known: should we be killed, that is what there is. Each
 * time as long after the last one as all before, so that what it was wrong by until then is doubled at most. */
static void refine(struct programs *programs, struct program *program, uint64_t now)
{
    if (now < program->refine_at)
        return;
    if (native_refine(program->collector.native, process_clock_hz(program->process, 0), NULL) >= 0)
        program_note_clock(program, program->collector.native);
    program->refine_at = now + program->refine_after;
    program->refine_after *= 2;
    programs->changed = true;
}

/* ---- Being woken ---- */

int programs_wakeup_fd(const struct programs *programs)
{
    return programs->is_armed ? futex_fd(programs->wake) : -1;
}

static uint32_t *asleep_of(const struct programs *programs)
{
    return &programs->pool->file->asleep;
}

static void disarm(struct programs *programs)
{
    if (programs->is_armed)
        __atomic_store_n(asleep_of(programs), 0, __ATOMIC_RELAXED);
    programs->is_armed = false;
}

/* From now on; the rings are to be drained once more before we sleep. */
static void arm(struct programs *programs, uint64_t now)
{
    if (programs->is_armed || now < programs->armed_at)
        return;
    __atomic_store_n(asleep_of(programs), 1, __ATOMIC_RELAXED);
    /* Before the rings are looked at again. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    programs->is_armed = futex_fd_arm(programs->wake, 1) >= 0;
}

/* Whether a process has woken us since arm(). */
static bool see_wakeup(struct programs *programs, uint64_t now)
{
    struct pollfd event = {programs_wakeup_fd(programs), POLLIN, 0};

    if (!programs->is_armed)
        return false;
    if (__atomic_load_n(asleep_of(programs), __ATOMIC_ACQUIRE) != 0) {
        if (poll(&event, 1, 0) > 0) /* of an earlier one */
            (void)futex_fd_arm(programs->wake, 1);
        return false;
    }
    if (poll(&event, 1, 0) <= 0)
        programs->armed_at = now + DISTRUST;
    programs->is_armed = false;
    return true;
}

static bool wakes(const struct program *program)
{
    return program->collector.pidfd >= 0 && program->collector.is_quiet &&
           __atomic_load_n(&program->process->file->flags, __ATOMIC_RELAXED) & PROCESS_WAKES;
}

/* Whether a process may be coming. A look after `look_until` ends that, and not the time, in which the recorder may have had no
 * CPU. */
static bool is_looking(const struct programs *programs)
{
    return programs->watch >= 0 && programs->looked_at <= programs->look_until;
}

/* Whether all that can happen wakes us. */
static bool may_sleep(const struct programs *programs)
{
    bool may = programs->may_sleep && programs->wake && !shared_map_is_cut(&programs->pool->map) &&
               programs->watch >= 0 && !is_looking(programs);

    for (unsigned i = 0; i < programs->n && may; i++)
        may = programs->items[i]->ended || wakes(programs->items[i]);
    return may;
}

/* ---- All of them ---- */

void programs_look(struct programs *programs)
{
    unsigned before = programs->n;
    int r;

    programs->unread = (struct error){0};
    programs->n_passed_over = 0; /* their rings stay: the last look finds all of them */
    r = process_foreach(programs->rings.path, add, programs);
    if (r < 0)
        error_set(&programs->unread, r, programs->rings.path, "%s", error_text(r));
    if (programs->recording && programs->n > before && before < NOTED_AT_ONCE)
        (void)recording_note(programs->recording, NULL);
}

static void look(struct programs *programs, uint64_t now)
{
    char events[4096];
    uint32_t changes = programs->pool_changes;

    while (programs->watch >= 0 && read(programs->watch, events, sizeof events) > 0)
        programs->look_until = now + LOOK_FOR;
    if (programs->pool)
        changes = __atomic_load_n(&programs->pool->file->changes, __ATOMIC_ACQUIRE);
    if (changes != programs->pool_changes)
        programs->look_until = now + LOOK_FOR;
    programs->pool_changes = changes;
    if (programs->watch >= 0 && !is_looking(programs))
        return;
    if (now < programs->look_next)
        return;
    programs->looked_at = now;
    programs->look_next = now + (programs->watch >= 0 ? LOOK_EVERY : LOOK_BLINDLY);
    programs_look(programs);
}

int programs_step(struct programs *programs, uint64_t *ret_sleep)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    uint64_t sleep = IDLE_SLEEP;
    bool is_woken = see_wakeup(programs, now);

    clock_samples_take(&programs->samples, now);
    look(programs, now);
    /* Slots of the pool are taken by processes that were started as root; unless armed, they do not wake us. */
    if (programs->watch < 0 ||
        (programs->pool && geteuid() == 0 && !programs->is_armed &&
         __atomic_load_n(&programs->pool->file->n_mapped, __ATOMIC_RELAXED) > 0))
        sleep = LOOK_BLINDLY;
    if (is_looking(programs))
        sleep = LOOK_EVERY;
    for (unsigned i = 0; i < programs->n; i++) {
        struct program *program = programs->items[i];
        struct error error = {0};
        uint64_t one = sleep;
        int r;

        if (program->ended)
            continue;
        if (is_woken)
            collector_hurry(&program->collector);
        r = collector_step(&program->collector, &one, &error);
        if (r < 0)
            fail(program, r, &error);
        if (r <= 0)
            end(programs, program, true);
        else
            sleep = MIN(sleep, one);
        if (r > 0)
            refine(programs, program, now);
    }
    if (!may_sleep(programs)) {
        disarm(programs);
        programs->unarmed_sleep = 0;
    } else if (programs->is_armed) {
        sleep = IDLE_SLEEP;
    } else if (now < programs->armed_at) {
        sleep = programs->unarmed_sleep = MIN(MAX(2 * programs->unarmed_sleep, sleep), IDLE_SLEEP);
    } else {
        arm(programs, now);
    }
    *ret_sleep = sleep;
    return 0;
}

void programs_flush(struct programs *programs)
{
    programs_look(programs);
    for (unsigned i = 0; i < programs->n; i++)
        if (!programs->items[i]->ended)
            collector_flush(&programs->items[i]->collector);
}

/* Events of processes that could make no rings are reported with the first process; its trace is whole by now. */
static void put_no_ring(struct programs *programs)
{
    uint32_t n_processes;
    uint64_t events = programs_no_ring(programs, &n_processes);
    _cleanup_free_ char *dir = NULL;
    const struct program *first;
    struct native *native;

    if (events == 0 || programs->n == 0)
        return;
    first = programs->items[0];
    if (asprintf(&dir, "%s/%s", programs->dir, first->name) < 0)
        dir = NULL;
    if (!dir || native_complete(dir, first->uuid, &native, NULL) < 0)
        return; /* the manifest says it as well */
    (void)native_put_no_ring(native, events, true, first->start.ticks, first->pid, NULL);
    native_free(native);
}

static bool is_known_slot(const struct programs *programs, unsigned slot,
                          const struct pool_slot *entry)
{
    char name[64];

    snprintf(name, sizeof name, "/" POOL_DIR_NAME "/slot-%u-%" PRIu32 "-%" PRIu64, slot, entry->pid,
             entry->start);
    for (unsigned i = 0; i < programs->n; i++) {
        const struct program *program = programs->items[i];
        const char *at = strstr(program->rings, "/" POOL_DIR_NAME "/");

        if (entry->number == POOL_PROCESS ? at && strcmp(at, name) == 0
                                          : program->pid == entry->pid)
            return true;
    }
    return false;
}

/* How many slots are in use that no process was recorded from. Those of processes that were passed over do not count. */
static unsigned count_unread_slots(const struct programs *programs)
{
    unsigned n = 0;

    if (!programs->pool)
        return 0;
    if (shared_map_is_cut(&programs->pool->map))
        return POOL_SLOTS;
    for (unsigned i = 0; i < POOL_SLOTS; i++) {
        struct pool_slot entry;
        bool is_sound = pool_get(programs->pool, i, &entry);

        /* Without a length it is being filled in. */
        if (entry.pid != 0 && entry.length != 0 &&
            (!is_sound || (!programs->n_passed_over && !is_known_slot(programs, i, &entry))))
            n++;
    }
    return n;
}

void programs_finish(struct programs *programs)
{
    uint64_t sleep;

    /* What came since. */
    programs->look_until = UINT64_MAX;
    programs->look_next = 0;
    (void)programs_step(programs, &sleep);
    clock_samples_take(&programs->samples, UINT64_MAX);
    for (unsigned i = 0; i < programs->n; i++) {
        struct program *program = programs->items[i];
        struct error error = {0};
        int r;

        if (program->ended)
            continue;
        r = collector_finish(&program->collector, &error);
        if (r < 0)
            fail(program, r, &error);
        end(programs, program, true);
    }
    programs->slots_unread = count_unread_slots(programs);
    put_no_ring(programs);
}

unsigned programs_running(const struct programs *programs)
{
    unsigned n = 0;

    for (unsigned i = 0; i < programs->n; i++)
        n += !programs->items[i]->ended;
    return n;
}

void programs_close(struct programs *programs)
{
    for (unsigned i = 0; i < programs->n; i++) {
        if (!programs->items[i]->ended)
            end(programs, programs->items[i], false);
        free_program(programs->items[i]);
    }
    free(programs->items);
    if (programs->watch >= 0)
        close(programs->watch);
    futex_fd_free(programs->wake);
    pool_close(programs->pool);
    pool_remove(programs->rings.path);
    /* Reports of processes without rings go with it; directories with rings stay. */
    locked_dir_done(&programs->rings, true);
    free(programs->samples.items);
    free(programs->dir);
    *programs = (struct programs){.rings.fd = -1, .watch = -1};
}
