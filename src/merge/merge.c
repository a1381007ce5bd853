/* SPDX-License-Identifier: MIT */
#include "merge/merge.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "merge/internal.h"

int merge_no_memory(struct merge *merge)
{
    return error_set(&merge->error, -ENOMEM, NULL, "out of memory");
}

int merge_add_note(struct merge *merge, const char *format, ...)
{
    const char **bigger = realloc(merge->notes, (merge->n_notes + 1) * sizeof *bigger);
    char *note = NULL;
    va_list args;
    int n;

    if (!bigger)
        return merge_no_memory(merge);
    merge->notes = bigger;
    va_start(args, format);
    n = vasprintf(&note, format, args);
    va_end(args);
    bigger[merge->n_notes] = n < 0 ? NULL : arena_strdup(&merge->arena, note);
    if (n >= 0)
        free(note);
    if (!bigger[merge->n_notes])
        return merge_no_memory(merge);
    merge->n_notes++;
    return 0;
}

int merge_find_source(const struct merge *merge, const char *name, size_t len)
{
    for (unsigned i = 0; i < merge->n_sources; i++)
        if (strlen(merge->sources[i].name) == len && memcmp(merge->sources[i].name, name, len) == 0)
            return (int)i;
    return -ENOENT;
}

bool merge_find_layer(const char *name, size_t len, enum layer *ret_layer)
{
    char copy[16];

    if (len >= sizeof copy)
        return false;
    memcpy(copy, name, len);
    copy[len] = '\0';
    return layer_by_name(copy, ret_layer) >= 0;
}

void merge_init(struct merge *merge, const struct merge_config *config)
{
    *merge = (struct merge){.config = config, .checks = TEXT_IN_MEMORY};
    error_clear(&merge->error);
}

static void side_done(const struct merge *merge, struct merge_side *side)
{
    for (unsigned i = 0; side->marks && i < merge->n_sources; i++)
        common_done(&side->marks[i]);
    free(side->marks);
    free(side->candidates);
}

void merge_done(struct merge *merge)
{
    for (unsigned i = 0; merge->syncs && i < merge->n_syncs; i++) {
        side_done(merge, &merge->syncs[i].a);
        side_done(merge, &merge->syncs[i].b);
        common_sync_done(&merge->syncs[i].rule);
    }
    for (unsigned i = 0; i < merge->n_sources; i++) {
        clock_map_done(&merge->sources[i].host_map);
        trace_free(merge->sources[i].trace);
    }
    for (unsigned i = 0; i < merge->n_domains; i++) {
        clock_map_done(&merge->domains[i].map);
        clock_fit_done(&merge->domains[i].fit);
        free(merge->domains[i].evidence);
    }
    for (unsigned i = 0; i < merge->n_manifests; i++)
        manifest_done(&merge->manifests[i]);
    free(merge->syncs);
    free(merge->sources);
    free(merge->domains);
    free(merge->manifests);
    free(merge->notes);
    text_done(&merge->checks);
    arena_done(&merge->arena);
}
