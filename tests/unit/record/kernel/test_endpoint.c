/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/macro.h"
#include "record/kernel/endpoint.h"

static char directory[32];
static char path[64];

static int set_up(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/strata-end-XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/port", directory);
    return 0;
}

static int tear_down(void **state)
{
    char command[64];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command); /* NOLINT(cert-env33-c): our own name */
}

static void addresses_are_parsed(void **state)
{
    const struct {
        enum guest_endpoint_kind kind;
        const char *text;
        uint32_t host, port;
    } good[] = {
        {ENDPOINT_TCP, "127.0.0.1", INADDR_LOOPBACK, GUEST_PORT},
        {ENDPOINT_TCP, "127.0.0.1:80", INADDR_LOOPBACK, 80},
        {ENDPOINT_VSOCK, "3", 3, GUEST_PORT},
        {ENDPOINT_VSOCK, "3:1000000", 3, 1000000},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        struct guest_endpoint endpoint;

        assert_int_equal(guest_endpoint_parse(good[i].kind, good[i].text, &endpoint, NULL), 0);
        assert_int_equal(endpoint.kind, good[i].kind);
        assert_ptr_equal(endpoint.text, good[i].text);
        if (good[i].kind == ENDPOINT_TCP) {
            const struct sockaddr_in *in = (const struct sockaddr_in *)&endpoint.address;

            assert_int_equal(in->sin_family, AF_INET);
            assert_int_equal(ntohl(in->sin_addr.s_addr), good[i].host);
            assert_int_equal(ntohs(in->sin_port), good[i].port);
        } else {
            const struct sockaddr_vm *vm = (const struct sockaddr_vm *)&endpoint.address;

            assert_int_equal(vm->svm_family, AF_VSOCK);
            assert_int_equal(vm->svm_cid, good[i].host);
            assert_int_equal(vm->svm_port, good[i].port);
        }
    }
}

static void an_address_of_ipv6_is_in_brackets(void **state)
{
    struct guest_endpoint endpoint;
    const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)&endpoint.address;

    (void)state;
    assert_int_equal(guest_endpoint_parse(ENDPOINT_TCP, "[::1]:81", &endpoint, NULL), 0);
    assert_int_equal(in->sin6_family, AF_INET6);
    assert_memory_equal(&in->sin6_addr, &in6addr_loopback, sizeof in6addr_loopback);
    assert_int_equal(ntohs(in->sin6_port), 81);
}

static void invalid_addresses_are_refused(void **state)
{
    static char longest[200];
    const struct {
        const char *text;
        enum guest_endpoint_kind kind;
        int error;
    } bad[] = {
        {"", ENDPOINT_TCP, -EINVAL},
        {":80", ENDPOINT_TCP, -EINVAL},
        {"127.0.0.1:no-such-service", ENDPOINT_TCP, -EINVAL},
        {"[::1", ENDPOINT_TCP, -EINVAL},
        {"", ENDPOINT_VSOCK, -EINVAL},
        {"x", ENDPOINT_VSOCK, -EINVAL},
        {"3:x", ENDPOINT_VSOCK, -EINVAL},
        {"4294967296", ENDPOINT_VSOCK, -EINVAL},
        {longest, ENDPOINT_PORT, -ENAMETOOLONG},
    };

    (void)state;
    memset(longest, 'p', sizeof longest - 1);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct guest_endpoint endpoint;
        struct error error = {0};

        if (guest_endpoint_parse(bad[i].kind, bad[i].text, &endpoint, &error) != bad[i].error)
            fail_msg("'%s': %s", bad[i].text, error.what);
        assert_true(*error.what);
    }
}

static void a_socket_is_connected_to(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct guest_endpoint endpoint;
    int listener, accepted, fds[2];
    bool pending;
    unsigned n;
    char c;

    (void)state;
    assert_int_equal(guest_endpoint_parse(ENDPOINT_PORT, path, &endpoint, NULL), 0);
    assert_int_equal(guest_endpoint_connect(&endpoint, fds, &n, &pending, NULL), -ENOENT);
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(guest_endpoint_connect(&endpoint, fds, &n, &pending, NULL), -ECONNREFUSED);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(guest_endpoint_connect(&endpoint, fds, &n, &pending, NULL), 0);
    assert_int_equal(n, 1);
    assert_false(pending);
    assert_int_equal(guest_endpoint_result(fds[0]), 0);
    assert_int_equal(guest_endpoint_peer(&endpoint, fds[0]), getpid());
    /* It does not block. */
    assert_int_equal(read(fds[0], &c, 1), -1);
    assert_int_equal(errno, EAGAIN);
    accepted = accept(listener, NULL, NULL);
    assert_int_equal(write(accepted, "x", 1), 1);
    assert_int_equal(read(fds[0], &c, 1), 1);
    close(fds[0]);
    close(accepted);
    close(listener);
}

static void a_tcp_connection_may_be_pending(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int listener = socket(AF_INET, SOCK_STREAM, 0), fds[2];
    socklen_t len = sizeof address;
    struct guest_endpoint endpoint;
    struct pollfd fd = {.events = POLLOUT};
    bool pending;
    char text[32];
    unsigned n;
    int r;

    (void)state;
    assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len), 0);
    snprintf(text, sizeof text, "127.0.0.1:%u", ntohs(address.sin_port));
    assert_int_equal(guest_endpoint_parse(ENDPOINT_TCP, text, &endpoint, NULL), 0);

    /* Refused, at once or by its result: nothing listens. */
    r = guest_endpoint_connect(&endpoint, fds, &n, &pending, NULL);
    if (r == 0) {
        fd.fd = fds[0];
        assert_int_equal(poll(&fd, 1, 60000), 1);
        r = guest_endpoint_result(fds[0]);
        close(fds[0]);
    }
    assert_int_equal(r, -ECONNREFUSED);

    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(guest_endpoint_connect(&endpoint, fds, &n, &pending, NULL), 0);
    assert_int_equal(n, 1);
    fd.fd = fds[0];
    assert_int_equal(poll(&fd, 1, 60000), 1);
    assert_int_equal(guest_endpoint_result(fds[0]), 0);
    /* Which process is at the other end is only known of a port's socket. */
    assert_int_equal(guest_endpoint_peer(&endpoint, fds[0]), 0);
    close(fds[0]);
    close(listener);
}

static void fifos_are_made_and_opened_both_ways(void **state)
{
    struct guest_endpoint endpoint;
    char name[80];
    int fds[2], theirs;
    bool pending;
    unsigned n;
    char c;

    (void)state;
    assert_int_equal(guest_endpoint_make_fifos(path, NULL), 0);
    assert_int_equal(guest_endpoint_make_fifos(path, NULL), 0); /* they may exist */
    assert_int_equal(guest_endpoint_parse(ENDPOINT_PORT, path, &endpoint, NULL), 0);
    assert_int_equal(guest_endpoint_connect(&endpoint, fds, &n, &pending, NULL), 0);
    assert_int_equal(n, 2);
    assert_false(pending);
    snprintf(name, sizeof name, "%s.out", path);
    theirs = open(name, O_WRONLY | O_NONBLOCK);
    assert_int_equal(write(theirs, "x", 1), 1);
    close(theirs);
    assert_int_equal(read(fds[0], &c, 1), 1);
    /* That the other end is closed is no end of file. */
    assert_int_equal(read(fds[0], &c, 1), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(write(fds[1], "y", 1), 1);
    snprintf(name, sizeof name, "%s.in", path);
    theirs = open(name, O_RDONLY | O_NONBLOCK);
    assert_int_equal(read(theirs, &c, 1), 1);
    close(theirs);
    close(fds[0]);
    close(fds[1]);
}

static void a_file_in_place_of_a_fifo_is_an_error(void **state)
{
    char name[80];
    int fd;

    (void)state;
    snprintf(name, sizeof name, "%s.in", path);
    fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(guest_endpoint_make_fifos(path, NULL), -EEXIST);
}

static void a_descriptor_is_used_once(void **state)
{
    struct guest_endpoint endpoint = {.kind = ENDPOINT_FD, .text = "the host's kernel"};
    struct error error = {0};
    int ends[2], fds[2];
    bool pending;
    unsigned n;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    endpoint.fd = ends[0];
    assert_int_equal(guest_endpoint_connect(&endpoint, fds, &n, &pending, NULL), 0);
    assert_int_equal(n, 1);
    assert_int_equal(fds[0], ends[0]);
    assert_true(fcntl(fds[0], F_GETFL) & O_NONBLOCK);
    assert_int_equal(guest_endpoint_connect(&endpoint, fds, &n, &pending, &error), -ENOTCONN);
    assert_string_equal(error.what, "the connection was closed");
    close(ends[0]);
    close(ends[1]);
}

#define ENDPOINT_TEST(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)

/* The one that is served is not told so when another one waits. */
static void a_port_that_serves_another_is_noticed(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    struct guest_endpoint first, second;
    int fds[2], others[2], served, before;
    char folder[sizeof address.sun_path];
    bool pending;
    unsigned n;

    (void)state;
    /* As a QEMU does that was given a name in its working directory. */
    snprintf(address.sun_path, sizeof address.sun_path, "%s", strrchr(path, '/') + 1);
    before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(fchdir(before), 0);
    close(before);
    assert_int_equal(listen(listener, 4), 0);
    assert_int_equal(guest_endpoint_parse(ENDPOINT_PORT, path, &first, NULL), 0);
    assert_int_equal(guest_endpoint_parse(ENDPOINT_PORT, path, &second, NULL), 0);
    assert_false(guest_endpoint_is_taken(&first));
    assert_int_equal(guest_endpoint_connect(&first, fds, &n, &pending, NULL), 0);
    assert_false(guest_endpoint_is_taken(&first)); /* nobody is served yet */
    served = accept(listener, NULL, NULL);
    assert_true(served >= 0);
    assert_int_equal(guest_endpoint_connect(&second, others, &n, &pending, NULL), 0);
    assert_true(guest_endpoint_is_taken(&second));
    assert_false(guest_endpoint_is_taken(&first));
    close(served);
    close(fds[0]);
    close(others[0]);
    close(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_parsed),
        cmocka_unit_test(an_address_of_ipv6_is_in_brackets),
        cmocka_unit_test(invalid_addresses_are_refused),
        ENDPOINT_TEST(a_socket_is_connected_to),
        cmocka_unit_test(a_tcp_connection_may_be_pending),
        ENDPOINT_TEST(fifos_are_made_and_opened_both_ways),
        ENDPOINT_TEST(a_file_in_place_of_a_fifo_is_an_error),
        cmocka_unit_test(a_descriptor_is_used_once),
        ENDPOINT_TEST(a_port_that_serves_another_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
