/* SPDX-License-Identifier: MIT */
#include "runtime/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "runtime/clock.h"
#include "runtime/clock_sync.h"
#include "runtime/control/event_rules.h"
#include "runtime/drain.h"
#include "runtime/macro.h"
#include "runtime/message.h"
#include "runtime/process/file.h"
#include "runtime/process/thread.h"
#include "runtime/ring/process_dir.h"
#include "runtime/ring/ring_drops.h"
#include "runtime/ring/ring_pool.h"
#include "runtime/sinks/drain_pass.h"
#include "runtime/sinks/output.h"
#include "runtime/trace_counts.h"
#include "runtime/wakeup.h"

#define MICROSECOND UINT64_C(1000)
#define MILLISECOND UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

/* The thread sleeps as long as it takes to fill a quarter of the ring that fills fastest, and not
 * longer than this, in which a burst out of nothing must not fill a ring. With all events off, but
 * rings there (a program that switches its events by itself), it looks more seldom. */
#define SLEEP_MIN (50 * MICROSECOND)
#define POLL_INTERVAL (2 * MILLISECOND)
#define SLEEP_OFF (20 * MILLISECOND)

/* Interval at which packet sinks get the contents of open packets. */
#define FLUSH_PACKETS (100 * MILLISECOND)

#define RETRY_OPEN SECOND

/* How often the end of the process looks for events that other threads were emitting. */
#define LAST_PASSES 100
#define LAST_PASS_US 1000

/* How long a query of a sink's state waits for the pass lock. */
#define STATE_TIMEOUT (100 * MILLISECOND)

static struct {
    bool needed;
    bool forbidden; /* writer_allow(false) */
    bool ended;     /* the process is ending, all is written */
    atomic_bool running;
    pthread_t thread;
    struct trace_sink sinks[SINKS];
    unsigned n_on;
    bool on[SINKS];
    struct drain drain;
    uint64_t flushed_at;
    uint64_t lost_at_flush; /* trace_counts.sinks_lost when a flush returned last */
} writer = {
    .sinks =
        {
            [SINK_CTF] = {.ops = &sink_ctf},
            [SINK_SIMPLE] = {.ops = &sink_simple},
            [SINK_LOG] = {.ops = &sink_log},
            [SINK_SYSLOG] = {.ops = &sink_syslog},
            [SINK_FTRACE] = {.ops = &sink_ftrace},
        },
};

/* ---- Passes ---- */

static void complain(struct trace_sink *sink, int r)
{
    if (!sink->complained)
        trace_message("cannot write the trace (%s%s%s): %s; events are lost until that changes",
                      sink->ops->name, sink->used || sink->path ? " " : "",
                      sink->used   ? sink->used
                      : sink->path ? sink->path
                                   : "",
                      file_error_text(r));
    sink->complained = true;
}

/* Not over what another process is writing, as of a program that runs itself or another one with the same environment. */
static int open_file(struct trace_sink *sink)
{
    int r = sink->ops->open(sink);

    if (r != -EBUSY || sink->beside)
        return r;
    sink->beside = true;
    r = sink->ops->open(sink);
    if (r >= 0)
        trace_message("another process writes the trace there; this one is %s", sink->used);
    return r;
}

static void sink_open(struct trace_sink *sink, uint64_t now)
{
    int r;

    if (sink->is_open || sink->paused || now < sink->retry_at)
        return;
    r = open_file(sink);
    sink->is_open = r >= 0;
    sink->error = r < 0 ? r : 0;
    if (r >= 0)
        return;
    sink->retry_at = now + RETRY_OPEN;
    complain(sink, r);
}

static void sink_lose(struct trace_sink *sink, uint64_t n)
{
    sink->lost += n;
    if (n)
        COUNT(sinks_lost, n);
}

static void sink_flush(struct trace_sink *sink)
{
    if (sink->is_open && sink->ops->flush)
        sink_lose(sink, sink->ops->flush(sink));
}

static void sink_close(struct trace_sink *sink)
{
    if (sink->is_open && sink->ops->close)
        sink->ops->close(sink);
    sink->is_open = false;
}

/* What the pass calls with what it has read. */

static unsigned show_packets(unsigned ring, const struct ring_packet *packets, unsigned n,
                             bool keep, uint64_t *ret_lost)
{
    struct trace_sink *sink = &writer.sinks[SINK_CTF]; /* the only sink that stores packets */
    unsigned stored = n;

    if (!writer.on[SINK_CTF] || sink->paused)
        return n;
    stored = sink->is_open ? sink->ops->packets(sink, ring, packets, n) : 0;
    if (stored < n && sink->is_open && sink->error < 0)
        complain(sink, sink->error);
    if (keep || stored == n)
        return stored;
    for (unsigned i = stored; i < n; i++)
        *ret_lost += packet_count_records(&packets[i]);
    if (sink->is_open)
        sink->ops->packets_lost(sink, ring, *ret_lost);
    sink_lose(sink, *ret_lost);
    return n;
}

static int show_losses(unsigned ring, const struct ring_packet *packet)
{
    struct trace_sink *sink = &writer.sinks[SINK_CTF];

    if (!writer.on[SINK_CTF] || sink->paused)
        return 0;
    return sink->is_open ? sink->ops->losses(sink, ring, packet) : sink->error;
}

static void show_records(const struct record *records, unsigned n)
{
    uint64_t events = 0, dropped = 0;

    for (unsigned i = 0; i < n; i++) {
        events += records[i].layout != NULL;
        dropped += records[i].layout ? 0 : records[i].dropped;
    }
    for (unsigned i = 0; i < SINKS; i++) {
        struct trace_sink *sink = &writer.sinks[i];

        if (!writer.on[i] || sink->paused || !sink->ops->records)
            continue;
        if (sink->is_open) {
            sink_lose(sink, sink->ops->records(sink, records, n));
        } else {
            sink_lose(sink, events);
            sink->lost += dropped; /* which nothing else of this sink's reports */
        }
    }
}

static void plan_trace(void)
{
    _cleanup_free_ char *path = NULL;

    uint8_t uuid[16];

    if (writer.on[SINK_CTF])
        path = sink_path(&writer.sinks[SINK_CTF]);
    if (!path)
        return;
    pass_uuid(uuid);
    process_dir_plan_trace(path, uuid);
}

/* For recovery: before the first packet goes there. */
static void note_trace(void)
{
    const struct trace_sink *ctf = &writer.sinks[SINK_CTF];
    uint8_t uuid[16];

    if (writer.on[SINK_CTF] && ctf->is_open) {
        pass_uuid(uuid);
        process_dir_note_trace(sink_ctf_dir(ctf), uuid);
    }
    process_dir_complain();
}

/* Whether no sink of this forked process could create its file, as after a change of user. Such processes often end
 * by _exit(), which reports no loss. So what is in rings that have files stays there: it is written when a sink opens,
 * or recovered. */
static bool is_without_files(void)
{
    unsigned n = 0;

    if (!pass_is_child() || !dir_path())
        return false;
    for (unsigned i = 0; i < SINKS; i++) {
        if (!writer.on[i])
            continue;
        if (writer.sinks[i].is_open || writer.sinks[i].paused)
            return false;
        n++;
    }
    return n > 0;
}

/* With the pass lock. */
static void make_pass(enum drain_kind kind)
{
    bool packets = false;
    bool records = false;
    uint64_t now = trace_clock_ns(CLOCK_MONOTONIC);

    if (writer.forbidden || (ring_count() == 0 && kind < DRAIN_LAST))
        return;
    clock_sync_steer(pass_times());
    for (unsigned i = 0; i < SINKS; i++) {
        struct trace_sink *sink = &writer.sinks[i];

        if (!writer.on[i])
            continue;
        packets |= sink->ops->packets != NULL;
        records |= sink->ops->records != NULL;
        if (kind >= DRAIN_ALL)
            sink->retry_at = 0;
        sink_open(sink, now);
    }
    note_trace();
    if (kind == DRAIN_OFTEN && !records && now - writer.flushed_at >= FLUSH_PACKETS)
        kind = DRAIN_OPEN_PACKETS;
    if (kind != DRAIN_OFTEN || records)
        writer.flushed_at = now;
    if (is_without_files())
        drain_keep(&writer.drain);
    else if (packets || records)
        drain_make(&writer.drain, kind, packets ? show_packets : NULL,
                   records ? show_records : NULL, packets ? show_losses : NULL, pass_times());
    for (unsigned i = 0; i < SINKS; i++)
        if (writer.on[i])
            sink_flush(&writer.sinks[i]);
}

/* ---- The thread ---- */

/* FULL is how much of a ring was filled since the pass before, so in about SLEEP. */
static uint64_t next_sleep(uint64_t sleep, double full)
{
    if (full <= 0 && !event_rules_any_on())
        return SLEEP_OFF;
    if (full > 0.5)
        return 0;
    if (full > 0.25)
        sleep = sleep / 2;
    else if (full < 0.1)
        sleep = sleep + sleep / 2;
    return sleep < SLEEP_MIN ? SLEEP_MIN : sleep > POLL_INTERVAL ? POLL_INTERVAL : sleep;
}

static void *writer_main(void *unused)
{
    uint64_t sleep = SLEEP_MIN, checked_at = 0;

    (void)unused;
    while (!pass_is_hurried()) {
        uint64_t now = trace_clock_ns(CLOCK_MONOTONIC);

        if (now - checked_at >= THREAD_CHECK_MS * MILLISECOND) {
            if (thread_must_end())
                break;
            checked_at = now;
        }
        if (ring_count() == 0 && !event_rules_any_on()) {
            wakeup_wait(THREAD_CHECK_MS * MILLISECOND);
            continue;
        }
        if (sleep)
            wakeup_wait(sleep);
        pass_lock();
        pass_set_by_thread(true);
        make_pass(DRAIN_OFTEN);
        pass_set_by_thread(false);
        sleep = next_sleep(sleep, writer.drain.fullest);
        pass_unlock();
    }
    return NULL;
}

/* With the pass lock. Without a thread (there may be no room for one) what is in the rings is written
 * at flushes and at the end. */
static void start_thread(void)
{
    if (writer.running || writer.ended || writer.forbidden || !writer.needed || !writer.n_on)
        return;
    pass_set_hurry(false);
    wakeup_arm();
    writer.running = thread_start(&writer.thread, NULL, "strata-writer", writer_main, NULL) == 0;
    if (!writer.running)
        wakeup_disarm();
}

void writer_stop(void)
{
    if (!writer.running)
        return;
    pass_set_hurry(true);
    wakeup_post();
    if (!pthread_equal(writer.thread, pthread_self())) /* where it ends the process */
        pthread_join(writer.thread, NULL);
    wakeup_disarm();
    writer.running = false;
}

void writer_allow(bool allow)
{
    if (!allow)
        writer_stop();
    pass_lock();
    writer.forbidden = !allow;
    process_dir_set_writes(allow);
    start_thread();
    pass_unlock();
}

/* ---- Switching sinks ---- */

bool writer_sink_is_open(enum sink_number number)
{
    bool is_open;

    pass_lock();
    is_open = writer.sinks[number].is_open;
    pass_unlock();
    return is_open;
}

static int sink_on(enum sink_number number, const char *path, bool now, bool pause)
{
    struct trace_sink *sink = &writer.sinks[number];
    const char *said = path ? path : sink->ops->path;
    char *copy = path ? strdup(path) : NULL;
    /* The program may change its directory, as a daemon does, before the file is made. */
    char *whole = said ? output_absolute(said) : NULL;
    int r = 0;

    if ((path && !copy) || (said && !whole)) {
        free(copy);
        free(whole);
        return -ENOMEM;
    }
    pass_lock();
    if (writer.on[number] && sink->is_open) {
        make_pass(DRAIN_OPEN_PACKETS);
        sink_close(sink);
    }
    if (number == SINK_CTF)
        drain_forget_losses(&writer.drain);
    free(sink->path);
    sink->path = copy;
    free(sink->whole);
    sink->whole = whole;
    free(sink->used);
    sink->used = NULL;
    sink->beside = false;
    sink->complained = now; /* by what we return */
    sink->retry_at = 0;
    writer.n_on += !writer.on[number];
    writer.on[number] = true;
    if (number == SINK_CTF)
        plan_trace();
    if (now && !sink->paused && !writer.forbidden) {
        r = open_file(sink);
        sink->is_open = r >= 0;
        sink->retry_at = trace_clock_ns(CLOCK_MONOTONIC) + RETRY_OPEN;
        sink->paused = r < 0 && pause;
    }
    start_thread();
    pass_unlock();
    return r;
}

int writer_sink_on(enum sink_number number, const char *path, bool now)
{
    return sink_on(number, path, now, false);
}

int writer_sink_move(enum sink_number number, const char *path)
{
    return sink_on(number, path, true, true);
}

int writer_sink_state(enum sink_number number, struct sink_state *ret)
{
    const struct trace_sink *sink = &writer.sinks[number];

    /* A sink that blocks, on a pipe without a reader for example, holds the lock. */
    if (pass_lock_within(STATE_TIMEOUT) != 0)
        return -EBUSY;
    *ret = (struct sink_state){
        .name = sink->ops->name,
        .on = writer.on[number],
        .is_open = sink->is_open,
        .paused = sink->paused,
        .lost = sink->lost,
    };
    if (sink->used)
        ret->path = strdup(sink->used);
    else if (sink->path || sink->ops->path)
        ret->path = sink_plan_path(sink);
    pass_unlock();
    return 0;
}

void writer_sink_off(enum sink_number number)
{
    struct trace_sink *sink = &writer.sinks[number];

    pass_lock();
    if (writer.on[number]) {
        make_pass(DRAIN_OPEN_PACKETS);
        sink_close(sink);
        free(sink->path);
        sink->path = NULL;
        free(sink->whole);
        sink->whole = NULL;
        free(sink->used);
        sink->used = NULL;
        writer.on[number] = false;
        writer.n_on--;
    }
    pass_unlock();
}

void writer_sink_pause(enum sink_number number)
{
    struct trace_sink *sink = &writer.sinks[number];

    pass_lock();
    if (!sink->paused && writer.on[number])
        make_pass(DRAIN_ALL); /* what was emitted until now is written, in flight recorders too */
    sink->paused = true;
    pass_unlock();
}

int writer_sink_resume(enum sink_number number)
{
    struct trace_sink *sink = &writer.sinks[number];
    int r = 0;

    pass_lock();
    if (sink->paused && writer.on[number])
        make_pass(DRAIN_ALL); /* what was emitted until now is not */
    sink->paused = false;
    if (writer.on[number] && !sink->is_open && !writer.forbidden) {
        r = open_file(sink);
        sink->is_open = r >= 0;
        sink->paused = r < 0;
        sink->retry_at = 0;
    }
    pass_unlock();
    return r;
}

bool writer_sink_is_paused(enum sink_number number)
{
    bool paused;

    pass_lock();
    paused = writer.sinks[number].paused;
    pass_unlock();
    return paused;
}

char *writer_sink_path(enum sink_number number)
{
    const struct trace_sink *sink = &writer.sinks[number];
    char *path;

    pass_lock();
    path = sink->used ? strdup(sink->used) : sink_plan_path(sink);
    pass_unlock();
    return path;
}

bool writer_sink_is_on(enum sink_number number)
{
    bool on;

    pass_lock();
    on = writer.on[number];
    pass_unlock();
    return on;
}

void writer_needed(void)
{
    pass_lock();
    writer.needed = true;
    start_thread();
    pass_unlock();
}

int writer_flush(void)
{
    uint64_t lost;
    bool failed;

    pass_lock();
    if (writer.forbidden) {
        pass_unlock();
        return -EOPNOTSUPP;
    }
    make_pass(DRAIN_ALL);
    lost = atomic_load(&trace_counts.sinks_lost);
    /* With what the writer thread could not write since; and what is in rings stays there without a sink. */
    failed =
        lost != writer.lost_at_flush || writer.drain.kept || (!writer.n_on && !ring_all_taken());
    writer.lost_at_flush = lost;
    pass_unlock();
    return failed ? -EIO : 0;
}

/* ---- The end, and children ---- */

/* All events are off, but threads of the program may have begun one: those are waited for, a moment, as a signal
 * handler that interrupts one may have called exit(). */
static void write_rest(void)
{
    pass_finish_times();
    for (unsigned i = 0; i < LAST_PASSES; i++) {
        make_pass(DRAIN_LAST);
        if (writer.forbidden || writer.drain.kept || ring_all_taken())
            return;
        usleep(LAST_PASS_US);
    }
    make_pass(DRAIN_LAST);
}

static uint64_t reported(unsigned ring)
{
    const struct trace_sink *sink = &writer.sinks[SINK_CTF];

    return sink->is_open ? sink->ops->reported(sink, ring) : 0;
}

/* The losses that a sink of records was given. */
static uint64_t reported_as_record(unsigned ring)
{
    const struct drain *drain = &writer.drain;

    if (ring == RING_NONE)
        return drain->no_ring;
    return drain->cursors[ring] ? drain->cursors[ring]->discarded : 0;
}

/* Says what SINK lost that is in no trace. True: the rings have events that it could not write, and files, so that
 * `strata recover` can save them. */
static bool report_sink(struct trace_sink *sink)
{
    uint64_t lost = sink->lost - sink->reported, left = 0;

    if (sink->ops->packets) {
        uint64_t all = drain_unreported(&writer.drain, true, reported);
        uint64_t without_files = drain_unreported(&writer.drain, false, reported);

        lost = 0;
        if (writer.drain.kept)
            left = drain_count_left(&writer.drain, &lost);
        lost += left ? without_files : all; /* the others are reported with what is saved */
    } else if (writer.drain.kept && !writer.on[SINK_CTF]) { /* no file, or no memory to read them */
        left = drain_count_left(&writer.drain, &lost);
        lost += drain_unreported(&writer.drain, left == 0, reported_as_record);
    }
    if (left)
        trace_message("%" PRIu64 " events could not be written (%s)%s%s; they are kept in %s, and "
                      "'strata recover %ld' saves them",
                      left, sink->ops->name, sink->error < 0 ? ": " : "",
                      sink->error < 0 ? file_error_text(sink->error) : "", dir_path(),
                      (long)getpid());
    if (lost)
        trace_message("%" PRIu64 " events are lost, which the trace (%s) does not report%s%s", lost,
                      sink->ops->name, sink->error < 0 ? ": " : "",
                      sink->error < 0 ? file_error_text(sink->error) : "");
    return left > 0;
}

/* What all sinks lost. True: the rings are to be kept. */
static bool report_sinks(void)
{
    bool kept = false;

    for (unsigned i = 0; i < SINKS; i++) {
        if (writer.on[i] && !writer.sinks[i].paused)
            kept |= report_sink(&writer.sinks[i]);
        sink_close(&writer.sinks[i]);
    }
    return kept;
}

/* Without a writer, events of threads without a ring are in no trace. REMOVED: the process file, which counts
 * them, goes as well. */
static void report_no_ring(bool removed)
{
    uint64_t lost = ring_drops_without_ring();

    /* A recorder whose pool this process has mapped reports them. */
    if (lost && (removed || !dir_path()) && !ring_pool_is_mapped())
        trace_message("%" PRIu64 " events are lost: their threads got no ring", lost);
}

void writer_end(void)
{
    bool remove;

    pass_lock();
    if (!writer.ended && writer.n_on)
        write_rest();
    if (!writer.ended) {
        process_dir_complain();
        remove = writer.forbidden ? ring_all_taken() : !report_sinks();
        if (writer.forbidden)
            report_no_ring(remove);
        ring_end(remove);
    }
    writer.ended = true;
    pass_unlock();
}

/* The parent must not wait long for a pass that writes to a slow disk. Without the lock the child knows
 * nothing of the state that it has got, and begins with a new one. */
#define FORK_TIMEOUT (100 * MILLISECOND)

static bool fork_locked;

/* Children of root may become users who cannot open their files. They go on with the parent's, where the sink is one
 * whose files several processes can append to. */
static void open_for_children(void)
{
    static const enum sink_number shared[] = {SINK_LOG, SINK_FTRACE};

    if (geteuid() != 0 || writer.forbidden)
        return;
    for (size_t i = 0; i < sizeof(shared) / sizeof(*shared); i++)
        if (writer.on[shared[i]])
            sink_open(&writer.sinks[shared[i]], trace_clock_ns(CLOCK_MONOTONIC));
}

void writer_before_fork(void)
{
    fork_locked = pass_lock_within(FORK_TIMEOUT) == 0;
    if (fork_locked)
        open_for_children();
}

void writer_after_fork_parent(void)
{
    if (fork_locked)
        pass_unlock();
}

void writer_after_fork_child(void)
{
    bool was_running = writer.running;

    for (unsigned i = 0; i < SINKS; i++) {
        struct trace_sink *sink = &writer.sinks[i];

        if (fork_locked)
            sink_close(sink); /* flushes nothing: what was gathered is the parent's */
        sink->is_open = false;
        sink->state = NULL;
        if (fork_locked)
            free(sink->used);
        sink->used = NULL; /* its own is another */
        sink->lost = sink->reported = 0;
        sink->retry_at = 0;
    }
    if (fork_locked)
        drain_done(&writer.drain);
    writer.drain = (struct drain){.no_ring = ring_drops_without_ring()};
    writer.running = false;
    wakeup_disarm();
    pass_after_fork_child(fork_locked);
    writer.lost_at_flush = 0;
    memset(&trace_counts, 0, sizeof(trace_counts));
    plan_trace();
    if (was_running) {
        pass_lock();
        start_thread();
        pass_unlock();
    }
}
