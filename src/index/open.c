/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#define XXH_INLINE_ALL
#include <unistd.h>
#include <xxhash.h>

#include "base/fd.h"
#include "base/printable.h"
#include "base/utf8.h"
#include "index/internal.h"

static int damaged(struct error *error, const char *path, const char *what)
{
    return error_set(error, -EINVAL, path, "damaged index: %s; remove it", what);
}

/* Checks the header, and that all sections are in the file. */
static int check_header(const struct index *index, const char *path, struct error *error)
{
    const struct index_header *header = index->header;

    if (memcmp(header->magic, INDEX_MAGIC, sizeof header->magic) != 0)
        return error_set(error, -EINVAL, path, "not an index of a trace");
    if (header->version != INDEX_VERSION || header->order != INDEX_ORDER)
        return error_set(error, -EINVAL, path,
                         "index of another version of strata; remove it, and it is built again");
    if (header->header_hash != index_header_hash(header))
        return damaged(error, path, "wrong checksum of the header");
    if (header->file_size != index->size)
        return damaged(error, path, "wrong size");
    for (unsigned i = 0; i < SECTIONS; i++) {
        uint64_t offset = header->sections[i].offset;

        if (offset % 8 != 0 || offset < sizeof *header || offset > index->size ||
            header->sections[i].size > index->size - offset)
            return damaged(error, path, "a section is not in the file");
    }
    return 0;
}

uint64_t index_content_hash(const uint8_t *bytes, size_t size)
{
    return XXH3_64bits(bytes + sizeof(struct index_header), size - sizeof(struct index_header));
}

uint64_t index_header_hash(const struct index_header *header)
{
    return XXH3_64bits(header, offsetof(struct index_header, header_hash));
}

/* True if all texts are UTF-8 without control characters, and end within the section. */
static bool texts_are_clean(const char *p, uint64_t size)
{
    const char *end = p + size;

    if (size == 0 || *p || end[-1])
        return false;
    while (p < end) {
        uint32_t character = (unsigned char)*p;
        size_t n = character < 0x80 ? 1 : utf8_decode(p, (size_t)(end - p), &character);

        if (n == 0 || (character != 0 && !printable_is_safe(character)))
            return false;
        p += n;
    }
    return true;
}

static int load_names(struct index *index, const char *path, struct error *error)
{
    uint64_t n_strings;
    uint64_t n;

    index->strings = index_table(index, SECTION_STRINGS, 1, &n_strings);
    index->names = index_table(index, SECTION_NAMES, sizeof *index->names, &n);
    if (n > UINT32_MAX || !texts_are_clean(index->strings, n_strings))
        return damaged(error, path, "wrong names");
    for (uint64_t i = 0; i < n; i++)
        if (index->names[i] >= n_strings)
            return damaged(error, path, "wrong names");
    if (index->header->clock_note >= n_strings)
        return damaged(error, path, "wrong names");
    index->summary.n_names = (uint32_t)n;
    index->summary.clock_note = index->strings + index->header->clock_note;
    return 0;
}

static bool load_track(struct index *index, uint32_t number, uint64_t n_strings)
{
    const struct file_track *file = &index->file_tracks[number];
    struct index_track *track = &index->tracks[number];

    if ((file->parent != INDEX_NO_TRACK && file->parent >= number) || file->kind > INDEX_LOSSES ||
        file->layer >= LAYERS || file->name >= n_strings || file->unit >= n_strings ||
        file->first_row > index->n_rows || file->n_rows > index->n_rows - file->first_row)
        return false;
    *track = (struct index_track){
        .parent = file->parent,
        .kind = (enum index_track_kind)file->kind,
        .layer = (enum layer)file->layer,
        .source = file->source,
        .name = index->strings + file->name,
        .unit = file->unit ? index->strings + file->unit : NULL,
        .rank = file->rank,
        .cpu = file->cpu,
        .pid = file->pid,
        .vcpu = file->vcpu,
        .n = file->n,
    };
    if (track->kind == INDEX_SLICES || track->kind == INDEX_STATES || track->kind == INDEX_LOSSES)
        track->n_depths = file->n_rows;
    return true;
}

static int load_tracks(struct index *index, const char *path, struct error *error)
{
    uint64_t n_strings = index->header->sections[SECTION_STRINGS].size;
    uint64_t n;

    index->rows = index_table(index, SECTION_ROWS, sizeof *index->rows, &n);
    if (n > UINT32_MAX)
        return damaged(error, path, "too many rows");
    index->n_rows = (uint32_t)n;
    index->file_tracks = index_table(index, SECTION_TRACKS, sizeof *index->file_tracks, &n);
    if (n >= INDEX_NO_TRACK)
        return damaged(error, path, "too many tracks");
    index->summary.n_tracks = (uint32_t)n;
    index->tracks = calloc((size_t)n + 1, sizeof *index->tracks);
    if (!index->tracks)
        return error_set(error, -ENOMEM, path, "out of memory");
    for (uint32_t i = 0; i < n; i++)
        if (!load_track(index, i, n_strings))
            return damaged(error, path, "wrong tracks");
    return 0;
}

static int load(struct index *index, const char *path, struct error *error)
{
    const struct index_header *header = index->header;
    int r = check_header(index, path, error);

    if (r < 0)
        return r;
    if (header->content_hash != index_content_hash(index->map, index->size))
        return damaged(error, path, "wrong checksum");
    index->summary = (struct index_summary){
        .begin = header->begin,
        .end = header->end < header->begin ? header->begin : header->end,
        .n_events = header->n_events,
        .n_lost = header->n_lost,
        .error_ns = header->error_ns,
    };
    r = load_names(index, path, error);
    return r == 0 ? load_tracks(index, path, error) : r;
}

int index_open_bytes(const uint8_t *bytes, size_t size, const char *path, struct index **ret_index,
                     struct error *error)
{
    struct index *index;
    int r;

    if (size < sizeof(struct index_header))
        return error_set(error, -EINVAL, path, "not an index of a trace");
    index = calloc(1, sizeof *index);
    if (!index)
        return error_set(error, -ENOMEM, path, "out of memory");
    index->fd = -1;
    index->map = bytes;
    index->size = size;
    index->header = (const struct index_header *)bytes;
    r = load(index, path, error);
    if (r < 0)
        index_free(index);
    else
        *ret_index = index;
    return r;
}

int index_open_fd(int fd, const char *path, struct index **ret_index, struct error *error)
{
    struct stat st;
    size_t size;
    void *map;
    int own;
    int r;

    if (fstat(fd, &st) < 0) {
        r = -errno;
        return error_set(error, r, path, "%s", error_text(r));
    }
    if (!S_ISREG(st.st_mode) || st.st_size <= 0)
        return error_set(error, -EINVAL, path, "not an index of a trace");
    if ((uint64_t)st.st_size > SIZE_MAX)
        return error_set(error, -EFBIG, path, "too large for the memory of a 32-bit program");
    size = (size_t)st.st_size;
    map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        r = -errno;
        return error_set(error, r, path, "%s", error_text(r));
    }
    own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    r = own < 0 ? error_set(error, -errno, path, "%s", error_text(-errno))
                : index_open_bytes(map, size, path, ret_index, error);
    if (r == 0) {
        (*ret_index)->fd = own;
        return 0;
    }
    if (own >= 0)
        close(own);
    munmap(map, size);
    return r;
}

int index_open(const char *path, struct index **ret_index, struct error *error)
{
    _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        int r = -errno;

        return error_set(error, r, path, "%s", error_text(r));
    }
    return index_open_fd(fd, path, ret_index, error);
}

bool index_is_whole(const struct index *index)
{
    struct stat st;

    return index->fd < 0 || (fstat(index->fd, &st) == 0 && (uint64_t)st.st_size == index->size);
}

struct index *index_free(struct index *index)
{
    if (!index)
        return NULL;
    if (index->fd >= 0) {
        munmap((void *)index->map, index->size);
        close(index->fd);
    }
    free(index->tracks);
    free(index);
    return NULL;
}

const struct index_summary *index_summary(const struct index *index)
{
    return &index->summary;
}

const struct index_track *index_track(const struct index *index, uint32_t number)
{
    return number < index->summary.n_tracks ? &index->tracks[number] : NULL;
}

const char *index_name(const struct index *index, uint32_t number)
{
    return number < index->summary.n_names ? index->strings + index->names[number] : "";
}

const struct file_row *index_row(const struct index *index, uint32_t track, unsigned number,
                                 enum index_section section, size_t size, const void **ret_nodes,
                                 uint64_t *ret_n)
{
    const struct file_row *row = &index->rows[index->file_tracks[track].first_row + number];
    uint64_t n;
    const uint8_t *nodes = index_table(index, section, size, &n);
    uint64_t first = row->first_node < n ? row->first_node : n;

    *ret_nodes = nodes + first * size;
    *ret_n = n - first;
    return row;
}
