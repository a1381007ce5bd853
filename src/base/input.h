/* SPDX-License-Identifier: MIT */
#pragma once

/* A file or pipe read from front to back through one buffer.
 *
 * Why not mmap: a pipe has none, a file that is cut short while it is read kills the reader with
 * SIGBUS, and the pages of a large mapping count as the reader's memory.
 *
 * Whoever reads holds pointers into the buffer; they are valid until the next input_need() that
 * returns more than is buffered (it moves the unread tail to the front and reads behind it). The
 * buffer is never larger than asked for at the opening, whatever a file claims. Not thread-safe. */

#include "base/error.h"
#include "base/macro.h"

struct input {
    int fd;
    bool owns_fd;
    bool ended; /* the end of the file was seen */
    bool seekable;
    char *path; /* for messages */
    uint8_t *buf;
    size_t capacity;
    size_t next;     /* first unread byte in buf */
    size_t filled;   /* bytes in buf */
    uint64_t offset; /* of buf[0] in the file */
    uint64_t size;   /* of a regular file when opened, else UINT64_MAX */
};

#define INPUT_BUFFER_SIZE ((size_t)256 * 1024)

/* PATH "-" is standard input. CAPACITY is the longest piece that input_need() can be asked for. */
int input_open(struct input *in, const char *path, size_t capacity, struct error *error);
/* A file in a trace's directory, which somebody else may have filled: what is not a regular file is refused, never
 * waited for, and a link is not followed. */
int input_open_regular(struct input *in, const char *path, size_t capacity, struct error *error);
/* Takes FD over (closes it in input_done). NAME is for messages. */
int input_open_fd(struct input *in, int fd, const char *name, size_t capacity, struct error *error);
/* Reads from memory that outlives the input; for tests and fuzzing. */
int input_open_memory(struct input *in, const void *p, size_t size, const char *name);
/* Reads FD, a regular file of SIZE bytes, from where it stands into *RET (malloc, with room for one byte more):
 * as many bytes as there are up to SIZE, *RET_LEN. PATH is for messages; FD stays the caller's. */
int input_read_file(int fd, size_t size, const char *path, char **ret, size_t *ret_len,
                    struct error *error);
/* Opens, and reads all of it: less than MAX bytes, a number of megabytes. -EFBIG: it has more, so that it is
 * not WANTED ("a table of events"). RET is untouched on failure. */
int input_open_whole(struct input *ret, const char *path, size_t max, const char *wanted,
                     struct error *error);
void input_done(struct input *in);

/* Unread bytes that are in memory. */
static inline size_t input_buffered(const struct input *in)
{
    return in->filled - in->next;
}

static inline const uint8_t *input_at(const struct input *in)
{
    return in->buf + in->next;
}

/* Where the next unread byte stands in the file. */
static inline uint64_t input_offset(const struct input *in)
{
    return in->offset + in->next;
}

static inline void input_skip(struct input *in, size_t n)
{
    in->next += n;
}

/* The slow half of input_need(). */
int input_fill(struct input *in, size_t n, struct error *error);

/* Makes N bytes readable at input_at(). 1: they are there; 0: the file ends before (input_buffered()
 * bytes are left); -ENOBUFS: N is more than the capacity; another negative errno: reading failed. */
static inline int input_need(struct input *in, size_t n, struct error *error)
{
    if (likely(input_buffered(in) >= n))
        return 1;
    return input_fill(in, n, error);
}

/* Reads as much as fits behind the unread bytes: what a reader calls between two runs of records.
 * 1: there are unread bytes; 0: the end. */
int input_refill(struct input *in, struct error *error);

/* Continues at OFFSET. -ESPIPE on a pipe, unless OFFSET lies ahead: then it reads up to there. */
int input_seek(struct input *in, uint64_t offset, struct error *error);

/* Reads up to N bytes at OFFSET without moving the input, which is seekable (base/spool.h) or memory.
 * Returns how many there are before the end, or a negative errno. */
int64_t input_read_at(const struct input *in, uint64_t offset, void *p, size_t n,
                      struct error *error);
