/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/text.h"
#include "event/program.h"
#include "format/ctf/ctf.h"

/* Reads all of STREAM; returns how many items it has, what it ended with, and the time of an item in its middle. With
 * SEEK, items before that time are not needed. */
static size_t read_all(struct ctf_trace *trace, const uint8_t *stream, size_t size, bool keep_going,
                       bool seek, int64_t *time, int *ret_end)
{
    struct reader_options options = {.keep_going = keep_going};
    struct text text = TEXT_IN_MEMORY;
    const struct item *items;
    struct source *source;
    struct input in;
    struct ctf_identity identity;
    size_t total = 0;
    int n;

    text_put_char(&text, ' ');
    if (input_open_memory(&in, stream, size, "s") < 0 ||
        ctf_stream_open(trace, &in, &options, &source, NULL) < 0)
        abort();
    /* Which reads ahead: what follows is the same as without. */
    if (size & 2)
        (void)ctf_stream_identify(source, &identity);
    if (seek)
        source_seek(source, *time);
    while ((n = source_next(source, &items)) > 0) {
        if (!seek)
            *time = total == 0 || size & 1 ? items[n / 2].time : *time;
        for (int i = 0; i < n; i++) {
            if (items[i].kind == ITEM_EVENT)
                item_put_text(&items[i], &text);
            if (items[i].pid >= 0 && items[i].origin->task_name(items[i].origin, items[i].pid))
                text_put_char(&text, ' ');
            text.next = text.start;
        }
        total += (size_t)n;
    }
    if ((n < 0) != (source->error.code < 0))
        abort();
    *ret_end = n;
    source_free(source);
    text_done(&text);
    return total;
}

/* Two bytes tell the length of the metadata, the rest is a stream. Read strictly and with keep_going;
 * the latter must not give less. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct catalogue catalogue = {0};
    struct error error = {0};
    struct ctf_trace *trace;
    size_t n[2];
    int64_t time = 0;
    size_t len;
    int end[2];
    char *text;
    int r;

    if (size < 2)
        return 0;
    len = load_u16_swap(data, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    len = MIN(len, size - 2);
    text = malloc(len + 1); /* not longer than it is, so that a read beyond it is seen */
    if (!text)
        abort();
    memcpy(text, data + 2, len);
    data += 2 + len;
    size -= 2 + len;
    r = ctf_metadata_unpack("m", text, &len, &error);
    if (r >= 0)
        r = ctf_trace_new("t", "m", text, len, &catalogue, &trace, &error);
    free(text);
    if ((r < 0) != (error.code < 0))
        abort();
    for (unsigned keep_going = 0; r >= 0 && keep_going < 2; keep_going++) {
        int end_of_part;

        n[keep_going] = read_all(trace, data, size, keep_going, false, &time, &end[keep_going]);
        /* Times may contradict each other, so which items are left out is not compared; tests/golden/seek.sh does. */
        if (read_all(trace, data, size, keep_going, true, &time, &end_of_part) > 10 * size + 10)
            abort();
        /* An event takes a bit at least, and damage a byte. */
        if (n[keep_going] > 10 * size + 10)
            abort();
    }
    if (r >= 0 && (end[1] < 0 || n[1] < n[0]))
        abort();
    catalogue_done(&catalogue);
    return 0;
}
