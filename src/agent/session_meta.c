/* SPDX-License-Identifier: MIT */
/* Sends what a host needs to decode the pages, from tracefs and /proc. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "agent/session_send.h"
#include "base/fd.h"

/* The largest piece of a file, so that a META frame is no larger than a DATA frame. */
#define PIECE_MAX ((size_t)60000)

static int put_piece(struct session *session, enum proto_meta kind, const char *path, const void *p,
                     size_t n, bool last)
{
    struct proto_out out = session_begin(session);

    if (rx_queue_has_hello(session->rx_queue) || session_must_end(session))
        return -ECANCELED;
    proto_put_meta(
        &out, &(struct proto_meta_piece){.kind = kind, .path = proto_text(path), .last = last});
    proto_put(&out, p, n);
    return session_send(session, &out, PROTO_META);
}

/* Reads up to SIZE bytes; fewer only at the end of the file. */
static size_t read_piece(int fd, char *buf, size_t size)
{
    size_t len = 0;

    while (len < size) {
        ssize_t n = read(fd, buf + len, size - len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    return len;
}

/* Sends FILE of the directory DIR, as PATH, in pieces: kallsyms is larger than all other memory of the
 * agent. A file that cannot be read is left out; the reader of the trace does without. */
static int put_file_of(struct session *session, int dir, const char *file, enum proto_meta kind,
                       const char *path)
{
    _cleanup_free_ char *buf = malloc(PIECE_MAX);
    int fd = openat(dir, file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    size_t total = 0, n;
    int r;

    if (fd < 0)
        return 0;
    do {
        n = buf ? read_piece(fd, buf, PIECE_MAX) : 0;
        total += n;
        if (total > PROTO_META_FILE_MAX)
            n = 0; /* end of the file, as it was cut short */
        r = put_piece(session, kind, path, buf, n, n < PIECE_MAX);
    } while (r >= 0 && n == PIECE_MAX);
    close(fd);
    return r;
}

static int put_format(struct session *session, const char *system, size_t system_len,
                      const char *event)
{
    char path[512];

    if ((size_t)snprintf(path, sizeof path, "events/%.*s/%s/format", (int)system_len, system,
                         event) >= sizeof path)
        return 0;
    return put_file_of(session, session->tracefs->fd, path, PROTO_META_FILE, path);
}

/* Sends the formats of the tracer's own events (markers, printk, stacks), which no host selects. */
static int put_own_formats(struct session *session)
{
    _cleanup_(closedirp) DIR *dir = open_dir_at(session->tracefs->fd, "events/ftrace");
    const struct dirent *entry;
    int r = 0;

    if (!dir)
        return errno == ENOMEM ? -ENOMEM : 0;
    while (r >= 0 && (entry = readdir(dir)))
        if (*entry->d_name != '.')
            r = put_format(session, "ftrace", strlen("ftrace"), entry->d_name);
    return r;
}

static int put_fact(struct session *session, const char *name, const char *value)
{
    return put_piece(session, PROTO_META_FACT, name, value, strlen(value), true);
}

static int put_files(struct session *session, const char *const *files, size_t n, int dir)
{
    int r = 0;

    for (size_t i = 0; i < n && r >= 0; i++)
        r = put_file_of(session, dir, files[i], PROTO_META_FILE, files[i]);
    return r;
}

int session_send_cmdlines(struct session *session)
{
    static const char *const cmdlines[] = {"saved_cmdlines"};

    return put_files(session, cmdlines, ARRAY_SIZE(cmdlines), session->tracefs->fd);
}

int session_send_disturbed(struct session *session)
{
    struct tracer *tracer = &session->tracer;
    int r;

    if (!tracer->is_disturbed || tracer->is_disturbed_told)
        return 0;
    r = put_fact(session, "loss",
                 "tracing was switched off by another program; events are missing");
    tracer->is_disturbed_told = r >= 0;
    return r;
}

int session_send_metadata(struct session *session, bool changed)
{
    static const char *const of_buffer[] = {"events/header_page", "events/header_event",
                                            "trace_clock"};
    static const char *const printk[] = {"printk_formats"};
    struct tracer *tracer = &session->tracer;
    int all = session->tracefs->fd;
    struct utsname name;
    int r = 0;

    for (uint32_t i = 0; !changed && i < tracer->n_events && r >= 0; i++)
        if (tracer->events[i].enabled)
            r = put_format(session, tracer->events[i].system, tracer->events[i].system_len,
                           tracer->events[i].name + tracer->events[i].system_len + 1);
    if (r >= 0 && !changed)
        r = put_own_formats(session);
    if (r >= 0 && !changed)
        r = put_files(session, of_buffer, ARRAY_SIZE(of_buffer), tracer->dir);
    if (r >= 0 && session->wants & PROTO_WANT_CMDLINES)
        r = session_send_cmdlines(session);
    if (r >= 0 && session->wants & PROTO_WANT_PRINTK_FORMATS)
        r = put_files(session, printk, ARRAY_SIZE(printk), all);
    if (changed)
        return r < 0 ? r : session_send_disturbed(session);
    if (r >= 0 && session->wants & PROTO_WANT_KALLSYMS)
        r = put_file_of(session, -1, "/proc/kallsyms", PROTO_META_KALLSYMS, "");
    if (r >= 0) {
        char pid[24];

        snprintf(pid, sizeof pid, "%ld", (long)session->pid);
        r = put_fact(session, "pid_filter", pid);
    }
    if (r >= 0 && uname(&name) >= 0) {
        r = put_fact(session, "hostname", name.nodename);
        if (r >= 0)
            r = put_fact(session, "version", name.version);
    }
    return r;
}
