/* SPDX-License-Identifier: MIT */
#include "record/kernel/guest_child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock_ns.h"
#include "base/macro.h"
#include "record/kernel/live_stream.h"

/* The collector is sent a change of state at once, other progress in intervals: a quiet guest does not wake it often. */
#define PROGRESS_EVERY (NSEC_PER_SEC / 2)
#define PROGRESS_EVERY_BUSY (NSEC_PER_SEC / 5)
#define BUSY_BYTES (UINT64_C(1) << 20)
/* For an agent that does not read to receive the last message. */
#define BYE_TIMEOUT NSEC_PER_SEC
/* If this process wakes so much later than it meant to, it was stopped or the machine is overloaded. */
#define DELAY_MIN NSEC_PER_SEC
/* Of a stop during a sleep, only what is beyond the sleep counts as a delay. So a sleep is shorter than what the session
 * allows an agent to be silent. */
#define SLEEP_MAX (5 * NSEC_PER_SEC)
/* For the live view to read the rest, as long as it reads nothing. */
#define SHOW_TIMEOUT_MS 2000

/* The buffers of this process are some MiB, and the queue to the live view LIVE_FILES_QUEUE_MAX. */
#define MEMORY_MAX (UINT64_C(512) << 20)

struct child {
    struct guest_session session;
    struct packet_sink collector; /* … and after it `live` */
    int channel;
    int in, out;       /* the connection; may be the same; -1: none */
    int read_error;    /* what ended the connection, other than ECONNRESET: -errno */
    int write_error;   /* that of the last write, other than EPIPE and ECONNRESET: -errno */
    bool write_closed; /* the agent reads nothing any more; what it had sent is still to be read */
    int *pages;        /* by CPU; -1: none yet */
    bool keeps;        /* … are there at all */
    unsigned n_pages, max_pages; /* that are open; that may be */
    uint32_t next_victim;        /* where the search begins for one to close */
    bool sent[PROTO_CPUS_MAX];
    struct live_stream live;
    unsigned measures;
    bool has_changed; /* since the last progress, perhaps */
    uint64_t progress_next;
    struct guest_progress progress_sent;
    uint64_t progress_bytes; /* of the last progress … */
    enum guest_state progress_state;
    uint64_t wake_by; /* ns: when its last sleep was to end at the latest */
    uint64_t flush;   /* the number of the flush that is asked for; 0: none */
};

/* Without the collector there is nothing to do, and no way to report it. */
static void send_packet(const struct child *child, const struct guest_packet_head *head,
                        const void *p)
{
    if (guest_packet_send(child->channel, head, p, NULL, 0) < 0)
        _exit(1);
}

static void disconnect(struct child *child)
{
    if (child->in >= 0)
        close(child->in);
    if (child->out >= 0 && child->out != child->in)
        close(child->out);
    child->in = child->out = -1;
    child->write_closed = false;
}

/* Nothing, where nothing has changed. */
static void send_progress_in_state(struct child *child, uint32_t state, uint64_t now)
{
    const struct guest_session *session = &child->session;
    struct guest_progress progress = {
        .state = state,
        .n_enabled = session->n_events,
        .measures = child->measures,
        .bytes = session->bytes,
        .events = guest_session_events(session),
        .lost = guest_session_lost(session),
        .unwritten = guest_session_unwritten(session),
        .unstated = guest_session_unstated(session),
        .gaps = guest_session_gaps(session),
        .first = session->first,
        .last = session->last,
        .skipped = session->skipped + session->reader.skipped,
        .full = session->full,
        .ran = session->ran,
        .said_bye = session->said_bye,
        .is_silent = guest_session_is_silent(session, now),
        .waited_ns = session->waited_ns,
        .stopped_ns = session->stopped_ns,
    };

    for (uint32_t i = 0; i < PROTO_CPUS_MAX; i++)
        progress.n_cpus += child->sent[i];
    progress.unshown = child->live.unshown;
    child->progress_next =
        now + (progress.bytes - child->progress_bytes < BUSY_BYTES ? PROGRESS_EVERY
                                                                   : PROGRESS_EVERY_BUSY);
    child->progress_bytes = progress.bytes;
    child->progress_state = (enum guest_state)state;
    child->has_changed = false;
    if (memcmp(&progress, &child->progress_sent, sizeof progress) == 0)
        return;
    child->progress_sent = progress;
    send_packet(
        child,
        &(struct guest_packet_head){.kind = PACKET_PROGRESS, .size = (uint32_t)sizeof progress},
        &progress);
}

static void send_progress(struct child *child, uint64_t now)
{
    send_progress_in_state(child, child->session.state, now);
}

/* The counts of a trace that ends. The session goes on, in a state that is reported later. */
static void send_last_progress(struct child *child)
{
    send_progress_in_state(child, child->progress_sent.state, clock_ns(CLOCK_MONOTONIC));
    child->has_changed = true;
}

static void connect_to(struct child *child, const int *fds, unsigned n, uint64_t now)
{
    uint8_t nonce[PROTO_NONCE_SIZE];

    disconnect(child);
    child->write_error = 0;
    child->in = fds[0];
    child->out = n > 1 ? fds[1] : fds[0];
    if (getrandom(nonce, sizeof nonce, 0) != sizeof nonce)
        _exit(1);
    guest_session_connected(&child->session, nonce, now);
}

/* Handles a packet of the collector. WANTED: waits for PACKET_FILE, and returns its descriptor. */
static int read_packet(struct child *child, bool wanted, struct error *error)
{
    struct guest_packet packet;
    int fds[2] = {-1, -1};
    unsigned n;

    for (;;) {
        int r = guest_packet_receive(child->channel, &packet, fds, &n);

        if (r <= 0)
            _exit(1);
        switch (packet.head.kind) {
        case PACKET_CONNECTION:
            if (n > 0)
                connect_to(child, fds, n, clock_ns(CLOCK_MONOTONIC));
            break;
        case PACKET_STOP: guest_session_stop(&child->session); break;
        case PACKET_FLUSH:
            child->flush = packet.head.offset;
            guest_session_flush(&child->session);
            break;
        case PACKET_PAUSE:
        case PACKET_CONTINUE:
            guest_session_pause(&child->session, packet.head.kind == PACKET_PAUSE,
                                clock_ns(CLOCK_MONOTONIC));
            break;
        case PACKET_AGENT_CLOSED:
            guest_session_agent_closed(&child->session, clock_ns(CLOCK_MONOTONIC));
            break;
        case PACKET_FILE:
            if (wanted)
                return n > 0 ? fds[0]
                             : error_set(error, packet.head.error, NULL, "cannot make a file: %s",
                                         strerror(-packet.head.error));
            break;
        default: break;
        }
        if (!wanted)
            return 0;
    }
}

/* ---- The trace's way to the collector, and into the files for pages ---- */

static struct child *child_of(struct kernel_sink *sink)
{
    return container_of(sink, struct child, collector.sink);
}

static int send_trace(struct packet_sink *sink, const struct guest_packet_head *head, const void *p)
{
    send_packet(child_of(&sink->sink), head, p);
    return 0;
}

/* The collector checks the path also where nothing is kept. */
static int file_put(struct kernel_sink *sink, const void *p, size_t size, struct error *error)
{
    return child_of(sink)->keeps ? packet_sink_file_put(sink, p, size, error) : 0;
}

static void close_pages(struct child *child, uint32_t cpu)
{
    if (child->pages[cpu] < 0)
        return;
    close(child->pages[cpu]);
    child->pages[cpu] = -1;
    child->n_pages--;
}

static int boot(struct kernel_sink *sink, struct error *error)
{
    struct child *child = child_of(sink);

    for (uint32_t i = 0; i < PROTO_CPUS_MAX; i++)
        close_pages(child, i);
    send_last_progress(child);
    return packet_sink_boot(sink, error);
}

static int rewind_trace(struct kernel_sink *sink, struct error *error)
{
    struct child *child = child_of(sink);

    for (uint32_t i = 0; i < PROTO_CPUS_MAX; i++)
        close_pages(child, i);
    send_last_progress(child);
    return packet_sink_rewind(sink, error);
}

/* Appends all SIZE bytes, or nothing of them. */
static int append_all(int fd, const uint8_t *p, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ssize_t n = write(fd, p + done, size - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int r = -errno;
            off_t end = lseek(fd, 0, SEEK_END);

            if (done > 0 && end >= (off_t)done)
                (void)!ftruncate(fd, end - (off_t)done);
            return r;
        }
        done += (size_t)n;
    }
    return 0;
}

/* Requests the file for the pages of CPU. If the guest has more CPUs than this process may have descriptors, another file is
 * closed, and requested again when it is needed. */
static int open_pages(struct child *child, uint32_t cpu, struct error *error)
{
    int fd;

    while (child->n_pages >= child->max_pages) {
        close_pages(child, child->next_victim);
        child->next_victim = (child->next_victim + 1) % PROTO_CPUS_MAX;
    }
    send_packet(child, &(struct guest_packet_head){.kind = PACKET_OPEN_PAGES, .cpu = cpu}, NULL);
    fd = read_packet(child, true, error);
    if (fd < 0)
        return fd;
    child->pages[cpu] = fd;
    child->n_pages++;
    return 0;
}

static int pages(struct kernel_sink *sink, uint32_t cpu, uint64_t offset, const void *p,
                 size_t size, struct error *error)
{
    struct child *child = child_of(sink);
    int r = 0;

    (void)offset;
    child->sent[cpu] = true;
    if (!child->keeps)
        return 0;
    if (child->pages[cpu] < 0)
        r = open_pages(child, cpu, error);
    if (r < 0)
        return r;
    r = append_all(child->pages[cpu], p, size);
    return r < 0 ? error_set(error, r, NULL, "cannot write its pages: %s", strerror(-r)) : 0;
}

static const struct kernel_sink_ops collector_ops = {
    .file_begin = packet_sink_file_begin,
    .file_put = file_put,
    .file_end = packet_sink_file_end,
    .pages = pages,
    .fact = packet_sink_fact,
    .pair = packet_sink_pair,
    .boot = boot,
    .rewind = rewind_trace,
};

/* ---- The connection ---- */

/* -ECONNRESET: the connection is lost. */
static int read_connection(struct child *child, struct error *error)
{
    /* Not without end: deadlines have to be checked. */
    for (unsigned i = 0; i < 16 && child->in >= 0; i++) {
        size_t room;
        uint8_t *p = guest_session_room(&child->session, &room);
        ssize_t n = read(child->in, p, room);
        int r;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n <= 0) {
            child->read_error = n < 0 && errno != ECONNRESET ? -errno : 0;
            return -ECONNRESET;
        }
        r = guest_session_received(&child->session, (size_t)n, clock_ns(CLOCK_MONOTONIC), error);
        if (r < 0)
            return r;
    }
    return 0;
}

/* An error is no reason to disconnect: the agent may have sent its last data before it closed the connection. */
static void send_pending(struct child *child)
{
    size_t size;
    const uint8_t *p = guest_session_pending(&child->session, &size);
    ssize_t n;

    if (size == 0 || child->out < 0 || child->write_closed)
        return;
    n = write(child->out, p, size);
    if (n >= 0)
        guest_session_sent(&child->session, (size_t)n);
    else if (errno != EAGAIN && errno != EINTR) {
        child->write_closed = true;
        child->write_error = errno == EPIPE || errno == ECONNRESET ? 0 : -errno;
    }
}

/* Restarts the session, or disconnects, where R asks for that. */
static int recover(struct child *child, int r, uint64_t now)
{
    if (r == -ESTALE) {
        uint8_t nonce[PROTO_NONCE_SIZE];

        if (getrandom(nonce, sizeof nonce, 0) != sizeof nonce)
            _exit(1);
        guest_session_connected(&child->session, nonce, now);
        return 0;
    }
    if (r == -ECONNRESET) {
        disconnect(child);
        guest_session_disconnected(&child->session);
        if (child->session.state == GUEST_OVER)
            return 0; /* it closed the connection right after BYE */
        send_progress(child, now);
        send_packet(
            child,
            &(struct guest_packet_head){.kind = PACKET_DISCONNECTED, .error = child->read_error},
            NULL);
        child->read_error = 0;
        return 0;
    }
    return r;
}

static int wait_and_step(struct child *child, uint64_t next, struct error *error)
{
    size_t pending = 0;
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    uint64_t due = child->has_changed ? MIN(next, child->progress_next) : next;
    uint64_t sleep = MIN(MAX(due, now) - now, SLEEP_MAX);
    struct timespec time = {.tv_sec = (time_t)(sleep / NSEC_PER_SEC),
                            .tv_nsec = (long)(sleep % NSEC_PER_SEC)};
    struct pollfd fds[4] = {
        {child->channel, POLLIN, 0},
        {child->in, POLLIN, 0},
        {-1, POLLOUT, 0},
        {live_stream_has_queued(&child->live) ? child->live.fd : -1, POLLOUT, 0}};
    int r = 0;

    (void)guest_session_pending(&child->session, &pending);
    if (pending > 0 && !child->write_closed)
        fds[2].fd = child->out;
    child->wake_by = now + sleep;
    r = ppoll(fds, ARRAY_SIZE(fds), &time, NULL);
    if (r < 0)
        return errno == EINTR ? 0 : -errno;
    child->has_changed |= r > 0;
    r = 0;
    if (fds[3].revents)
        live_stream_flush(&child->live);
    if (fds[0].revents)
        return read_packet(child, false, error);
    if (fds[2].revents)
        send_pending(child);
    if (fds[1].revents)
        r = read_connection(child, error);
    return r;
}

/* Pages are in their files when they have been handled. The counts come first. */
static void answer_flush(struct child *child, uint64_t now)
{
    if (child->flush == 0 || !guest_session_is_flushed(&child->session))
        return;
    guest_session_state_dropped(&child->session);
    send_progress(child, now);
    send_packet(child, &(struct guest_packet_head){.kind = PACKET_FLUSHED, .offset = child->flush},
                NULL);
    child->flush = 0;
}

static void send_rest(struct child *child)
{
    uint64_t until = clock_ns(CLOCK_MONOTONIC) + BYE_TIMEOUT;

    while (child->out >= 0 && !child->write_closed && clock_ns(CLOCK_MONOTONIC) < until) {
        struct pollfd fd = {child->out, POLLOUT, 0};
        struct timespec time = {.tv_nsec = 10000000};
        size_t left;

        (void)guest_session_pending(&child->session, &left);
        if (left == 0)
            break;
        (void)ppoll(&fd, 1, &time, NULL);
        send_pending(child);
    }
}

static int run_session(struct child *child, struct error *error)
{
    int r = 0;

    while (child->session.state != GUEST_OVER) {
        uint64_t now = clock_ns(CLOCK_MONOTONIC);
        uint64_t next = UINT64_MAX;

        if (child->wake_by && now > child->wake_by + DELAY_MIN)
            guest_session_add_delay(&child->session, now - child->wake_by, now);
        r = guest_session_step(&child->session, now, &next, error);
        /* Before waiting, or each request would wait once. */
        if (r >= 0) {
            send_pending(child);
            answer_flush(child, now);
        }
        if (r >= 0 && child->session.state != GUEST_OVER) {
            if ((child->has_changed && now >= child->progress_next) ||
                child->session.state != child->progress_state ||
                child->progress_sent.is_silent != guest_session_is_silent(&child->session, now))
                send_progress(child, now);
            r = wait_and_step(child, next, error);
        }
        r = recover(child, r, clock_ns(CLOCK_MONOTONIC));
        if (r < 0)
            return r;
    }
    return 0;
}

/* The limits hold whatever the guest makes this process do. */
static int set_limits(const struct guest_child_options *options)
{
    struct rlimit files = {options->max_open, options->max_open};
    struct rlimit memory = {MEMORY_MAX, MEMORY_MAX};

    if (setrlimit(RLIMIT_NOFILE, &files) < 0)
        return -errno;
#if defined(__SANITIZE_ADDRESS__)
    (void)memory; /* its own memory would count */
    return 0;
#else
    return setrlimit(RLIMIT_DATA, &memory) < 0 ? -errno : 0;
#endif
}

static void run(int channel, const struct guest_child_options *options)
{
    struct child *child = calloc(1, sizeof *child);
    const struct sandbox sandbox = {
        .user = &options->user,
        .max_file = options->max_file ? options->max_file : SANDBOX_ANY_SIZE,
        .max_memory = SANDBOX_ANY_SIZE, /* set_limits() limits what it allocates */
    };
    struct error error = {0};
    int r;

    if (!child)
        _exit(1);
    child->channel = channel;
    child->collector =
        (struct packet_sink){{&collector_ops, live_stream_sink(&child->live)}, send_trace};
    child->keeps = options->keeps;
    child->max_pages = options->max_open - GUEST_CHILD_OPEN_MIN;
    child->in = child->out = -1;
    child->pages = malloc(PROTO_CPUS_MAX * sizeof *child->pages);
    if (!child->pages || set_limits(options) < 0 ||
        live_stream_init(&child->live, options->live) < 0 ||
        guest_session_init(&child->session, options->config, &child->collector.sink) < 0)
        _exit(1);
    for (uint32_t i = 0; i < PROTO_CPUS_MAX; i++)
        child->pages[i] = -1;
    r = sandbox_enter(&sandbox, &child->measures, &error);
    if (r >= 0) {
        r = run_session(child, &error);
        if (r >= 0)
            r = guest_session_end_dropped(&child->session, &error);
        if (child->session.failure.code)
            r = guest_session_failure(&child->session, &error);
        if (r < 0)
            guest_session_give_up(&child->session);
        send_rest(child);
    }
    if (r >= 0 && child->session.started_at == 0 && child->write_error < 0)
        r = error_set(&error, child->write_error, NULL, "cannot write to the agent: %s",
                      error_text(child->write_error));
    else if (r >= 0 && child->session.started_at == 0)
        r = error_set(&error, -ECANCELED, NULL, "%s",
                      *child->session.boot_id || options->config->is_host ? GUEST_NOT_TRACED
                                                                          : GUEST_NO_AGENT);
    live_stream_drain(&child->live, SHOW_TIMEOUT_MS);
    send_progress(child, clock_ns(CLOCK_MONOTONIC));
    if (r < 0 && !error.what[0])
        error_set(&error, r, NULL, "%s", strerror(-r));
    send_packet(child,
                &(struct guest_packet_head){
                    .kind = PACKET_END, .error = r, .size = (uint32_t)strlen(error.what)},
                error.what);
    _exit(0);
}

int guest_child_start(const struct guest_child_options *options, pid_t *ret_pid, int *ret_channel,
                      struct error *error)
{
    int ends[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return error_set(error, -errno, NULL, "cannot make a socket: %s", strerror(errno));
    pid = fork();
    if (pid < 0) {
        int r = -errno;

        close(ends[0]);
        close(ends[1]);
        return error_set(error, r, NULL, "cannot start a process: %s", strerror(-r));
    }
    if (pid == 0) {
        (void)prctl(PR_SET_NAME, "strata-guest");
        /* It ends when the collector asks it to, or ends itself. */
        signal(SIGINT, SIG_IGN);
        signal(SIGTERM, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        signal(SIGPIPE, SIG_IGN);
        signal(SIGXFSZ, SIG_IGN);
        if (sandbox_descriptors((int[]){ends[1], options->live}, options->live < 0 ? 1 : 2) < 0)
            _exit(1);
        run(ends[1], options);
    }
    close(ends[1]);
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    *ret_pid = pid;
    *ret_channel = ends[0];
    return 0;
}
