/* SPDX-License-Identifier: MIT */
/* strata top: runs `strata ctl` for the recording in a process of its own, so that a monitor that does not answer
 * blocks nothing here. */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd.h"
#include "base/text.h"
#include "cmd/top/top.h"

#define WORDS_MAX 16u
#define OUTPUT_MAX ((size_t)4 << 20)

struct top_ctl {
    struct child child;
    int fd;
    struct text text; /* in memory: its output */
};

int top_ctl_start(const char *dir, const char *const *words, bool as_csv, const sigset_t *mask,
                  struct top_ctl **ret, struct error *error)
{
    const char *argv[WORDS_MAX] = {"strata", "ctl", "--format", as_csv ? "csv" : "text", "--", dir};
    struct child_how how = {.program = "/proc/self/exe",
                            .argv = argv,
                            .mask = mask,
                            .end_signal = SIGTERM,
                            .keep_capabilities = true};
    _cleanup_(closep) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct top_ctl *ctl = calloc(1, sizeof *ctl);
    int ends[2], r;

    for (unsigned i = 0; words[i] && i + 7 < WORDS_MAX; i++)
        argv[6 + i] = words[i];
    if (!ctl || null < 0 || pipe2(ends, O_CLOEXEC) < 0) {
        r = ctl ? -errno : -ENOMEM;
        free(ctl);
        return error_set(error, r, NULL, "cannot run strata ctl: %s", strerror(-r));
    }
    ctl->text = TEXT_IN_MEMORY;
    ctl->fd = ends[0];
    how.in = null;
    how.out = how.err = ends[1];
    r = child_start(&how, &ctl->child, error);
    close(ends[1]);
    if (r < 0) {
        close(ends[0]);
        free(ctl);
        return r;
    }
    (void)fcntl(ctl->fd, F_SETFL, O_NONBLOCK);
    *ret = ctl;
    return 0;
}

int top_ctl_fd(const struct top_ctl *ctl)
{
    return ctl->fd;
}

int top_ctl_step(struct top_ctl *ctl, bool *ret_ok, const char **ret_text)
{
    char buf[4096];
    ssize_t n;

    while ((n = read(ctl->fd, buf, sizeof buf)) > 0)
        if (text_len(&ctl->text) < OUTPUT_MAX)
            text_put(&ctl->text, buf, (size_t)n);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    /* It has closed its output: it ends. */
    (void)child_wait(&ctl->child, NSEC_PER_SEC);
    text_put_char(&ctl->text, '\0');
    *ret_ok = ctl->child.ended && child_exit_status(&ctl->child) == 0 && !ctl->text.error;
    *ret_text = ctl->text.error ? "out of memory" : ctl->text.start;
    return 1;
}

struct top_ctl *top_ctl_free(struct top_ctl *ctl)
{
    if (!ctl)
        return NULL;
    child_done(&ctl->child);
    close(ctl->fd);
    text_done(&ctl->text);
    free(ctl);
    return NULL;
}

/* ---- Its list ---- */

void top_switches_done(struct top_switches *switches)
{
    for (unsigned i = 0; i < switches->n; i++)
        free(switches->items[i].name);
    free(switches->items);
    *switches = (struct top_switches){0};
}

/* Parses "on,victim_tick,FILE,LINE,CONDITION". Names of events need no quotes. */
int top_switches_parse(const char *text, struct top_switches *ret)
{
    struct top_switches found = {.is_known = true};
    unsigned room = 0;

    for (const char *line = text, *end; *line; line = end + strspn(end, "\r\n")) {
        const char *name = strchr(line, ',');
        size_t len;

        end = line + strcspn(line, "\r\n");
        if (!name || name >= end || strncmp(line, "state,", 6) == 0)
            continue;
        len = strcspn(++name, ",\r\n");
        if (found.n == room) {
            struct top_switch *items =
                realloc(found.items, (room = MAX(room * 2, 64u)) * sizeof *items);

            if (!items) {
                top_switches_done(&found);
                return -ENOMEM;
            }
            found.items = items;
        }
        found.items[found.n] = (struct top_switch){.name = strndup(name, len),
                                                   .is_on = strncmp(line, "on,", 3) == 0,
                                                   .is_available = *line == 'o'};
        if (!found.items[found.n].name) {
            top_switches_done(&found);
            return -ENOMEM;
        }
        found.n++;
        if (!*end)
            break;
    }
    *ret = found;
    return 0;
}
