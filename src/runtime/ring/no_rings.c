/* SPDX-License-Identifier: MIT */
#include "runtime/ring/no_rings.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "runtime/events.h"
#include "runtime/process/program.h"
#include "runtime/ring/process_file.h"
#include "runtime/ring/ring_drops.h"

/* A recorder holds an exclusive lock as long as it lives. Without it the file would stay for ever. */
static bool has_recorder(int parent)
{
    if (flock(parent, LOCK_SH | LOCK_NB) < 0)
        return errno == EWOULDBLOCK;
    flock(parent, LOCK_UN);
    return false;
}

static const char *state_of(const struct trace_class *class)
{
    if (!class->on && !class->filtered)
        return "off";
    if (!class->described)
        return "no-memory";
    return class->filtered ? "condition" : "on";
}

static void write_report(FILE *f, bool has_backend)
{
    fprintf(f, NO_RINGS_MAGIC "\nprogram %s\nrings %s\nlost %" PRIu64 "\n", program_name(),
            has_backend ? "yes" : "no", ring_drops_without_ring());
    for (uint32_t id = 1; id <= class_count(); id++) {
        const struct trace_class *class = class_by_id(id);

        /* Those of libraries that were unloaded, too: at its end, a program may have taken away its own. */
        if (class->compiled_in)
            fprintf(f, "%s %s\n", state_of(class), class->name);
    }
}

void no_rings_report(const char *parent, bool has_backend)
{
    int dir = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char name[48];
    int fd = -1;
    FILE *f;

    if (dir >= 0 && class_count() > 0 && has_recorder(dir)) {
        snprintf(name, sizeof(name), NO_RINGS_PREFIX "%d", (int)getpid());
        fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    }
    f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (f) {
        write_report(f, has_backend);
        fclose(f);
    } else if (fd >= 0) {
        close(fd);
    }
    if (dir >= 0)
        close(dir);
}
