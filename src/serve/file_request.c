/* SPDX-License-Identifier: MIT */
#include "serve/file_request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Bytes of the request. */
struct piece {
    const char *start;
    size_t len;
};

struct request {
    struct piece method, target;
    struct piece host, origin, private_network;
    bool is_bad; /* not HTTP, or a header that there must be once is there twice */
};

static const struct {
    unsigned status;
    const char *reason;
} reasons[] = {
    {200, "OK"},
    {204, "No Content"},
    {400, "Bad Request"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {503, "Service Unavailable"},
};

static bool is(struct piece piece, const char *s)
{
    return piece.len == strlen(s) && memcmp(piece.start, s, piece.len) == 0;
}

static bool is_name(struct piece piece, const char *name)
{
    return piece.len == strlen(name) && strncasecmp(piece.start, name, piece.len) == 0;
}

bool file_request_is_whole(const char *request, size_t len)
{
    return memmem(request, len, "\r\n\r\n", 4) != NULL;
}

/* The line at *P, without its end, which *P is moved behind. */
static bool next_line(const char **p, const char *end, struct piece *ret)
{
    const char *line_end = memmem(*p, (size_t)(end - *p), "\r\n", 2);

    if (!line_end)
        return false;
    *ret = (struct piece){*p, (size_t)(line_end - *p)};
    *p = line_end + 2;
    return true;
}

/* "GET /path HTTP/1.1" */
static void parse_first_line(struct piece line, struct request *request)
{
    const char *end = line.start + line.len;
    const char *target = memchr(line.start, ' ', line.len);
    const char *version = target ? memchr(target + 1, ' ', (size_t)(end - target - 1)) : NULL;

    if (!version || end - version != sizeof " HTTP/1.1" - 1 ||
        memcmp(version, " HTTP/1.", 8) != 0) {
        request->is_bad = true;
        return;
    }
    request->method = (struct piece){line.start, (size_t)(target - line.start)};
    request->target = (struct piece){target + 1, (size_t)(version - target - 1)};
}

static void set_once(struct request *request, struct piece *header, struct piece value)
{
    if (header->start)
        request->is_bad = true;
    *header = value;
}

static void parse_header(struct piece line, struct request *request)
{
    const char *end = line.start + line.len;
    const char *colon = memchr(line.start, ':', line.len);
    struct piece name, value;

    if (!colon || memchr(line.start, '\0', line.len)) {
        request->is_bad = true;
        return;
    }
    name = (struct piece){line.start, (size_t)(colon - line.start)};
    value = (struct piece){colon + 1, (size_t)(end - colon - 1)};
    while (value.len > 0 && (*value.start == ' ' || *value.start == '\t')) {
        value.start++;
        value.len--;
    }
    while (value.len > 0 &&
           (value.start[value.len - 1] == ' ' || value.start[value.len - 1] == '\t'))
        value.len--;
    if (is_name(name, "Host"))
        set_once(request, &request->host, value);
    else if (is_name(name, "Origin"))
        set_once(request, &request->origin, value);
    else if (is_name(name, "Access-Control-Request-Private-Network"))
        request->private_network = value;
}

static void parse(const char *p, size_t len, struct request *request)
{
    const char *end = p + len;
    struct piece line;

    *request = (struct request){0};
    if (!next_line(&p, end, &line)) {
        request->is_bad = true;
        return;
    }
    parse_first_line(line, request);
    while (!request->is_bad && next_line(&p, end, &line) && line.len > 0)
        parse_header(line, request);
}

static bool is_ours(const struct file_site *site, struct piece host)
{
    char name[300];

    if (!host.start || host.len >= sizeof name)
        return false;
    memcpy(name, host.start, host.len);
    name[host.len] = '\0';
    return guard_accepts_host(&site->guard, name);
}

/* Whether TARGET is the file's path. All of it is compared, so that the time says nothing of the secret. */
static bool is_path(const struct file_site *site, struct piece target)
{
    size_t len = strlen(site->path);
    unsigned differences = target.len != len;

    for (size_t i = 0; i < target.len && i < len; i++)
        differences |= (unsigned char)target.start[i] ^ (unsigned char)site->path[i];
    return differences == 0;
}

static unsigned find_status(const struct file_site *site, const struct request *request,
                            bool is_busy)
{
    bool is_get = is(request->method, "GET");

    if (request->is_bad)
        return 400;
    if (!is_ours(site, request->host) || !is(request->origin, site->origin))
        return 403;
    if (!is_path(site, request->target))
        return 404;
    if (is(request->method, "OPTIONS"))
        return 204;
    if (!is_get && !is(request->method, "HEAD"))
        return 405;
    return is_get && is_busy ? 503 : 200;
}

static const char *get_reason(unsigned status)
{
    for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "";
}

void file_request_answer(const struct file_site *site, const char *request, size_t len,
                         bool is_busy, struct file_answer *ret)
{
    struct request parsed;
    bool asks_private;
    char cors[256] = "", length[128] = "Content-Length: 0\r\n";
    int n;

    parse(request, len, &parsed);
    *ret = (struct file_answer){.status = find_status(site, &parsed, is_busy)};
    asks_private = parsed.private_network.start && is(parsed.private_network, "true");
    ret->has_file = ret->status == 200 && is(parsed.method, "GET");
    /* Only the site learns anything. */
    if (ret->status != 400 && ret->status != 403)
        snprintf(cors, sizeof cors, "Access-Control-Allow-Origin: %s\r\n", site->origin);
    if (ret->status == 200)
        snprintf(length, sizeof length,
                 "Content-Type: application/octet-stream\r\nContent-Length: %" PRIu64 "\r\n",
                 site->size);
    else if (ret->status == 204)
        length[0] = '\0';
    n = snprintf(
        ret->head, sizeof ret->head,
        "HTTP/1.1 %u %s\r\n%s%s%s%s"
        "Vary: Origin\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
        "Connection: close\r\n\r\n",
        ret->status, get_reason(ret->status), cors, length,
        ret->status == 204   ? "Access-Control-Allow-Methods: GET, HEAD\r\n"
        : ret->status == 405 ? "Allow: GET, HEAD, OPTIONS\r\n"
                             : "",
        ret->status == 204 && asks_private ? "Access-Control-Allow-Private-Network: true\r\n" : "");
    ret->len = (size_t)n;
}
