/* SPDX-License-Identifier: MIT */
/* The client of QMP, with a server that is made here: the greeting, objects in pieces, events between answers, errors, and
 * who else is connected. */

#include "cmocka_all.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/address.h"
#include "control/qmp.h"
#include "control/qmp_transport.h"
#include "control/socket_process.h"

#define GREETING \
    "{\"QMP\": {\"version\": {\"qemu\": {\"major\": 7, \"minor\": 2, \"micro\": 22}}}}\r\n"

/* A client whose server is the other descriptor. */
static struct qmp *adopt(int *ret_server)
{
    struct qmp *qmp;
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(qmp_adopt(fds[0], "test", &qmp, NULL), 0);
    *ret_server = fds[1];
    return qmp;
}

static void put(int fd, const char *text)
{
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void test_greets(void **state)
{
    struct error error = {0};
    int server;
    struct qmp *qmp = adopt(&server);
    char sent[128], wanted[128], answers[512];
    json_t *result = NULL;
    ssize_t n;

    (void)state;
    assert_false(qmp_greets_within(qmp, 0));
    /* The first answers are to clients that have gone. */
    snprintf(answers, sizeof answers,
             "\r\n{\"return\": 1}\r\n" GREETING
             "{\"return\": []}\r\n{\"return\": {}, \"id\": \"strata-1-1\"}\r\n"
             "{\"return\": {}, \"id\": \"strata-%ld-1\"}\r\n{\"return\": 7}\r\n",
             (long)getpid());
    put(server, answers);
    assert_true(qmp_greets_within(qmp, 60000));
    assert_int_equal(qmp_greet(qmp, &error), 0);
    assert_string_equal(qmp_version(qmp), "QEMU 7.2.22");
    n = read(server, sent, sizeof sent - 1);
    assert_true(n > 0);
    sent[n] = '\0';
    snprintf(wanted, sizeof wanted, "{\"execute\":\"qmp_capabilities\",\"id\":\"strata-%ld-1\"}\n",
             (long)getpid());
    assert_string_equal(sent, wanted);
    assert_int_equal(qmp_execute(qmp, "some", NULL, &result, &error), 0);
    assert_int_equal(json_integer_value(result), 7);
    json_decref(result);
    qmp_free(qmp);
    close(server);
}

/* A transport without greeting and events, whose answers are these. */
struct answers {
    struct qmp_transport transport;
    const char *const *next;
    char line[256];
    char sent[256];
    bool is_freed;
};

static struct answers *answers_of(struct qmp_transport *transport)
{
    return container_of(transport, struct answers, transport);
}

static int note_request(struct qmp_transport *transport, const char *text, size_t len,
                        struct error *error)
{
    struct answers *self = answers_of(transport);

    (void)error;
    assert_true(len > 0 && len < sizeof self->sent);
    assert_int_equal(text[len - 1], '\n');
    memcpy(self->sent, text, len - 1);
    self->sent[len - 1] = '\0';
    return 0;
}

static int give_answer(struct qmp_transport *transport, uint64_t until_ns, char **ret,
                       struct error *error)
{
    struct answers *self = answers_of(transport);

    assert_true(until_ns > 0);
    if (!*self->next)
        return error_set(error, -ENOTCONN, NULL, "the daemon has ended");
    snprintf(self->line, sizeof self->line, "%s", *self->next++);
    *ret = self->line;
    return 0;
}

static void no_shutdown(struct qmp_transport *transport)
{
    (void)transport;
}

static void note_free(struct qmp_transport *transport)
{
    answers_of(transport)->is_freed = true;
}

/* The version is asked for, and nothing is waited for before; the transport's own words are its errors. */
static void test_no_greeting(void **state)
{
    static const struct qmp_transport_ops ops = {
        .send = note_request, .receive = give_answer, .shutdown = no_shutdown, .free = note_free};
    static const char *const lines[] = {
        "{\"return\": {\"qemu\": {\"major\": 7, \"minor\": 2, \"micro\": 22}, \"package\": \"x\"}}",
        "{\"return\": 7}",
        NULL,
    };
    struct answers answers = {.transport = {&ops, -1}, .next = lines};
    struct error error = {0};
    json_t *result = NULL;
    struct qmp *qmp;

    (void)state;
    assert_int_equal(qmp_open(&answers.transport, "domain 'web'", &qmp, &error), 0);
    assert_true(qmp_greets_within(qmp, 0));
    assert_int_equal(qmp_greet(qmp, &error), 0);
    assert_string_equal(answers.sent, "{\"execute\":\"query-version\"}");
    assert_string_equal(qmp_version(qmp), "QEMU 7.2.22");
    assert_int_equal(qmp_execute(qmp, "some", NULL, &result, &error), 0);
    assert_int_equal(json_integer_value(result), 7);
    json_decref(result);
    assert_int_equal(qmp_execute(qmp, "some", NULL, &result, &error), -ENOTCONN);
    assert_string_equal(error.what, "the daemon has ended");
    qmp_free(qmp);
    assert_true(answers.is_freed);
}

/* What greets in another way, or with what is not JSON, is another protocol; one that goes is reported. */
static void test_other_protocol(void **state)
{
    static const struct {
        const char *says, *what;
        int r;
    } cases[] = {
        {"220 mail\r\n", "does not speak QMP", -EPROTO},
        {"[1]\n", "does not speak QMP", -EPROTO},
        {"{\"hello\": {}}\n", "no greeting", -EPROTO},
        {"{\"return\": {}}\n", "was closed", -ECONNRESET},
        {"{\"QMP\"", "was closed", -ECONNRESET},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error error = {0};
        int server;
        struct qmp *qmp = adopt(&server);

        put(server, cases[i].says);
        assert_int_equal(shutdown(server, SHUT_WR), 0);
        assert_int_equal(qmp_greet(qmp, &error), cases[i].r);
        assert_non_null(strstr(error.what, cases[i].what));
        qmp_free(qmp);
        close(server);
    }
}

/* Events may come before an answer; an error is QEMU's own text. */
static void test_executes(void **state)
{
    struct error error = {0};
    json_t *result = NULL;
    int server;
    struct qmp *qmp = adopt(&server);

    (void)state;
    put(server, "{\"event\": \"RESET\"}\n{\"return\": 7}\n");
    assert_int_equal(qmp_execute(qmp, "some", NULL, &result, &error), 0);
    assert_int_equal(json_integer_value(result), 7);
    json_decref(result);
    put(server, "{\"error\": {\"class\": \"GenericError\", \"desc\": \"no such thing\"}}\n");
    assert_int_equal(qmp_execute(qmp, "some", NULL, &result, &error), -EREMOTE);
    assert_string_equal(error.what, "no such thing");
    error_clear(&error);
    put(server, "{}\n");
    assert_int_equal(qmp_execute(qmp, "some", NULL, &result, &error), -EPROTO);
    qmp_free(qmp);
    close(server);
}

/* Without waiting, an object may come in pieces. */
static atomic_bool is_answered;

/* Events, without end and without an answer. Sending fails when the client has gone. */
static void *send_events(void *server)
{
    static const char event[] = "{\"event\": \"SOME\"}\n{\"event\":";

    while (!atomic_load(&is_answered) &&
           send(*(int *)server, event, sizeof event - 1, MSG_NOSIGNAL) > 0 &&
           send(*(int *)server, " \"OTHER\"}\n", 11, MSG_NOSIGNAL) > 0)
        ;
    return NULL;
}

/* A monitor that sends only events does not hold its client. */
static void test_only_events(void **state)
{
    struct error error = {0};
    int server;
    struct qmp *qmp = adopt(&server);
    json_t *result = NULL;
    pthread_t thread;

    (void)state;
    qmp_set_timeout(qmp, 50);
    assert_int_equal(pthread_create(&thread, NULL, send_events, &server), 0);
    assert_int_equal(qmp_execute(qmp, "some", NULL, &result, &error), -ETIMEDOUT);
    assert_non_null(strstr(error.what, "did not answer in"));
    atomic_store(&is_answered, true);
    qmp_free(qmp);
    assert_int_equal(pthread_join(thread, NULL), 0);
    close(server);
}

static void test_receives_pieces(void **state)
{
    struct error error = {0};
    json_t *object = NULL;
    int server;
    struct qmp *qmp = adopt(&server);

    (void)state;
    assert_int_equal(qmp_receive(qmp, &object, &error), 0);
    put(server, "{\"event\": ");
    assert_int_equal(qmp_receive(qmp, &object, &error), 0);
    put(server, "\"STOP\"}\n{\"event\"");
    assert_int_equal(qmp_receive(qmp, &object, &error), 1);
    assert_string_equal(json_string_value(json_object_get(object, "event")), "STOP");
    json_decref(object);
    assert_int_equal(qmp_receive(qmp, &object, &error), 0);
    close(server);
    assert_int_equal(qmp_receive(qmp, &object, &error), -ECONNRESET);
    qmp_free(qmp);
}

static int listen_at(const char *path, int backlog)
{
    struct sockaddr_un address;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(unix_address(path, &address), 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, backlog), 0);
    return fd;
}

/* A child that is connected to PATH, of which this process is the SERVER, until *RET_END is closed. */
static pid_t connect_child(const char *path, int server, int *ret_end)
{
    int line[2];
    pid_t pid;

    assert_int_equal(pipe(line), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct qmp *qmp;
        char c;

        close(line[1]);
        close(server);
        if (qmp_connect(path, &qmp, NULL) < 0)
            _exit(1);
        (void)!read(line[0], &c, 1);
        _exit(0);
    }
    close(line[0]);
    *ret_end = line[1];
    return pid;
}

/* One that a signal has stopped is named with the way to continue it. */
static void test_stopped(void **state)
{
    char path[64], why[128], expected[64];
    struct socket_process found;
    int status, r;
    pid_t child;

    (void)state;
    snprintf(path, sizeof path, "stopped-%ld.socket", (long)getpid());
    (void)unlink(path);
    child = fork();
    if (child == 0) {
        (void)listen_at(path, 1);
        (void)raise(SIGSTOP);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_true(WIFSTOPPED(status));
    r = socket_find_server(path, &found);
    snprintf(expected, sizeof expected, "kill -CONT %ld", (long)child);
    if (r > 0)
        assert_non_null(strstr(qmp_silence_text(path, why, sizeof why), expected));
    else
        print_message("SKIPPED: this kernel does not list UNIX sockets: %s\n", strerror(-r));
    assert_int_equal(kill(child, SIGCONT), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    unlink(path);
}

/* Of a server that has accepted one client, that is known; more clients than may wait are refused at once. */
static void test_busy(void **state)
{
    char path[64], why[128], expected[64];
    struct socket_process found;
    struct error error = {0};
    struct qmp *waiting[8] = {NULL};
    int server, client, end, r = 0;
    unsigned n = 0;
    pid_t child;

    (void)state;
    snprintf(path, sizeof path, "qmp-%ld.socket", (long)getpid());
    (void)unlink(path);
    server = listen_at(path, 1);
    r = socket_find_client(path, &found);
    if (r < 0) {
        print_message("SKIPPED in part: this kernel does not list UNIX sockets: %s\n",
                      strerror(-r));
        close(server);
        unlink(path);
        return;
    }
    assert_int_equal(r, 0);
    assert_string_equal(qmp_silence_text(path, why, sizeof why), "QEMU is busy, or stopped");
    child = connect_child(path, server, &end);
    client = accept4(server, NULL, NULL, SOCK_CLOEXEC);
    assert_true(client >= 0);
    assert_int_equal(socket_find_client(path, &found), 1);
    assert_int_equal(found.pid, child);
    snprintf(expected, sizeof expected, "it serves another client, process %ld (", (long)child);
    assert_int_equal(strncmp(qmp_silence_text(path, why, sizeof why), expected, strlen(expected)),
                     0);
    while (n < ARRAY_SIZE(waiting) && (r = qmp_connect(path, &waiting[n], &error)) >= 0)
        n++;
    assert_int_equal(r, -EAGAIN);
    assert_non_null(strstr(error.what, "no more clients can wait"));
    assert_false(qmp_greets_within(waiting[0], 0));
    /* This process itself is not meant. */
    assert_int_equal(socket_find_server(path, &found), 1);
    assert_int_equal(found.pid, 0);
    while (n > 0)
        qmp_free(waiting[--n]);
    close(end);
    assert_int_equal(waitpid(child, &r, 0), child);
    assert_int_equal(r, 0);
    close(client);
    close(server);
    unlink(path);
    assert_int_equal(qmp_connect(path, &waiting[0], &error), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_greets),         cmocka_unit_test(test_no_greeting),
        cmocka_unit_test(test_other_protocol), cmocka_unit_test(test_executes),
        cmocka_unit_test(test_only_events),    cmocka_unit_test(test_receives_pieces),
        cmocka_unit_test(test_busy),           cmocka_unit_test(test_stopped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
