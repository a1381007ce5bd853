/* SPDX-License-Identifier: MIT */
#include "runtime/sinks/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/format.h"
#include "runtime/macro.h"
#include "runtime/process/file.h"
#include "runtime/sinks/iovec_advance.h"
#include "runtime/trace_counts.h"

#define PIECES_MAX 64

static void put_path(struct line *line, const char *path, bool numbered)
{
    if (*path != '/') {
        char directory[PATH_MAX];

        if (getcwd(directory, sizeof(directory))) {
            line_put(line, directory, strlen(directory));
            line_put(line, "/", 1);
        }
    }
    for (; *path; path++) {
        if (numbered && path[0] == '%' && path[1] == 'p') {
            line_put_decimal(line, (uint64_t)getpid());
            path++;
        } else {
            line_put(line, path, 1);
        }
    }
    *line->at = '\0';
}

char *output_absolute(const char *path)
{
    char text[PATH_MAX];
    struct line line = {text, text + sizeof(text) - 1, false};

    put_path(&line, path, false);
    return strdup(text);
}

char *output_path(const char *path)
{
    char text[PATH_MAX];
    struct line line = {text, text + sizeof(text) - 1, false};

    put_path(&line, path, true);
    return strdup(text);
}

bool output_is_open(const struct output *output)
{
    return output->file.fd >= 0;
}

/* Takes FILE over. PATH becomes the output's. */
static int begin(struct output *output, const struct descriptor *file, char *path)
{
    struct stat st;

    if (!path || fstat(file->fd, &st) < 0) {
        int r = path ? -errno : -ENOMEM;

        close(file->fd);
        free(path);
        return r;
    }
    free(output->path);
    output->path = path;
    output->file = *file;
    output->regular = S_ISREG(st.st_mode) && !file->shared;
    output->stalled = false;
    output->length = 0;
    return 0;
}

int output_open(struct output *output, const char *path)
{
    struct descriptor file;
    int r;

    if (output_is_open(output) || output->parked)
        return -EBUSY;
    r = file_open(&file, path, FILE_NEW);
    return r < 0 ? r : begin(output, &file, strdup(path));
}

int output_make(struct output *output, int directory, const char *path, const char *name)
{
    struct descriptor file;
    char *whole;
    int r;

    if (output_is_open(output) || output->parked)
        return -EBUSY;
    r = file_make_at(&file, directory, name);
    if (r < 0)
        return r;
    if (asprintf(&whole, "%s/%s", path, name) < 0)
        whole = NULL;
    r = begin(output, &file, whole);
    if (r < 0)
        unlinkat(directory, name, 0);
    return r;
}

/* Opens the same file again, where we were in it. */
static int come_back(struct output *output)
{
    struct descriptor file;
    int r = file_open(&file, output->path, FILE_AGAIN);

    output->file.fd = -1;
    output->parked = r < 0 && (output->parked || r == -EMFILE || r == -ENFILE);
    if (r < 0)
        return r;
    if (file.device != output->file.device || file.inode != output->file.inode ||
        (output->regular &&
         lseek(file.fd, (off_t)output->length, SEEK_SET) != (off_t)output->length)) {
        close(file.fd);
        return -EBADF;
    }
    output->file = file;
    return 0;
}

/* Writes PIECES, which it changes. Returns how many bytes were written; *ret_error 0 or why not all. */
static size_t write_pieces(struct output *output, struct iovec *pieces, unsigned n, int *ret_error)
{
    uint64_t since = 0;
    size_t written = 0;

    *ret_error = 0;
    while (n) {
        ssize_t some = descriptor_write(&output->file, pieces, n);

        if (some == -EAGAIN && output->may_wait && output->may_wait(&output->stalled, &since)) {
            descriptor_wait(&output->file, OUTPUT_WAIT_MS);
            continue;
        }
        if (some < 0) {
            *ret_error = (int)some;
            break;
        }
        since = 0;
        output->stalled = false;
        written += (size_t)some;
        n = iovec_advance(&pieces, n, (size_t)some);
    }
    return written;
}

/* A write beyond the limit of the process would end it by SIGXFSZ. */
static bool exceeds_limit(const struct output *output, const struct iovec *pieces, unsigned n)
{
    uint64_t end = output->length;
    struct rlimit limit;

    if (!output->regular || getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return false;
    for (unsigned i = 0; i < n; i++)
        end += pieces[i].iov_len;
    return end > limit.rlim_cur;
}

int output_write(struct output *output, const struct iovec *pieces, unsigned n)
{
    struct iovec mine[PIECES_MAX];
    size_t written;
    int r;

    if (n > PIECES_MAX)
        return -EINVAL;
    if (!output_is_open(output) && !output->parked)
        return -EBADF;
    if (exceeds_limit(output, pieces, n))
        return -EFBIG;
    if (unlikely(output->parked || !descriptor_is_ours(&output->file))) {
        r = come_back(output);
        if (r < 0)
            return r;
    }
    memcpy(mine, pieces, n * sizeof(*pieces));
    written = write_pieces(output, mine, n, &r);
    if (r == 0) {
        output->length += written;
        COUNT(bytes_written, written);
        return 0;
    }
    if (written && output->regular) {
        /* Nothing torn stays. When even that fails, the file is of no more use. */
        if (ftruncate(output->file.fd, (off_t)output->length) < 0 ||
            lseek(output->file.fd, (off_t)output->length, SEEK_SET) < 0)
            output_done(output);
    } else if (written) {
        output_done(output); /* a pipe: its reader has half a record now */
    }
    return r;
}

bool output_park(struct output *output)
{
    if (!output_is_open(output) || !output->regular || !descriptor_is_ours(&output->file))
        return false;
    descriptor_close(&output->file);
    output->parked = true;
    return true;
}

void output_done(struct output *output)
{
    descriptor_close(&output->file);
    output->parked = false;
    free(output->path);
    output->path = NULL;
}
