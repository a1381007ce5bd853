/* SPDX-License-Identifier: MIT */
/* libraries/: the installed libraries have every function of the tables. What is reported where one has not:
 * tests/golden/libraries_missing.sh. */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "libraries/libcurl.h"
#include "libraries/libmicrohttpd.h"
#include "libraries/libpcre2.h"

static void assert_all_set(const void *table, size_t size)
{
    const void *const *functions = table;

    for (size_t i = 0; i < size / sizeof *functions; i++)
        assert_non_null(functions[i]);
}

static void libcurl_has_the_functions(void **state)
{
    struct error error = {0};
    CURL *curl;

    assert_int_equal(libcurl_load(&error), 0);
    assert_int_equal(libcurl_load(&error), 0);
    assert_all_set(&libcurl, sizeof libcurl);
    curl = libcurl.easy_init();
    assert_non_null(curl);
    /* The newest option that is used. */
    assert_int_equal(libcurl.easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https"), CURLE_OK);
    libcurl.easy_cleanup(curl);
}

static void libmicrohttpd_has_the_functions(void **state)
{
    struct error error = {0};
    struct MHD_Response *response;

    assert_int_equal(libmicrohttpd_load(&error), 0);
    assert_int_equal(libmicrohttpd_load(&error), 0);
    assert_all_set(&libmicrohttpd, sizeof libmicrohttpd);
    response = libmicrohttpd.create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    assert_non_null(response);
    libmicrohttpd.destroy_response(response);
}

static enum MHD_Result refuse(void *userdata, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *size, void **request)
{
    return MHD_NO;
}

/* A file that cannot be waited for: no daemon starts, and it is closed, once. */
static void libmicrohttpd_says_why_it_does_not_start(void **state)
{
    static const struct MHD_OptionItem options[] = {{MHD_OPTION_END, 0, NULL}};
    struct MHD_Daemon *daemon = NULL;
    int listener = memfd_create("no socket", MFD_CLOEXEC);
    int fd = listener;

    assert_int_equal(libmicrohttpd_load(NULL), 0);
    assert_int_equal(libmicrohttpd_start(MHD_USE_EPOLL, &fd, refuse, NULL, options, &daemon),
                     -EPERM);
    assert_null(daemon);
    assert_int_equal(fd, -1);
    assert_int_equal(fcntl(listener, F_GETFD), -1);
    assert_int_equal(errno, EBADF);
}

static void libpcre2_has_the_functions(void **state)
{
    struct error error = {0};
    pcre2_code *code;
    size_t at;
    int err;

    assert_int_equal(libpcre2_load(&error), 0);
    assert_int_equal(libpcre2_load(&error), 0);
    assert_all_set(&libpcre2, sizeof libpcre2);
    code = libpcre2.compile((PCRE2_SPTR) "a", 1, PCRE2_NEVER_BACKSLASH_C, &err, &at, NULL);
    assert_non_null(code);
    libpcre2.code_free(code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libcurl_has_the_functions),
        cmocka_unit_test(libmicrohttpd_has_the_functions),
        cmocka_unit_test(libmicrohttpd_says_why_it_does_not_start),
        cmocka_unit_test(libpcre2_has_the_functions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
