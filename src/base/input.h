/* SPDX-License-Identifier: MIT */
#pragma once

/* A file or pipe that is read from front to back through one buffer.
 *
 * Why not mmap: a pipe cannot be mapped, a file that is truncated while it is read kills the reader
 * with SIGBUS, and the pages of a large mapping count as the reader's memory.
 *
 * If the beginning of a file was released (base/sparse.h), reading begins at its first data.
 *
 * Readers hold pointers into the buffer. They are valid until the next input_need() for more bytes than are buffered,
 * which moves the unread bytes to the front and reads after them. The buffer never grows
 * beyond the capacity given at opening, whatever a file claims, unless its reader calls input_grow(). Not thread-safe. */

#include "base/error.h"
#include "base/macro.h"

struct input {
    int fd;
    bool owns_fd;
    bool ended; /* end of file was reached */
    bool seekable;
    bool is_released; /* the beginning of the file was released, and nothing has been read yet */
    bool is_fixed;    /* ends at `size`, even if the file grows (base/reopen_cache.h) */
    char *path;       /* for messages */
    uint8_t *buf;
    size_t capacity;
    size_t read_max; /* bytes to read at once; 0: as many as fit */
    size_t next;     /* first unread byte in buf */
    size_t filled;   /* bytes in buf */
    uint64_t offset; /* of buf[0] in the file */
    uint64_t size;   /* of a regular file at opening; otherwise UINT64_MAX */
};

#define INPUT_BUFFER_SIZE ((size_t)256 * 1024)

/* PATH "-": standard input. CAPACITY: the largest N for input_need(). */
int input_open(struct input *in, const char *path, size_t capacity, struct error *error);
/* Opens a file of a trace directory, whose contents may come from an untrusted user: refuses anything
 * but a regular file, never blocks, and follows no symbolic link. */
int input_open_regular(struct input *in, const char *path, size_t capacity, struct error *error);
/* Takes ownership of FD. NAME is for messages. */
int input_open_fd(struct input *in, int fd, const char *name, size_t capacity, struct error *error);
/* Reads from memory, which must outlive the input; for tests and fuzzing. */
int input_open_memory(struct input *in, const void *p, size_t size, const char *name);
/* Reads up to SIZE bytes of the regular file FD, from its current offset, into *RET, which the caller frees and which has
 * room for one more byte. *RET_LEN is the number of bytes. PATH is for messages. The caller keeps FD. */
int input_read_file(int fd, size_t size, const char *path, char **ret, size_t *ret_len,
                    struct error *error);
/* Opens PATH and reads all of it, less than MAX bytes (a whole number of MB). -EFBIG: it is larger; the
 * message names WANTED ("a table of events"). RET is untouched on failure. */
int input_open_whole(struct input *ret, const char *path, size_t max, const char *wanted,
                     struct error *error);
/* Makes the buffer as large as CAPACITY; pointers into it are no longer valid. Does nothing if it is as large. -ENOMEM. */
int input_grow(struct input *in, size_t capacity);
void input_done(struct input *in);

/* Unread bytes in the buffer. */
static inline size_t input_buffered(const struct input *in)
{
    return in->filled - in->next;
}

static inline const uint8_t *input_at(const struct input *in)
{
    return in->buf + in->next;
}

/* Offset of the next unread byte in the file. */
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

/* Makes N bytes readable at input_at(). 1: available; 0: the file ends before (input_buffered() bytes
 * are left); -ENOBUFS: N is more than the capacity; or an errno of read(). */
static inline int input_need(struct input *in, size_t n, struct error *error)
{
    if (likely(input_buffered(in) >= n))
        return 1;
    return input_fill(in, n, error);
}

/* Reads as much as fits after the unread bytes; readers call it between runs of records. 1: there are
 * unread bytes; 0: end of file. */
int input_refill(struct input *in, struct error *error);

/* From now on, reads at most N bytes at once, for a reader that jumps from header to header; 0: as many as fit. */
static inline void input_set_read_max(struct input *in, size_t n)
{
    in->read_max = n;
}

/* Continues at OFFSET. On a pipe only forward, by reading up to there; otherwise -ESPIPE. */
int input_seek(struct input *in, uint64_t offset, struct error *error);

/* Reads up to N bytes at OFFSET without moving the input, which must be seekable (base/spool.h) or
 * memory. Returns the number of bytes before the end, or a negative errno. */
int64_t input_read_at(const struct input *in, uint64_t offset, void *p, size_t n,
                      struct error *error);
/* Reads the SIZE bytes at OFFSET of such an input into *RET, which the caller frees, and appends a NUL that is not
 * counted. Memory grows with the bytes that exist, not with SIZE. -EBADMSG: the input ends before; -ENOMEM. */
int input_load_at(const struct input *in, uint64_t offset, size_t size, char **ret,
                  size_t *ret_len);
