/* SPDX-License-Identifier: MIT */
#pragma once

/* Takes what QEMU logs, as it comes, to a file of the trace: out of a FIFO, or behind the end of the file where QEMU's log is
 * already.
 *
 * QEMU writes a line at a time and waits when the FIFO is full, so it is emptied often enough, and whatever
 * becomes of the file: lines that the disk has no room for are counted instead. The FIFO has room for what comes in
 * some milliseconds. While it fills, it is looked at by time: QEMU's writing wakes no one up, and costs it no more than
 * writing to a file. Only when nothing came is it waited for. */

#include "base/error.h"
#include "base/text.h"
#include "record/qemu/clock.h"

struct qemu_log_input {
    int in;          /* read from it, which does not block; -1: there is no log */
    int wake;        /* readable when something comes; -1: nothing says so */
    bool is_file;    /* `in` is QEMU's own file; `wake` is of inotify(7) */
    bool is_idle;    /* nothing came: `wake` is to be polled for reading */
    bool was_cut;    /* somebody made the file shorter: lines may be missing */
    bool has_end;    /* for the caller to set: what the file has behind `end` is not taken */
    bool is_foreign; /* the line under way is of another process than `owner` */
    bool has_pids;   /* a line had a PID */
    bool is_of_root; /* for the caller to set: QEMU may fill the whole disk */
    bool was_disk_full;
    int file;
    int copy; /* another file that gets all as well; -1: none */
    /* For the caller to set: of a file that other QEMUs log to, too, the lines of this process are taken. 0: all are. */
    pid_t owner;
    struct log_thread {
        int32_t id;
        bool is_own;
    } threads[64];     /* of such lines, by the last bits of their IDs */
    bool copies_rest;  /* … that gets only the lines that are no events */
    struct text shown; /* what goes to the copy, where that is a terminal, or copies_rest */
    size_t room;       /* of the FIFO, bytes; of a file, how much is taken at once */
    uint64_t end;
    uint64_t disk_at; /* when `was_disk_full` is looked at again */
    char *buffer;
    size_t held; /* bytes of the buffer: the begin of a line that does not tell yet what it is */
    uint64_t max_size;               /* of the file; 0: any */
    uint64_t bytes, lines;           /* written */
    uint64_t lost_bytes, lost_lines; /* not, as … */
    int error;                       /* … said here; -EFBIG: because of max_size */
    uint64_t stated_lines;           /* of lost_lines, those that a line of the file says */
    bool is_in_line;                 /* the last byte that came ends no line */
    /* For the caller to set: the file goes on when the disk has space again, with a line that says how many were lost. */
    bool drops_when_full;
    uint64_t whole; /* bytes of the file up to its last newline */
    bool torn;      /* the last that came was no newline */
    bool in_event;  /* for copies_rest: of the line under way */
    /* Of a line that came so far only, which does not tell yet whether it is an event. */
    char head[128];
    size_t head_len;
    /* For the caller to set, for copies_rest: the names of QEMU's events, sorted. In QEMU 11.1 only its name tells an event
     * from another line. */
    char *const *names;
    unsigned n_names;
    /* Lines that come without times get those at which they are taken. */
    bool stamps;
    bool stamp_torn; /* the line under way has its time */
    /* For the caller to set: whether it sleeps until there is something to be read … */
    bool is_waited_for;
    uint64_t
        woken_at; /* … and until when, surely, there was nothing while `is_idle`, ns of CLOCK_MONOTONIC */
    uint64_t empty_at;        /* the same clock: when nothing was left to be taken */
    int64_t stamp_error;      /* by how much such times are wrong when we come in time, ns */
    uint64_t stamps_late;     /* how many may be wrong by more than that */
    struct qemu_clock *clock; /* says by how much at most */
    char *stamped;            /* a chunk with its times */
};

/* The problem of a log whose lines were dropped. */
#define VMM_LOG_DROPPED "the disk was full: lines of QEMU's log were dropped until there was space"

/* Makes FIFO, opens it and makes the file PATH. COPY is taken over. A terminal, or what gets the rest, gets it
 * filtered; PASSES is of PRINTABLE_... -errno with ERROR. */
int qemu_log_input_open_fifo(const char *fifo, const char *path, uint64_t max_size, int copy,
                             bool copies_rest, unsigned passes, struct qemu_log_input *ret,
                             struct error *error);
/* Takes the lines that QEMU writes into its own log OWN, a file open for reading, from its offset on. OWN is taken over also where it
 * fails. */
int qemu_log_input_open_file(int own, const char *path, uint64_t max_size,
                             struct qemu_log_input *ret, struct error *error);
/* The lines come without times: events get them here, as "0@SECONDS.MICROSECONDS:", the middle of the time since
 * nothing was left to be taken; without `names`, all lines do. CLOCK, which is borrowed, states the largest error before a line that has it is written. */
int qemu_log_input_stamp(struct qemu_log_input *log, struct qemu_clock *clock, struct error *error);
/* Takes what there is. *RET_SLEEP: for how many ns it may be left alone; UINT64_MAX: until there is something to be
 * read. */
void qemu_log_input_take(struct qemu_log_input *log, uint64_t *ret_sleep);
/* Whether no more lines are written, whatever comes. */
bool qemu_log_input_has_ended(const struct qemu_log_input *log);
/* Takes all that is left, and cuts off what is no whole line. */
void qemu_log_input_finish(struct qemu_log_input *log);
void qemu_log_input_done(struct qemu_log_input *log);
