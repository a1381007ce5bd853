/* SPDX-License-Identifier: MIT */
#include "runtime/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/clock.h"
#include "runtime/counts.h"
#include "runtime/macro.h"
#include "strata/trace.h"

struct trace_counts trace_counts;

static atomic_int target = STDERR_FILENO;
static atomic_bool stamps = true;

/* Initial-exec: an access is no call that could allocate, and so safe in signal handlers. */
static __thread uint32_t thread __attribute__((tls_model("initial-exec")));

uint32_t thread_number(void)
{
    if (unlikely(thread == 0))
        thread = (uint32_t)syscall(SYS_gettid);
    return thread;
}

void thread_number_forget(void)
{
    thread = 0;
}

int log_fd(void)
{
    return atomic_load_explicit(&target, memory_order_relaxed);
}

/* Other threads may be about to write to the number that they have just read. So one number is opened
 * for a file, once, and then only ever put onto another file. */
int log_set_file(const char *path)
{
    static int file = -1;
    int fd;

    if (!path) {
        atomic_store_explicit(&target, STDERR_FILENO, memory_order_relaxed);
        return 0;
    }
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666);
    if (fd < 0)
        return -errno;
    if (file < 0) {
        file = fd;
    } else {
        int r = dup3(fd, file, O_CLOEXEC) < 0 ? -errno : 0;

        close(fd);
        if (r < 0)
            return r;
    }
    atomic_store_explicit(&target, file, memory_order_relaxed);
    return 0;
}

void log_set_stamps(bool on)
{
    atomic_store_explicit(&stamps, on, memory_order_relaxed);
}

bool log_stamps(void)
{
    return atomic_load_explicit(&stamps, memory_order_relaxed);
}

void line_put_stamp(struct line *line, uint32_t number, uint64_t realtime_ns)
{
    line_put_decimal(line, number);
    line_put(line, "@", 1);
    line_put_decimal(line, realtime_ns / 1000000000);
    line_put(line, ".", 1);
    line_put_digits(line, realtime_ns / 1000 % 1000000, 6);
    line_put(line, ":", 1);
}

void line_close(struct line *line)
{
    line->end += STRATA_LOG_TAIL;
    if (line->cut)
        line_put(line, "...", 3);
    line_put(line, "\n", 1);
}

static void write_line(int fd, const char *text, size_t len)
{
    ssize_t n;

    do
        n = write(fd, text, len);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)len)
        COUNT(lines_lost, 1);
}

void strata_log(const char *format, ...)
{
    int saved_errno = errno;
    char text[STRATA_LOG_MAX];
    struct line line = {text, text + sizeof(text) - STRATA_LOG_TAIL, false};
    va_list args;

    if (log_stamps())
        line_put_stamp(&line, thread_number(), trace_clock_ns(CLOCK_REALTIME));
    errno = saved_errno; /* for %m */
    va_start(args, format);
    line_vprintf(&line, format, args);
    va_end(args);
    line_close(&line);
    write_line(log_fd(), text, (size_t)(line.at - text));
    errno = saved_errno;
}

/* ---- ftrace ---- */

#define NOT_OPENED INT32_MIN

static atomic_int marker = NOT_OPENED; /* or a file, or why there is none */

static int open_for_writing(const char *path)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);

    return fd < 0 ? -errno : fd;
}

int ftrace_fd(void)
{
    int fd = atomic_load_explicit(&marker, memory_order_relaxed);
    int none = NOT_OPENED;

    if (likely(fd != NOT_OPENED))
        return fd;
    fd = open_for_writing("/sys/kernel/tracing/trace_marker");
    if (fd == -ENOENT)
        fd = open_for_writing("/sys/kernel/debug/tracing/trace_marker");
    if (atomic_compare_exchange_strong(&marker, &none, fd))
        return fd;
    if (fd >= 0) /* another thread was faster */
        close(fd);
    return none;
}

int ftrace_set_marker(const char *path)
{
    int fd;
    int old;

    if (path) {
        char file[STRATA_LOG_MAX];
        struct line line = {file, file + sizeof(file) - 1, false};

        line_put(&line, path, strlen(path));
        line_put(&line, "/trace_marker", strlen("/trace_marker"));
        *line.at = '\0';
        fd = line.cut ? -ENAMETOOLONG : open_for_writing(file);
        if (fd == -ENOTDIR)
            fd = open_for_writing(path);
    } else {
        atomic_store(&marker, NOT_OPENED);
        fd = ftrace_fd();
        return fd < 0 ? fd : 0;
    }
    if (fd < 0)
        return fd;
    old = atomic_load(&marker);
    if (old >= 0) { /* its number may be in use */
        int r = dup3(fd, old, O_CLOEXEC) < 0 ? -errno : 0;

        close(fd);
        return r;
    }
    atomic_store(&marker, fd);
    return 0;
}

void strata_ftrace(const char *format, ...)
{
    int saved_errno = errno;
    char text[STRATA_LOG_MAX];
    struct line line = {text, text + sizeof(text) - STRATA_LOG_TAIL, false};
    int fd = ftrace_fd();
    va_list args;

    if (fd < 0) {
        COUNT(lines_lost, 1);
        errno = saved_errno;
        return;
    }
    errno = saved_errno;
    va_start(args, format);
    line_vprintf(&line, format, args);
    va_end(args);
    line_close(&line);
    write_line(fd, text, (size_t)(line.at - text));
    errno = saved_errno;
}
