/* SPDX-License-Identifier: MIT */
#include "record/qemu/log.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/macro.h"
#include "format/qemu_log/line.h"

/* As large as anybody may make a pipe by default. */
#define FIFO_SIZE (1 << 20)
#define BUFFER_SIZE ((size_t)256 * 1024)
#define SHOWN_SIZE ((size_t)4096)
/* A FIFO of 1 MB is full in the longer of the sleeps at 250 MB/s, which is more than QEMU can log. */
#define SLEEP_MIN UINT64_C(2000000)
/* How often the free space of the disk that QEMU's own log is on is looked at. */
#define DISK_INTERVAL_NS NSEC_PER_SEC

struct log_word {
    const char *start;
    size_t len;
};

static int make_file(struct qemu_log_input *log, const char *path, struct error *error)
{
    log->file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return log->file < 0 ? error_set(error, -errno, path, "cannot be made: %s", strerror(errno))
                         : 0;
}

static int open_fifo(struct qemu_log_input *log, const char *fifo, struct error *error)
{
    struct stat st;
    int size;

    if (mkfifo(fifo, 0600) < 0)
        return error_set(error, -errno, fifo, "cannot be made: %s", strerror(errno));
    /* For writing as well: else, without a writer, it would be readable for ever. */
    log->in = open(fifo, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (log->in < 0)
        return error_set(error, -errno, fifo, "cannot be opened: %s", strerror(errno));
    /* In a directory of QEMU's user another process may have replaced it. */
    if (fstat(log->in, &st) < 0 || !S_ISFIFO(st.st_mode))
        return error_set(error, -EEXIST, fifo, "not the FIFO that was made");
    log->wake = log->in;
    (void)fcntl(log->in, F_SETPIPE_SZ, FIFO_SIZE); /* or what it has */
    size = fcntl(log->in, F_GETPIPE_SZ);
    log->room = size > 0 ? (size_t)size : 65536;
    return 0;
}

int qemu_log_input_open_fifo(const char *fifo, const char *path, uint64_t max_size, int copy,
                             bool copies_rest, unsigned passes, struct qemu_log_input *ret,
                             struct error *error)
{
    struct qemu_log_input log = {.in = -1,
                                 .wake = -1,
                                 .file = -1,
                                 .copy = copy,
                                 .copies_rest = copies_rest,
                                 .max_size = max_size,
                                 .shown = TEXT_IN_MEMORY,
                                 .buffer = malloc(BUFFER_SIZE)};
    int r;

    if (!log.buffer || (copy >= 0 && (copies_rest || isatty(copy)) &&
                        text_open_output(&log.shown, copy, SHOWN_SIZE, passes) < 0))
        r = error_set(error, -ENOMEM, NULL, "out of memory");
    else
        r = open_fifo(&log, fifo, error);
    if (r >= 0)
        r = make_file(&log, path, error);
    if (r < 0) {
        qemu_log_input_done(&log);
        return r;
    }
    *ret = log;
    return 0;
}

/* By the name of its descriptor: the file's own name may be of another root directory, or gone. -1: not possible. */
static int watch(int fd)
{
    int wake = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    char path[64];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (wake >= 0 && inotify_add_watch(wake, path, IN_MODIFY) < 0) {
        close(wake);
        wake = -1;
    }
    return wake;
}

int qemu_log_input_open_file(int own, const char *path, uint64_t max_size,
                             struct qemu_log_input *ret, struct error *error)
{
    struct qemu_log_input log = {.in = own,
                                 .wake = watch(own),
                                 .is_file = true,
                                 .file = -1,
                                 .copy = -1,
                                 .max_size = max_size,
                                 .shown = TEXT_IN_MEMORY,
                                 .room = FIFO_SIZE,
                                 .buffer = malloc(BUFFER_SIZE)};
    int r = log.buffer ? make_file(&log, path, error)
                       : error_set(error, -ENOMEM, NULL, "out of memory");

    if (r < 0) {
        qemu_log_input_done(&log);
        return r;
    }
    *ret = log;
    return 0;
}

/* All of it, or as much as goes. */
static size_t write_some(int fd, const char *p, size_t n, int *ret_error)
{
    size_t at = 0;

    while (at < n) {
        ssize_t w = write(fd, p + at, n - at);

        if (w > 0) {
            at += (size_t)w;
        } else if (w == 0 || errno != EINTR) {
            *ret_error = w == 0 ? -ENOSPC : -errno;
            break;
        }
    }
    return at;
}

/* To the copy. What it does not take is not kept: it is the file that the trace has. */
static void put_copy(struct qemu_log_input *log, const char *p, size_t n)
{
    int error;

    if (!log->shown.start) {
        (void)write_some(log->copy, p, n, &error);
        return;
    }
    text_put(&log->shown, p, n);
    text_drain(&log->shown);
    log->shown.error = 0;
}

static uint64_t count_lines(const char *p, size_t n)
{
    uint64_t lines = 0;

    for (size_t i = 0; i < n; i++)
        lines += p[i] == '\n';
    return lines;
}

static int by_start(const void *key, const void *name)
{
    const struct log_word *word = key;
    const char *other = *(char *const *)name;
    int r = strncmp(word->start, other, word->len);

    return r ? r : other[word->len] ? -1 : 0;
}

/* Whether the word at P is the name of an event. */
static bool is_name(const struct qemu_log_input *log, const char *p, const char *end)
{
    struct log_word word = {.start = p, .len = log_head_name(p, end)};

    return word.len && log->n_names &&
           bsearch(&word, log->names, log->n_names, sizeof *log->names, by_start);
}

/* Whether the line that begins with P … END is an event: with "PID@" before its name, or, in QEMU 11.1, with a time and a
 * known name. */
static bool begins_event(const struct qemu_log_input *log, const char *p, const char *end)
{
    const char *digit = p;
    struct log_head_memory memory = {0};
    struct log_head head;
    const char *after;

    while (digit < end && *digit >= '0' && *digit <= '9')
        digit++;
    if (digit == p || digit == end)
        return false;
    if (*digit == '@')
        return true;
    if (end[-1] == '\n')
        end--;
    log_head_read(&memory, p, end, &head);
    if (head.prefix != LOG_PREFIX_ISO)
        return false;
    after = log_head_skip_context(head.rest, end, &head.pid);
    return is_name(log, head.rest, end) || (after && is_name(log, after, end));
}

/* Collects the begin of a line from P, until its kind is known. Returns whether it is known. */
static bool take_head(struct qemu_log_input *log, const char *p, const char *next, bool whole)
{
    size_t n = MIN((size_t)(next - p), sizeof log->head - log->head_len);

    memcpy(log->head + log->head_len, p, n);
    if (!whole && log->head_len + n < sizeof log->head) {
        log->head_len += n;
        return false;
    }
    log->in_event = begins_event(log, log->head, log->head + log->head_len + n);
    if (!log->in_event && log->head_len > 0)
        put_copy(log, log->head, log->head_len);
    log->head_len = 0;
    return true;
}

/* Lines that are not events go where QEMU would have written them. The end of the buffer may cut a line anywhere. */
static void copy_rest(struct qemu_log_input *log, const char *p, const char *end)
{
    while (p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *next = newline ? newline + 1 : end;
        bool is_copied =
            (log->torn && log->head_len == 0) || take_head(log, p, next, newline != NULL);

        if (is_copied && !log->in_event)
            put_copy(log, p, (size_t)(next - p));
        log->torn = !newline;
        p = next;
    }
}

/* The file ends behind the last line that is whole: what came behind it is lost. */
static void give_up(struct qemu_log_input *log, int error)
{
    uint64_t torn = log->bytes - log->whole;

    log->error = error;
    if (torn > 0 && ftruncate(log->file, (off_t)log->whole) == 0 &&
        lseek(log->file, (off_t)log->whole, SEEK_SET) >= 0) {
        log->bytes = log->whole;
        log->lost_bytes += torn;
    }
}

/* The disk was full. At the first whole line of P, of N bytes, the file goes on, if it has room for a line that says how many
 * were lost. Returns the bytes before it, which are lost. */
static size_t go_on(struct qemu_log_input *log, const char *p, size_t n)
{
    const char *newline = log->is_in_line ? memchr(p, '\n', n) : NULL;
    const char *start = !log->is_in_line ? p : newline ? newline + 1 : p + n;
    struct log_head_memory memory = {0};
    struct log_head head;
    char line[96];
    uint64_t lost = log->lost_lines - log->stated_lines + (newline != NULL);
    int error = 0;
    size_t len;

    if (start == p + n || log->bytes > log->whole)
        return n;
    log_head_read(&memory, start, p + n, &head);
    len = MIN((size_t)(head.rest - start), sizeof line / 2);
    memcpy(line, start, len);
    if (lost > 0)
        len += (size_t)snprintf(line + len, sizeof line - len, "%" PRIu64 " events were dropped\n",
                                lost);
    else
        len = 0;
    log->bytes += write_some(log->file, line, len, &error);
    if (error) {
        give_up(log, error);
        return n;
    }
    log->whole = log->bytes;
    log->stated_lines += lost;
    log->error = 0;
    return (size_t)(start - p);
}

static bool may_go_on(const struct qemu_log_input *log)
{
    return log->drops_when_full && (log->error == -ENOSPC || log->error == -EDQUOT);
}

bool qemu_log_input_has_ended(const struct qemu_log_input *log)
{
    return log->error < 0 && !may_go_on(log);
}

static void put(struct qemu_log_input *log, const char *p, size_t n)
{
    const char *last;
    size_t fits, done = 0, before = 0;
    int error = 0;

    if (may_go_on(log))
        before = go_on(log, p, n);
    log->lost_bytes += before;
    log->lost_lines += count_lines(p, before);
    fits = n - before;
    if (log->error == 0) {
        if (log->max_size && fits > log->max_size - log->bytes) {
            fits = (size_t)(log->max_size - log->bytes);
            error = -EFBIG;
        }
        done = write_some(log->file, p + before, fits, &error);
        log->bytes += done;
        last = done ? memrchr(p + before, '\n', done) : NULL;
        if (last)
            log->whole = log->bytes - done + (size_t)(last - p) - before + 1;
        log->lines += count_lines(p + before, done);
        if (error)
            give_up(log, error);
    }
    log->lost_bytes += n - before - done;
    log->lost_lines += count_lines(p + before + done, n - before - done);
    log->is_in_line = n > 0 ? p[n - 1] != '\n' : log->is_in_line;
    if (log->copy < 0 || log->stamps)
        return;
    if (log->copies_rest)
        copy_rest(log, p, p + n);
    else
        put_copy(log, p, n);
}

/* ---- Times ---- */

#define STAMP_MAX 48u
/* Half of the time between two looks, and what else may pass. */
#define STAMP_ERROR INT64_C(2000000)
#define STAMPED_SIZE ((size_t)64 * 1024)
/* So that what comes has not waited long. */
#define STAMP_SLEEP UINT64_C(1000000)

int qemu_log_input_stamp(struct qemu_log_input *log, struct qemu_clock *clock, struct error *error)
{
    struct timespec tick;

    log->stamped = malloc(STAMPED_SIZE);
    if (!log->stamped)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    log->stamps = true;
    log->clock = clock;
    log->stamp_error = STAMP_ERROR;
    /* The kernel keeps a file's time by its tick. */
    if (log->is_file && clock_getres(CLOCK_REALTIME_COARSE, &tick) == 0)
        log->stamp_error += tick.tv_nsec / 2;
    qemu_clock_widen(clock, log->stamp_error);
    log->empty_at = clock_ns(CLOCK_MONOTONIC);
    /* Without times and names, a line that is not an event cannot be recognized. */
    if (log->copies_rest && log->copy >= 0 && log->n_names == 0) {
        close(log->copy);
        log->copy = -1;
    }
    return 0;
}

/* Since when, at the earliest, what comes was written, where we slept until something came. A FIFO wakes us before its writer goes
 * on. The writer of a file may have to wait for a CPU before it wakes us: the time of the file, which is set before what is
 * written, is then the earlier one. */
static uint64_t written_since(const struct qemu_log_input *log, uint64_t real, uint64_t now)
{
    struct stat st;
    uint64_t ago;

    if (!log->is_idle || !log->is_file || !log->woken_at)
        return log->is_idle ? log->woken_at : 0;
    if (fstat(log->in, &st) < 0)
        return 0;
    ago =
        real - MIN(real, (uint64_t)st.st_mtim.tv_sec * NSEC_PER_SEC + (uint64_t)st.st_mtim.tv_nsec);
    return MIN(log->woken_at, now - MIN(now, ago));
}

/* What came since nothing was left, was written since then. */
static void put_stamped(struct qemu_log_input *log, const char *p, const char *end)
{
    /* First: what goes by until the other clock is read is in the bound. */
    uint64_t real = clock_ns(CLOCK_REALTIME);
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    uint64_t empty = MAX(log->empty_at, written_since(log, real, now));
    int64_t waited = (int64_t)(now - empty + 1) / 2;
    char stamp[STAMP_MAX];
    size_t n = 0;
    size_t len;

    real -= (uint64_t)waited;
    len = (size_t)snprintf(stamp, sizeof stamp, "0@%" PRIu64 ".%06" PRIu64 ":", real / 1000000000,
                           real % 1000000000 / 1000);
    qemu_clock_widen(log->clock, waited);
    if (log->copy >= 0 && !log->copies_rest)
        put_copy(log, p, (size_t)(end - p));
    while (p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *next = newline ? newline + 1 : end;
        bool begins = !log->stamp_torn;
        size_t size = MIN((size_t)(next - p), STAMPED_SIZE - STAMP_MAX);

        if (n + STAMP_MAX + size > STAMPED_SIZE) {
            put(log, log->stamped, n);
            n = 0;
        }
        if (begins)
            log->in_event = log->n_names == 0 || is_name(log, p, newline ? newline : next);
        if (!log->in_event && log->copies_rest && log->copy >= 0)
            put_copy(log, p, size);
        if (begins && log->in_event) {
            memcpy(log->stamped + n, stamp, len);
            n += len;
            log->stamps_late += waited > log->stamp_error;
        }
        memcpy(log->stamped + n, p, size);
        n += size;
        p += size;
        log->stamp_torn = p[-1] != '\n';
    }
    put(log, log->stamped, n);
}

/* ---- A file that several QEMUs log to ---- */

/* A thread that has ended is not known to be of this process. */
static bool is_of_owner(struct qemu_log_input *log, int32_t id)
{
    struct log_thread *thread = &log->threads[(uint32_t)id % ARRAY_SIZE(log->threads)];
    char path[64];

    if (thread->id != id) {
        snprintf(path, sizeof path, "/proc/%ld/task/%ld", (long)log->owner, (long)id);
        *thread = (struct log_thread){.id = id, .is_own = access(path, F_OK) == 0};
        snprintf(path, sizeof path, "/proc/%ld", (long)id);
        if (!thread->is_own && access(path, F_OK) < 0) {
            thread->id = 0;
            log->lost_lines++;
        }
    }
    return thread->is_own;
}

/* Keeps the lines of this process in the N bytes at P. A line without "PID@" belongs to the line before it. Returns the
 * number of bytes kept. */
static size_t keep_own(struct qemu_log_input *log, char *p, size_t n)
{
    char *end = p + n, *to = p;

    while (p < end) {
        char *newline = memchr(p, '\n', (size_t)(end - p));
        char *next = newline ? newline + 1 : end;
        struct log_head_memory memory = {0};
        struct log_head head = {0};

        if (!log->is_in_line)
            log_head_read(&memory, p, next, &head);
        if (head.prefix == LOG_PREFIX_PID) {
            log->has_pids = true;
            log->is_foreign = !is_of_owner(log, head.pid);
        }
        log->is_in_line = !newline;
        if (!log->is_foreign) {
            memmove(to, p, (size_t)(next - p));
            to += next - p;
        }
        p = next;
    }
    return n - (size_t)(end - to);
}

/* ---- What comes ---- */

/* QEMU drops lines, and does not say so. */
static void watch_disk(struct qemu_log_input *log)
{
    uint64_t now = log->is_file && !log->was_disk_full ? clock_ns(CLOCK_MONOTONIC) : 0;
    struct statvfs st;

    if (now == 0 || now < log->disk_at)
        return;
    log->disk_at = now + DISK_INTERVAL_NS;
    log->was_disk_full = fstatvfs(log->in, &st) == 0 && st.f_blocks > 0 &&
                         (log->is_of_root ? st.f_bfree : st.f_bavail) == 0;
}

/* Bytes at the end of P, N bytes, that begin a line, and do not tell yet whether it is an event, or whose. */
static size_t count_held(const struct qemu_log_input *log, const char *p, size_t n)
{
    const char *newline = memrchr(p, '\n', n);
    const char *start = newline ? newline + 1 : p;
    size_t rest = (size_t)(p + n - start);

    if ((!log->stamps && !log->owner) || (!newline && (log->stamp_torn || log->is_in_line)))
        return 0;
    return rest < sizeof log->head && !memchr(start, ' ', rest) ? rest : 0;
}

/* N bytes are new. */
static void take_bytes(struct qemu_log_input *log, size_t n)
{
    size_t all = log->held + n, held = count_held(log, log->buffer, all);
    size_t own = all - held;
    char rest[sizeof log->head];

    memcpy(rest, log->buffer + own, held);
    if (log->owner)
        own = keep_own(log, log->buffer, own);
    if (log->stamps && own > 0)
        put_stamped(log, log->buffer, log->buffer + own);
    else if (own > 0)
        put(log, log->buffer, own);
    memcpy(log->buffer, rest, held);
    log->held = held;
}

/* What inotify said is read before the file is: what comes after that wakes again. */
static void quiet(const struct qemu_log_input *log)
{
    char events[4096];

    while (log->is_file && log->wake >= 0 && read(log->wake, events, sizeof events) > 0)
        ;
}

/* At the end of the file: if that has become shorter, it is read from its begin. */
static bool follow_cut(struct qemu_log_input *log)
{
    off_t at = log->is_file ? lseek(log->in, 0, SEEK_CUR) : 0;
    struct stat st;

    if (at <= 0 || fstat(log->in, &st) < 0 || st.st_size >= at)
        return false;
    log->was_cut = true;
    return lseek(log->in, 0, SEEK_SET) == 0 && st.st_size > 0;
}

static size_t room_before_end(const struct qemu_log_input *log)
{
    off_t at = log->has_end ? lseek(log->in, 0, SEEK_CUR) : 0;

    size_t room = BUFFER_SIZE - log->held;

    return log->has_end ? (size_t)MIN(log->end - MIN((uint64_t)MAX(at, 0), log->end), room) : room;
}

void qemu_log_input_take(struct qemu_log_input *log, uint64_t *ret_sleep)
{
    size_t taken = 0;

    quiet(log);
    watch_disk(log);
    /* No more than it holds, so that a monitor that logs without end leaves time for the rest. */
    while (taken < log->room) {
        uint64_t asked = log->stamps ? clock_ns(CLOCK_MONOTONIC) : 0;
        ssize_t n = read(log->in, log->buffer + log->held, room_before_end(log));

        if (n > 0) {
            take_bytes(log, (size_t)n);
            taken += (size_t)n;
        } else if (n == 0 && follow_cut(log)) {
            continue;
        } else if (n == 0 || errno != EINTR) {
            log->empty_at = log->held > 0 ? log->empty_at : asked;
            break;
        }
    }
    log->is_idle = taken == 0;
    *ret_sleep = taken > log->room / 2   ? 0
                 : taken > log->room / 8 ? SLEEP_MIN
                 : taken > 0             ? 2 * SLEEP_MIN
                                         : UINT64_MAX;
    if ((log->stamps && !(log->is_idle && log->is_waited_for)) || log->wake < 0)
        *ret_sleep = MIN(*ret_sleep, STAMP_SLEEP);
}

void qemu_log_input_finish(struct qemu_log_input *log)
{
    uint64_t before;

    do {
        uint64_t sleep;

        before = log->bytes + log->lost_bytes;
        qemu_log_input_take(log, &sleep);
    } while (log->bytes + log->lost_bytes > before);
    log->lost_bytes += log->held;
    log->held = 0;
    if (log->head_len > 0 && !begins_event(log, log->head, log->head + log->head_len))
        put_copy(log, log->head, log->head_len);
    log->head_len = 0;
    (void)text_flush(&log->shown);
    if (log->error == 0 && log->bytes > log->whole &&
        ftruncate(log->file, (off_t)log->whole) == 0) {
        log->lost_bytes += log->bytes - log->whole;
        log->bytes = log->whole;
    }
}

void qemu_log_input_done(struct qemu_log_input *log)
{
    if (log->wake >= 0 && log->wake != log->in)
        close(log->wake);
    if (log->in >= 0)
        close(log->in);
    if (log->file >= 0)
        close(log->file);
    if (log->copy >= 0)
        close(log->copy);
    free(log->buffer);
    free(log->stamped);
    text_done(&log->shown);
    *log = (struct qemu_log_input){
        .shown = TEXT_IN_MEMORY, .in = -1, .wake = -1, .file = -1, .copy = -1};
}
