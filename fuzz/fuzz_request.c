/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/remove_dir.h"
#include "base/utf8.h"
#include "index/build.h"
#include "libraries/libpcre2.h"
#include "serve/routes.h"
#include "serve/tsp/tsp_uuid.h"
#include "trace/trace.h"

/* A request to a server that shows a small trace: "TARGET\nHOST\nBODY". TARGET without the secret in front; a BODY makes
 * it a POST, and a TARGET that begins with "outputs/" is of the experiment. Answers are UTF-8, and none is without a status. */

static struct server server;
static char path[] = "/tmp/fuzz-request-XXXXXX";
static const char *paths[1] = {path};
static struct trace_options trace_options;
/* When the directory of the trace is gone, its events are not there. */
static void remove_trace(void)
{
    (void)remove_dir_at(AT_FDCWD, path);
}

static void write_file(const char *name, const char *text)
{
    char whole[64];
    FILE *file;

    snprintf(whole, sizeof whole, "%s/%s", path, name);
    file = fopen(whole, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        abort();
}

static void make_trace(void)
{
    if (!mkdtemp(path))
        abort();
    atexit(remove_trace);
    write_file("trace-events", "begin(int n, const char *s) \"n %d s %s\"\nend(int n) \"n %d\"\n");
    write_file("trace.log", "17@1700000000.000001:begin n 1 s <b>\n17@1700000000.000003:end n 1\n"
                            "18@1700000000.000004:begin n 2 s \xff\n18@1700000000.000009:end n 2\n"
                            "17@1700000000.001000:begin n 3 s long\n");
    write_file(
        "trace.json",
        "{\"format\": \"strata-trace\", \"version\": 1, \"sources\": [{\"name\": \"qemu\", "
        "\"kind\": "
        "\"qemu-log\", \"layer\": \"vmm\", \"path\": \"trace.log\", \"events\": "
        "[\"trace-events\"], "
        "\"clock\": {\"name\": \"realtime\", \"hz\": 1000000000}, \"host\": {\"boot_id\": \"b\", "
        "\"name\": \"h\"}, \"complete\": true}]}\n");
}

static void make_server(void)
{
    struct index_options options = {0};
    struct error error = {0};
    struct trace *trace;
    struct index *index;
    int fd = memfd_create("index", MFD_CLOEXEC);

    make_trace();
    if (fd < 0 || libpcre2_load(&error) < 0 ||
        trace_open(paths, 1, &trace_options, &trace, &error) < 0 ||
        index_build(trace, &options, fd, &error) < 0 ||
        index_open_fd(fd, "index", &index, &error) < 0) {
        fprintf(stderr, "%s: %s\n", error.path, error.what);
        abort();
    }
    trace_free(trace);
    close(fd);
    server.options = (struct server_options){
        .name = "fuzz", .paths = paths, .n_paths = 1, .trace_options = &trace_options};
    generations_init(&server.generations);
    tsp_bookmarks_init(&server.bookmarks);
    if (server_set_data(&server, &(struct server_data){.index = index, .clock = "realtime"}) < 0)
        abort();
    server.guard.port = 8080;
    memset(server.guard.secret, '0', SECRET_LEN);
    guard_add_host(&server.guard, "localhost");
    server.guard.any_address = true;
}

static char *copy(const char *prefix, const char *s, size_t len)
{
    size_t prefix_len = strlen(prefix);
    char *text = malloc(prefix_len + len + 1);

    if (!text)
        abort();
    memcpy(text, prefix, prefix_len);
    memcpy(text + prefix_len, s, len);
    text[prefix_len + len] = '\0';
    return text;
}

static void run(const char *target, const char *body, size_t body_len)
{
    struct exchange x = {.server = &server,
                         .method = body_len > 0 ? METHOD_POST : METHOD_GET,
                         .seen = true,
                         .body = TEXT_IN_MEMORY};

    answer_init(&x.answer);
    text_put(&x.body, body, body_len);
    if (request_parse(target, &x.request) == 0) {
        if (guard_knows_secret(&server.guard, x.request.parts[0])) {
            routes_run(&x);
            if (x.answer.status < 200 || x.answer.status > 599)
                abort();
            if (x.answer.text.start &&
                utf8_find_wrong(x.answer.text.start, text_len(&x.answer.text)))
                abort();
        }
        request_done(&x.request);
    }
    text_done(&x.body);
    answer_done(&x.answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *s = (const char *)data;
    const char *end = s + size;
    const char *line = size ? memchr(s, '\n', size) : NULL;
    const char *host = line ? line + 1 : end;
    const char *host_end = host < end ? memchr(host, '\n', (size_t)(end - host)) : NULL;
    const char *body = host_end ? host_end + 1 : end;
    char prefix[SECRET_LEN + TSP_UUID_SIZE + 32];
    char uuid[TSP_UUID_SIZE];
    char *target;
    char *header;

    if (!server.generations.current)
        make_server();
    snprintf(prefix, sizeof prefix, "/%s/", server.guard.secret);
    if (size >= 8 && memcmp(s, "outputs/", 8) == 0) {
        tsp_uuid_experiment(&server, uuid);
        snprintf(prefix, sizeof prefix, "/%s/tsp/api/experiments/%s/", server.guard.secret, uuid);
    }
    target = copy(prefix, s, (size_t)((line ? line : end) - s));
    header = copy("", host, (size_t)((host_end ? host_end : end) - host));
    (void)guard_accepts_host(&server.guard, header);
    run(target, body, (size_t)(end - body));
    free(target);
    free(header);
    return 0;
}
