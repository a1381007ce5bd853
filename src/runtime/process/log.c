/* SPDX-License-Identifier: MIT */
#include "runtime/process/log.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "runtime/clock.h"
#include "runtime/macro.h"
#include "runtime/process/text_file.h"
#include "runtime/process/thread_number.h"
#include "runtime/scratch_buffer.h"
#include "runtime/trace_counts.h"
#include "strata/trace.h"

_Static_assert(SCRATCH_SIZE >= STRATA_LOG_MAX, "a line is made in scratch memory");

struct trace_counts trace_counts;

static atomic_bool stamps = true;

/* ---- Where lines go ---- */

static struct text_file standard_error = TEXT_FILE_NONE;
static struct text_file log_file = TEXT_FILE_NONE;
static struct text_file *_Atomic target = &standard_error;

void log_note_standard_error(void)
{
    (void)text_file_share(&standard_error, STDERR_FILENO);
}

/* A function of its own: gcc drops the order where a declaration without it came before. */
static void RUNS_BEFORE_MESSAGES log_begin(void)
{
    log_note_standard_error();
}

static atomic_bool torn;

int log_set_file(const char *path)
{
    int r;

    if (path) {
        r = text_file_open(&log_file, path, FILE_APPEND);
        if (r < 0)
            return r;
        if (atomic_load_explicit(&target, memory_order_relaxed) != &log_file)
            atomic_store(&torn, false);
        atomic_store_explicit(&target, &log_file, memory_order_release);
        return 0;
    }
    log_note_standard_error();
    atomic_store_explicit(&target, &standard_error, memory_order_release);
    return 0;
}

bool log_has_file(void)
{
    return atomic_load_explicit(&target, memory_order_acquire) == &log_file &&
           text_file_is_open(&log_file);
}

bool log_cut(size_t n)
{
    return atomic_load_explicit(&target, memory_order_acquire) == &log_file &&
           text_file_cut(&log_file, n);
}

void log_note_torn(void)
{
    atomic_store(&torn, true);
}

/* Readers take it for a line that was cut, and not for an event with other values. */
static int end_torn_line(struct text_file *file)
{
    static const char end[] = "...\n";
    ssize_t n;

    if (!atomic_exchange(&torn, false))
        return 0;
    n = text_file_write(file, end, strlen(end));
    if (n == (ssize_t)strlen(end))
        return 0;
    atomic_store(&torn, true);
    return n < 0 ? (int)n : -ENOSPC;
}

ssize_t log_write(const char *text, size_t len)
{
    struct text_file *file = atomic_load_explicit(&target, memory_order_acquire);
    int r = unlikely(atomic_load_explicit(&torn, memory_order_relaxed)) ? end_torn_line(file) : 0;

    return r < 0 ? r : text_file_write(file, text, len);
}

size_t log_whole(void)
{
    return text_file_whole(atomic_load_explicit(&target, memory_order_acquire));
}

void log_wait(unsigned ms)
{
    text_file_wait(atomic_load_explicit(&target, memory_order_acquire), ms);
}

ssize_t standard_error_write(const char *text, size_t len)
{
    ssize_t n;

    if (atomic_load_explicit(&target, memory_order_acquire) != &standard_error)
        return text_file_write(&standard_error, text, len);
    n = log_write(text, len);
    if (n > 0 && n < (ssize_t)len)
        log_note_torn();
    return n;
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

/* One line, in one piece. WRITTEN is what writing it returned. Whether it is there. */
static bool count_line(ssize_t written, const struct line *line, const char *text)
{
    if (written == line->at - text)
        return true;
    COUNT(lines_lost, 1);
    return false;
}

void line_put_dropped(struct line *line, uint64_t n)
{
    line_put_decimal(line, n);
    line_put(line, " events were dropped", strlen(" events were dropped"));
}

/* As log_write(). A line of which only a part is written stays incomplete, because other threads write to the file too,
 * so it cannot be cut off. */
static ssize_t write_line(const char *text, const struct line *line)
{
    ssize_t n = log_write(text, (size_t)(line->at - text));

    if (n > 0 && n < line->at - text)
        log_note_torn();
    return n;
}

static atomic_ullong unreported; /* lines of strata_log() that are not in the file */

/* In the file itself, before the first line that it has room for again. */
static void report_lost_lines(void)
{
    unsigned long long n = atomic_exchange(&unreported, 0);
    char text[128];
    struct line line = {text, text + sizeof(text) - STRATA_LOG_TAIL, false};

    if (n == 0)
        return;
    if (log_stamps())
        line_put_stamp(&line, thread_number(), trace_clock_ns(CLOCK_REALTIME));
    line_put_dropped(&line, n);
    line_close(&line);
    if (write_line(text, &line) != line.at - text)
        atomic_fetch_add(&unreported, n);
}

void strata_log(const char *format, ...)
{
    int saved_errno = errno;
    char *text = scratch_buffer_get();
    struct line line = {text, text + STRATA_LOG_MAX - STRATA_LOG_TAIL, false};
    va_list args;

    if (!text) {
        COUNT(lines_lost, 1);
        atomic_fetch_add(&unreported, 1);
        return;
    }
    if (unlikely(atomic_load_explicit(&unreported, memory_order_relaxed) > 0))
        report_lost_lines();
    if (log_stamps())
        line_put_stamp(&line, thread_number(), trace_clock_ns(CLOCK_REALTIME));
    errno = saved_errno; /* for %m */
    va_start(args, format);
    line_vprintf(&line, format, args);
    va_end(args);
    line_close(&line);
    if (!count_line(write_line(text, &line), &line, text))
        atomic_fetch_add(&unreported, 1);
    scratch_buffer_put(text);
    errno = saved_errno;
}

/* ---- ftrace ---- */

static struct text_file marker = TEXT_FILE_NONE;
static atomic_int marker_error = 1; /* 1: not opened yet, else 0 or why there is none */

/* The marker where tracefs is mounted. Any context: of two that are here, one is enough. */
static int open_mounted(void)
{
    int r = text_file_open_literal(&marker, "/sys/kernel/tracing/trace_marker", FILE_MARKER);

    if (r == -ENOENT)
        r = text_file_open_literal(&marker, "/sys/kernel/debug/tracing/trace_marker", FILE_MARKER);
    atomic_store(&marker_error, r);
    return r;
}

int ftrace_set_marker(const char *path)
{
    char file[STRATA_LOG_MAX];
    struct line line = {file, file + sizeof(file) - 1, false};
    int r;

    if (!path)
        return open_mounted();
    line_put(&line, path, strlen(path));
    line_put(&line, "/trace_marker", strlen("/trace_marker"));
    *line.at = '\0';
    r = line.cut ? -ENAMETOOLONG : text_file_open(&marker, file, FILE_MARKER);
    if (r == -ENOTDIR)
        r = text_file_open(&marker, path, FILE_MARKER);
    if (r >= 0)
        atomic_store(&marker_error, 0);
    return r;
}

bool ftrace_has_marker(void)
{
    return atomic_load(&marker_error) == 0 && text_file_is_open(&marker);
}

ssize_t ftrace_write(const char *text, size_t len)
{
    int r = atomic_load_explicit(&marker_error, memory_order_acquire);

    if (unlikely(r == 1))
        r = open_mounted();
    return r < 0 ? r : text_file_write(&marker, text, len);
}

void strata_ftrace(const char *format, ...)
{
    int saved_errno = errno;
    char *text = scratch_buffer_get();
    struct line line = {text, text + STRATA_LOG_MAX - STRATA_LOG_TAIL, false};
    va_list args;

    if (!text) {
        COUNT(lines_lost, 1);
        return;
    }
    va_start(args, format);
    line_vprintf(&line, format, args);
    va_end(args);
    line_close(&line);
    count_line(ftrace_write(text, (size_t)(line.at - text)), &line, text);
    scratch_buffer_put(text);
    errno = saved_errno;
}
