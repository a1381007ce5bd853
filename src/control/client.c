/* SPDX-License-Identifier: MIT */
#include "control/client.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/proc.h"
#include "control/socket_dirs.h"

/* Seconds that a program has to answer who it is. For other requests it may have to wait for a disk. */
#define TIMEOUT 5

/* The program may be about to replace a socket that refuses: the client tries again for so many seconds. A program
 * that closed the connection was there, and has TIMEOUT. */
#define REFUSED_TIMEOUT 1
#define BETWEEN_TRIES 50000000L /* ns */

#define REPLY_MAX ((size_t)256 << 20)

struct client {
    int fd;
    pid_t pid;
    char *buffer;
    size_t size, at, end; /* what was read and is not used yet lies at [at, end) */
};

/* ---- Connecting ---- */

static int set_patience(int fd, time_t seconds)
{
    const struct timeval patience = {.tv_sec = seconds};

    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) < 0)
        return -errno;
    return 0;
}

/* Connects to NAME in DIR, whose path may be of any length. The listener must be OWNER's or root's. */
static int connect_in(int dir, const char *name, uid_t owner)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct ucred peer;
    socklen_t len = sizeof peer;
    int fd, r;

    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", dir, name);
    r = set_patience(fd, TIMEOUT);
    if (r >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) < 0)
        r = errno == EAGAIN ? -ETIMEDOUT : -errno;
    if (r >= 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        r = -errno;
    if (r >= 0 && peer.uid != owner && peer.uid != 0)
        r = -EPERM;
    if (r < 0)
        close(fd);
    return r < 0 ? r : fd;
}

static int client_new(int fd, pid_t pid, struct client **ret)
{
    struct client *client = malloc(sizeof *client);

    if (!client)
        return -ENOMEM;
    *client = (struct client){.fd = fd, .pid = pid};
    *ret = client;
    return 0;
}

void client_free(struct client *client)
{
    if (!client)
        return;
    close(client->fd);
    free(client->buffer);
    free(client);
}

/* Makes one attempt: connects, and asks which process answers. The socket may belong to a program that has closed all
 * its descriptors and creates a new socket only on our request. */
static int try_open(int dir, const char *name, uid_t owner, pid_t pid, struct client **ret)
{
    struct error error = {0};
    _cleanup_(client_freep) struct client *client = NULL;
    _cleanup_free_ char *answer = NULL;
    int fd, r;

    fd = connect_in(dir, name, owner);
    if (fd < 0)
        return fd;
    r = client_new(fd, pid, &client);
    if (r < 0) {
        close(fd);
        return r;
    }
    r = client_ask(client, "hello", &answer, &error);
    if (r < 0)
        return r;
    r = set_patience(client->fd, 0);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(client);
    return 0;
}

static bool is_alive(pid_t pid)
{
    return kill(pid, 0) == 0 || errno != ESRCH;
}

/* Whether the socket is left of a dead process, whose number is another's by now. */
static bool is_of_another(int dir, const char *name, pid_t pid)
{
    struct stat st;

    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && proc_began_after(pid, &st.st_mtim);
}

static int open_in(int dir, uid_t owner, pid_t pid, struct client **ret)
{
    const struct timespec pause = {.tv_nsec = BETWEEN_TRIES};
    uint64_t began = clock_ns(CLOCK_MONOTONIC), patience = REFUSED_TIMEOUT;
    bool was_there = false;
    char name[16];

    snprintf(name, sizeof name, "%ld", (long)pid);
    for (;;) {
        int r = try_open(dir, name, owner, pid, ret);

        if (r == -ECONNRESET || r == -EPIPE) {
            was_there = true;
            patience = TIMEOUT;
        }
        /* Between its old socket and the new one there is none of that name. */
        if ((r != -ECONNREFUSED && r != -ECONNRESET && r != -EPIPE &&
             (r != -ENOENT || !was_there)) ||
            !is_alive(pid) || is_of_another(dir, name, pid) ||
            clock_ns(CLOCK_MONOTONIC) - began >= patience * NSEC_PER_SEC)
            return r;
        nanosleep(&pause, NULL);
    }
}

int client_open(const char *runtime, pid_t pid, struct client **ret, struct error *error)
{
    struct dirs dirs = {0};
    char path[32];
    struct stat st;
    uid_t owner;
    int r = -ENOENT;

    snprintf(path, sizeof path, "/proc/%ld", (long)pid);
    if (pid <= 0 || stat(path, &st) < 0)
        return error_set(error, -ESRCH, NULL, "no process %ld", (long)pid);
    owner = st.st_uid;
    if (geteuid() != 0 && owner != geteuid())
        return error_set(
            error, -EPERM, NULL,
            "process %ld belongs to another user; only that user or root can control it",
            (long)pid);
    dirs_find(&dirs, runtime, owner);
    if (dirs.error)
        r = dirs.error;
    for (unsigned i = 0; i < dirs.n && r < 0; i++) {
        int one = open_in(dirs.items[i].fd, dirs.items[i].owner, pid, ret);

        if (one != -ENOENT)
            r = one;
        if (one >= 0)
            break;
    }
    dirs_done(&dirs);
    if (r >= 0)
        return 0;
    if (r == -ENOENT || r == -ECONNREFUSED)
        return error_set(error, -ENOENT, NULL,
                         "process %ld has no control socket: it does not link libstrata, or was "
                         "started with STRATA_CONTROL=off",
                         (long)pid);
    if (r == -ETIMEDOUT || r == -EAGAIN)
        return error_set(error, -ETIMEDOUT, NULL, "process %ld does not answer; it may be stopped",
                         (long)pid);
    return error_set(error, r, NULL, "process %ld: its control socket: %s", (long)pid,
                     strerror(-r));
}

/* ---- Asking ---- */

static int send_all(struct client *client, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(client->fd, data, len, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? -ETIMEDOUT : -errno;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

/* At least one byte more. */
static int read_more(struct client *client)
{
    ssize_t n;

    if (client->at > 0) {
        memmove(client->buffer, client->buffer + client->at, client->end - client->at);
        client->end -= client->at;
        client->at = 0;
    }
    if (client->end == client->size) {
        size_t size = client->size ? 2 * client->size : 4096;
        char *buffer = realloc(client->buffer, size);

        if (!buffer)
            return -ENOMEM;
        client->buffer = buffer;
        client->size = size;
    }
    do
        n = recv(client->fd, client->buffer + client->end, client->size - client->end, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN ? -ETIMEDOUT : -errno;
    if (n == 0)
        return -ECONNRESET;
    client->end += (size_t)n;
    return 0;
}

/* "ok LENGTH" or "error KIND LENGTH". */
static int parse_status(char *line, bool *ret_ok, size_t *ret_len)
{
    char *word = client_word(&line), *end;
    unsigned long long n;

    if (strcmp(word, "ok") == 0)
        *ret_ok = true;
    else if (strcmp(word, "error") == 0 && *client_word(&line))
        *ret_ok = false;
    else
        return -EPROTO;
    word = client_word(&line);
    errno = 0;
    n = strtoull(word, &end, 10);
    if (*word < '0' || *word > '9' || *end || errno || n > REPLY_MAX || *line)
        return -EPROTO;
    *ret_len = (size_t)n;
    return 0;
}

static int read_reply(struct client *client, bool *ret_ok, char **ret)
{
    char *newline, *text;
    size_t len;
    int r;

    while (!(newline = client->end == client->at
                           ? NULL
                           : memchr(client->buffer + client->at, '\n', client->end - client->at))) {
        if (client->end - client->at > 64)
            return -EPROTO;
        r = read_more(client);
        if (r < 0)
            return r;
    }
    *newline = '\0';
    r = parse_status(client->buffer + client->at, ret_ok, &len);
    if (r < 0)
        return r;
    client->at = (size_t)(newline - client->buffer) + 1;
    while (client->end - client->at < len) {
        r = read_more(client);
        if (r < 0)
            return r;
    }
    text = malloc(len + 1);
    if (!text)
        return -ENOMEM;
    memcpy(text, client->buffer + client->at, len);
    text[len] = '\0';
    client->at += len;
    *ret = text;
    return 0;
}

int client_ask(struct client *client, const char *request, char **ret, struct error *error)
{
    _cleanup_free_ char *line = NULL;
    bool ok;
    int n, r;

    if (strchr(request, '\n'))
        return error_set(error, -EINVAL, NULL, "a request is one line, without a newline in it");
    n = asprintf(&line, "%s\n", request);
    if (n < 0) {
        line = NULL;
        return error_set(error, -ENOMEM, NULL, "out of memory");
    }
    r = send_all(client, line, (size_t)n);
    /* Who cuts us off may have said why. */
    if (r >= 0 || r == -EPIPE)
        r = read_reply(client, &ok, ret);
    if (r == -EPROTO)
        return error_set(
            error, r, NULL,
            "process %ld does not speak the protocol of strata-control(7) on its socket",
            (long)client->pid);
    if (r == -ECONNRESET || r == -EPIPE)
        return error_set(error, r, NULL, "process %ld has ended, or closed the connection",
                         (long)client->pid);
    if (r < 0)
        return error_set(error, r, NULL, "process %ld: %s", (long)client->pid, strerror(-r));
    return ok ? 0 : -EREMOTE;
}

/* ---- Answers ---- */

char *client_line(char **rest)
{
    char *line = *rest, *end;

    if (!line || !*line)
        return NULL;
    end = strchr(line, '\n');
    if (end)
        *end = '\0';
    *rest = end ? end + 1 : line + strlen(line);
    return line;
}

char *client_word(char **rest)
{
    char *word = *rest, *end = strchr(word, ' ');

    if (end)
        *end = '\0';
    *rest = end ? end + 1 : word + strlen(word);
    return word;
}

uint64_t client_number(const char *word)
{
    char *end;
    unsigned long long n;

    errno = 0;
    n = strtoull(word, &end, 10);
    return *word < '0' || *word > '9' || *end || errno ? 0 : n;
}

static int add_sink(struct client_program *program, char *rest)
{
    struct client_sink *sinks =
        realloc(program->sinks, (program->n_sinks + 1) * sizeof *program->sinks);
    struct client_sink *sink;
    const char *name, *state;

    if (!sinks)
        return -ENOMEM;
    program->sinks = sinks;
    sink = &sinks[program->n_sinks++];
    *sink = (struct client_sink){0};
    name = client_word(&rest);
    state = client_word(&rest);
    sink->lost = client_number(client_word(&rest));
    sink->name = strdup(name);
    sink->state = strdup(state);
    sink->path = strdup(rest);
    return sink->name && sink->state && sink->path ? 0 : -ENOMEM;
}

static int set_text(char **member, const char *text)
{
    free(*member);
    *member = strdup(text);
    return *member ? 0 : -ENOMEM;
}

/* What is not known is of a later version. */
static int parse_field(struct client_program *program, char *rest)
{
    const char *name = client_word(&rest);

    if (strcmp(name, "program") == 0)
        return set_text(&program->name, rest);
    if (strcmp(name, "version") == 0)
        return set_text(&program->version, rest);
    if (strcmp(name, "mode") == 0)
        return set_text(&program->mode, rest);
    if (strcmp(name, "sink") == 0)
        return add_sink(program, rest);
    if (strcmp(name, "since") == 0)
        program->since = client_number(client_word(&rest));
    if (strcmp(name, "dropped") == 0)
        program->dropped = client_number(client_word(&rest));
    if (strcmp(name, "unwritten") == 0)
        program->unwritten = client_number(client_word(&rest));
    if (strcmp(name, "events") == 0) {
        program->events_on = client_number(client_word(&rest));
        program->events = client_number(client_word(&rest));
    }
    if (strcmp(name, "rings") == 0) {
        program->rings = client_number(client_word(&rest));
        program->ring_bytes = client_number(client_word(&rest));
    }
    return 0;
}

int client_hello(struct client *client, struct client_program *ret, struct error *error)
{
    struct client_program program = {.pid = client->pid};
    _cleanup_free_ char *answer = NULL;
    char *rest, *line;
    int r;

    r = client_ask(client, "hello", &answer, error);
    if (r < 0)
        return r;
    rest = answer;
    while (r >= 0 && (line = client_line(&rest)))
        r = parse_field(&program, line);
    if (r >= 0 && (!program.name || !program.mode || !program.version))
        r = error_set(error, -EPROTO, NULL, "process %ld does not identify itself",
                      (long)client->pid);
    else if (r < 0)
        r = error_set(error, r, NULL, "out of memory");
    if (r < 0) {
        client_program_done(&program);
        return r;
    }
    *ret = program;
    return 0;
}

void client_program_done(struct client_program *program)
{
    for (size_t i = 0; i < program->n_sinks; i++) {
        free(program->sinks[i].name);
        free(program->sinks[i].state);
        free(program->sinks[i].path);
    }
    free(program->sinks);
    free(program->name);
    free(program->version);
    free(program->mode);
    *program = (struct client_program){0};
}

/* ---- All of them ---- */

static int by_pid(const void *a, const void *b)
{
    const struct client_program *one = a, *other = b;

    return (one->pid > other->pid) - (one->pid < other->pid);
}

struct list {
    struct client_program *items;
    size_t n;
};

/* The program that listens on the socket of that name, if there is one. */
static int add_program(struct list *list, int dir, uid_t owner, pid_t pid)
{
    _cleanup_(client_freep) struct client *client = NULL;
    struct client_program program = {.pid = pid};
    struct client_program *items;
    struct error error = {0};
    char name[16];
    int r;

    r = open_in(dir, owner, pid, &client);
    if (r == -ECONNREFUSED && !is_alive(pid)) {
        snprintf(name, sizeof name, "%ld", (long)pid);
        (void)unlinkat(dir, name, 0);
        return 0;
    }
    if (r >= 0)
        r = client_hello(client, &program, &error);
    if (r < 0 && r != -ETIMEDOUT)
        return r == -ENOMEM ? r : 0; /* has ended meanwhile, or is something else */
    items = realloc(list->items, (list->n + 1) * sizeof *items);
    if (!items) {
        client_program_done(&program);
        return -ENOMEM;
    }
    list->items = items;
    items[list->n++] = program;
    return 0;
}

int client_list(const char *runtime, struct client_program **ret, size_t *ret_n,
                struct error *error)
{
    struct dirs dirs = {0};
    struct list list = {0};
    int r = 0;

    dirs_find(&dirs, runtime, geteuid());
    r = dirs.error;
    for (unsigned i = 0; i < dirs.n && r >= 0; i++) {
        pid_t *pids = NULL;
        size_t n = 0;

        r = dir_pids(&dirs.items[i], &pids, &n);
        for (size_t k = 0; k < n && r >= 0; k++)
            r = add_program(&list, dirs.items[i].fd, dirs.items[i].owner, pids[k]);
        free(pids);
    }
    dirs_done(&dirs);
    if (r < 0) {
        client_list_free(list.items, list.n);
        return error_set(error, r, NULL, "cannot look for traced programs: %s", strerror(-r));
    }
    if (list.n > 0)
        qsort(list.items, list.n, sizeof *list.items, by_pid);
    *ret = list.items;
    *ret_n = list.n;
    return 0;
}

void client_list_free(struct client_program *programs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        client_program_done(&programs[i]);
    free(programs);
}
