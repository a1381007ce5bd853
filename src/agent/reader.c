/* SPDX-License-Identifier: MIT */
#include "agent/reader.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/clock_ms.h"
#include "agent/cpus.h"
#include "agent/raw_port.h"
#include "agent/splice.h"
#include "base/bytes.h"

/* Queued pages after which they are sent or the sender is woken, as many as a frame holds: one large
 * write costs less than many small ones. */
#define NOTIFY_PAGES 15
/* The bits of a page's commit field that count bytes (see format/ftrace/page.h). */
#define COMMIT_BYTES 0x7ffffffu
#define RETRY_INTERVAL_MS 1000
/* For how long after a start, and how often, the reader looks for the first page. */
#define FIRST_PAGE_MS 2000
#define FIRST_PAGE_POLL_MS 20
#define STACK_SIZE ((size_t)128 * 1024)

/* Parses the field `now ts:` of stats: "34753.811268" seconds for clocks in nanoseconds, else a number
 * of ticks. */
int reader_clock(int dir, uint32_t cpu, uint64_t *ret_time)
{
    _cleanup_free_ char *text = NULL;
    uint64_t whole, micro;
    char path[64];
    const char *at;
    size_t len;
    int n, r;

    snprintf(path, sizeof path, "per_cpu/cpu%" PRIu32 "/stats", cpu);
    r = tracefs_read(dir, path, 65536, &text, &len);
    if (r < 0)
        return r;
    at = strstr(text, "now ts:");
    n = at ? sscanf(at, "now ts: %" SCNu64 ".%6" SCNu64, &whole, &micro) : 0;
    if (n < 1)
        return -EBADMSG;
    *ret_time = n == 2 ? whole * 1000000000 + micro * 1000 : whole;
    return 0;
}

static enum reader_state state_of(struct reader *r)
{
    return (enum reader_state)(atomic_load(&r->state) % READER_STATES);
}

static unsigned with_state(unsigned order, enum reader_state state)
{
    return order / READER_STATES * READER_STATES + state;
}

/* Issues an order. Its number differs from the last order's even if the state is the same (R2). */
static void give_order(struct reader *r, enum reader_state state)
{
    unsigned last = atomic_load(&r->state);

    while (!atomic_compare_exchange_weak(&r->state, &last, with_state(last + READER_STATES, state)))
        ;
    wakeup_signal_always(&r->wakeup);
}

static int open_ring(struct reader *r)
{
    char path[64];

    snprintf(path, sizeof path, "per_cpu/cpu%" PRIu32 "/trace_pipe_raw", r->cpu);
    r->fd = openat(r->buffer->dir, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    return r->fd < 0 ? -errno : 0;
}

static void send_or_wake(struct reader *r)
{
    r->unsent = 0;
    if (!r->buffer->sink || !r->buffer->sink->send(r->buffer->sink->userdata, r))
        wakeup_signal(r->buffer->sender);
}

/* Sleeps until woken, FD (or -1) is readable, or MS have passed. Returns true if FD is readable. */
static bool wait_for(struct reader *r, int fd, int ms)
{
    struct pollfd fds[2] = {{.fd = r->wakeup.fd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    int n;

    if (r->unsent)
        send_or_wake(r);
    n = poll(fds, 2, ms);
    wakeup_disarm(&r->wakeup);
    return n > 0 && fds[1].revents & POLLIN;
}

static void close_splice_pipe(struct reader *r)
{
    if (r->pipe[0] < 0)
        return;
    close(r->pipe[0]);
    close(r->pipe[1]);
    r->pipe[0] = r->pipe[1] = -1;
}

/* Handles an error of this CPU: reports it if it is new, and closes the ring to be opened again later.
 * Other CPUs are not affected. */
static void set_error(struct reader *r, int error)
{
    atomic_store(&r->error, error);
    if (error != r->last_error)
        agent_log(r->buffer->log,
                  "CPU %" PRIu32 ": cannot read the trace: %s; the other CPUs go on", r->cpu,
                  strerror(-error));
    r->last_error = error;
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
    close_splice_pipe(r);
}

static void clear_error(struct reader *r)
{
    if (!r->last_error)
        return;
    r->last_error = 0;
    atomic_store(&r->error, 0);
    agent_log(r->buffer->log, "CPU %" PRIu32 ": the trace can be read again", r->cpu);
}

static void wait_for_room(struct reader *r)
{
    atomic_fetch_add(&r->times_full, 1);
    wakeup_arm(&r->wakeup);
    atomic_store(&r->wants_room, true);
    atomic_thread_fence(memory_order_seq_cst);
    /* R3. The timeout is only a safety net: a missed wakeup costs at most a second. */
    if (!queue_free_page(&r->queue) && state_of(r) != READER_ENDING) {
        wakeup_signal(r->buffer->sender);
        wait_for(r, -1, 1000);
    }
    atomic_store(&r->wants_room, false);
}

void reader_has_room(struct reader *r)
{
    atomic_thread_fence(memory_order_seq_cst);
    /* Not for each page: waking a thread is worth it for an eighth of the queue. */
    if (atomic_load(&r->wants_room) &&
        r->queue.n_pages - queue_held(&r->queue) >= (r->queue.n_pages + 7) / 8)
        wakeup_signal(&r->wakeup);
}

static int make_splice_pipe(struct reader *r)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);

    if (r->buffer->page.size != size || pipe2(r->pipe, O_NONBLOCK | O_CLOEXEC) < 0)
        return -EINVAL;
    /* If the user's limit forbids that size, the pipe keeps its default. */
    (void)fcntl(r->pipe[0], F_SETPIPE_SZ, (int)(r->buffer->sink->splice_size_max + size));
    return 0;
}

/* Moves N pages, which could not be sent, from the pipe to the queue. */
static int read_back_from_pipe(struct reader *r, unsigned n)
{
    uint8_t *p = queue_free_pages(&r->queue, n);
    int e = p ? splice_read(r->pipe[0], p, n * r->queue.page_size) : -ENOBUFS;

    if (e < 0)
        return e;
    for (unsigned i = 0; i < n; i++)
        queue_put(&r->queue);
    r->unsent += n;
    return 0;
}

/* Splices whole pages to the sink without looking at them, if the queue is empty. Returns how many; 0:
 * not possible now, or the ring has no whole page. */
static int splice_pages(struct reader *r)
{
    const struct reader_buffer *buffer = r->buffer;
    const struct page_sink *sink = buffer->sink;
    unsigned most;
    size_t size;
    ssize_t n;
    int e;

    if (!sink || r->no_splice || queue_held(&r->queue) > 0)
        return 0;
    size = sink->splice_size(sink->userdata, r);
    if (size == 0)
        return 0;
    most = (unsigned)MIN(r->queue.n_pages, MAX((uint64_t)size / buffer->page.size, 1));
    if (r->pipe[0] < 0 && make_splice_pipe(r) < 0) {
        r->no_splice = true;
        return 0;
    }
    n = splice(r->fd, NULL, r->pipe[1], NULL, most * buffer->page.size,
               SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (n <= 0) {
        /* If splicing is not supported, reading may be. */
        r->no_splice = n < 0 && errno != EAGAIN && errno != EINTR;
        return 0;
    }
    if ((size_t)n % buffer->page.size != 0)
        return -EBADMSG;
    most = (unsigned)((size_t)n / buffer->page.size);
    atomic_fetch_add_explicit(&r->pages_read, most, memory_order_relaxed);
    if (!sink->splice(sink->userdata, r, most)) {
        e = read_back_from_pipe(r, most);
        if (e < 0)
            return e;
        send_or_wake(r);
    } else if (queue_held(&r->queue) > 0) {
        wakeup_signal(buffer->sender); /* the port is full: some were sent, the others are queued */
    }
    return (int)most;
}

/* Reads one page, or splices several, opening the ring if necessary; WHOLE: only splices. Returns how many
 * were queued or sent, with *RET_USED bytes of events in the last one, and its time (0: they were spliced);
 * 0: the ring is empty, or has no WHOLE page; -ENOBUFS: the queue is full. */
static int read_pages(struct reader *r, bool whole, size_t *ret_used, uint64_t *ret_time)
{
    const struct tracefs_page *page = &r->buffer->page;
    uint8_t *p;
    ssize_t n;

    if (r->fd < 0) {
        int e = open_ring(r);

        if (e < 0)
            return e;
    }
    n = splice_pages(r);
    if (n != 0) {
        *ret_used = page->size - page->data;
        *ret_time = 0;
        return (int)n;
    }
    if (whole)
        return 0;
    p = queue_free_page(&r->queue);
    if (!p)
        return -ENOBUFS;
    do
        n = read(r->fd, p, page->size);
    while (n < 0 && errno == EINTR);
    if (n == 0 || (n < 0 && errno == EAGAIN))
        return 0;
    if (n < 0)
        return -errno;
    if ((size_t)n != page->size)
        return -EBADMSG; /* the page size was changed meanwhile */
    *ret_used =
        (page->commit_size == 8 ? (size_t)load_u64(p + page->commit) : load_u32(p + page->commit)) &
        COMMIT_BYTES;
    *ret_time = load_u64(p);
    queue_put(&r->queue);
    atomic_fetch_add_explicit(&r->pages_read, 1, memory_order_relaxed);
    if (++r->unsent >= NOTIFY_PAGES)
        send_or_wake(r);
    return 1;
}

/* Reads everything in the ring, as long as ORDER holds. If events are still being written, only up to the time
 * at which it began; otherwise it would chase the kernel, and the events of its own reads, without end. */
static void read_ring(struct reader *r, unsigned order, bool is_still)
{
    uint64_t left = r->buffer->ring_pages + 2;
    uint64_t until = UINT64_MAX;

    if (!is_still && reader_clock(r->buffer->dir, r->cpu, &until) >= 0)
        until += 999; /* the time is cut to microseconds */
    while (left > 0 && atomic_load(&r->state) == order) {
        uint64_t time = 0;
        size_t used;
        int n = read_pages(r, false, &used, &time);

        if (n == -ENOBUFS) {
            wait_for_room(r);
            continue;
        }
        if (n < 0) {
            set_error(r, n);
            break; /* do not retry: another thread waits for the end of the drain */
        }
        clear_error(r);
        if (n == 0 || time > until)
            break;
        if (!is_still)
            left -= MIN(left, (uint64_t)n);
    }
    if (r->unsent)
        send_or_wake(r);
}

static void drain(struct reader *r, unsigned order)
{
    unsigned none = order;

    read_ring(r, order, r->buffer->is_still);
    if (atomic_compare_exchange_strong(&r->state, &none,
                                       with_state(order, READER_STOPPED))) /* R2 */
        wakeup_signal_always(r->buffer->sender);
}

static bool wants_flush(struct reader *r)
{
    return atomic_load(&r->flush_wanted) != atomic_load(&r->flushed);
}

/* Does what was asked for up to now (R4). A drain that comes meanwhile reads the rest. */
static void flush(struct reader *r)
{
    unsigned wanted = atomic_load(&r->flush_wanted);
    unsigned order = atomic_load(&r->state);

    if (order % READER_STATES != READER_RUNNING)
        return;
    read_ring(r, order, false);
    if (atomic_load(&r->state) != order)
        return;
    atomic_store(&r->flush_head, atomic_load(&r->queue.head));
    atomic_store(&r->flushed, wanted);
    wakeup_signal_always(r->buffer->sender);
}

/* How many ms it is until a period of PERIOD ms ends for all readers; never next to none. */
static int until_period_ends(int period)
{
    int left = period - (int)(agent_now_ms() % period);

    return left < period / 8 ? left + period : left;
}

static void run(struct reader *r)
{
    const size_t sparse_bytes = (r->buffer->page.size - r->buffer->page.data) / 4;
    /* A sleep in which at 100 MB/s less than half of a ring is filled. */
    const int early_sleep_ms =
        (int)MIN(r->buffer->ring_pages * r->buffer->page.size / 200000, (uint64_t)40);
    const uint64_t watermark = r->buffer->watermark_pages;
    uint64_t burst = 0; /* pages that are read before checking whether the reader has caught up */
    int period = 5, waited = 0;
    bool has_pages = false;

    while (state_of(r) == READER_RUNNING) {
        uint64_t pages = 0;
        unsigned sparse = 0; /* pages in a row with few events */
        bool caught_up = false, has_spliced = false;
        bool readable;

        if (wants_flush(r)) {
            flush(r);
            burst = 0;
        }
        while (!caught_up && state_of(r) == READER_RUNNING && !wants_flush(r)) {
            uint64_t time = 0;
            size_t used = 0;
            /* The page that is being filled waits for the end of a period, or is whole by the time that the watermark is
             * reached again. */
            int n = read_pages(r, burst && has_spliced, &used, &time);

            if (n == -ENOBUFS) {
                wait_for_room(r);
                continue;
            }
            if (n < 0) {
                set_error(r, n);
                wait_for(r, -1, RETRY_INTERVAL_MS); /* an order wakes it */
                continue;
            }
            clear_error(r);
            has_spliced |= n > 0 && time == 0;
            pages += (uint64_t)n;
            sparse = used < sparse_bytes ? sparse + 1 : 0;
            /* One sparse page may be the rest of a page that was read partially before. Two in a row
             * mean that the ring is not filled to its watermark, whatever poll(2) returned; reading on
             * would chase the events of the reads themselves. What comes after about a watermark's pages was
             * recorded since it was reached, and would be a small piece. */
            caught_up = n == 0 || (sparse > 0 && (pages > burst || sparse > 1)) ||
                        (has_spliced && watermark && burst && pages >= watermark - watermark / 8);
        }
        if (state_of(r) != READER_RUNNING)
            break;
        if (wants_flush(r))
            continue;

        if (burst)
            r->wakes_early = pages * 16 < r->buffer->ring_pages;
        /* Poll often at the start, so that the first events are not late. */
        has_pages |= pages > 0;
        waited += period;
        period = has_pages                ? until_period_ends(r->buffer->period_ms)
                 : waited < FIRST_PAGE_MS ? MIN(period * 2, FIRST_PAGE_POLL_MS)
                                          : until_period_ends(r->buffer->period_ms);
        wakeup_arm(&r->wakeup);
        if (state_of(r) != READER_RUNNING)
            break;
        if (r->wakes_early && early_sleep_ms < period) {
            wait_for(r, -1, early_sleep_ms);
            wakeup_arm(&r->wakeup);
            if (state_of(r) != READER_RUNNING)
                break;
        }
        if (wants_flush(r))
            continue;
        readable = wait_for(r, r->fd, period);
        burst = readable ? r->buffer->ring_pages / 4 : 0;
    }
    wakeup_disarm(&r->wakeup);
}

static void *reader_main(void *userdata)
{
    struct reader *r = userdata;

    pthread_setname_np(pthread_self(), "strata-reader");
    atomic_store(&r->tid, (int)syscall(SYS_gettid));
    cpus_bind(0, r->cpu); /* the CPU may be offline by now; the controller tries again */
    for (;;) {
        unsigned order = atomic_load(&r->state);

        switch (order % READER_STATES) {
        case READER_ENDING: return NULL;
        case READER_RUNNING: run(r); break;
        case READER_DRAINING: drain(r, order); break;
        default:
            wakeup_arm(&r->wakeup);
            if (state_of(r) == READER_STOPPED)
                wait_for(r, -1, -1);
        }
    }
}

int reader_new(struct reader_buffer *buffer, uint32_t cpu, struct reader **ret_reader)
{
    struct reader *r = calloc(1, sizeof *r);
    pthread_attr_t attributes;
    int error;

    if (!r)
        return -ENOMEM;
    r->buffer = buffer;
    r->cpu = cpu;
    r->fd = r->pipe[0] = r->pipe[1] = -1;
    r->wakeup.fd = -1;
    error = queue_init(&r->queue, buffer->page.size, buffer->queue_bytes);
    if (error >= 0)
        error = wakeup_init(&r->wakeup);
    if (error >= 0) {
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, STACK_SIZE);
        error = -pthread_create(&r->thread, &attributes, reader_main, r);
        pthread_attr_destroy(&attributes);
    }
    if (error < 0) {
        wakeup_done(&r->wakeup);
        queue_done(&r->queue);
        free(r);
        return error;
    }
    *ret_reader = r;
    return 0;
}

void reader_free(struct reader *r)
{
    if (!r)
        return;
    give_order(r, READER_ENDING);
    pthread_join(r->thread, NULL);
    if (r->fd >= 0)
        close(r->fd);
    close_splice_pipe(r);
    wakeup_done(&r->wakeup);
    queue_done(&r->queue);
    free(r);
}

void reader_start(struct reader *r)
{
    give_order(r, READER_RUNNING);
}

void reader_stop(struct reader *r)
{
    if (state_of(r) == READER_RUNNING)
        give_order(r, READER_DRAINING);
}

void reader_flush(struct reader *r)
{
    atomic_fetch_add(&r->flush_wanted, 1);
    wakeup_signal_always(&r->wakeup);
}

bool reader_is_flushed(struct reader *r)
{
    if (reader_is_stopped(r))
        return queue_held(&r->queue) == 0;
    return !wants_flush(r) && atomic_load(&r->queue.tail) >= atomic_load(&r->flush_head);
}
