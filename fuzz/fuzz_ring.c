/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "record/rings/classes.h"
#include "record/rings/drain.h"

/* As of rings with ring=64k,subbuffer=8k: the page with struct ring_map, the drops, the data. */
#define MAP_PART 1024
#define LENGTH (4096 + 8192 + 65536)

static void put_class(const struct classes *classes)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);

    if (!f)
        abort();
    for (unsigned i = 0; i < classes->n; i++)
        ctf_metadata_put_class(f, classes->in_order[i]);
    fclose(f);
    free(text);
}

/* Two bytes say how many of descriptions follow; then come the first bytes of a ring's file, and what
 * lies in its data, as often as it takes to fill it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct classes classes = {0};
    struct error error = {0};
    struct ring_reader reader;
    struct ring_packet packet;
    uint64_t taken = 0, previous = 0;
    uint8_t *file;
    size_t described, n;

    if (size < 2)
        return 0;
    described = (size_t)data[0] | (size_t)data[1] << 8;
    data += 2;
    size -= 2;
    described = described > size ? size : described;
    if (classes_read(&classes, data, described, "f", &error) < 0 && error.code == 0)
        abort();
    put_class(&classes);
    data += described;
    size -= described;

    file = aligned_alloc(64, LENGTH);
    if (!file)
        abort();
    memset(file, 0, LENGTH);
    n = size > MAP_PART ? MAP_PART : size;
    memcpy(file, data, n);
    data += n;
    size -= n;
    for (size_t at = 4096 + 8192; size > 0 && at < LENGTH; at += n) {
        n = size < LENGTH - at ? size : LENGTH - at;
        memcpy(file + at, data, n);
    }

    if (ring_reader_init(&reader, file, LENGTH) >= 0) {
        ring_reader_resume(&reader);
        if (ring_drain_is_sound(&reader))
            while (taken < 2 * reader.size && ring_reader_next(&reader, RING_FLUSH, &packet) > 0) {
                uint64_t records;

                if (packet.content < file + 64 || packet.content > file + LENGTH ||
                    packet.content_size > (size_t)(file + LENGTH - packet.content) ||
                    packet.header.timestamp_end < packet.header.timestamp_begin ||
                    reader.position <= previous)
                    abort();
                if (classes_count(&classes, &packet, &records) > packet.content_size)
                    abort();
                taken += reader.position - previous;
                previous = reader.position;
            }
    }
    free(file);
    classes_done(&classes);
    return 0;
}
