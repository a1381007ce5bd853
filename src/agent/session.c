/* SPDX-License-Identifier: MIT */
#include "agent/session.h"

#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include <zstd.h>

#include "agent/raw_port.h"
#include "agent/session_send.h"
#include "base/clock_ns.h"

#define FOLLOW_MS 500
#define STATUS_MS 1000

int session_random(void *p, size_t size, bool good)
{
    uint8_t *bytes = p;
    uint64_t mixed;

    if (getrandom(p, size, GRND_NONBLOCK) == (ssize_t)size)
        return 0;
    if (good)
        return -EAGAIN;
    /* What differs from one process of one boot to the next. */
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
    session->tracer.carry = frame_tx_carry_pages;
    session->tracer.splices = frame_tx_splices;
    session->tracer.pass = frame_tx_pass_pages;
    session->tracer.carrier = session->tx;
    n = cpus_possible(&possible) < 0 ? CPU_SET_MAX : cpu_set_count(&possible);
    /* The longest frames: pieces of files, and a status of all CPUs. Those of pages are made where the pages
     * are. */
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
    free(session->packed);
    ZSTD_freeCCtx(session->zstd);
    session->plain = session->packed = NULL;
    session->zstd = NULL;
}

void session_clear(struct session *session)
{
    static const struct guest_clock none = {.dir = -1};

    session_flow(session, false);
    frame_tx_give_back(session->tx);
    frame_tx_set_clock(session->tx, &none); /* its directory is going to be closed */
    tracer_clear(&session->tracer);
}

void session_forget(struct session *session)
{
    session_clear(session);
    /* Whoever comes back for it must not find another's by its name. */
    (void)session_random(session->id, sizeof session->id, false);
}

struct proto_out session_begin(struct session *session)
{
    return proto_begin(session->plain, session->plain_size);
}

void session_tick(struct session *session)
{
    int64_t now = raw_port_now();

    if (now < session->next_follow)
        return;
    session->next_follow = now + FOLLOW_MS;
    if (tracer_is_set_up(&session->tracer))
        tracer_follow(&session->tracer);
}

bool session_must_end(struct session *session)
{
    return atomic_load(&session->ending) && raw_port_now() >= atomic_load(&session->deadline);
}

static bool has_letter(struct session *session)
{
    bool has;

    pthread_mutex_lock(&session->rx_queue->lock);
    has = session->rx_queue->first != NULL;
    pthread_mutex_unlock(&session->rx_queue->lock);
    return has;
}

/* Whether there is nothing to do yet for who waits for WHAT. While a frame is under way only the wire's
 * room matters, and letters and pages wait. */
static bool is_idle(struct session *session, enum session_wait what, bool is_sending)
{
    struct readers *readers = session->tracer.readers;

    switch (what) {
    case WAIT_ROOM: return is_sending;
    case WAIT_REST:
        return readers_held(readers) == 0 && !readers_are_stopped(readers) &&
               !rx_queue_has_hello(session->rx_queue);
    default: return !has_letter(session) && !(session->flowing && readers_held(readers) > 0);
    }
}

static int sleep_for(struct session *session, enum session_wait what, int ms)
{
    struct pollfd fds[2] = {{.fd = session->wakeup->fd, .events = POLLIN},
                            {.fd = -1, .events = POLLOUT}};
    bool is_sending;
    int64_t left = ms;

    session_tick(session);
    if (session_must_end(session))
        return -ECANCELED;
    if (atomic_load(&session->ending))
        left = MIN(left, MAX(atomic_load(&session->deadline) - raw_port_now(), (int64_t)1));

    wakeup_arm(session->wakeup);
    pthread_mutex_lock(&session->tx->lock);
    is_sending = session->tx->pending_size > 0 || session->tx->n_pongs > 0;
    if (is_sending)
        fds[1].fd = session->tx->fd;
    pthread_mutex_unlock(&session->tx->lock);
    if (is_idle(session, what, is_sending))
        poll(fds, 2, (int)left);
    wakeup_disarm(session->wakeup);
    /* The other end is closed: the receiver is finding out, and wakes us then. */
    if (fds[1].revents & (POLLHUP | POLLERR | POLLNVAL))
        poll(fds, 1, 20);
    return 0;
}

int session_wait(struct session *session, enum session_wait what, int ms)
{
    int r = frame_tx_pump(session->tx); /* pongs that wait */

    if (r < 0 && r != -ENOTCONN)
        session_flow(session, false);
    return sleep_for(session, what, ms);
}

/* Compresses the body of OUT into another frame, *RET_OUT. 0: it is no shorter so. */
static int compress(struct session *session, const struct proto_out *out, struct proto_out *ret_out)
{
    size_t body = out->len - PROTO_HEADER_SIZE;
    size_t n;

    if (!session->zstd)
        session->zstd = ZSTD_createCCtx();
    if (session->packed_size < out->len) {
        session->packed_size = MAX(out->len, session->plain_size);
        free(session->packed);
        session->packed = malloc(session->packed_size);
        if (!session->packed)
            session->packed_size = 0;
    }
    if (!session->zstd || !session->packed)
        return 0;
    n = ZSTD_compressCCtx(session->zstd, session->packed + PROTO_HEADER_SIZE, body - 1,
                          out->start + PROTO_HEADER_SIZE, body, session->level);
    if (ZSTD_isError(n))
        return 0;
    *ret_out = (struct proto_out){
        .start = session->packed, .len = PROTO_HEADER_SIZE + n, .capacity = session->packed_size};
    return 1;
}

int session_put(struct session *session, struct proto_out *out, enum proto_type type)
{
    uint32_t unpacked = (uint32_t)(out->len - PROTO_HEADER_SIZE);
    struct proto_out packed;
    uint16_t flags = 0;
    int r;

    if (out->full)
        return -E2BIG;
    if (session->level > 0 && unpacked >= 256 && (type == PROTO_DATA || type == PROTO_META) &&
        compress(session, out, &packed)) {
        out = &packed;
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

int session_put_nothing(struct session *session, enum proto_type type)
{
    struct proto_out out = session_begin(session);

    return session_put(session, &out, type);
}

int session_put_time(struct session *session, enum proto_type type)
{
    struct proto_out out = session_begin(session);

    proto_put_u64(&out, frame_tx_now(session->tx));
    return session_put(session, &out, type);
}

int session_put_failed(struct session *session, int error, const char *what, const char *hint)
{
    struct proto_out out = session_begin(session);

    agent_log(session->log, "%s", what);
    proto_put_failed(&out, &(struct proto_failed){-error, proto_text(what), proto_text(hint)});
    return session_put(session, &out, PROTO_FAILED);
}

int session_put_status(struct session *session)
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
    return session_put(session, &out, PROTO_STATUS);
}

void session_flow(struct session *session, bool flowing)
{
    session->flowing = flowing;
    /* Compressing takes long, and has memory that is the sender's. */
    frame_tx_carry(session->tx, session->connection, flowing && session->level == 0,
                   session->wants & PROTO_WANT_UNCHECKED);
}

/* Pages of READER in a frame of the session's own memory, compressed. 1: they are out; 0: there are none. */
static int put_packed(struct session *session, struct reader *reader)
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
    r = session_put(session, &out, PROTO_DATA);
    if (r < 0)
        return r;
    /* Not before it is out: a host that is lost meanwhile gets them again. */
    queue_take(&reader->queue, data.n_pages);
    reader_has_room(reader);
    return 1;
}

static int put_plain(struct session *session, struct reader *reader)
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

int session_put_pages(struct session *session)
{
    struct readers *readers = session->tracer.readers;
    unsigned n = atomic_load(&readers->n);

    for (unsigned i = 0; i < n; i++) {
        struct reader *reader = readers->list[(session->next_reader + i) % n];
        int r = 0;

        if (queue_held(&reader->queue) > 0)
            r = session->level > 0 ? put_packed(session, reader) : put_plain(session, reader);
        if (r < 0)
            return r;
        if (r == 0)
            continue;
        session->next_reader = (session->next_reader + i + 1) % n;
        return 1;
    }
    return 0;
}

/* The conversation is on another connection now, or on none. */
static void move_to_connection(struct session *session, uint64_t connection)
{
    if (connection == session->connection)
        return;
    session->connection = connection;
    session_flow(session, false);
    session->waits_for_auth = false;
    session->greeted = false;
}

/* Whether there is a host, and what follows where there is none for long. */
static void look_after_absence(struct session *session, bool apart)
{
    if (!apart) {
        session->apart_since = 0;
        return;
    }
    if (!session->apart_since)
        session->apart_since = raw_port_now();
    if (tracer_is_set_up(&session->tracer) && session->keep_seconds > 0 &&
        raw_port_now() - session->apart_since > (int64_t)session->keep_seconds * 1000) {
        agent_log(session->log, "no host has come back for %u s; the tracing ends",
                  (unsigned)session->keep_seconds);
        session_forget(session);
    }
}

/* The next letter; NULL: there is none, and the connection and its absence were looked after.
 *
 * What was said before a connection was lost counts, a BYE above all. The receiver puts letters into the inbox
 * before it changes the wire's connection: so the wire is looked at first, and what it says goes only where no
 * letter is left. */
static struct rx_message *next_letter(struct session *session)
{
    struct rx_message *message;
    uint64_t connection;
    bool apart;

    pthread_mutex_lock(&session->tx->lock);
    connection = session->tx->connection;
    apart = session->tx->fd < 0;
    pthread_mutex_unlock(&session->tx->lock);
    message = rx_queue_take(session->rx_queue);
    if (message) {
        move_to_connection(session, message->connection);
        session->apart_since = 0;
    } else {
        move_to_connection(session, connection);
        look_after_absence(session, apart);
    }
    return message;
}

/* The agent ends: what was read goes out as far as the host takes it in time. */
static void last_words(struct session *session)
{
    int r = 0;

    if (!tracer_is_set_up(&session->tracer))
        return;
    if (session->tracer.started)
        tracer_stop(&session->tracer);
    while (r >= 0 && session->flowing &&
           !(readers_are_stopped(session->tracer.readers) &&
             readers_held(session->tracer.readers) == 0)) {
        r = session_put_pages(session);
        if (r == 0)
            r = session_wait(session, WAIT_REST, 1000);
    }
    if (session->flowing && r >= 0)
        r = session_put_metadata(session, true);
    if (session->flowing && r >= 0)
        r = session_put_status(session);
    if (session->flowing && r >= 0)
        (void)session_put_nothing(session, PROTO_BYE);
    session->pages_left = readers_held(session->tracer.readers);
}

void session_run(struct session *session)
{
    while (!atomic_load(&session->ending)) {
        struct rx_message *message = next_letter(session);
        int r = 0;

        if (message) {
            session_answer(session, message);
            free(message);
            continue;
        }
        if (session->flowing && raw_port_now() >= session->next_status) {
            session->next_status = raw_port_now() + STATUS_MS;
            if (session->tracer.started)
                r = session_put_status(session);
            if (session->tracer.started && r >= 0 && session->wants & PROTO_WANT_LIVE)
                r = session_put_cmdlines(session);
        }
        if (session->flowing && r >= 0)
            r = session_put_pages(session);
        if (r < 0)
            session_flow(session, false); /* until the host begins anew, or is back */
        if (r <= 0)
            session_wait(session, WAIT_WORK, session->flowing ? STATUS_MS : FOLLOW_MS);
    }
    last_words(session);
    session_clear(session);
}
