/* SPDX-License-Identifier: MIT */
#include "record/retention.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock_ns.h"
#include "base/copy.h"
#include "base/fd.h"
#include "base/sparse.h"

/* Marks in the limit: what is kept is up to a sixteenth more than that. */
#define MARKS_IN_LIMIT 16u
#define MARKS_MAX (2 * MARKS_IN_LIMIT)
#define INTERVAL_MIN_NS (NSEC_PER_SEC / 10)
/* Where bytes are limited: how often sizes are looked at. */
#define BYTES_INTERVAL_NS (NSEC_PER_SEC / 2)
/* Free space that is left to others, and for what is written until the next look: this, or a part of a small disk. */
#define RESERVE_BYTES (UINT64_C(64) << 20)
#define RESERVE_PART 16u
#define FREE_INTERVAL_NS (NSEC_PER_SEC / 2)
#define LINE_MAX_BYTES ((size_t)64 << 10)
#define COPY_CHUNK ((size_t)1 << 30)

enum boundary {
    BOUNDARY_PACKET,
    BOUNDARY_WINDOW,
    BOUNDARY_PAGE,
    BOUNDARY_LINE,
};

/* What a file is released in, and a page of a kernel's ring buffer unless the kernel says otherwise. */
#define PAGE_BYTES 4096u
#define PAGE_BYTES_MAX (64u << 10)

static const struct kind {
    const char *name;
    const char
        *stream; /* the files of its directory that grow: before their number; NULL: it is a file */
    const char *suffix; /* … and after it */
    enum boundary boundary;
} kinds[] = {
    {"ftrace", "cpu", ".raw", BOUNDARY_PAGE},
    {"ctf", "stream-", "", BOUNDARY_PACKET},
    {"xentrace", NULL, NULL, BOUNDARY_WINDOW},
    {"qemu-log", NULL, NULL, BOUNDARY_LINE},
};

struct kept_file {
    char *path; /* in the recording's directory */
    enum boundary boundary;
    uint32_t page;             /* bytes of one */
    uint64_t size;             /* when it was last looked at */
    uint64_t begin;            /* of what is kept */
    uint64_t sizes[MARKS_MAX]; /* at each mark, the oldest first */
};

/* The number of lost events of a source, from records of its files. */
struct kept_losses {
    char *name;
    uint64_t lost[MARKS_MAX]; /* until each mark, as of the files */
    uint64_t last;            /* when it was last looked at */
    uint64_t before;          /* … until what is kept begins, */
    bool is_exact;            /* or there were more then, up to lost[0] */
};

struct retention {
    struct retention_limit given;
    struct retention_limit
        limit; /* at present: fewer bytes than were given while the disk is nearly full */
    int dir;
    char *path;
    struct kept_file *files;
    unsigned n_files, room;
    struct kept_losses *losses;
    unsigned n_losses;
    uint64_t marks[MARKS_MAX]; /* when */
    unsigned n_marks;
    uint64_t due;
    uint64_t free_at; /* when the free space is looked at next */
    uint64_t free, reserve;
};

static const struct kind *find_kind(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

int retention_new(const struct retention_limit *limit, int dir, const char *path,
                  struct retention **ret, struct error *error)
{
    struct retention *retention;
    bool is_limited = limit->ns > 0 || limit->bytes > 0;
    int r = is_limited ? sparse_check(dir) : 0;

    if (r == -EOPNOTSUPP)
        return error_set(error, r, path,
                         "this file system cannot release the beginning of a file, which --flight "
                         "requires; name a directory on ext4, XFS, btrfs or tmpfs");
    if (r < 0)
        return error_set(error, r, path, "cannot make a file: %s", strerror(-r));
    retention = calloc(1, sizeof *retention);
    if (!retention || !(retention->path = strdup(path))) {
        free(retention);
        return error_set(error, -ENOMEM, NULL, "out of memory");
    }
    retention->given = retention->limit = *limit;
    retention->dir = dir;
    retention->due = retention->free_at = is_limited ? 0 : UINT64_MAX;
    *ret = retention;
    return 0;
}

void retention_free(struct retention *retention)
{
    if (!retention)
        return;
    for (unsigned i = 0; i < retention->n_files; i++)
        free(retention->files[i].path);
    for (unsigned i = 0; i < retention->n_losses; i++)
        free(retention->losses[i].name);
    free(retention->losses);
    free(retention->files);
    free(retention->path);
    free(retention);
}

uint64_t retention_due(const struct retention *retention)
{
    return MIN(retention->due, retention->free_at);
}

/* ---- The files ---- */

static struct kept_file *find_file(const struct retention *retention, const char *path)
{
    for (unsigned i = 0; i < retention->n_files; i++)
        if (strcmp(retention->files[i].path, path) == 0)
            return &retention->files[i];
    return NULL;
}

/* Bytes of a page of the kernel whose file is PATH: events/header_page beside it ends with "offset:16; size:4080;". */
static uint32_t page_size(const struct retention *retention, const char *path)
{
    char name[4096], text[2048], *data;
    _cleanup_(closep) int fd = -1;
    unsigned offset, size;
    ssize_t n;

    snprintf(name, sizeof name, "%.*s/events/header_page", (int)(strrchr(path, '/') - path), path);
    fd = openat(retention->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    n = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);
    text[MAX(n, 0)] = '\0';
    data = strstr(text, "char data");
    data = data ? strstr(data, "offset:") : NULL;
    if (!data || sscanf(data, "offset:%u; size:%u;", &offset, &size) != 2 ||
        offset + size < PAGE_BYTES || offset + size > PAGE_BYTES_MAX)
        return PAGE_BYTES;
    return offset + size;
}

static int add_file(struct retention *retention, const char *path, enum boundary boundary)
{
    struct kept_file *files = retention->files;

    if (find_file(retention, path))
        return 0;
    if (retention->n_files == retention->room) {
        unsigned room = MAX(2 * retention->room, 16u);

        files = reallocarray(files, room, sizeof *files);
        if (!files)
            return -ENOMEM;
        retention->files = files;
        retention->room = room;
    }
    files[retention->n_files] = (struct kept_file){.path = strdup(path), .boundary = boundary};
    if (boundary == BOUNDARY_PAGE)
        files[retention->n_files].page = page_size(retention, path);
    if (!files[retention->n_files].path)
        return -ENOMEM;
    retention->n_files++;
    return 0;
}

/* "cpu12.raw" */
static bool is_stream(const struct kind *kind, const char *name)
{
    size_t len = strlen(kind->stream);

    if (strncmp(name, kind->stream, len) != 0 || !isdigit((unsigned char)name[len]))
        return false;
    name += len;
    return strcmp(name + strspn(name, "0123456789"), kind->suffix) == 0;
}

/* Calls EACH with the path of each file of SOURCE that grows. */
static int each_file(int dir, const struct manifest_source *source,
                     int (*each)(void *userdata, const char *path, const struct kind *kind),
                     void *userdata)
{
    const struct kind *kind = find_kind(source->kind);
    _cleanup_(closedirp) DIR *entries = NULL;
    const struct dirent *entry;
    char path[4096];
    int r = 0;

    if (!kind)
        return 0;
    if (!kind->stream)
        return each(userdata, source->path, kind);
    entries = open_dir_at(dir, source->path);
    if (!entries)
        return errno == ENOENT ? 0 : -errno;
    while (r >= 0 && (entry = readdir(entries)))
        if (is_stream(kind, entry->d_name) &&
            snprintf(path, sizeof path, "%s/%s", source->path, entry->d_name) < (int)sizeof path)
            r = each(userdata, path, kind);
    return r;
}

static int note_file(void *userdata, const char *path, const struct kind *kind)
{
    return add_file(userdata, path, kind->boundary);
}

static int open_file(const struct retention *retention, const char *path, int flags)
{
    int fd = openat(retention->dir, path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

/* ---- Losses ---- */

static struct kept_losses *find_losses(const struct retention *retention, const char *name)
{
    for (unsigned i = 0; i < retention->n_losses; i++)
        if (strcmp(retention->losses[i].name, name) == 0)
            return &retention->losses[i];
    return NULL;
}

static int note_losses(struct retention *retention, const struct manifest_source *source)
{
    struct kept_losses *losses = find_losses(retention, source->name);

    if (!losses) {
        losses = reallocarray(retention->losses, retention->n_losses + 1, sizeof *losses);
        if (!losses)
            return -ENOMEM;
        retention->losses = losses;
        losses += retention->n_losses;
        *losses = (struct kept_losses){.name = strdup(source->name), .is_exact = true};
        if (!losses->name)
            return -ENOMEM;
        retention->n_losses++;
    }
    losses->last = source->lost - MIN(source->lost, source->lost_at_end);
    return 0;
}

/* The files begin at the mark that CUT has, or where MORE is kept, between it and the mark before. */
static void release_losses(struct kept_losses *losses, unsigned mark, bool more)
{
    uint64_t until = losses->lost[mark];

    if (more && mark > 0)
        losses->before = losses->lost[mark - 1];
    else if (!more)
        losses->before = until;
    losses->is_exact = losses->before == until;
}

bool retention_losses(const struct retention *retention, const struct manifest_source *source,
                      struct retention_losses *ret)
{
    const struct kept_losses *losses = find_losses(retention, source->name);
    uint64_t before = losses ? losses->before : 0;
    uint64_t lost = source->lost - MIN(source->lost, before);

    *ret = (struct retention_losses){lost, MIN(source->lost_at_end, lost)};
    /* Xen reports a loss with the next record of its CPU, and the virtio-trace protocol none. */
    return strcmp(source->kind, "xentrace") != 0 &&
           (strcmp(source->kind, "ftrace") != 0 || source->guest) && (!losses || losses->is_exact);
}

/* ---- Where a reader can begin ---- */

/* How long the piece at OFFSET of SIZE bytes is; 0: it is not whole, or none. A packet of Strata's own CTF
 * (docs/man/strata-ctf.5), in this machine's byte order, has
 *
 *     offset  bytes
 *          0      4  magic number, 0xc1fc1fc1
 *         48      8  size of the packet, in bits
 *
 * and a window of per-CPU trace buffers (docs/man/strata-xentrace.5), in the same order,
 *
 *          0      4  0x2001f003: a change of the CPU, with two words
 *          4      4  the CPU
 *          8      4  bytes that follow */
static uint64_t piece_size(enum boundary boundary, int fd, uint64_t offset, uint64_t size)
{
    size_t header = boundary == BOUNDARY_PACKET ? 56 : 12;
    uint8_t bytes[56];
    uint64_t length;

    if (size - MIN(size, offset) < header ||
        pread(fd, bytes, header, (off_t)offset) != (ssize_t)header)
        return 0;
    if (boundary == BOUNDARY_PACKET) {
        uint32_t magic;

        memcpy(&magic, bytes, sizeof magic);
        memcpy(&length, bytes + 48, sizeof length);
        length = magic == 0xc1fc1fc1 ? length / 8 : 0;
    } else {
        length = load_u32(bytes) == 0x2001f003 ? header + load_u32(bytes + 8) : 0;
    }
    return length >= header && length <= size - offset ? length : 0;
}

/* From the piece that begins at OFFSET on: where the first one begins that is not before WANTED, or the last whole one ends. */
static uint64_t after_pieces(enum boundary boundary, int fd, uint64_t offset, uint64_t wanted,
                             uint64_t size)
{
    uint64_t length = 1;

    while (offset < wanted && length > 0) {
        length = piece_size(boundary, fd, offset, size);
        offset += length;
    }
    return offset;
}

/* After the first end of a line from OFFSET on; 0: there is none. */
static uint64_t after_next_line(int fd, uint64_t offset)
{
    char bytes[4096];

    for (uint64_t at = offset; at < offset + LINE_MAX_BYTES;) {
        ssize_t n = pread(fd, bytes, sizeof bytes, (off_t)at);
        const char *end = n > 0 ? memchr(bytes, '\n', (size_t)n) : NULL;

        if (end)
            return at + (uint64_t)(end - bytes) + 1;
        if (n <= 0)
            break;
        at += (uint64_t)n;
    }
    return 0;
}

/* After the last end of a line before OFFSET; OFFSET where there is none. */
static uint64_t after_last_line(int fd, uint64_t offset)
{
    char bytes[4096];

    for (uint64_t end = offset; end > offset - MIN(offset, (uint64_t)LINE_MAX_BYTES);) {
        size_t size = (size_t)MIN(end, (uint64_t)sizeof bytes);
        ssize_t n = pread(fd, bytes, size, (off_t)(end - size));
        const char *newline = n > 0 ? memrchr(bytes, '\n', (size_t)n) : NULL;

        end -= size;
        if (newline)
            return end + (uint64_t)(newline - bytes) + 1;
    }
    return offset;
}

/* A line that is not whole yet is kept: if the disk has no room for its rest, it is cut off, and another line follows. */
static uint64_t line_at(int fd, uint64_t offset)
{
    uint64_t next = after_next_line(fd, offset - 1); /* it may lie at the end of one */

    return next > 0 ? next : after_last_line(fd, offset);
}

static bool is_in_pieces(enum boundary boundary)
{
    return boundary == BOUNDARY_PACKET || boundary == BOUNDARY_WINDOW;
}

/* At OFFSET or close to it. FROM: one before it that is known. */
static uint64_t boundary_at(const struct kept_file *file, int fd, uint64_t from, uint64_t offset)
{
    if (offset <= file->begin)
        return file->begin;
    if (is_in_pieces(file->boundary))
        return after_pieces(file->boundary, fd, from, offset, file->size);
    if (file->boundary == BOUNDARY_PAGE)
        return offset - offset % file->page;
    return MAX(line_at(fd, offset), file->begin);
}

/* ---- Marks ---- */

static uint64_t bytes_after(const struct retention *retention, unsigned mark)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < retention->n_files; i++) {
        const struct kept_file *file = &retention->files[i];

        sum += file->size - MIN(file->size, MAX(file->begin, file->sizes[mark]));
    }
    return sum;
}

static void drop_marks(struct retention *retention, unsigned n)
{
    retention->n_marks -= n;
    memmove(retention->marks, retention->marks + n, retention->n_marks * sizeof *retention->marks);
    for (unsigned i = 0; i < retention->n_files; i++)
        memmove(retention->files[i].sizes, retention->files[i].sizes + n,
                retention->n_marks * sizeof *retention->files[i].sizes);
    for (unsigned i = 0; i < retention->n_losses; i++)
        memmove(retention->losses[i].lost, retention->losses[i].lost + n,
                retention->n_marks * sizeof *retention->losses[i].lost);
}

static uint64_t bytes_kept(const struct retention *retention)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < retention->n_files; i++)
        sum += retention->files[i].size - MIN(retention->files[i].size, retention->files[i].begin);
    return sum;
}

/* Whether a mark at NOW is so close to the one before the last that the last one need not be. */
static bool is_close(const struct retention *retention, uint64_t now)
{
    const struct retention_limit *limit = &retention->limit;
    unsigned n = retention->n_marks;

    return n >= 2 &&
           (limit->ns == 0 || now - retention->marks[n - 2] < limit->ns / MARKS_IN_LIMIT) &&
           (limit->bytes == 0 || bytes_after(retention, n - 2) < limit->bytes / MARKS_IN_LIMIT);
}

/* What is whole of FILE, which is open. */
static uint64_t whole_size(const struct kept_file *file, int fd)
{
    struct stat st;

    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return file->size;
    return is_in_pieces(file->boundary)
               ? after_pieces(file->boundary, fd, file->size, UINT64_MAX, (uint64_t)st.st_size)
               : (uint64_t)st.st_size;
}

static void look_at(const struct retention *retention, struct kept_file *file)
{
    _cleanup_(closep) int fd = open_file(retention, file->path, O_RDONLY);

    if (fd >= 0)
        file->size = whole_size(file, fd);
}

static void put_mark(struct retention *retention, uint64_t now)
{
    for (unsigned i = 0; i < retention->n_files; i++)
        look_at(retention, &retention->files[i]);
    /* Where nothing was released for long, all marks but the newest of those beyond the limit are of no more use. */
    if (retention->n_marks == MARKS_MAX && retention->limit.ns > 0 &&
        now - retention->marks[1] >= retention->limit.ns)
        drop_marks(retention, 1);
    if (retention->n_marks == MARKS_MAX || is_close(retention, now))
        retention->n_marks--;
    for (unsigned i = 0; i < retention->n_files; i++)
        retention->files[i].sizes[retention->n_marks] = retention->files[i].size;
    for (unsigned i = 0; i < retention->n_losses; i++)
        retention->losses[i].lost[retention->n_marks] = retention->losses[i].last;
    retention->marks[retention->n_marks++] = now;
}

/* ---- Free space ---- */

bool retention_is_short(const struct retention *retention)
{
    return retention->free < retention->reserve;
}

static void look_at_disk(struct retention *retention, uint64_t now)
{
    struct statvfs st;

    if (now < retention->free_at)
        return;
    retention->free_at = now + FREE_INTERVAL_NS;
    if (fstatvfs(retention->dir, &st) < 0)
        return;
    retention->free = (uint64_t)st.f_bavail * st.f_frsize;
    retention->reserve = MIN(RESERVE_BYTES, (uint64_t)st.f_blocks * st.f_frsize / RESERVE_PART);
    if (retention_is_short(retention))
        retention->due = now;
}

/* Less is kept where the disk is nearly full, and more again when there is space. */
static void adapt_limit(struct retention *retention)
{
    uint64_t room = bytes_kept(retention) + retention->free;

    retention->limit = retention->given;
    if (retention->free >= 2 * retention->reserve)
        return;
    room = MAX(room - MIN(room, retention->reserve), UINT64_C(1));
    if (retention->limit.bytes == 0 || room < retention->limit.bytes)
        retention->limit.bytes = room;
}

/* What is to be released. */
struct cut {
    int mark;      /* up to that; -1: nothing */
    uint64_t more; /* … but for so many bytes before it, of `between` since the mark before */
    uint64_t between;
};

static struct cut find_cut(const struct retention *retention, uint64_t now)
{
    const struct retention_limit *limit = &retention->limit;
    uint64_t kept = bytes_kept(retention);
    struct cut cut = {.mark = -1};

    for (unsigned i = 0; i < retention->n_marks; i++) {
        bool is_old = limit->ns > 0 && now - retention->marks[i] >= limit->ns;
        bool is_full = limit->bytes > 0 && kept > limit->bytes;
        uint64_t after = bytes_after(retention, i);

        if (!is_old && !is_full)
            break;
        cut = (struct cut){.mark = (int)i, .between = kept - after};
        /* More may have come at once than is to be kept. */
        if (!is_old && after < limit->bytes)
            cut.more = limit->bytes - after;
        kept = after;
    }
    return cut;
}

static int release(const struct retention *retention, struct kept_file *file, const struct cut *cut,
                   struct error *error)
{
    _cleanup_(closep) int fd = open_file(retention, file->path, O_RDWR);
    uint64_t before = cut->mark > 0 ? MAX(file->begin, file->sizes[cut->mark - 1]) : file->begin;
    uint64_t offset = file->sizes[cut->mark], begin;
    int r;

    if (fd < 0)
        return fd == -ENOENT
                   ? 0
                   : error_set(error, fd, file->path, "cannot open it: %s", strerror(-fd));
    /* Of what came between both marks, each file keeps its share. */
    if (cut->more > 0 && offset > before)
        offset -= (uint64_t)((double)(offset - before) * (double)cut->more / (double)cut->between);
    if (file->boundary == BOUNDARY_PAGE) { /* whole pages of its share, but for the newest */
        uint64_t most = file->sizes[cut->mark];

        if (cut->more > 0 && most - MIN(most, before) >= file->page)
            most -= file->page;
        offset = MIN(offset + file->page - 1, most);
    }
    begin = boundary_at(file, fd, before, offset);
    r = sparse_release(fd, file->begin, begin);
    if (r < 0)
        return error_set(error, r, file->path, "cannot release its beginning: %s", strerror(-r));
    file->begin = begin;
    return 0;
}

int retention_step(struct retention *retention, const struct manifest_source *sources, unsigned n,
                   uint64_t now, bool may_release, struct error *error)
{
    uint64_t interval = retention->given.ns / MARKS_IN_LIMIT;
    struct cut cut;
    int r = 0;

    look_at_disk(retention, now);
    if (now < retention->due)
        return 0;
    if (retention->limit.ns == 0 || (retention->limit.bytes > 0 && interval > BYTES_INTERVAL_NS))
        interval = BYTES_INTERVAL_NS;
    retention->due = now + MAX(interval, INTERVAL_MIN_NS);
    for (unsigned i = 0; r >= 0 && i < n; i++)
        r = each_file(retention->dir, &sources[i], note_file, retention);
    for (unsigned i = 0; r >= 0 && i < n; i++)
        r = note_losses(retention, &sources[i]);
    if (r < 0)
        return error_set(error, r, retention->path, "cannot look at its files: %s", strerror(-r));
    put_mark(retention, now);
    adapt_limit(retention);
    if (!may_release)
        return 0;
    cut = find_cut(retention, now);
    for (unsigned i = 0; r >= 0 && cut.mark >= 0 && i < retention->n_files; i++)
        r = release(retention, &retention->files[i], &cut, error);
    for (unsigned i = 0; r >= 0 && cut.mark >= 0 && i < retention->n_losses; i++)
        release_losses(&retention->losses[i], (unsigned)cut.mark, cut.more > 0);
    if (r >= 0 && cut.mark > 0)
        drop_marks(retention, (unsigned)cut.mark);
    return r;
}

/* ---- Copies ---- */

/* Files that are being written have names that begin with a dot. */
static bool is_unfinished(const char *path)
{
    const char *slash = strrchr(path, '/');

    return (slash ? slash[1] : path[0]) == '.';
}

static bool is_no_page_file(const char *path, size_t len)
{
    (void)len;
    return !is_stream(&kinds[0], path) && strcmp(path, "clock-pairs") != 0 && !is_unfinished(path);
}

static bool is_no_stream(const char *path, size_t len)
{
    (void)len;
    return !is_stream(&kinds[1], path) && !strchr(path, '/') && !is_unfinished(path);
}

struct copy {
    const struct retention *retention;
    int to;
    uint64_t since;
    struct error *error;
};

static int make_dirs(int at, const char *path)
{
    _cleanup_free_ char *copy = strdup(path);

    if (!copy)
        return -ENOMEM;
    for (char *slash = strchr(copy, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdirat(at, copy, 0777) < 0 && errno != EEXIST)
            return -errno;
        *slash = '/';
    }
    return 0;
}

/* SIZE bytes from OFFSET of IN. */
static int copy_range(int in, uint64_t offset, uint64_t size, int out)
{
    static uint8_t bytes[1 << 16]; /* the caller has one thread */
    off_t at = (off_t)offset;

    while (size > 0) {
        ssize_t n = copy_file_range(in, &at, out, NULL, (size_t)MIN(size, COPY_CHUNK), 0);

        if (n < 0 &&
            (errno == EXDEV || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP)) {
            int r;

            n = pread(in, bytes, (size_t)MIN(size, sizeof bytes), at);
            r = n > 0 ? write_all(out, bytes, (size_t)n) : 0;
            if (r < 0)
                return r;
            at += n > 0 ? n : 0;
        }
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n == 0)
            return 0;
        size -= n > 0 ? (uint64_t)n : 0;
    }
    return 0;
}

/* Where in FILE, of SIZE, that begins which was written after SINCE. */
static uint64_t begin_since(const struct retention *retention, const struct kept_file *file, int fd,
                            uint64_t since)
{
    uint64_t offset = file->begin;

    for (unsigned i = 0; i < retention->n_marks && retention->marks[i] <= since; i++)
        offset = file->sizes[i];
    return boundary_at(file, fd, MAX(offset, file->begin), offset);
}

static int copy_stream(void *userdata, const char *path, const struct kind *kind)
{
    struct copy *copy = userdata;
    const struct retention *retention = copy->retention;
    const struct kept_file *known = find_file(retention, path);
    struct kept_file unknown = {.boundary = kind->boundary};
    const struct kept_file *file = known ? known : &unknown;
    _cleanup_(closep) int in = open_file(retention, path, O_RDONLY);
    _cleanup_(closep) int out = -1;
    uint64_t begin, end;
    int r;

    if (in == -ENOENT)
        return 0;
    if (in < 0)
        return error_set(copy->error, in, path, "cannot open it: %s", strerror(-in));
    r = make_dirs(copy->to, path);
    if (r >= 0) {
        out = openat(copy->to, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        r = out < 0 ? -errno : 0;
    }
    if (kind->boundary == BOUNDARY_PAGE)
        unknown.page = page_size(retention, path);
    begin = begin_since(retention, file, in, copy->since);
    end = whole_size(file, in);
    if (kind->boundary == BOUNDARY_PAGE)
        end -= end % file->page; /* one is being written */
    if (r >= 0 && end > begin)
        r = copy_range(in, begin, end - begin, out);
    return r < 0 ? error_set(copy->error, r, path, "cannot copy it: %s", strerror(-r)) : 0;
}

/* Its error names the file as the trace does, not by a descriptor. */
static int result_of(const struct copy *copy, const char *path, int r)
{
    if (r >= 0)
        return r;
    error_clear(copy->error);
    return error_set(copy->error, r, path, "cannot copy it: %s", strerror(-r));
}

static int copy_named(const struct copy *copy, const char *path)
{
    const struct copy_options options = {0};
    char from[4200], to[4200];
    int r = make_dirs(copy->to, path);

    if (r < 0)
        return result_of(copy, path, r);
    snprintf(from, sizeof from, "/proc/self/fd/%d/%s", copy->retention->dir, path);
    snprintf(to, sizeof to, "/proc/self/fd/%d/%s", copy->to, path);
    r = access(from, F_OK) < 0 || access(to, F_OK) == 0
            ? 0
            : copy_file(from, to, &options, copy->error);
    return result_of(copy, path, r);
}

/* All of its directory that does not grow. */
static int copy_directory(const struct copy *copy, const struct manifest_source *source,
                          const struct kind *kind)
{
    /* A kernel's files are replaced, not changed; metadata are changed. */
    const struct copy_options options = {
        .link = kind == &kinds[0], .takes = kind == &kinds[0] ? is_no_page_file : is_no_stream};
    char from[4200], to[4200];
    int r;

    snprintf(from, sizeof from, "/proc/self/fd/%d/%s", copy->retention->dir, source->path);
    snprintf(to, sizeof to, "/proc/self/fd/%d/%s", copy->to, source->path);
    r = make_dirs(copy->to, source->path);
    if (r >= 0)
        r = copy_dir(from, to, &options, copy->error);
    return result_of(copy, source->path, r);
}

int retention_copy(const struct retention *retention, const struct manifest_source *source, int to,
                   uint64_t since, struct error *error)
{
    const struct kind *kind = find_kind(source->kind);
    struct copy copy = {retention, to, since, error};
    int r = 0;

    if (!manifest_source_has_events(source))
        return 0;
    if (!kind)
        r = copy_named(&copy, source->path);
    else
        r = each_file(retention->dir, source, copy_stream, &copy);
    /* What describes events is written before they are, so it is copied after them. */
    if (r >= 0 && kind && kind->stream)
        r = copy_directory(&copy, source, kind);
    if (r >= 0 && source->clock.pairs)
        r = copy_named(&copy, source->clock.pairs);
    for (unsigned i = 0; r >= 0 && i < source->n_events; i++)
        r = copy_named(&copy, source->events[i]);
    return r;
}
