/* SPDX-License-Identifier: MIT */
/* The directory of a trace in CTF: which files it has, and the metadata as text.
 *
 *   DIR/metadata   what all is: text of CTF 1.8 (tsdl.h), or text that begins with 0x1e "{" (ctf2.h); or packets of it,
 *                     each with a header of 37 bytes in the byte order of the trace:
 *                     u32 0x75d11d57, 16 bytes UUID, u32 checksum,
 *                     u32 bits of content, u32 bits of the packet, both with this header,
 *                     u8 compression, encryption, checksum's scheme (each 0: none), u8 1, u8 8 or u8 2, u8 0
 *   DIR/NAME       any other file: a stream (ctf.c). Directories and hidden files are not looked at;
 *                     what is not a regular file is an error, as it stands where a stream was.
 *   DIR/CHANNEL_CPU_INDEX   a part of a stream, of LTTng's --tracefile-size: those of one CHANNEL and CPU are one stream, in the
 *                     order of their first packets, as LTTng begins again with the first */
#include "format/ctf/ctf.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/macro.h"
#include "base/reopen_cache.h"
#include "format/ctf/ctf2/ctf2.h"
#include "format/ctf/reader.h"
#include "format/ctf/tsdl/tsdl.h"

#define METADATA_MAGIC UINT32_C(0x75d11d57)
#define METADATA_HEADER 37
#define METADATA_MAX ((size_t)64 << 20)

#define STREAM_MAGIC UINT32_C(0xc1fc1fc1)

/* Rings are as many as threads that ran at once; their buffers together are to stay small. */
#define INPUT_SMALL ((size_t)64 * 1024)
#define STREAMS_MANY 16

static bool is_magic(const void *p, size_t n, uint32_t magic)
{
    return n >= 4 && (load_u32(p) == magic || load_u32(p) == __builtin_bswap32(magic));
}

struct names {
    char **names;
    unsigned n;
};

static void names_done(struct names *names)
{
    for (unsigned i = 0; i < names->n; i++)
        free(names->names[i]);
    free(names->names);
}

/* By length first: "stream-9" before "stream-10". */
static int compare_names(const void *a, const void *b)
{
    const char *x = *(char *const *)a;
    const char *y = *(char *const *)b;
    size_t x_len = strlen(x);
    size_t y_len = strlen(y);

    return x_len != y_len ? (x_len > y_len) - (x_len < y_len) : strcmp(x, y);
}

/* PASSES_OVER: as in struct reader_options. */
static int list_streams(const char *path, bool passes_over, struct names *names,
                        struct error *error)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    int r = 0;

    if (!dir)
        return error_set(error, -errno, path, "%s", strerror(errno));
    while (r >= 0 &&
           (entry = readdir(dir))) { /* NOLINT(concurrency-mt-unsafe): a stream of its own */
        struct stat st;
        char **bigger;

        if (entry->d_name[0] == '.' || strcmp(entry->d_name, "metadata") == 0 ||
            fstatat(dirfd(dir), entry->d_name, &st, passes_over ? 0 : AT_SYMLINK_NOFOLLOW) < 0 ||
            (passes_over ? !S_ISREG(st.st_mode) : S_ISDIR(st.st_mode)))
            continue;
        bigger = realloc(names->names, (names->n + 1) * sizeof *names->names);
        r = -ENOMEM;
        if (!bigger)
            continue;
        names->names = bigger;
        if (asprintf(&names->names[names->n], "%s/%s", path, entry->d_name) < 0)
            continue;
        names->n++;
        r = 0;
    }
    closedir(dir);
    if (names->n)
        qsort(names->names, names->n, sizeof *names->names, compare_names);
    return r;
}

/* The first bytes of a file; how many, 0 when it cannot be read. */
static size_t read_head(const char *path, void *head, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t n;

    if (fd < 0)
        return 0;
    n = read(fd, head, size);
    close(fd);
    return n > 0 ? (size_t)n : 0;
}

bool ctf_probe_dir(const char *path)
{
    _cleanup_(names_done) struct names names = {0};
    char file[PATH_MAX], head[16];
    int len = snprintf(file, sizeof file, "%s/metadata", path);
    size_t n;

    if (len < 0 || (size_t)len >= sizeof file)
        return false;
    n = read_head(file, head, sizeof head);
    if (ctf_tsdl_probe(head, n) || ctf2_probe(head, n) || is_magic(head, n, METADATA_MAGIC))
        return true;
    if (list_streams(path, false, &names, NULL) < 0)
        return false;
    for (unsigned i = 0; i < names.n; i++) {
        n = read_head(names.names[i], head, sizeof head);
        if (is_magic(head, n, STREAM_MAGIC))
            return true;
    }
    return false;
}

int ctf_metadata_unpack(const char *path, char *text, size_t *len, struct error *error)
{
    size_t done = 0;
    size_t at = 0;
    bool swap;

    if (ctf_tsdl_probe(text, *len) || ctf2_probe(text, *len))
        return 0;
    if (!is_magic(text, *len, METADATA_MAGIC))
        return error_set(
            error, -EBADMSG, path,
            "not metadata of CTF: it begins neither with '/* CTF 1.8' nor with a record "
            "separator and '{' (CTF 2)");
    swap = load_u32(text) != METADATA_MAGIC;
    while (at < *len) {
        const char *p = text + at;
        size_t left = *len - at;
        uint32_t content;
        uint32_t size;

        if (left < METADATA_HEADER || load_u32_swap(p, swap) != METADATA_MAGIC)
            return error_at(error, -EBADMSG, path, at,
                            "not a metadata packet: its magic number is missing");
        content = load_u32_swap(p + 24, swap);
        size = load_u32_swap(p + 28, swap);
        if (p[32] || p[33])
            return error_at(error, -EBADMSG, path, at,
                            "compressed and encrypted metadata are not supported");
        /* The padding of the last packet may be missing. */
        if (content % 8 || size % 8 || content > size || content / 8 < METADATA_HEADER ||
            content / 8 > left)
            return error_at(error, -EBADMSG, path, at,
                            "invalid metadata packet: size %" PRIu32 " bits, content %" PRIu32
                            " bits",
                            size, content);
        memmove(text + done, p + METADATA_HEADER, content / 8 - METADATA_HEADER);
        done += content / 8 - METADATA_HEADER;
        at += MIN((size_t)size / 8, left);
    }
    *len = done;
    return 0;
}

/* A file of the trace. */
static int open_file(const char *path, size_t capacity, const struct reader_options *options,
                     struct input *ret, struct error *error)
{
    int r = input_open_regular(ret, path, capacity, error);

    if (r < 0)
        return r;
    r = reopen_cache_fix_end(options->cache, ret, error);
    if (r < 0)
        input_done(ret);
    return r;
}

static int read_metadata(const char *path, const struct reader_options *options, char **ret_text,
                         size_t *ret_len, struct error *error)
{
    _cleanup_free_ char *text = NULL;
    struct input in;
    size_t len = 0;
    int r;

    r = open_file(path, INPUT_BUFFER_SIZE, options, &in, error);
    if (r < 0)
        return r;
    while ((r = input_refill(&in, error)) > 0) {
        size_t some = input_buffered(&in);
        char *bigger = len + some > METADATA_MAX ? NULL : realloc(text, len + some);

        if (!bigger) {
            r = len + some > METADATA_MAX
                    ? error_set(error, -EFBIG, path,
                                "metadata larger than 64 MiB are not supported")
                    : -ENOMEM;
            break;
        }
        text = bigger;
        memcpy(text + len, input_at(&in), some);
        len += some;
        input_skip(&in, some);
    }
    input_done(&in);
    if (r >= 0 && len == 0)
        return error_set(error, -EBADMSG, path,
                         "empty metadata: the streams of the trace cannot be read without them");
    if (r >= 0)
        r = ctf_metadata_unpack(path, text, &len, error);
    if (r < 0)
        return r;
    *ret_text = TAKE_PTR(text);
    *ret_len = len;
    return 0;
}

/* The sources of what is in one or several directories. */
struct opening {
    struct ctf_trace *trace;
    const struct reader_options *options;
    struct source **sources;
    char **names; /* of the sources: of their files, without the directory */
    unsigned n;
};

static void opening_done(struct opening *opening)
{
    for (unsigned i = 0; i < opening->n; i++) {
        source_free(opening->sources[i]);
        free(opening->names[i]);
    }
    free(opening->sources);
    free(opening->names);
}

static int opening_add(struct opening *opening, struct input *in, const char *name,
                       struct error *error)
{
    struct source **sources =
        realloc(opening->sources, (opening->n + 1) * sizeof *opening->sources);
    char **names = realloc(opening->names, (opening->n + 1) * sizeof *opening->names);
    int r;

    if (sources)
        opening->sources = sources;
    if (names)
        opening->names = names;
    if (!sources || !names || !(names[opening->n] = strdup(name))) {
        input_done(in);
        return -ENOMEM;
    }
    r = ctf_stream_open(opening->trace, in, opening->options, &sources[opening->n], error);
    if (r < 0)
        free(names[opening->n]);
    else
        opening->n++;
    return r;
}

/* A file of a directory. */
struct part {
    const char *path;
    char *
        stream; /* what its stream is called: the file's name, or what all its files have in common */
    bool is_one_of; /* of several files, perhaps */
    unsigned order; /* of its stream among the others */
    uint64_t begin;
};

struct parts {
    struct part *parts;
    unsigned n;
};

static void parts_done(struct parts *parts)
{
    for (unsigned i = 0; i < parts->n; i++)
        free(parts->parts[i].stream);
    free(parts->parts);
}

/* How long NAME is without its last "_NUMBER"; 0: it has none. */
static size_t cut_index(const char *name, size_t len)
{
    size_t n = len;

    while (n > 0 && name[n - 1] >= '0' && name[n - 1] <= '9')
        n--;
    return n > 1 && n < len && name[n - 1] == '_' ? n - 1 : 0;
}

/* PART of the file NAME, "CHANNEL_CPU_INDEX": what its stream is, by its first packet. */
static int identify(struct opening *opening, const char *name, size_t len, size_t capacity,
                    struct part *part, struct error *error)
{
    struct source *source;
    struct ctf_identity identity;
    struct input in;
    int r = open_file(part->path, capacity, opening->options, &in, error);

    if (r >= 0)
        r = ctf_stream_open(opening->trace, &in, opening->options, &source, error);
    if (r < 0)
        return r;
    part->is_one_of = ctf_stream_identify(source, &identity);
    source_free(source);
    if (!part->is_one_of)
        return 0;
    part->begin = identity.begin;
    if (asprintf(&part->stream, "%.*s/%" PRIu64 "/%" PRId32, (int)len, name, identity.stream,
                 identity.cpu) >= 0)
        return 0;
    part->stream = NULL;
    return -ENOMEM;
}

static int compare_parts(const void *a, const void *b)
{
    const struct part *x = a;
    const struct part *y = b;

    return x->order != y->order ? (x->order > y->order) - (x->order < y->order)
                                : (x->begin > y->begin) - (x->begin < y->begin);
}

/* The files of a directory, by their streams. */
static int list_parts(struct opening *opening, const struct names *names, size_t capacity,
                      struct parts *parts, struct error *error)
{
    int r = 0;

    parts->parts = calloc(MAX(names->n, 1u), sizeof *parts->parts);
    if (!parts->parts)
        return -ENOMEM;
    for (unsigned i = 0; i < names->n && r >= 0; i++) {
        struct part *part = &parts->parts[parts->n++];
        const char *name = strrchr(names->names[i], '/') + 1;
        size_t len = cut_index(name, strlen(name));

        *part = (struct part){.path = names->names[i], .order = i};
        if (len > 0 && cut_index(name, len) > 0)
            r = identify(opening, name, len, capacity, part, error);
        if (r >= 0 && !part->stream) {
            part->stream = strdup(name);
            r = part->stream ? 0 : -ENOMEM;
        }
        for (unsigned j = 0; j < i && r >= 0 && part->is_one_of; j++)
            if (strcmp(parts->parts[j].stream, part->stream) == 0) {
                part->order = parts->parts[j].order;
                break;
            }
    }
    if (r >= 0)
        qsort(parts->parts, parts->n, sizeof *parts->parts, compare_parts);
    return r;
}

/* Adds the stream in the file of PART, or has the one of that name go on there; of the first directory, streams of one file are
 * new. CAPACITY: of its buffer. */
static int opening_put(struct opening *opening, const struct part *part, bool is_first,
                       size_t capacity, struct error *error)
{
    struct input in;
    int r;

    for (unsigned i = 0; i < opening->n && (!is_first || part->is_one_of); i++)
        if (strcmp(opening->names[i], part->stream) == 0)
            return ctf_stream_continue(opening->sources[i], part->path);
    r = open_file(part->path, capacity, opening->options, &in, error);
    return r < 0 ? r : opening_add(opening, &in, part->stream, error);
}

static int open_directory(struct opening *opening, const struct names *names, bool is_first,
                          struct error *error)
{
    _cleanup_(parts_done) struct parts parts = {0};
    size_t capacity = names->n > STREAMS_MANY ? INPUT_SMALL : INPUT_BUFFER_SIZE;
    int r = list_parts(opening, names, capacity, &parts, error);

    for (unsigned i = 0; i < parts.n && r >= 0; i++)
        r = opening_put(opening, &parts.parts[i], is_first, capacity, error);
    return r;
}

static int open_streams(struct opening *opening, const struct names *names, unsigned n,
                        const char *path, struct error *error)
{
    struct input in;
    int r = 0;

    for (unsigned i = 0; i < n && r >= 0; i++)
        r = open_directory(opening, &names[i], i == 0, error);
    for (unsigned i = 0; i < opening->n && r >= 0; i++)
        r = ctf_stream_note_begin(opening->sources[i]);
    if (r >= 0)
        r = ctf_trace_judge_ends(opening->trace, opening->sources, opening->n, error);
    /* A trace without events has one stream, an empty one: then it has an origin, and that is not an error. */
    if (r >= 0 && opening->n == 0) {
        r = input_open_memory(&in, "", 0, path);
        if (r >= 0)
            r = opening_add(opening, &in, "", error);
    }
    return r;
}

int ctf_open_dirs(const char *const *paths, unsigned n, struct catalogue *catalogue,
                  const struct reader_options *options, struct source ***ret_sources,
                  unsigned *ret_n, struct error *error)
{
    const char *last = paths[n - 1];
    struct names *names = calloc(n, sizeof *names);
    struct opening opening = {.options = options};
    _cleanup_free_ char *metadata = NULL;
    _cleanup_free_ char *text = NULL;
    size_t len = 0;
    int r = 0;

    if (asprintf(&metadata, "%s/metadata", last) < 0)
        metadata = NULL;
    if (!names || !metadata)
        r = -ENOMEM;
    /* The streams first: what was in them then, the metadata that is read afterwards describes. */
    for (unsigned i = 0; i < n && r >= 0; i++)
        r = list_streams(paths[i], options->passes_over, &names[i], error);
    if (r >= 0)
        r = read_metadata(metadata, options, &text, &len, error);
    if (r >= 0)
        r = ctf_trace_new(last, metadata, text, len, catalogue, &opening.trace, error);
    if (r >= 0)
        r = open_streams(&opening, names, n, last, error);
    if (r >= 0) {
        *ret_sources = TAKE_PTR(opening.sources);
        *ret_n = opening.n;
        for (unsigned i = 0; i < opening.n; i++)
            free(opening.names[i]);
        opening.n = 0;
    }
    opening_done(&opening);
    for (unsigned i = 0; names && i < n; i++)
        names_done(&names[i]);
    free(names);
    return r;
}
