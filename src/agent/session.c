/* SPDX-License-Identifier: MIT */
#include "agent/session.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "agent/clock_ms.h"
#include "agent/raw_port.h"
#include "agent/session_send.h"
#include "base/clock_ns.h"

#define CPU_CHECK_INTERVAL_MS 500
#define STATUS_INTERVAL_MS 1000
#define LONG_STATUS_INTERVAL_MS 4000 /* for PROTO_WANT_DELAY */
#define HOLD_STATUS_INTERVAL_MS 5000 /* for PROTO_WANT_HOLD */

static void *seed_main(void *userdata)
{
    char c;

    (void)userdata;
    (void)!getrandom(&c, sizeof c, 0);
    return NULL;
}

/* The kernel makes an effort to get random numbers only while a thread waits for them. This one may wait for ever on an old
 * kernel, so nothing waits for it. */
void session_seed(void)
{
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)pthread_create(&thread, &attributes, seed_main, NULL);
    pthread_attr_destroy(&attributes);
}

int session_random(void *p, size_t size, bool good)
{
    uint8_t *bytes = p;
    uint64_t mixed;

    if (getrandom(p, size, GRND_NONBLOCK) == (ssize_t)size)
        return 0;
    if (good)
        return -EAGAIN;
    /* Something that differs between processes and boots. */
    mixed = clock_ns(CLOCK_MONOTONIC_RAW) + ((uint64_t)getpid() << 40);
    for (size_t i = 0; i < size; i++) {
        mixed = mixed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        bytes[i] = (uint8_t)(mixed >> 56);
    }
    return 0;
}

int session_init(struct session *session)
{
    struct cpu_set possible;
    unsigned n;
    size_t size;

    tracer_init(&session->tracer, session->tracefs, session->log, session->wakeup,
                &session->ending);
    session->tracer.sink = &session->tx->sink;
    n = cpus_possible(&possible) < 0 ? CPU_SET_MAX : cpu_set_count(&possible);
    /* The longest frames are pieces of files and a status of all CPUs. Frames of pages are built in the
     * queues. */
    size = PROTO_HEADER_SIZE + 64 + MAX((size_t)PROTO_DATA_MAX, (size_t)n * 96);
    session->plain = malloc(size);
    session->plain_size = size;
    if (!session->plain)
        return -ENOMEM;
    return session_random(session->id, sizeof session->id, false);
}

void session_done(struct session *session)
{
    tracer_clear(&session->tracer);
    free(session->plain);
    free(session->compressed);
#ifdef HAVE_ZSTD
    ZSTD_freeCCtx(session->zstd);
#endif
    session->plain = session->compressed = NULL;
    session->zstd = NULL;
}

void session_clear(struct session *session)
{
    static const struct guest_clock none = {.dir = -1};

    atomic_store(&session->holds, false);

    session_set_flowing(session, false);
    frame_tx_detach_readers(session->tx);
    frame_tx_set_clock(session->tx, &none); /* the clock's directory is closed next */
    tracer_clear(&session->tracer);
}

void session_discard(struct session *session)
{
    session_clear(session);
    /* A new ID, so that a host that returns for this session does not find another one under its ID. */
    (void)session_random(session->id, sizeof session->id, false);
}

struct proto_out session_begin(struct session *session)
{
    return proto_begin(session->plain, session->plain_size);
}

void session_check_cpus(struct session *session)
{
    int64_t now = agent_now_ms();

    if (now < session->next_cpu_check)
        return;
    session->next_cpu_check = now + CPU_CHECK_INTERVAL_MS;
    if (tracer_is_set_up(&session->tracer))
        tracer_update_cpus(&session->tracer);
}

bool session_must_end(struct session *session)
{
    return atomic_load(&session->ending) && agent_now_ms() >= atomic_load(&session->deadline);
}

static bool has_message(struct session *session)
{
    bool has;

    pthread_mutex_lock(&session->rx_queue->lock);
    has = session->rx_queue->first != NULL;
    pthread_mutex_unlock(&session->rx_queue->lock);
    return has;
}

/* True if a thread that waits for WHAT should sleep. While a frame is in progress only room in the
 * connection matters; messages and pages wait. */
static bool is_idle(struct session *session, enum session_wait what, bool is_sending)
{
    struct readers *readers = session->tracer.readers;

    switch (what) {
    case WAIT_ROOM: return is_sending;
    case WAIT_DRAINED:
        return readers_held(readers) == 0 && !readers_are_stopped(readers) &&
               !rx_queue_has_hello(session->rx_queue);
    case WAIT_FLUSHED:
        return readers_held(readers) == 0 && !readers_are_flushed(readers) &&
               !rx_queue_has_hello(session->rx_queue);
    default: return !has_message(session) && !(session->flowing && readers_held(readers) > 0);
    }
}

static int sleep_for(struct session *session, enum session_wait what, int ms)
{
    struct pollfd fds[2] = {{.fd = session->wakeup->fd, .events = POLLIN},
                            {.fd = -1, .events = POLLOUT}};
    bool is_sending;
    int64_t left = ms;

    session_check_cpus(session);
    if (session_must_end(session))
        return -ECANCELED;
    if (atomic_load(&session->ending))
        left = MIN(left, MAX(atomic_load(&session->deadline) - agent_now_ms(), (int64_t)1));

    wakeup_arm(session->wakeup);
    pthread_mutex_lock(&session->tx->lock);
    is_sending = session->tx->pending_size > 0 || session->tx->n_pongs > 0;
    if (is_sending)
        fds[1].fd = session->tx->fd;
    pthread_mutex_unlock(&session->tx->lock);
    if (is_idle(session, what, is_sending))
        poll(fds, 2, (int)left);
    wakeup_disarm(session->wakeup);
    /* The other end is closed: the receiver thread detects it and then wakes this thread. */
    if (fds[1].revents & (POLLHUP | POLLERR | POLLNVAL))
        poll(fds, 1, 20);
    return 0;
}

int session_wait(struct session *session, enum session_wait what, int ms)
{
    int r = frame_tx_pump(session->tx); /* also sends pongs that wait */

    if (r < 0 && r != -ENOTCONN)
        session_set_flowing(session, false);
    return sleep_for(session, what, ms);
}

/* Compresses the body of OUT into the frame *RET_OUT. Returns 0 if that is not shorter, or it cannot. */
static int compress(struct session *session, const struct proto_out *out, struct proto_out *ret_out)
{
#ifndef HAVE_ZSTD
    (void)session;
    (void)out;
    (void)ret_out;
    return 0;
#else
    size_t body = out->len - PROTO_HEADER_SIZE;
    size_t n;

    if (!session->zstd)
        session->zstd = ZSTD_createCCtx();
    if (session->compressed_size < out->len) {
        session->compressed_size = MAX(out->len, session->plain_size);
        free(session->compressed);
        session->compressed = malloc(session->compressed_size);
        if (!session->compressed)
            session->compressed_size = 0;
    }
    if (!session->zstd || !session->compressed)
        return 0;
    n = ZSTD_compressCCtx(session->zstd, session->compressed + PROTO_HEADER_SIZE, body - 1,
                          out->start + PROTO_HEADER_SIZE, body, session->level);
    if (ZSTD_isError(n))
        return 0;
    *ret_out = (struct proto_out){.start = session->compressed,
                                  .len = PROTO_HEADER_SIZE + n,
                                  .capacity = session->compressed_size};
    return 1;
#endif
}

int session_send(struct session *session, struct proto_out *out, enum proto_type type)
{
    uint32_t unpacked = (uint32_t)(out->len - PROTO_HEADER_SIZE);
    struct proto_out compressed;
    uint16_t flags = 0;
    int r;

    if (out->full)
        return -E2BIG;
    if (session->level > 0 && unpacked >= 256 && (type == PROTO_DATA || type == PROTO_META) &&
        compress(session, out, &compressed)) {
        out = &compressed;
        flags = PROTO_ZSTD;
    }
    while ((r = frame_tx_send(session->tx, session->connection, out, type, flags, unpacked)) ==
           -EAGAIN) {
        r = sleep_for(session, WAIT_ROOM, 1000);
        if (r < 0)
            return r;
    }
    while (r == 0) {
        r = sleep_for(session, WAIT_ROOM, 1000);
        if (r < 0)
            return r;
        r = frame_tx_pump(session->tx);
    }
    return MIN(r, 0);
}

int session_send_empty(struct session *session, enum proto_type type)
{
    struct proto_out out = session_begin(session);

    return session_send(session, &out, type);
}

int session_send_time(struct session *session, enum proto_type type)
{
    struct proto_out out = session_begin(session);

    proto_put_u64(&out, frame_tx_now(session->tx));
    return session_send(session, &out, type);
}

int session_send_failed(struct session *session, int error, const char *what, const char *hint)
{
    struct proto_out out = session_begin(session);

    agent_log(session->log, "%s", what);
    proto_put_failed(&out, &(struct proto_failed){-error, proto_text(what), proto_text(hint)});
    return session_send(session, &out, PROTO_FAILED);
}

int session_send_status(struct session *session)
{
    struct proto_out out = session_begin(session);
    struct proto_status status = {.time = frame_tx_now(session->tx)};

    if (tracer_is_set_up(&session->tracer))
        status.n_cpus = atomic_load(&session->tracer.readers->n);
    proto_put_status(&out, &status);
    for (unsigned i = 0; i < status.n_cpus; i++) {
        struct proto_status_cpu cpu;

        tracer_status(&session->tracer, i, &cpu);
        proto_put_status_cpu(&out, &cpu);
    }
    return session_send(session, &out, PROTO_STATUS);
}

void session_set_flowing(struct session *session, bool flowing)
{
    session->flowing = flowing;
    /* Compressed pages are sent by the sender thread only: compressing takes long and uses its buffers. */
    frame_tx_allow_readers(session->tx, session->connection, flowing && session->level == 0,
                           session->wants & PROTO_WANT_UNCHECKED);
}

/* Sends pages of READER in one compressed frame. Returns 1: sent; 0: there are none. */
static int send_compressed(struct session *session, struct reader *reader)
{
    size_t page_size = reader->queue.page_size;
    size_t most = MAX((PROTO_DATA_MAX - PROTO_DATA_ROOM) / page_size, (size_t)1);
    struct proto_data data = {.cpu = reader->cpu};
    struct proto_out out;
    uint8_t *pages;
    size_t held = queue_look(&reader->queue, &pages);
    int r;

    if (held == 0)
        return 0;
    data.n_pages = (uint32_t)MIN(held, most);
    data.size = data.n_pages * page_size;
    data.first = atomic_load(&reader->queue.tail);
    out = proto_data_around(pages, &data);
    r = session_send(session, &out, PROTO_DATA);
    if (r < 0)
        return r;
    /* Only after they are sent: if the host disconnects meanwhile, it gets them again. */
    queue_take(&reader->queue, data.n_pages);
    reader_has_room(reader);
    return 1;
}

static int send_plain(struct session *session, struct reader *reader)
{
    int r = frame_tx_send_pages(session->tx, session->connection, reader, 1);

    while (r == -EAGAIN) {
        r = sleep_for(session, WAIT_ROOM, 1000);
        if (r < 0)
            return r;
        r = frame_tx_pump(session->tx);
        r = r == 0 ? -EAGAIN : r;
    }
    return r;
}

int session_send_pages(struct session *session)
{
    struct readers *readers = session->tracer.readers;
    unsigned n = atomic_load(&readers->n);

    for (unsigned i = 0; i < n; i++) {
        struct reader *reader = readers->list[(session->next_reader + i) % n];
        int r = 0;

        if (queue_held(&reader->queue) > 0)
            r = session->level > 0 ? send_compressed(session, reader) : send_plain(session, reader);
        if (r < 0)
            return r;
        if (r == 0)
            continue;
        session->next_reader = (session->next_reader + i + 1) % n;
        return 1;
    }
    return 0;
}

/* Moves the conversation to another connection (0: none). */
static void move_to_connection(struct session *session, uint64_t connection)
{
    if (connection == session->connection)
        return;
    session->connection = connection;
    session_set_flowing(session, false);
    session->waits_for_auth = false;
    session->hello_done = false;
}

/* Ends tracing if no host was connected for keep_seconds. */
static void check_keepalive(struct session *session, bool disconnected)
{
    if (!disconnected) {
        session->disconnected_since = 0;
        return;
    }
    if (!session->disconnected_since)
        session->disconnected_since = agent_now_ms();
    if (tracer_is_set_up(&session->tracer) && session->keep_seconds > 0 &&
        agent_now_ms() - session->disconnected_since > (int64_t)session->keep_seconds * 1000) {
        agent_log(session->log, "no host reconnected within %u s; stopping the trace",
                  (unsigned)session->keep_seconds);
        session_discard(session);
    }
}

/* Returns the next message; NULL: none, and the connection and the keep-alive time were checked.
 *
 * A BYE that arrived before a disconnect still counts. The receiver queues messages
 * before it changes the connection: so the connection is read first, and applied only when the queue is
 * empty. */
static struct rx_message *next_message(struct session *session)
{
    struct rx_message *message;
    uint64_t connection;
    bool disconnected;

    pthread_mutex_lock(&session->tx->lock);
    connection = session->tx->connection;
    disconnected = session->tx->fd < 0;
    pthread_mutex_unlock(&session->tx->lock);
    message = rx_queue_take(session->rx_queue);
    if (message) {
        move_to_connection(session, message->connection);
        session->disconnected_since = 0;
    } else {
        move_to_connection(session, connection);
        check_keepalive(session, disconnected);
    }
    return message;
}

/* At the agent's end: sends what was read, as far as the host accepts it before the deadline. */
static void drain_and_bye(struct session *session)
{
    int r = 0;

    if (!tracer_is_set_up(&session->tracer))
        return;
    if (session->tracer.started)
        tracer_stop(&session->tracer);
    while (r >= 0 && session->flowing &&
           !(readers_are_stopped(session->tracer.readers) &&
             readers_held(session->tracer.readers) == 0)) {
        r = session_send_pages(session);
        if (r == 0)
            r = session_wait(session, WAIT_DRAINED, 1000);
    }
    if (session->flowing && r >= 0)
        r = session_send_metadata(session, true);
    if (session->flowing && r >= 0)
        r = session_send_status(session);
    if (session->flowing && r >= 0)
        (void)session_send_empty(session, PROTO_BYE);
    session->pages_left = readers_held(session->tracer.readers);
}

static int status_interval(const struct session *session)
{
    if (session->wants & PROTO_WANT_HOLD)
        return HOLD_STATUS_INTERVAL_MS;
    return session->wants & PROTO_WANT_DELAY ? LONG_STATUS_INTERVAL_MS : STATUS_INTERVAL_MS;
}

void session_run(struct session *session)
{
    while (!atomic_load(&session->ending)) {
        struct rx_message *message = next_message(session);
        int r = 0;

        if (message) {
            session_handle(session, message);
            free(message);
            continue;
        }
        if (session->waits_for_random)
            session_answer_hello(session);
        if (session->flowing && agent_now_ms() >= session->next_status) {
            session->next_status = agent_now_ms() + status_interval(session);
            if (session->tracer.started)
                r = session_send_status(session);
            if (session->tracer.started && r >= 0 && session->wants & PROTO_WANT_LIVE)
                r = session_send_cmdlines(session);
        }
        if (session->flowing && r >= 0)
            r = session_send_pages(session);
        if (r < 0)
            session_set_flowing(session, false); /* until the host restarts or resumes */
        if (r <= 0)
            session_wait(session, WAIT_INPUT,
                         session->flowing ? status_interval(session) : CPU_CHECK_INTERVAL_MS);
    }
    drain_and_bye(session);
    session_clear(session);
}
