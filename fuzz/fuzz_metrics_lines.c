/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "watch/families_feed.h"

/* Lines that the process that reads a recording sends to the recorder (watch/families_feed.h): none makes a counter go back, or
 * text that is not UTF-8. */

/* The values of all counters, added up. */
static double sum_up(const struct metrics *metrics)
{
    struct text text = TEXT_IN_MEMORY;
    double sum = 0;

    metrics_put(metrics, METRICS_TEXT, &text);
    text_put_char(&text, '\0');
    if (text.error)
        abort();
    if (utf8_find_wrong(text.start, text_len(&text)))
        abort();
    for (char *line = strtok(text.start, "\n"); line; line = strtok(NULL, "\n"))
        if (*line != '#' && strstr(line, "_total"))
            sum += strtod(strrchr(line, ' '), NULL);
    text_done(&text);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct metrics *metrics;
    struct families_reader *reader;
    char *text = malloc(size + 1);
    double before = 0;

    if (!text || metrics_new(&metrics) < 0 || families_reader_new(metrics, &reader) < 0)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    for (char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        char *end = strchr(line, '\n');
        double after;

        if (end)
            *end = '\0';
        (void)families_reader_line(reader, line);
        if (end)
            *end = '\n';
        if (strncmp(line, "end", 3) != 0)
            continue;
        after = sum_up(metrics);
        if (!(after >= before))
            abort();
        before = after;
    }
    families_reader_collect(reader, UINT64_MAX);
    (void)sum_up(metrics);
    families_reader_free(reader);
    metrics_free(metrics);
    free(text);
    return 0;
}
