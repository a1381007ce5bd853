/* SPDX-License-Identifier: MIT */
#include "runtime/control/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "runtime/clock.h"
#include "runtime/macro.h"
#include "runtime/process/descriptor.h"
#include "runtime/process/thread.h"

#define CLIENTS_MAX 16
#define BACKLOG 128

/* Milliseconds. A client that has begun a request, or does not read its reply, must continue within this. */
#define TIMEOUT 10000
/* A child that is forked to execute something else needs no socket, and leaves none if it is quick. */
#define CHILD_DELAY 100
#define RETRY 1000
#define RETRY_MAX 60000

/* For what is done here, and for the largest frame behind: a pass, a message, a path or two. */
#define STACK_SIZE ((size_t)512 << 10)

struct client {
    struct descriptor socket;
    uint64_t since; /* ms: when it last sent something */
    char *line;     /* CONTROL_LINE_MAX bytes */
    size_t len;
    char *reply; /* NULL: none is due */
    size_t reply_len, sent;
};

static struct {
    pthread_mutex_t lock; /* of all but the clients' lines and replies, which are the thread's */
    bool off;             /* by control=off or STRATA_CONTROL */
    bool asked;           /* the environment was */
    bool wanted;          /* a group is there */
    bool running;         /* the thread */
    bool child;           /* it was forked */
    bool ended;           /* the process ends */
    const struct control_handler *handler;
    struct descriptor listener;
    char name[16];           /* of the listener in its directory: the pid; "": it has none */
    struct descriptor named; /* what has that name; it is not open */
    struct client clients[CLIENTS_MAX];
} control = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .listener = DESCRIPTOR_NONE,
};

static uint64_t now_ms(void)
{
    return trace_clock_ns(CLOCK_MONOTONIC) / 1000000;
}

/* True: the process ends, and the thread with it. */
static bool must_end(void)
{
    if (!thread_must_end())
        return false;
    pthread_mutex_lock(&control.lock);
    control.ended = true;
    pthread_mutex_unlock(&control.lock);
    return true;
}

static void nap(unsigned ms)
{
    for (; ms > 0 && !must_end(); ms -= MIN(ms, THREAD_CHECK_MS)) {
        struct timespec time = {.tv_nsec = (long)MIN(ms, THREAD_CHECK_MS) * 1000000};

        nanosleep(&time, NULL);
    }
}

/* ---- The socket ---- */

/* Takes its name away, if it is ours still. */
static void remove_name(void)
{
    struct stat st;
    int dir;

    if (!control.name[0])
        return;
    /* Not kept open: a directory that is open cannot be unmounted, and leads out of a chroot. */
    dir = control_dir_open();
    if (dir >= 0) {
        if (fstatat(dir, control.name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            st.st_dev == control.named.device && st.st_ino == control.named.inode)
            unlinkat(dir, control.name, 0);
        close(dir);
    }
    control.name[0] = '\0';
}

/* Under the name .PID, mode 0600; it is renamed to PID once it listens, so that a connection that PID
 * refuses means that nothing will listen there again. By way of /proc a path may have any length. */
static int bind_hidden(int fd, int dir, const char *hidden)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (fchmod(fd, 0600) < 0) /* which bind() takes, less the umask */
        return -errno;
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", dir, hidden);
    unlinkat(dir, hidden, 0);
    if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return -errno;
    return listen(fd, BACKLOG) < 0 ? -errno : 0;
}

static int name_socket(int fd, int dir)
{
    char name[sizeof(control.name)], hidden[sizeof(name) + 1];
    struct stat st;
    int r;

    snprintf(name, sizeof(name), "%ld", (long)getpid());
    snprintf(hidden, sizeof(hidden), ".%s", name);
    r = bind_hidden(fd, dir, hidden);
    if (r < 0)
        return r;
    if (fstatat(dir, hidden, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        renameat(dir, hidden, dir, name) < 0) {
        r = -errno;
        unlinkat(dir, hidden, 0);
        return r;
    }
    memcpy(control.name, name, sizeof(name));
    control.named = (struct descriptor){.fd = -1, .device = st.st_dev, .inode = st.st_ino};
    return 0;
}

/* With the lock. -EBADF: a descriptor was closed meanwhile by a program that closes all, which becomes a
 * daemon. */
static int open_socket(void)
{
    struct descriptor dir = DESCRIPTOR_NONE;
    int fd, r;

    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    r = descriptor_take(&control.listener, fd);
    if (r < 0)
        return r;
    fd = control_dir_open();
    r = fd < 0 ? fd : descriptor_take(&dir, fd);
    if (r >= 0) {
        r = name_socket(control.listener.fd, dir.fd);
        /* Whatever was said then: it is not about them. */
        if (r < 0 && (!descriptor_is_ours(&dir) || !descriptor_is_ours(&control.listener)))
            r = -EBADF;
        descriptor_close(&dir);
    }
    if (r < 0)
        descriptor_close(&control.listener);
    return r;
}

static void close_socket(void)
{
    remove_name();
    descriptor_close(&control.listener);
}

/* ---- Clients ---- */

static void client_close(struct client *client)
{
    pthread_mutex_lock(&control.lock);
    descriptor_close(&client->socket);
    pthread_mutex_unlock(&control.lock);
    free(client->line);
    free(client->reply);
    client->line = client->reply = NULL;
}

static bool client_is_busy(const struct client *client)
{
    return client->len > 0 || client->reply;
}

/* Finds a place for another client. If there is none, replaces the client that was silent for the longest time,
 * preferably a client that waits for nothing. */
static struct client *find_place(void)
{
    struct client *worst = &control.clients[0];

    for (unsigned i = 0; i < CLIENTS_MAX; i++) {
        struct client *client = &control.clients[i];

        if (client->socket.fd < 0)
            return client;
        if (client_is_busy(worst) != client_is_busy(client) ? client_is_busy(worst)
                                                            : client->since < worst->since)
            worst = client;
    }
    client_close(worst);
    return worst;
}

static bool may_talk(int fd)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

/* Negative errno: the listener cannot be used any more, or no descriptor is free. */
static int accept_one(void)
{
    struct client *client = find_place();
    int r = 0, fd;

    /* With the lock, so that a child that is forked knows what it has to close. */
    pthread_mutex_lock(&control.lock);
    fd = descriptor_is_ours(&control.listener)
             ? accept4(control.listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)
             : (errno = EBADF, -1);
    if (fd < 0)
        r = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED ? 0 : -errno;
    else if (!may_talk(fd))
        close(fd);
    else
        r = descriptor_take(&client->socket, fd);
    pthread_mutex_unlock(&control.lock);
    if (r < 0 || client->socket.fd < 0)
        return r;
    client->since = now_ms();
    client->len = client->reply_len = client->sent = 0;
    client->line = malloc(CONTROL_LINE_MAX);
    if (!client->line)
        client_close(client);
    return 0;
}

/* Answers the first line that is there; the next one when its reply is sent. */
static void answer(struct client *client)
{
    char *end = memchr(client->line, '\n', client->len);
    size_t len;

    if (client->reply)
        return;
    if (!end) {
        if (client->len < CONTROL_LINE_MAX)
            return;
        /* The next request cannot be told apart from the rest of this one. */
        (void)send(client->socket.fd, "error long 24\nthe request is too long\n", 38,
                   MSG_NOSIGNAL | MSG_DONTWAIT);
        client_close(client);
        return;
    }
    len = (size_t)(end - client->line);
    if (control.handler->answer(client->line, len, &client->reply, &client->reply_len) < 0) {
        client_close(client);
        return;
    }
    client->sent = 0;
    client->len -= len + 1;
    memmove(client->line, end + 1, client->len);
}

static void hear(struct client *client)
{
    ssize_t n;

    if (!descriptor_is_ours(&client->socket)) {
        client_close(client);
        return;
    }
    n = recv(client->socket.fd, client->line + client->len, CONTROL_LINE_MAX - client->len,
             MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        client_close(client);
        return;
    }
    client->since = now_ms();
    client->len += (size_t)n;
    answer(client);
}

static void tell(struct client *client)
{
    while (client->socket.fd >= 0 && client->reply) {
        ssize_t n;

        if (!descriptor_is_ours(&client->socket)) {
            client_close(client);
            return;
        }
        n = send(client->socket.fd, client->reply + client->sent, client->reply_len - client->sent,
                 MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n < 0) {
            client_close(client);
            return;
        }
        client->since = now_ms();
        client->sent += (size_t)n;
        if (client->sent < client->reply_len)
            continue;
        free(client->reply);
        client->reply = NULL;
        answer(client);
    }
}

/* ---- The thread ---- */

/* One iteration: waits for clients and serves them. 0 on success; negative: the listener must be created again. */
static int serve(void)
{
    struct pollfd polls[1 + CLIENTS_MAX];
    struct client *clients[CLIENTS_MAX];
    unsigned n = 0;
    int timeout = THREAD_CHECK_MS;
    uint64_t now = now_ms();

    if (!descriptor_is_ours(&control.listener))
        return -EBADF;
    polls[0] = (struct pollfd){.fd = control.listener.fd, .events = POLLIN};
    for (unsigned i = 0; i < CLIENTS_MAX; i++) {
        struct client *client = &control.clients[i];

        if (client->socket.fd < 0)
            continue;
        if (client_is_busy(client)) {
            if (now - client->since >= TIMEOUT || !descriptor_is_ours(&client->socket)) {
                client_close(client);
                continue;
            }
            timeout = MIN(timeout, (int)(TIMEOUT - (now - client->since)));
        }
        polls[1 + n] =
            (struct pollfd){.fd = client->socket.fd, .events = client->reply ? POLLOUT : POLLIN};
        clients[n++] = client;
    }
    if (poll(polls, 1 + n, timeout) < 0)
        return errno == EINTR || errno == ENOMEM ? 0 : -errno;
    for (unsigned i = 0; i < n; i++) {
        if (polls[1 + i].revents == 0)
            continue;
        if (!clients[i]->reply)
            hear(clients[i]);
        tell(clients[i]);
    }
    if (polls[0].revents & ~POLLIN)
        return -EBADF;
    return polls[0].revents ? accept_one() : 0;
}

static bool is_shortage(int r)
{
    return r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -ENOBUFS;
}

/* Makes the socket if it is not there. -ECANCELED: none is wanted. The lock is held from the look at
 * what is wanted to the making, so that no socket is made behind the end of the process. */
static int make_ready(void)
{
    int r = 0;

    pthread_mutex_lock(&control.lock);
    if (!control.off && !control.ended && !descriptor_is_ours(&control.listener)) {
        close_socket();
        r = open_socket();
        if (r < 0 && r != -EBADF && !is_shortage(r))
            control.off = true; /* nowhere to be, and the program is not to be bothered with that */
    }
    if (control.off || control.ended)
        r = -ECANCELED;
    pthread_mutex_unlock(&control.lock);
    return r;
}

/* False: it is wanted again. */
static bool end_thread(void)
{
    bool end;

    for (unsigned i = 0; i < CLIENTS_MAX; i++)
        if (control.clients[i].socket.fd >= 0)
            client_close(&control.clients[i]);
    pthread_mutex_lock(&control.lock);
    end = control.off || control.ended;
    if (end) {
        close_socket();
        control.running = false;
    }
    pthread_mutex_unlock(&control.lock);
    return end;
}

static void *control_main(void *child)
{
    unsigned wait = RETRY;

    if (child)
        nap(CHILD_DELAY);
    for (;;) {
        int r;

        (void)must_end();
        r = make_ready();
        if (r == -ECANCELED) {
            if (end_thread())
                return NULL;
        } else if (r == -EBADF) {
            nap(RETRY / 10); /* it does not close for ever */
        } else if (r < 0) {
            nap(wait);
            wait = MIN(2 * wait, (unsigned)RETRY_MAX);
        } else {
            wait = RETRY;
            r = serve();
            if (is_shortage(r)) {
                nap(RETRY / 10); /* clients stay in the backlog meanwhile */
            } else if (r < 0) {
                pthread_mutex_lock(&control.lock);
                close_socket();
                pthread_mutex_unlock(&control.lock);
            }
        }
    }
}

/* With the lock. */
static void start_thread(void)
{
    void *child = control.child ? &control : NULL;
    pthread_attr_t attributes;
    pthread_t thread;
    int r;

    if (control.running || control.off || control.ended || !control.wanted)
        return;
    for (unsigned i = 0; i < CLIENTS_MAX; i++)
        control.clients[i].socket.fd = -1;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)pthread_attr_setstacksize(&attributes, STACK_SIZE);
    r = thread_start(&thread, &attributes, "strata-control", control_main, child);
    if (r == EINVAL) { /* a program with much thread-local storage */
        (void)pthread_attr_setstacksize(&attributes, (size_t)8 << 20);
        r = thread_start(&thread, &attributes, "strata-control", control_main, child);
    }
    pthread_attr_destroy(&attributes);
    control.running = r == 0;
}

void control_start(const struct control_handler *handler)
{
    pthread_mutex_lock(&control.lock);
    if (!control.handler) { /* before there is a thread, which reads it without the lock */
        control.handler = handler;
        handler->begin();
    }
    if (!control.asked) {
        const char *value = secure_getenv("STRATA_CONTROL");

        control.asked = true;
        control.off |= value && strcmp(value, "off") == 0;
    }
    control.wanted = true;
    start_thread();
    pthread_mutex_unlock(&control.lock);
}

void control_switch(bool on)
{
    pthread_mutex_lock(&control.lock);
    control.asked = true;
    control.off = !on;
    if (on) {
        start_thread();
    } else {
        remove_name();
        if (descriptor_is_ours(&control.listener))
            shutdown(control.listener.fd, SHUT_RDWR); /* wakes the thread, which sees `off` */
    }
    pthread_mutex_unlock(&control.lock);
}

/* ---- The end, and children ---- */

static void __attribute__((destructor(102))) control_end(void)
{
    pthread_mutex_lock(&control.lock);
    control.ended = true;
    remove_name();
    pthread_mutex_unlock(&control.lock);
}

void control_before_fork(void)
{
    pthread_mutex_lock(&control.lock);
}

void control_after_fork_parent(void)
{
    pthread_mutex_unlock(&control.lock);
}

/* What the thread had in hand is the parent's; it may have been in the middle of it. */
void control_after_fork_child(void)
{
    bool was_running = control.running;

    control.name[0] = '\0';
    descriptor_close(&control.listener);
    for (unsigned i = 0; i < CLIENTS_MAX && was_running; i++) {
        descriptor_close(&control.clients[i].socket);
        control.clients[i].line = control.clients[i].reply = NULL;
        control.clients[i].len = 0;
    }
    control.running = false;
    control.child = true;
    if (was_running) {
        control.handler->begin();
        start_thread();
    }
    pthread_mutex_unlock(&control.lock);
}
