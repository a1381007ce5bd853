/* SPDX-License-Identifier: MIT */
#include "runtime/process/syslog.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "runtime/format.h"
#include "runtime/process/descriptor.h"
#include "runtime/process/log.h"
#include "runtime/process/program.h"
#include "runtime/scratch_buffer.h"
#include "runtime/trace_counts.h"
#include "strata/trace.h"

/* Not syslog(3): its ident, options and facility are the program's to choose, for its own messages. */

#define DAEMON_INFO "<30>"

static struct {
    pthread_mutex_t lock;
    char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
    struct descriptor connection;
    bool stream; /* messages end in a NUL */
} log_socket = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .path = "/dev/log",
    .connection = DESCRIPTOR_NONE,
};

/* Nonblocking: a daemon that hangs must not hang us. */
static int connect_as(int type)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -errno;
    memcpy(address.sun_path, log_socket.path, sizeof(address.sun_path));
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        int r = -errno;

        close(fd);
        return r;
    }
    return fd;
}

static int reconnect(void)
{
    int fd;

    descriptor_close(&log_socket.connection);
    fd = connect_as(SOCK_DGRAM);
    log_socket.stream = fd == -EPROTOTYPE;
    if (log_socket.stream)
        fd = connect_as(SOCK_STREAM);
    return fd < 0 ? fd : descriptor_take(&log_socket.connection, fd);
}

int syslog_set_socket(const char *path)
{
    int r;

    if (!path)
        path = "/dev/log";
    if (strlen(path) >= sizeof(log_socket.path))
        return -ENAMETOOLONG;
    pthread_mutex_lock(&log_socket.lock);
    memcpy(log_socket.path, path, strlen(path) + 1);
    r = reconnect();
    pthread_mutex_unlock(&log_socket.lock);
    return r;
}

void syslog_forget(void)
{
    /* Another thread of the parent may have had the lock. Its connection serves the child as well. */
    log_socket.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

/* "<30>Nov 21 12:00:00 program[123]: " */
static void put_head(struct line *line)
{
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t now = time(NULL);
    struct tm tm;

    line_put(line, DAEMON_INFO, strlen(DAEMON_INFO));
    if (localtime_r(&now, &tm)) {
        line_put(line, months[tm.tm_mon], 3);
        line_put(line, tm.tm_mday < 10 ? "  " : " ", tm.tm_mday < 10 ? 2 : 1);
        line_put_decimal(line, (uint64_t)tm.tm_mday);
        line_put(line, " ", 1);
        line_put_digits(line, (uint64_t)tm.tm_hour, 2);
        line_put(line, ":", 1);
        line_put_digits(line, (uint64_t)tm.tm_min, 2);
        line_put(line, ":", 1);
        line_put_digits(line, (uint64_t)tm.tm_sec, 2);
        line_put(line, " ", 1);
    }
    line_put(line, program_name(), strlen(program_name()));
    line_put(line, "[", 1);
    line_put_decimal(line, (uint64_t)getpid());
    line_put(line, "]: ", 3);
}

static int send_pieces(const struct iovec *pieces, unsigned n)
{
    size_t size = 0;
    ssize_t sent;

    if (!descriptor_is_ours(&log_socket.connection))
        return -ENOTCONN;
    for (unsigned i = 0; i < n; i++)
        size += pieces[i].iov_len;
    sent = descriptor_write(&log_socket.connection, pieces, n);
    if (sent < 0)
        return (int)sent;
    return (size_t)sent == size ? 0
                                : -EIO; /* half a message in a stream: the next one reconnects */
}

int syslog_send(const char *text, size_t len)
{
    char *head = scratch_buffer_get();
    struct line line = {head, head + SCRATCH_SIZE, false};
    struct iovec pieces[3];
    int r;

    if (!head)
        return -ENOMEM;
    put_head(&line);
    pieces[0] = (struct iovec){head, (size_t)(line.at - head)};
    pieces[1] = (struct iovec){(void *)text, len};
    pieces[2] = (struct iovec){(void *)"", 1};

    pthread_mutex_lock(&log_socket.lock);
    r = send_pieces(pieces, log_socket.stream ? 3 : 2);
    /* The daemon may have been started again since. A full socket is not that. */
    if (r < 0 && r != -EAGAIN && r != -ENOBUFS && r != -EMSGSIZE) {
        r = reconnect();
        if (r >= 0)
            r = send_pieces(pieces, log_socket.stream ? 3 : 2);
    }
    pthread_mutex_unlock(&log_socket.lock);
    scratch_buffer_put(head);
    return r;
}

void syslog_wait(unsigned ms)
{
    struct descriptor connection;

    pthread_mutex_lock(&log_socket.lock);
    connection = log_socket.connection;
    pthread_mutex_unlock(&log_socket.lock);
    descriptor_wait(&connection, ms);
}

void strata_syslog(const char *format, ...)
{
    int saved_errno = errno;
    char *text = scratch_buffer_get();
    struct line line = {text, text + STRATA_LOG_MAX, false};
    va_list args;

    if (!text) {
        COUNT(lines_lost, 1);
        return;
    }
    va_start(args, format);
    line_vprintf(&line, format, args);
    va_end(args);
    if (syslog_send(text, (size_t)(line.at - text)) < 0)
        COUNT(lines_lost, 1);
    scratch_buffer_put(text);
    errno = saved_errno;
}
