/* SPDX-License-Identifier: MIT */
#include "tracedir/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macro.h"

int tracedir_ask(const char *dir, const char *request, char **ret_text)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    _cleanup_(closep) int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    _cleanup_(closep) int fd = -1;
    char text[TRACEDIR_ANSWER_MAX], *line, newline = '\n';
    struct iovec parts[] = {{(void *)request, strlen(request)}, {&newline, 1}};
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = ARRAY_SIZE(parts)};
    size_t len = 0;
    ssize_t n;

    if (at < 0)
        return -errno;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/" TRACEDIR_SOCKET, at);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0)
        return -errno;
    if (sendmsg(fd, &message, MSG_NOSIGNAL) < 0)
        return -errno;
    while (len < sizeof text - 1 && (n = recv(fd, text + len, sizeof text - 1 - len, 0)) != 0) {
        if (n < 0 && errno != EINTR)
            return -errno;
        len += n > 0 ? (size_t)n : 0;
    }
    text[len] = '\0';
    line = strchr(text, ' ');
    if (!line)
        return -ECONNRESET;
    *line++ = '\0';
    if (len > 0 && text[len - 1] == '\n') /* there may be others, in a path */
        text[len - 1] = '\0';
    *ret_text = strdup(line);
    if (!*ret_text)
        return -ENOMEM;
    return strcmp(text, "ok") == 0 ? 0 : -EREMOTE;
}

/* If TEXT begins with WORD, copies the names after it, up to ';' or the end, to *RET, otherwise NULL. Returns the rest
 * of TEXT, or NULL if out of memory. */
static const char *get_names(const char *text, const char *word, char **ret)
{
    size_t len = strlen(word);

    if (strncmp(text, word, len) != 0)
        return text;
    text += len;
    len = strcspn(text, ";");
    *ret = strndup(text, len);
    return *ret ? text + len : NULL;
}

/* Parses TEXT, which follows "ok ". */
static int parse_flushed(const char *text, uint64_t *ret_ns, char **ret_late, char **ret_paused)
{
    _cleanup_free_ char *late = NULL, *paused = NULL;
    const char *rest;
    char *end;
    uint64_t ns;

    errno = 0;
    ns = strtoull(text, &end, 10);
    if (end == text || errno != 0 || ns > INT64_MAX)
        return -EBADMSG;
    rest = get_names(end, " late ", &late);
    if (rest)
        rest = get_names(rest, "; paused ", &paused);
    if (!rest)
        return -ENOMEM;
    if (*rest)
        return -EBADMSG;
    *ret_ns = ns;
    *ret_late = late;
    late = NULL;
    *ret_paused = paused;
    paused = NULL;
    return 0;
}

void tracedir_flush_end(struct tracedir_flushing *flushing)
{
    if (flushing->fd >= 0)
        close(flushing->fd);
    *flushing = (struct tracedir_flushing){.fd = -1};
}

int tracedir_flush_begin(struct tracedir_flushing *flushing, const char *dir)
{
    static const char request[] = "flush\n";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    _cleanup_(closep) int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r;

    *flushing = (struct tracedir_flushing){.fd = -1};
    if (at < 0)
        return -errno;
    flushing->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (flushing->fd < 0)
        return -errno;
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/" TRACEDIR_SOCKET, at);
    if (connect(flushing->fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
        send(flushing->fd, request, sizeof request - 1, MSG_NOSIGNAL) ==
            (ssize_t)sizeof request - 1)
        return 0;
    r = errno ? -errno : -EIO;
    tracedir_flush_end(flushing);
    return r;
}

int tracedir_flush_step(struct tracedir_flushing *flushing, uint64_t *ret_ns, char **ret_late,
                        char **ret_paused)
{
    ssize_t n = recv(flushing->fd, flushing->answer + flushing->len,
                     sizeof flushing->answer - 1 - flushing->len, 0);
    char *newline;
    int r = -EPROTO;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n > 0) {
        flushing->len += (size_t)n;
        flushing->answer[flushing->len] = '\0';
        newline = strchr(flushing->answer, '\n');
        if (!newline && flushing->len < sizeof flushing->answer - 1)
            return 0;
        if (newline)
            *newline = '\0';
        if (strncmp(flushing->answer, "ok ", 3) == 0 &&
            parse_flushed(flushing->answer + 3, ret_ns, ret_late, ret_paused) == 0)
            r = 1;
    }
    tracedir_flush_end(flushing);
    return r;
}
