/* SPDX-License-Identifier: MIT */
#include "record/qemu/clock.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "tracedir/host.h"

#define SECOND UINT64_C(1000000000)
/* What adjusts a clock gradually does so by less than one in a thousand; and a moment is read within this. */
#define STEP_PPM 1000
#define STEP_MIN INT64_C(100000)

int qemu_clock_open(const char *path, struct qemu_clock *ret, struct error *error)
{
    struct qemu_clock clock = {0};

    clock.file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (clock.file < 0)
        return error_set(error, -errno, path, "cannot be made: %s", strerror(errno));
    qemu_clock_take(&clock);
    if (clock.error < 0) {
        close(clock.file);
        return error_set(error, clock.error, path, "cannot be written: %s", strerror(-clock.error));
    }
    *ret = clock;
    return 0;
}

/* Checks whether the real time was set since the last pair. */
static void see_step(struct qemu_clock *clock, int64_t offset, int64_t monotonic)
{
    int64_t change = llabs(offset - clock->offset);
    int64_t gradual = (monotonic - clock->monotonic) / 1000000 * STEP_PPM + STEP_MIN;

    if (clock->n > 0 && change > gradual)
        clock->stepped = MAX(clock->stepped, change);
}

/* At once, or none of it: what is torn would be taken for another line. */
static void put_line(struct qemu_clock *clock, const char *line, int n)
{
    off_t before;

    /* Without some lines, times are less exact, and right. */
    if (clock->error < 0 && clock->error != -ENOSPC && clock->error != -EDQUOT)
        return;
    before = lseek(clock->file, 0, SEEK_END);
    clock->error = write_all(clock->file, line, (size_t)n);
    if (clock->error < 0)
        (void)!ftruncate(clock->file, before);
}

static void put_extra(struct qemu_clock *clock)
{
    char line[40];
    int n = snprintf(line, sizeof line, "# error %" PRId64 "\n", clock->extra);

    put_line(clock, line, n);
    clock->is_extra_unwritten = clock->error < 0;
}

void qemu_clock_take(struct qemu_clock *clock)
{
    struct manifest_moment moment = host_moment();
    int64_t offset = moment.realtime_ns - moment.monotonic_ns;
    int64_t error = moment.error_ns + VMM_CLOCK_TRUNCATION;
    char line[80];
    int n;

    see_step(clock, offset, moment.monotonic_ns);
    clock->offset = offset;
    clock->monotonic = moment.monotonic_ns;
    clock->next = (uint64_t)moment.monotonic_ns + SECOND;
    clock->worst = MAX(clock->worst, error);
    if (clock->is_extra_unwritten)
        put_extra(clock);
    n = snprintf(line, sizeof line, "%" PRId64 " %" PRId64 " %" PRId64 "\n", moment.monotonic_ns,
                 moment.realtime_ns, error);
    put_line(clock, line, n);
    clock->n += clock->error == 0;
}

void qemu_clock_widen(struct qemu_clock *clock, int64_t ns)
{
    if (ns <= clock->extra)
        return;
    clock->extra = ns;
    put_extra(clock);
}

void qemu_clock_step(struct qemu_clock *clock, uint64_t now, uint64_t *ret_sleep)
{
    if (now >= clock->next)
        qemu_clock_take(clock);
    now = clock_ns(CLOCK_MONOTONIC);
    *ret_sleep = clock->next > now ? clock->next - now : 0;
}

void qemu_clock_done(struct qemu_clock *clock)
{
    if (clock->file >= 0) {
        qemu_clock_take(clock);
        close(clock->file);
    }
    clock->file = -1;
}
