/* SPDX-License-Identifier: MIT */
#include "runtime/sinks/sink.h"

#include <errno.h>
#include <stdlib.h>

#include "runtime/macro.h"
#include "runtime/process/log.h"
#include "runtime/process/syslog.h"
#include "runtime/scratch_buffer.h"
#include "runtime/sinks/drain_pass.h"
#include "runtime/sinks/output.h"
#include "runtime/trace_counts.h"
#include "strata/trace.h"

/* The sinks that write text from the rings' records: what the backends log, syslog and ftrace write at
 * the call, only that the program does not wait for it. */

/* The text of a record, without anything in front or behind. */
static void put_record(struct line *line, const struct record *record)
{
    if (likely(record->layout)) {
        layout_put_text(record->layout, line, record->arguments);
    } else {
        line_put_dropped(line, record->dropped);
    }
}

/* ---- log: gathered, and written many lines at once ---- */

#define BUFFER_SIZE (256U << 10)
#define RECORDS_MAX 8192 /* many of 32 bytes, which few are as short as */

enum log_record_kind {
    RECORD_EVENT,
    RECORD_DROPS,     /* of events that rings have dropped */
    RECORD_UNWRITTEN, /* of events that this sink could not write */
};

/* What stands in front of the lines of one thread within a second, up to the fraction. */
struct stamp {
    uint64_t second;
    uint32_t number;
    size_t len;
    char text[48];
};

struct log_buffer {
    char *at;
    struct stamp stamp; /* of the last line */
    bool stalled;       /* its reader has not read for long */
    unsigned n_records;
    struct {
        uint32_t end; /* of its text */
        enum log_record_kind kind;
        uint64_t n; /* how many events it is about */
    } records[RECORDS_MAX];
    char text[BUFFER_SIZE];
};

/* Counts the gathered events that are not completely in the first WRITTEN bytes. Losses reported there must be reported
 * again. Counting lines is not enough, because an event's strings may have line feeds. */
static uint64_t count_unwritten(struct trace_sink *sink, size_t written)
{
    const struct log_buffer *log = sink->state;
    uint64_t n = 0;

    for (unsigned i = log->n_records; i > 0 && log->records[i - 1].end > written; i--)
        switch (log->records[i - 1].kind) {
        case RECORD_EVENT: n++; break;
        case RECORD_DROPS:
            sink->lost += log->records[i - 1].n;
            break; /* nothing else reports them */
        case RECORD_UNWRITTEN: sink->reported -= log->records[i - 1].n; break;
        }
    return n;
}

static int log_open(struct trace_sink *sink)
{
    struct log_buffer *log;

    if (sink->path) {
        _cleanup_free_ char *path = sink_path(sink);
        int r = path ? log_set_file(path) : -ENOMEM;

        /* A child that has changed its user appends to its parent's file. */
        if (r < 0 && !(pass_is_child() && log_has_file()))
            return r;
    }
    log = malloc(sizeof(*log));
    if (!log)
        return -ENOMEM;
    log->stamp = (struct stamp){0};
    log->at = log->text;
    log->stalled = false;
    log->n_records = 0;
    sink->state = log;
    return 0;
}

/* The end of whole records with at most SIZE bytes from TEXT on, so that no record is torn in a pipe. */
static const char *whole_records(const struct log_buffer *log, unsigned *next, const char *text,
                                 size_t size)
{
    const char *end = log->at;

    if ((size_t)(end - text) <= size)
        return end;
    while (*next < log->n_records && log->text + log->records[*next].end <= text)
        (*next)++;
    for (unsigned i = *next; i < log->n_records; i++) {
        end = log->text + log->records[i].end;
        if (i + 1 == log->n_records || (size_t)(log->text + log->records[i + 1].end - text) > size)
            break;
    }
    return end;
}

/* The end of the last whole record before END. */
static const char *last_whole(const struct log_buffer *log, const char *text, const char *end)
{
    const char *whole = text;

    for (unsigned i = 0; i < log->n_records && log->text + log->records[i].end <= end; i++)
        if (log->text + log->records[i].end > whole)
            whole = log->text + log->records[i].end;
    return whole;
}

static uint64_t log_flush(struct trace_sink *sink)
{
    struct log_buffer *log = sink->state;
    const char *text = log->text;
    uint64_t since = 0, lost;
    unsigned next = 0; /* the first record that is not written */

    while (text < log->at) {
        size_t whole = log_whole();
        const char *end = whole_records(log, &next, text, whole);
        ssize_t n = log_write(text, (size_t)(end - text));

        if (n == -EAGAIN && pass_may_wait(&log->stalled, &since)) {
            log_wait(OUTPUT_WAIT_MS);
            continue;
        }
        if (n < 0)
            break;
        /* On a full disk: the part of a line is cut off again, and the line is written once there is space. */
        if (n < end - text) {
            size_t torn = (size_t)(text + n - last_whole(log, text, text + n));

            if (torn > 0 && log_cut(torn))
                n -= (ssize_t)torn;
        }
        COUNT(bytes_written, (unsigned long long)n);
        if (n == 0)
            break;
        text += n;
        since = 0;
        log->stalled = false;
    }
    if (text > last_whole(log, log->text, text))
        log_note_torn();
    lost = count_unwritten(sink, (size_t)(text - log->text));
    log->at = log->text;
    log->n_records = 0;
    return lost;
}

static void put_stamp(struct line *line, struct stamp *stamp, uint32_t number, uint64_t ns)
{
    uint64_t second = ns / 1000000000;
    char *start = line->at;

    if (unlikely(second != stamp->second || number != stamp->number)) {
        line_put_stamp(line, number, ns);
        stamp->second = second;
        stamp->number = number;
        stamp->len = (size_t)(line->at - start) - strlen("123456:");
        memcpy(stamp->text, start, stamp->len);
        return;
    }
    memcpy(line->at, stamp->text, sizeof(stamp->text));
    line->at += stamp->len;
    line_put_digits(line, ns / 1000 % 1000000, 6);
    line_put(line, ":", 1);
}

static void gather(struct log_buffer *log, const struct record *record, enum log_record_kind kind)
{
    struct line line = {log->at, log->at + STRATA_LOG_MAX - STRATA_LOG_TAIL, false};
    unsigned i = log->n_records++;

    if (log_stamps())
        put_stamp(&line, &log->stamp, record->tid, pass_realtime(record->time));
    put_record(&line, record);
    line_close(&line);
    log->at = line.at;
    log->records[i].end = (uint32_t)(log->at - log->text);
    log->records[i].kind = kind;
    log->records[i].n = record->layout ? 1 : record->dropped;
}

static uint64_t log_records(struct trace_sink *sink, const struct record *records, unsigned n)
{
    struct log_buffer *log = sink->state;
    uint64_t lost = 0;

    for (unsigned i = 0; i < n; i++) {
        /* Room for two: a note as well. */
        if (log->n_records > RECORDS_MAX - 2 ||
            log->text + sizeof(log->text) - log->at < 2 * STRATA_LOG_MAX)
            lost += log_flush(sink);
        if (unlikely(sink->lost + lost > sink->reported)) {
            struct record note = {.time = records[i].time,
                                  .tid = records[i].tid,
                                  .dropped = sink->lost + lost - sink->reported};

            sink->reported += note.dropped;
            gather(log, &note, RECORD_UNWRITTEN);
        }
        gather(log, &records[i], records[i].layout ? RECORD_EVENT : RECORD_DROPS);
    }
    return lost;
}

static void free_state(struct trace_sink *sink)
{
    free(sink->state);
    sink->state = NULL;
}

const struct trace_sink_ops sink_log = {
    .name = "log",
    .open = log_open,
    .records = log_records,
    .flush = log_flush,
    .close = free_state,
};

/* ---- syslog: a message a record ---- */

static int open_syslog(struct trace_sink *sink)
{
    return syslog_set_socket(sink->path ? sink->whole : NULL);
}

static uint64_t syslog_records(struct trace_sink *sink, const struct record *records, unsigned n)
{
    static bool stalled; /* the system's log takes nothing any more */
    char *text = scratch_buffer_get();
    uint64_t lost = 0;

    (void)sink;
    for (unsigned i = 0; i < n; i++) {
        struct line line = {text, text + STRATA_LOG_MAX, false};
        uint64_t since = 0;
        int r = -ENOMEM;

        if (text) {
            put_record(&line, &records[i]);
            while ((r = syslog_send(text, (size_t)(line.at - text))) == -EAGAIN &&
                   pass_may_wait(&stalled, &since))
                syslog_wait(OUTPUT_WAIT_MS);
        }
        if (r < 0)
            lost += records[i].layout != NULL;
        else
            stalled = false;
    }
    scratch_buffer_put(text);
    return lost;
}

const struct trace_sink_ops sink_syslog = {
    .name = "syslog",
    .open = open_syslog,
    .records = syslog_records,
};

/* ---- ftrace: a line a record. The kernel stamps it when it comes, so it says when it was. ---- */

static int ftrace_open(struct trace_sink *sink)
{
    int r = ftrace_set_marker(sink->path ? sink->whole : NULL);

    return r < 0 && pass_is_child() && ftrace_has_marker() ? 0 : r;
}

static uint64_t ftrace_records(struct trace_sink *sink, const struct record *records, unsigned n)
{
    uint64_t lost = 0;

    (void)sink;
    for (unsigned i = 0; i < n; i++) {
        char text[STRATA_LOG_MAX];
        struct line line = {text, text + sizeof(text) - STRATA_LOG_TAIL, false};

        line_put_stamp(&line, records[i].tid, records[i].time);
        put_record(&line, &records[i]);
        line_close(&line);
        if (ftrace_write(text, (size_t)(line.at - text)) < 0)
            lost += records[i].layout != NULL;
    }
    return lost;
}

const struct trace_sink_ops sink_ftrace = {
    .name = "ftrace",
    .open = ftrace_open,
    .records = ftrace_records,
};
