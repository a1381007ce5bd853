/* SPDX-License-Identifier: MIT */
#include "strata/monitor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "monitor/address.h"
#include "monitor/connection.h"

/* A monitor: its sockets and sessions, all watched by one epoll. Whoever calls
 * strata_monitor_dispatch(), the program's main loop or the thread here, does all of the work.
 *
 * Some files (ordinary ones, as standard input) cannot be watched, and are always ready; and a session
 * with much to do has to let others have their turn: both are `pending`, and for them the event counter
 * `kick` makes the epoll readable. */

#define SESSIONS_MAX 16
#define EVENTS_AT_ONCE 32

/* Descriptors or memory ran out: how long until another try. */
#define RETRY_SECONDS 1

/* QMP's clients send `quit` and go; some take it for an error when the other side was faster. So it waits
 * for them, but not for long. */
#define LINGER_NANOSECONDS 200000000

struct listener {
    struct listener *next;
    int fd;
    char *path; /* to be removed at the end; NULL: none */
    dev_t device;
    ino_t inode;
};

struct strata_monitor {
    enum strata_monitor_dialect dialect;
    char *name;
    char *prompt;
    pid_t pid;
    int epoll, kick, timer;
    bool accepting;
    bool timer_runs;
    struct listener *listeners;
    struct connection *connections;
    int n_connections;
    bool started;
    pthread_t thread;
    atomic_bool stop;
};

static int watch(const struct strata_monitor *m, int operation, int fd, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.fd = fd};

    return epoll_ctl(m->epoll, operation, fd, &event) < 0 ? -errno : 0;
}

static void kick(const struct strata_monitor *m)
{
    static const uint64_t one = 1;

    while (write(m->kick, &one, sizeof(one)) < 0 && errno == EINTR)
        ;
}

int strata_monitor_new(enum strata_monitor_dialect dialect, struct strata_monitor **ret)
{
    struct strata_monitor *m;
    int r = 0;

    if ((dialect != STRATA_MONITOR_HMP && dialect != STRATA_MONITOR_QMP) || !ret)
        return -EINVAL;
    m = calloc(1, sizeof(*m));
    if (!m)
        return -ENOMEM;
    m->dialect = dialect;
    m->pid = getpid();
    m->accepting = true;
    m->epoll = epoll_create1(EPOLL_CLOEXEC);
    m->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    m->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (m->epoll < 0 || m->kick < 0 || m->timer < 0)
        r = -errno;
    if (r >= 0)
        r = watch(m, EPOLL_CTL_ADD, m->kick, EPOLLIN);
    if (r >= 0)
        r = watch(m, EPOLL_CTL_ADD, m->timer, EPOLLIN);
    if (r < 0) {
        strata_monitor_free(m);
        return r;
    }
    *ret = m;
    return 0;
}

static void listener_free(struct strata_monitor *m, struct listener *listener)
{
    struct stat st;

    close(listener->fd);
    /* It may be another's by now. */
    if (listener->path && m->pid == getpid() && lstat(listener->path, &st) == 0 &&
        st.st_dev == listener->device && st.st_ino == listener->inode)
        unlink(listener->path);
    free(listener->path);
    free(listener);
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

void strata_monitor_free(struct strata_monitor *m)
{
    bool ours;

    if (!m)
        return;
    ours = m->pid == getpid(); /* else a child of fork(), which has no thread */
    if (m->started && ours) {
        atomic_store(&m->stop, true);
        kick(m);
        pthread_join(m->thread, NULL);
    }
    while (m->connections) {
        struct connection *connection = m->connections;

        m->connections = connection->next;
        connection_free(connection, !ours);
    }
    while (m->listeners) {
        struct listener *listener = m->listeners;

        m->listeners = listener->next;
        listener_free(m, listener);
    }
    close_fd(m->epoll);
    close_fd(m->kick);
    close_fd(m->timer);
    free(m->name);
    free(m->prompt);
    free(m);
}

static int set_text(char **text, const char *value)
{
    char *copy = strdup(value);

    if (!copy)
        return -ENOMEM;
    free(*text);
    *text = copy;
    return 0;
}

int strata_monitor_set_name(struct strata_monitor *m, const char *name)
{
    return set_text(&m->name, name);
}

int strata_monitor_set_prompt(struct strata_monitor *m, const char *prompt)
{
    return set_text(&m->prompt, prompt);
}

/* ---- Sessions ---- */

static void set_accepting(struct strata_monitor *m, bool accepting)
{
    if (m->accepting == accepting)
        return;
    m->accepting = accepting;
    for (const struct listener *listener = m->listeners; listener; listener = listener->next)
        (void)watch(m, EPOLL_CTL_MOD, listener->fd, accepting ? EPOLLIN : 0);
}

/* Takes IN and OUT when it succeeds. */
static int begin(struct strata_monitor *m, int in, int out, bool accepted)
{
    struct strata_monitor_session *session;
    struct connection *c;
    int r = session_new(m->dialect, m->name, m->prompt, &session);

    if (r < 0)
        return r;
    r = connection_new(session, in, out, &c);
    if (r < 0) {
        strata_monitor_session_free(session);
        return r;
    }
    c->accepted = accepted;
    c->linger = accepted && m->dialect == STRATA_MONITOR_QMP;
    c->next = m->connections;
    m->connections = c;
    m->n_connections++;
    c->pending = true;
    kick(m);
    return 0;
}

int strata_monitor_add(struct strata_monitor *m, int in, int out)
{
    int my_in = fcntl(in, F_DUPFD_CLOEXEC, 3);
    int my_out = my_in < 0 ? -1 : fcntl(out, F_DUPFD_CLOEXEC, 3);
    int r = my_in < 0 || my_out < 0 ? -errno : begin(m, my_in, my_out, false);

    if (r < 0) {
        close_fd(my_in);
        close_fd(my_out);
    }
    return r;
}

/* Has epoll watch one side of a connection, or not. */
static void set_watched(struct strata_monitor *m, struct connection *c, int side, bool watched)
{
    int fd = side ? c->out : c->in;
    int r;

    if (c->watched[side] == watched || c->unwatchable[side])
        return;
    r = watch(m, watched ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fd, side ? EPOLLOUT : EPOLLIN);
    c->unwatchable[side] = r == -EPERM;
    c->dead |= r < 0 && r != -EPERM;
    c->watched[side] = watched && r >= 0;
}

static void start_timer(struct strata_monitor *m, time_t seconds, long nanoseconds)
{
    const struct itimerspec when = {.it_value = {seconds, nanoseconds}};

    if (!m->timer_runs)
        m->timer_runs = timerfd_settime(m->timer, 0, &when, NULL) == 0;
}

static void work(struct strata_monitor *m, struct connection *c)
{
    enum connection_need need = connection_work(c);

    if (need == CONNECTION_OVER) {
        c->over = true;
        start_timer(m, 0, LINGER_NANOSECONDS);
        need = CONNECTION_READABLE;
    }

    c->pending = need == CONNECTION_TURN;
    c->dead |= need == CONNECTION_DEAD;
    set_watched(m, c, 0, need == CONNECTION_READABLE);
    set_watched(m, c, 1, need == CONNECTION_WRITABLE);
    /* What cannot be watched is ready at once. */
    c->pending |= (need == CONNECTION_READABLE && c->unwatchable[0]) ||
                  (need == CONNECTION_WRITABLE && c->unwatchable[1]);
    if (c->pending)
        kick(m);
}

static void bury_dead(struct strata_monitor *m)
{
    struct connection **link = &m->connections;

    while (*link) {
        struct connection *c = *link;

        if (!c->dead) {
            link = &c->next;
            continue;
        }
        set_watched(m, c, 0, false);
        set_watched(m, c, 1, false);
        *link = c->next;
        connection_free(c, false);
        m->n_connections--;
        set_accepting(m, true);
    }
}

/* ---- Listening ---- */

static int add_listener(struct strata_monitor *m, int fd, const char *path)
{
    struct listener *listener = calloc(1, sizeof(*listener));
    struct stat st;
    int r;

    if (!listener)
        return -ENOMEM;
    listener->fd = fd;
    if (path && lstat(path, &st) == 0) {
        listener->path = realpath(path, NULL);
        listener->device = st.st_dev;
        listener->inode = st.st_ino;
        if (!listener->path) {
            free(listener);
            return -ENOMEM;
        }
    }
    r = watch(m, EPOLL_CTL_ADD, fd, m->accepting ? EPOLLIN : 0);
    if (r < 0) {
        free(listener->path);
        free(listener);
        return r;
    }
    listener->next = m->listeners;
    m->listeners = listener;
    return 0;
}

int strata_monitor_listen(struct strata_monitor *m, const char *where)
{
    struct address address;
    int sockets[ADDRESS_SOCKETS_MAX];
    int n;
    int r = where ? address_parse(where, &address) : -EINVAL;

    if (r < 0)
        return r;
    if (address.kind == ADDRESS_STDIO) {
        address_done(&address);
        return strata_monitor_add(m, STDIN_FILENO, STDOUT_FILENO);
    }
    n = address_listen(&address, sockets);
    r = n;
    for (int i = 0; i < n; i++) {
        if (r >= 0)
            r = add_listener(m, sockets[i], address.path);
        if (r < 0) {
            close(sockets[i]);
            if (address.path)
                unlink(address.path);
        }
    }
    address_done(&address);
    return r < 0 ? r : 0;
}

static void accept_one(struct strata_monitor *m, int fd)
{
    int in;
    int out;

    if (!m->accepting)
        return;
    in = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    out = in < 0 ? -1 : fcntl(in, F_DUPFD_CLOEXEC, 3);
    if (in < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
        return;
    if (in < 0 || out < 0 || begin(m, in, out, true) < 0) {
        /* No descriptors or no memory: the client can wait a little longer. */
        close_fd(in);
        close_fd(out);
        set_accepting(m, false);
        start_timer(m, RETRY_SECONDS, 0);
        return;
    }
    if (m->n_connections >= SESSIONS_MAX)
        set_accepting(m, false);
}

/* ---- Work ---- */

int strata_monitor_get_fd(const struct strata_monitor *m)
{
    return m->epoll;
}

static void drain(int fd)
{
    uint64_t count;

    while (read(fd, &count, sizeof(count)) < 0 && errno == EINTR)
        ;
}

static void handle(struct strata_monitor *m, int fd)
{
    if (fd == m->kick) {
        drain(fd);
        return;
    }
    if (fd == m->timer) {
        drain(fd);
        m->timer_runs = false;
        for (struct connection *c = m->connections; c; c = c->next)
            c->dead |= c->over;
        set_accepting(m, m->n_connections < SESSIONS_MAX);
        return;
    }
    for (struct connection *c = m->connections; c; c = c->next)
        if (c->in == fd || c->out == fd) {
            c->pending = true;
            return;
        }
    accept_one(m, fd);
}

int strata_monitor_dispatch(struct strata_monitor *m)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    int n = epoll_wait(m->epoll, events, EVENTS_AT_ONCE, 0);

    if (n < 0 && errno != EINTR)
        return -errno;
    for (int i = 0; i < n; i++)
        handle(m, events[i].data.fd);
    for (struct connection *c = m->connections; c; c = c->next)
        if (c->pending)
            work(m, c);
    bury_dead(m);
    return m->n_connections;
}

static void *serve(void *userdata)
{
    struct strata_monitor *m = userdata;

    while (!atomic_load(&m->stop)) {
        struct pollfd ready = {.fd = m->epoll, .events = POLLIN};

        (void)poll(&ready, 1, -1);
        if (strata_monitor_dispatch(m) < 0)
            break;
    }
    return NULL;
}

int strata_monitor_start(struct strata_monitor *m)
{
    sigset_t all;
    sigset_t before;
    int error;

    if (m->started)
        return -EBUSY;
    /* The program's handlers run in the program's threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&m->thread, NULL, serve, m);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        return -error;
    pthread_setname_np(m->thread, "strata-monitor");
    m->started = true;
    return 0;
}
