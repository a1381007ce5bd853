/* SPDX-License-Identifier: MIT */
#include "export/clickhouse/http.h"

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "libraries/libcurl.h"

#define CONNECT_TIMEOUT_MS 10000L
/* A server may take long to answer while it merges, but not this long. */
#define ANSWER_TIMEOUT_MS 300000L
#define ANSWER_MAX (16u << 20)
/* Characters of an answer that are quoted in a message. */
#define QUOTED_MAX 200
#define REQUEST_TOO_MANY 429
#define SERVER_ERROR 500

struct clickhouse {
    CURL *curl;
    char *server;   /* "http://HOST:PORT" */
    char *database; /* decoded */
    const volatile int *stop;
    char curl_error[CURL_ERROR_SIZE];
};

/* Errors of ClickHouse that are not about the request, which may succeed later. */
static const unsigned passing_errors[] = {
    32,  /* ATTEMPT_TO_READ_AFTER_EOF: a shard has closed the connection */
    159, /* TIMEOUT_EXCEEDED */
    202, /* TOO_MANY_SIMULTANEOUS_QUERIES */
    203, /* NO_FREE_CONNECTION */
    209, /* SOCKET_TIMEOUT */
    210, /* NETWORK_ERROR */
    216, /* QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING */
    241, /* MEMORY_LIMIT_EXCEEDED */
    252, /* TOO_MANY_PARTS */
    279, /* ALL_CONNECTION_TRIES_FAILED */
};

static int check_url(const char *url, CURLU *parts, struct error *error)
{
    static const struct {
        CURLUPart part;
        const char *name;
    } refused[] = {{CURLUPART_USER, "a user or a password"},
                   {CURLUPART_PASSWORD, "a user or a password"},
                   {CURLUPART_QUERY, "a query"},
                   {CURLUPART_FRAGMENT, "a fragment"}};
    char *scheme = NULL;
    bool fits;

    if (libcurl.url_set(parts, CURLUPART_URL, url, 0) != CURLUE_OK ||
        libcurl.url_get(parts, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK)
        return error_set(error, -EINVAL, NULL,
                         "invalid URL '%s' (example: http://localhost:8123/traces)", url);
    fits = strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0;
    libcurl.free(scheme);
    if (!fits)
        return error_set(error, -EINVAL, NULL, "invalid URL '%s': only http and https are possible",
                         url);
    for (unsigned i = 0; i < ARRAY_SIZE(refused); i++) {
        char *value = NULL;

        if (libcurl.url_get(parts, refused[i].part, &value, 0) != CURLUE_OK)
            continue;
        libcurl.free(value);
        /* The message does not have the URL, which may have a password. */
        return error_set(error, -EINVAL, NULL,
                         "the URL of the server may not have %s (give user and password in a file, "
                         "--netrc-file, or in the environment)",
                         refused[i].name);
    }
    return 0;
}

static int parse_url(struct clickhouse *clickhouse, const char *url, CURLU *parts,
                     struct error *error)
{
    char *path = NULL, *server = NULL;
    const char *name;
    int r = check_url(url, parts, error);

    if (r < 0)
        return r;
    if (libcurl.url_get(parts, CURLUPART_PATH, &path, CURLU_URLDECODE) != CURLUE_OK)
        return error_set(error, -EINVAL, NULL, "invalid URL '%s'", url);
    name = path + (path[0] == '/');
    if (name[0] == '\0' || strchr(name, '/') || strlen(name) > 128) {
        r = error_set(error, -EINVAL, NULL,
                      "invalid URL '%s': the path is the database (example: "
                      "http://localhost:8123/traces)",
                      url);
    } else {
        clickhouse->database = strdup(name);
        if (libcurl.url_set(parts, CURLUPART_PATH, "", 0) != CURLUE_OK ||
            libcurl.url_get(parts, CURLUPART_URL, &server, 0) != CURLUE_OK)
            r = error_set(error, -EINVAL, NULL, "invalid URL '%s'", url);
        else if (server[0] && server[strlen(server) - 1] == '/')
            server[strlen(server) - 1] = '\0';
        clickhouse->server = server ? strdup(server) : NULL;
        if (r == 0 && (!clickhouse->database || !clickhouse->server))
            r = error_set(error, -ENOMEM, NULL, "out of memory");
    }
    libcurl.free(path);
    libcurl.free(server);
    return r;
}

static int is_stopped(void *arg, curl_off_t download_total, curl_off_t downloaded,
                      curl_off_t upload_total, curl_off_t uploaded)
{
    const struct clickhouse *clickhouse = arg;

    (void)download_total, (void)downloaded, (void)upload_total, (void)uploaded;
    return clickhouse->stop && *clickhouse->stop;
}

static int set_up(struct clickhouse *clickhouse, const struct clickhouse_login *login)
{
    CURL *curl = clickhouse->curl;
    CURLcode c = CURLE_OK;

#define SET(option, value) c = c == CURLE_OK ? libcurl.easy_setopt(curl, option, value) : c
    SET(CURLOPT_ERRORBUFFER, clickhouse->curl_error);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
    SET(CURLOPT_TIMEOUT_MS, ANSWER_TIMEOUT_MS);
    SET(CURLOPT_NOPROGRESS, 0L);
    SET(CURLOPT_XFERINFOFUNCTION, is_stopped);
    SET(CURLOPT_XFERINFODATA, clickhouse);
    SET(CURLOPT_TCP_NODELAY, 1L);
    SET(CURLOPT_POST, 1L);
    SET(CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    if (login->user)
        SET(CURLOPT_USERNAME, login->user);
    if (login->password)
        SET(CURLOPT_PASSWORD, login->password);
    if (login->netrc_file) {
        SET(CURLOPT_NETRC, (long)CURL_NETRC_REQUIRED);
        SET(CURLOPT_NETRC_FILE, login->netrc_file);
    }
    if (login->ca_file)
        SET(CURLOPT_CAINFO, login->ca_file);
#undef SET
    return c == CURLE_OK ? 0 : -ENOMEM;
}

int clickhouse_open(const char *url, const struct clickhouse_login *login, struct clickhouse **ret,
                    struct error *error)
{
    struct clickhouse *clickhouse = calloc(1, sizeof *clickhouse);
    CURLU *parts = NULL;
    int r = libcurl_load(error);

    if (r < 0) {
        free(clickhouse);
        return r;
    }
    r = -ENOMEM;
    if (clickhouse) {
        clickhouse->curl = libcurl.easy_init();
        parts = libcurl.url();
        if (clickhouse->curl && parts)
            r = parse_url(clickhouse, url, parts, error);
        if (r == 0)
            r = set_up(clickhouse, login);
        libcurl.url_cleanup(parts);
    }
    if (r < 0) {
        clickhouse_free(clickhouse);
        return error_set(error, r, NULL, "%s", error_text(r));
    }
    *ret = clickhouse;
    return 0;
}

void clickhouse_free(struct clickhouse *clickhouse)
{
    if (!clickhouse)
        return;
    libcurl.easy_cleanup(clickhouse->curl);
    free(clickhouse->server);
    free(clickhouse->database);
    free(clickhouse);
}

const char *clickhouse_server(const struct clickhouse *clickhouse)
{
    return clickhouse->server;
}

const char *clickhouse_database(const struct clickhouse *clickhouse)
{
    return clickhouse->database;
}

void clickhouse_stop_by(struct clickhouse *clickhouse, const volatile int *stop)
{
    clickhouse->stop = stop;
}

static size_t keep_answer(char *data, size_t size, size_t n, void *arg)
{
    struct text *answer = arg;

    (void)size;
    if (text_len(answer) < ANSWER_MAX)
        text_put(answer, data, MIN(n, ANSWER_MAX - text_len(answer)));
    return n;
}

/* Makes one line of printable characters of an answer, for a message. */
static void quote(const struct text *answer, char buf[QUOTED_MAX + 1])
{
    const char *p = answer->start, *end = p;
    size_t n = 0;

    if (p) {
        static const char exception[] = "Exception: ", what[] = ", e.what()";
        const char *begin = memmem(p, text_len(answer), exception, sizeof exception - 1);

        p = begin ? begin + sizeof exception - 1 : p;
        end = memmem(p, (size_t)(answer->next - p), what, sizeof what - 1);
        end = end ? end : answer->next;
    }
    for (; p < end && n < QUOTED_MAX; p++)
        if (*p >= ' ' && *p <= '~')
            buf[n++] = *p;
        else if (n > 0 && buf[n - 1] != ' ')
            buf[n++] = ' ';
    while (n > 0 && buf[n - 1] == ' ')
        n--;
    buf[n] = '\0';
}

/* Returns the number of ClickHouse's error in an answer ("Code: 60, …"), or 0 if it is another answer. */
static unsigned error_number(const struct text *answer)
{
    static const char code[] = "Code: ";
    unsigned number = 0;

    if (!answer->start || text_len(answer) < sizeof code ||
        memcmp(answer->start, code, sizeof code - 1) != 0)
        return 0;
    for (const char *p = answer->start + sizeof code - 1;
         p < answer->next && *p >= '0' && *p <= '9' && number < 100000; p++)
        number = number * 10 + (unsigned)(*p - '0');
    return number;
}

static int fail_by_answer(const struct clickhouse *clickhouse, long status,
                          const struct text *answer, struct error *error)
{
    unsigned number = error_number(answer);
    bool may_pass = status == REQUEST_TOO_MANY || (number == 0 && status > SERVER_ERROR);
    char quoted[QUOTED_MAX + 1];

    quote(answer, quoted);
    for (unsigned i = 0; i < ARRAY_SIZE(passing_errors); i++)
        may_pass |= number == passing_errors[i];
    if (number == 0 && !may_pass)
        return error_set(error, -EPROTO, clickhouse->server,
                         "does not answer as ClickHouse does: status %ld, \"%s\"", status, quoted);
    return error_set(
        error, may_pass ? -EAGAIN : -EIO, clickhouse->server, "ClickHouse answers: %s%s", quoted,
        number == 516 || number == 193 || number == 192
            ? " (give user and password in a file, --netrc-file, or in the environment)"
            : "");
}

static int fail_by_transfer(const struct clickhouse *clickhouse, CURLcode code, struct error *error)
{
    const char *text =
        clickhouse->curl_error[0] ? clickhouse->curl_error : libcurl.easy_strerror(code);
    int r = -EIO;

    switch (code) {
    case CURLE_ABORTED_BY_CALLBACK:
        return error_set(error, -EINTR, clickhouse->server, "stopped by a signal");
    case CURLE_OUT_OF_MEMORY:
    case CURLE_WRITE_ERROR: return error_set(error, -ENOMEM, NULL, "out of memory");
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE: r = -EAGAIN; break;
    default: break;
    }
    return error_set(error, r, clickhouse->server, "%s", text);
}

/* Sends DATA to ADDRESS. ANSWER must be empty. */
static int run(struct clickhouse *clickhouse, const char *address, const char *data, size_t size,
               struct text *answer, struct error *error)
{
    CURL *curl = clickhouse->curl;
    CURLcode code = CURLE_OUT_OF_MEMORY;
    /* libcurl would wait for the server's "100 Continue", which some do not send. */
    struct curl_slist *headers = libcurl.slist_append(NULL, "Expect:");
    long status = 0;

    clickhouse->curl_error[0] = '\0';
    if (headers && libcurl.easy_setopt(curl, CURLOPT_URL, address) == CURLE_OK &&
        libcurl.easy_setopt(curl, CURLOPT_HTTPHEADER, headers) == CURLE_OK &&
        libcurl.easy_setopt(curl, CURLOPT_POSTFIELDS, data) == CURLE_OK &&
        libcurl.easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size) == CURLE_OK &&
        libcurl.easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep_answer) == CURLE_OK &&
        libcurl.easy_setopt(curl, CURLOPT_WRITEDATA, answer) == CURLE_OK)
        code = libcurl.easy_perform(curl);
    libcurl.easy_setopt(curl, CURLOPT_HTTPHEADER, NULL);
    libcurl.slist_free_all(headers);
    if (code != CURLE_OK)
        return fail_by_transfer(clickhouse, code, error);
    libcurl.easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    if (answer->error)
        return error_set(error, answer->error, NULL, "%s", error_text(answer->error));
    if (status != 200)
        return fail_by_answer(clickhouse, status, answer, error);
    return 0;
}

static int put_parameter(struct clickhouse *clickhouse, struct text *address, const char *name,
                         const char *value)
{
    char *escaped = libcurl.easy_escape(clickhouse->curl, value, 0);

    if (!escaped)
        return -ENOMEM;
    text_put_str(address, name);
    text_put_str(address, escaped);
    libcurl.free(escaped);
    return address->error;
}

int clickhouse_query(struct clickhouse *clickhouse, const char *sql, bool in_database,
                     struct text *ret_answer, struct error *error)
{
    struct text address = TEXT_IN_MEMORY, answer = TEXT_IN_MEMORY;
    int r = 0;

    text_put_str(&address, clickhouse->server);
    text_put_literal(&address, "/?wait_end_of_query=1");
    if (in_database)
        r = put_parameter(clickhouse, &address, "&database=", clickhouse->database);
    text_put_char(&address, '\0');
    r = r == 0 ? address.error : r;
    r = r < 0 ? error_set(error, r, NULL, "%s", error_text(r))
              : run(clickhouse, address.start, sql, strlen(sql), &answer, error);
    text_done(&address);
    if (r == 0 && ret_answer)
        *ret_answer = answer;
    else
        text_done(&answer);
    return r;
}

int clickhouse_insert(struct clickhouse *clickhouse, const char *sql, const char *id,
                      const struct text *data, struct error *error)
{
    struct text address = TEXT_IN_MEMORY, answer = TEXT_IN_MEMORY;
    int r;

    text_put_str(&address, clickhouse->server);
    /* Where the table is distributed: not answered before the shards have written it. */
    text_put_literal(&address, "/?insert_distributed_sync=1");
    r = put_parameter(clickhouse, &address, "&database=", clickhouse->database);
    if (r == 0)
        r = put_parameter(clickhouse, &address, "&query_id=", id);
    if (r == 0)
        r = put_parameter(clickhouse, &address, "&query=", sql);
    text_put_char(&address, '\0');
    r = r == 0 ? address.error : r;
    r = r < 0 ? error_set(error, r, NULL, "%s", error_text(r))
              : run(clickhouse, address.start, data->start, text_len(data), &answer, error);
    text_done(&address);
    text_done(&answer);
    return r;
}
