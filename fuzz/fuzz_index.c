/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "index/internal.h"
#include "index_seal.h"

#define VIEWS 4

static void ask_slices(const struct index *index, uint32_t track, int64_t from, int64_t to,
                       int64_t resolution)
{
    const struct index_track *found = index_track(index, track);

    for (unsigned depth = 0; depth < found->n_depths && depth < 4; depth++) {
        struct index_slices slices = {0};

        if (index_slices(index, track, depth, from, to, resolution, &slices) == 0)
            for (unsigned i = 0; i < slices.n; i++) {
                const struct index_slice *slice = &slices.slices[i];

                if (slice->end < slice->begin || slice->n == 0 ||
                    (i > 0 && slice->begin < slice[-1].end) || slice->end < from ||
                    slice->begin > to || (resolution == 0 && (slice->flags & INDEX_MANY)))
                    abort();
            }
        index_slices_done(&slices);
    }
}

static void ask_track(const struct index *index, uint32_t track)
{
    const struct index_summary *summary = index_summary(index);
    const struct {
        int64_t from, to, resolution;
    } views[VIEWS] = {
        {INT64_MIN, INT64_MAX, 0},
        {INT64_MIN, INT64_MAX, INT64_MAX},
        {summary->begin, summary->end, 1000},
        {summary->begin / 2 + summary->end / 2, summary->end, 1},
    };

    for (unsigned i = 0; i < VIEWS; i++) {
        struct index_value *values;
        uint64_t counts[16];
        unsigned n;

        ask_slices(index, track, views[i].from, views[i].to, views[i].resolution);
        index_counts(index, track, views[i].from, views[i].to, 1 + i * 5, counts);
        if (index_values(index, track, views[i].from, views[i].to, views[i].resolution, &values,
                         &n) == 0)
            free(values);
    }
}

/* An index whose checksums are made right: whatever it holds, all questions are answered, and slices ascend. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error error = {0};
    struct index_arrow *arrows;
    struct index *index;
    uint64_t total;
    uint8_t *bytes;
    unsigned n;

    if (size < sizeof(struct index_header) || size > 1u << 20)
        return 0;
    bytes = malloc(size);
    if (!bytes)
        return 0;
    memcpy(bytes, data, size);
    index_seal(bytes, size);
    if (index_open_bytes(bytes, size, "fuzz", &index, &error) < 0) {
        if (!error.what[0])
            abort();
        free(bytes);
        return 0;
    }
    for (uint32_t i = 0; i < index_summary(index)->n_tracks && i < 64; i++)
        ask_track(index, i);
    for (uint32_t i = 0; i <= index_summary(index)->n_names && i < 64; i++)
        if (!index_name(index, i))
            abort();
    if (index_arrows(index, INT64_MIN, INT64_MAX, 4, &arrows, &n, &total) == 0)
        free(arrows);
    index_free(index);
    free(bytes);
    return 0;
}
