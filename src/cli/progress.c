/* SPDX-License-Identifier: MIT */
#include "cli/progress.h"
#include "cli/output.h"

#include <stdio.h>

#include "base/clock_ns.h"
#include "base/macro.h"

#define CALLS_BETWEEN_LOOKS 16

void progress_start(struct progress *progress, bool on)
{
    *progress = (struct progress){.on = on};
    if (on) {
        progress->start = clock_ns(CLOCK_MONOTONIC);
        progress->next = progress->start + NSEC_PER_SEC;
    }
}

bool progress_is_due(struct progress *progress)
{
    uint64_t t;

    if (!progress->on || progress->skip-- > 0)
        return false;
    progress->skip = CALLS_BETWEEN_LOOKS;
    t = clock_ns(CLOCK_MONOTONIC);
    if (t < progress->next)
        return false;
    progress->next = t + NSEC_PER_SEC / 5;
    return true;
}

void progress_show(struct progress *progress, uint64_t done, uint64_t total)
{
    double seconds = (double)(clock_ns(CLOCK_MONOTONIC) - progress->start) / NSEC_PER_SEC;
    double rate = (double)done / seconds;
    char a[16];
    char b[16];

    bytes_text(a, sizeof a, done);
    progress->shown = true;
    if (total == 0 || total < done) {
        fprintf(stderr, "\r%s, %s/s\033[K", a, bytes_text(b, sizeof b, (uint64_t)rate));
        return;
    }
    fprintf(stderr, "\r%s of %s", a, bytes_text(b, sizeof b, total));
    fprintf(stderr, ", %.0f %%, %s/s", 100.0 * (double)done / (double)total,
            bytes_text(b, sizeof b, (uint64_t)rate));
    if (rate > 0)
        fprintf(stderr, ", %.0f s left", (double)(total - done) / rate);
    fputs("\033[K", stderr);
}

void progress_erase(struct progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->on = progress->shown = false;
}

static bool line_shown;

void progress_line(const char *line)
{
    fputc('\r', stderr);
    output_put(stderr, line, strlen(line));
    fputs("\033[K", stderr);
    line_shown = true;
}

void progress_line_erase(void)
{
    if (line_shown)
        fputs("\r\033[K", stderr);
    line_shown = false;
}
