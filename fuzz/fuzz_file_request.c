/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "serve/file_request.h"

/* A request to the server of one file: answered whatever it is, by a whole head; and with the file only if the request
 * has the path, and names the server and the site. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PATH "/0123456789abcdef0123456789abcdef/a"

static bool has(const char *request, size_t len, const char *s)
{
    return memmem(request, len, s, strlen(s)) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct file_site site = {.path = PATH, .origin = "https://example.org", .size = 12};
    struct file_answer answer;
    char *request = malloc(size + 1);

    if (!request)
        return 0;
    memcpy(request, data, size);
    if (site.guard.n_hosts == 0) {
        if (guard_init(&site.guard, 9001) < 0)
            abort();
        guard_add_host(&site.guard, "127.0.0.1");
    }
    if (file_request_is_whole(request, size)) {
        bool may = has(request, size, PATH " ") && has(request, size, "127.0.0.1:9001") &&
                   has(request, size, "https://example.org");

        file_request_answer(&site, request, size, false, &answer);
        if (answer.len >= sizeof answer.head || answer.len != strlen(answer.head) ||
            answer.len < 4 || memcmp(answer.head + answer.len - 4, "\r\n\r\n", 4) != 0)
            abort();
        /* One empty line: the head ends where it ends. */
        if (memmem(answer.head, answer.len, "\r\n\r\n", 4) != answer.head + answer.len - 4)
            abort();
        if (!may && (answer.has_file || answer.status < 400))
            abort();
        if (answer.has_file &&
            (answer.status != 200 || !has(answer.head, answer.len, "\r\nContent-Length: 12\r\n")))
            abort();
        file_request_answer(&site, request, size, true, &answer);
        if (answer.has_file)
            abort();
    }
    free(request);
    return 0;
}
