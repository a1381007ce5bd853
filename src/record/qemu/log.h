/* SPDX-License-Identifier: MIT */
#pragma once

/* Copies QEMU's log to a file of the trace as QEMU writes it, from a FIFO or from the end of QEMU's own log file.
 *
 * QEMU writes line by line and blocks while the FIFO is full. So the FIFO is emptied often enough whatever happens to
 * the file: lines that the disk has no room for are counted instead. The FIFO has room for some milliseconds of lines.
 * While lines come, the recorder reads it by time: QEMU's writes then wake no process, and cost no more than writes to
 * a file. Only after a read without data does the recorder wait for the FIFO. */

#include "base/error.h"
#include "base/text.h"
#include "record/qemu/clock.h"

struct qemu_log_input {
    int in;          /* non-blocking input; -1: no log */
    int wake;        /* readable when data comes; -1: no such descriptor */
    bool is_file;    /* `in` is QEMU's own file, and `wake` is from inotify(7) */
    bool is_idle;    /* nothing came: poll `wake` for reading */
    bool was_cut;    /* another process truncated the file, so lines may be missing */
    bool has_end;    /* set by the caller: do not read the file beyond `end` */
    bool is_foreign; /* the present line is from another process than `owner` */
    bool has_pids;   /* a line had a PID */
    bool is_of_root; /* set by the caller: QEMU may fill the whole disk */
    bool was_disk_full;
    int file;
    int copy; /* another file that also gets everything; -1: none */
    /* Set by the caller: if other QEMUs log to the file too, only lines of this process are copied. 0: all lines. */
    pid_t owner;
    struct log_thread {
        int32_t id;
        bool is_own;
    } threads[64];     /* threads of such lines, by the last bits of their IDs */
    bool copies_rest;  /* `copy` gets only lines that are not events */
    struct text shown; /* text for `copy`, if it is a terminal or with copies_rest */
    size_t room;       /* bytes: size of the FIFO, or how much of a file is read at once */
    uint64_t end;
    uint64_t disk_at; /* when to check a full disk again */
    char *buffer;
    size_t held;       /* bytes in `buffer`: the begin of a line that may or may not be an event */
    uint64_t max_size; /* of the file; 0: no limit */
    uint64_t bytes, lines;           /* written */
    uint64_t lost_bytes, lost_lines; /* not written because of `error` */
    int error;                       /* -EFBIG: because of max_size */
    uint64_t stated_lines;           /* lost lines that a line of the file reports */
    bool is_in_line;                 /* the last byte received does not end a line */
    /* Set by the caller: when the disk has space again, continue the file after a line that says how many lines were
     * lost. */
    bool drops_when_full;
    uint64_t whole; /* bytes of the file up to its last newline */
    bool torn;      /* the last byte received was not a newline */
    bool in_event;  /* for copies_rest: the present line is an event */
    /* The begin of an incomplete line that may or may not be an event. */
    char head[128];
    size_t head_len;
    /* Set by the caller, for copies_rest: the names of QEMU's events, sorted. In QEMU 11.1, only the name distinguishes
     * an event from another line. */
    char *const *names;
    unsigned n_names;
    /* Lines without times get the times at which they are read. */
    bool stamps;
    bool stamp_torn; /* the present line has its time */
    /* Set by the caller: it sleeps until the log can be read. */
    bool is_waited_for;
    /* While `is_idle`: until when there was certainly no data, CLOCK_MONOTONIC in ns. */
    uint64_t woken_at;
    uint64_t empty_at;        /* CLOCK_MONOTONIC: when everything had been read */
    int64_t stamp_error;      /* error of such times if the recorder reads in time, ns */
    uint64_t stamps_late;     /* how many times may have a larger error */
    struct qemu_clock *clock; /* states the largest error */
    char *stamped;            /* a chunk of lines with their times */
};

/* The problem of a log whose lines were dropped. */
#define VMM_LOG_DROPPED "the disk was full: lines of QEMU's log were dropped until there was space"

/* Creates FIFO and the file PATH, and opens both. Takes over COPY. A terminal, or a copy with COPIES_REST, gets
 * filtered text; PASSES: PRINTABLE_... -errno with ERROR. */
int qemu_log_input_open_fifo(const char *fifo, const char *path, uint64_t max_size, int copy,
                             bool copies_rest, unsigned passes, struct qemu_log_input *ret,
                             struct error *error);
/* Copies the lines that QEMU writes to its own log OWN, a file open for reading, from its offset. Takes over OWN, even
 * on failure. */
int qemu_log_input_open_file(int own, const char *path, uint64_t max_size,
                             struct qemu_log_input *ret, struct error *error);
/* Call it if lines come without times. Events get the time "0@SECONDS.MICROSECONDS:", the middle of the time since
 * everything had been read; without `names`, all lines get it. CLOCK is borrowed, and states the largest error before a
 * line with that error is written. */
int qemu_log_input_stamp(struct qemu_log_input *log, struct qemu_clock *clock, struct error *error);
/* Copies available lines. *RET_SLEEP: ns until the next call is due; UINT64_MAX: when there is data. */
void qemu_log_input_take(struct qemu_log_input *log, uint64_t *ret_sleep);
/* True if no more lines are written, whatever comes. */
bool qemu_log_input_has_ended(const struct qemu_log_input *log);
/* Copies the remaining lines, and cuts off an incomplete line. */
void qemu_log_input_finish(struct qemu_log_input *log);
void qemu_log_input_done(struct qemu_log_input *log);
