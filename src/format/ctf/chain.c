/* SPDX-License-Identifier: MIT */
/* Streams that go on in another file: chunks into which LTTng rotates, and snapshots, whose packets overlap. What is known
 * from packet to packet goes on, too, so that what was lost between two files is counted, and nothing twice. */
#include <string.h>
#include <sys/stat.h>

#include "format/ctf/reader.h"

int ctf_stream_continue(struct source *source, const char *path)
{
    struct ctf *c = container_of(source, struct ctf, source);
    struct ctf_files *files = &c->files;
    char **bigger = realloc(files->paths, (files->n + 1) * sizeof *files->paths);
    struct stat st;

    if (!bigger)
        return -ENOMEM;
    files->paths = bigger;
    bigger[files->n] = strdup(path);
    if (!bigger[files->n])
        return -ENOMEM;
    files->n++;
    files->capacity = c->in.capacity;
    if (stat(path, &st) == 0 && st.st_size > 0)
        files->after += (uint64_t)st.st_size;
    return 0;
}

int ctf_next_file(struct ctf *c)
{
    struct ctf_files *files = &c->files;
    struct input next;
    int r;

    if (files->next == files->n)
        return 0;
    r = input_open_regular(&next, files->paths[files->next], files->capacity, &c->source.error);
    if (r < 0)
        return r;
    files->next++;
    if (c->in.size != UINT64_MAX)
        files->before += c->in.size;
    if (next.size != UINT64_MAX)
        files->after -= MIN(files->after, next.size);
    input_done(&c->in);
    c->in = next;
    if (c->seek_time != INT64_MIN)
        input_set_read_max(&c->in, CTF_HEADER_READ);
    return 1;
}

void ctf_files_done(struct ctf_files *files)
{
    for (unsigned i = 0; i < files->n; i++)
        free(files->paths[i]);
    free(files->paths);
}

bool ctf_is_repeated(const struct ctf *c)
{
    const struct ctf_heard *heard = &c->heard;

    if (c->files.next == 0 || !c->any)
        return false;
    if (ctf_has(heard, CTF_ROLE_SEQUENCE))
        return heard->number_bits > 16 && heard->values[CTF_ROLE_SEQUENCE] <= c->number;
    return c->has_end && ctf_to_ns(c->trace, c->end) <= c->since;
}
