/* SPDX-License-Identifier: MIT */
/* The client of control sockets, against programs that answer right, wrong, in pieces, or not to the end. */
#include "cmocka_all.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"
#include "control/client.h"

#define HELLO "program tiny vmm\nversion 0.1.0\nmode discard\n"

static char runtime[] = "/tmp/strata-test-client-XXXXXX";
static char sockets[64];

static int make_runtime(void **state)
{
    (void)state;
    if (!mkdtemp(runtime))
        return -1;
    snprintf(sockets, sizeof sockets, "%s/strata", runtime);
    return mkdir(sockets, 0700);
}

static int remove_runtime(void **state)
{
    (void)state;
    return rmdir(sockets) < 0 || rmdir(runtime) < 0 ? -1 : 0;
}

/* ---- A program ---- */

struct program {
    pid_t pid;
    char path[96];
};

/* A reply: the line of its status, and its text. */
static char *reply(const char *status, const char *text)
{
    char *all;

    assert_true(asprintf(&all, "%s %zu\n%s", status, strlen(text), text) >= 0);
    return all;
}

static void send_reply(int fd, const char *text, size_t piece)
{
    size_t len = strlen(text);

    while (len > 0) {
        size_t n = piece ? MIN(piece, len) : len;

        if (send(fd, text, n, MSG_NOSIGNAL) != (ssize_t)n)
            _exit(1);
        text += n;
        len -= n;
    }
}

/* Answers each request of one connection by the next of REPLIES, then cuts the connection. */
static void serve(int listener, const char *const *replies, size_t piece)
{
    int fd = accept(listener, NULL, NULL);
    char c = 0;

    for (; fd >= 0 && *replies; replies++) {
        while (recv(fd, &c, 1, 0) == 1 && c != '\n')
            ;
        send_reply(fd, *replies, piece);
    }
    if (fd >= 0)
        close(fd);
}

/* A child of this process, with a control socket that exists when this returns. It sends PIECE bytes at a time, 0:
 * all. It stays until stop(). */
static struct program start(const char *const *replies, size_t piece)
{
    struct program program;
    int ready[2];
    char c;

    assert_int_equal(pipe(ready), 0);
    program.pid = fork();
    assert_true(program.pid >= 0);
    if (program.pid == 0) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int listener = socket(AF_UNIX, SOCK_STREAM, 0);

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        snprintf(address.sun_path, sizeof address.sun_path, "%s/%ld", sockets, (long)getpid());
        if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
            listen(listener, 4) < 0 || write(ready[1], "", 1) != 1)
            _exit(1);
        serve(listener, replies, piece);
        for (;;)
            pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    close(ready[0]);
    snprintf(program.path, sizeof program.path, "%s/%ld", sockets, (long)program.pid);
    return program;
}

static void stop(const struct program *program)
{
    assert_int_equal(kill(program->pid, SIGKILL), 0);
    assert_int_equal(waitpid(program->pid, NULL, 0), program->pid);
    (void)unlink(program->path);
}

/* What client_ask() makes of TEXT, sent as the reply to a request after the first. */
static int ask_for(const char *text, size_t piece, char **ret, struct error *error)
{
    _cleanup_free_ char *hello = reply("ok", HELLO);
    struct program program = start((const char *[]){hello, text, NULL}, piece);
    struct client *client;
    int r;

    assert_int_equal(client_open(runtime, program.pid, &client, error), 0);
    r = client_ask(client, "events", ret, error);
    client_free(client);
    stop(&program);
    return r;
}

/* ---- Tests ---- */

static void an_answer_may_come_in_pieces(void **state)
{
    static char lines[20001];
    _cleanup_free_ char *text = NULL;
    struct error error = {0};
    char *answer;

    (void)state;
    for (size_t i = 0; i < sizeof lines - 1; i++)
        lines[i] = i % 50 == 49 ? '\n' : 'x';
    text = reply("ok", lines);
    for (size_t piece = 0; piece < 1000; piece = piece * 7 + 1) {
        assert_int_equal(ask_for(text, piece, &answer, &error), 0);
        assert_string_equal(answer, lines);
        free(answer);
    }
    assert_int_equal(ask_for("ok 0\n", 1, &answer, &error), 0);
    assert_string_equal(answer, "");
    free(answer);
}

static void a_refusal_has_its_reason(void **state)
{
    struct error error = {0};
    char *answer;

    (void)state;
    assert_int_equal(ask_for("error request 5\nwhat?", 0, &answer, &error), -EREMOTE);
    assert_string_equal(answer, "what?");
    free(answer);
}

static void what_is_no_reply_is_an_error(void **state)
{
    static const char *const wrong[] = {
        "\n",
        "fine 3\nabc",
        "ok\n",
        "ok -1\n",
        "ok x\n",
        "ok 3 4\nabc",
        "ok 99999999999999999999\n",
        "ok 268435457\n", /* one more byte than a reply may have */
        "error 3\nabc",
        "0123456789012345678901234567890123456789012345678901234567890123456789",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct error error = {0};
        char *answer = NULL;

        assert_int_equal(ask_for(wrong[i], 0, &answer, &error), -EPROTO);
        assert_null(answer);
        assert_non_null(strstr(error.what, "does not speak"));
    }
}

static void an_answer_that_ends_early_is_an_error(void **state)
{
    static const char *const cut[] = {"", "o", "ok 4", "ok 4\n", "ok 4\nabc"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cut); i++) {
        struct error error = {0};
        char *answer = NULL;

        assert_int_equal(ask_for(cut[i], 0, &answer, &error), -ECONNRESET);
        assert_null(answer);
        assert_non_null(strstr(error.what, "has ended"));
    }
}

static void a_request_is_one_line(void **state)
{
    _cleanup_free_ char *hello = reply("ok", HELLO);
    struct program program = start((const char *[]){hello, hello, NULL}, 0);
    struct error error = {0};
    struct client *client;
    char *answer = NULL;

    (void)state;
    assert_int_equal(client_open(runtime, program.pid, &client, &error), 0);
    assert_int_equal(client_ask(client, "events\noptions *", &answer, &error), -EINVAL);
    assert_null(answer);
    client_free(client);
    stop(&program);
}

static int hello_of(const char *text, struct client_program *ret, struct error *error)
{
    _cleanup_free_ char *first = reply("ok", HELLO);
    _cleanup_free_ char *second = reply("ok", text);
    struct program program = start((const char *[]){first, second, NULL}, 0);
    struct client *client;
    int r;

    assert_int_equal(client_open(runtime, program.pid, &client, error), 0);
    r = client_hello(client, ret, error);
    if (r >= 0)
        assert_int_equal(ret->pid, program.pid);
    client_free(client);
    stop(&program);
    return r;
}

static void hello_is_read_field_by_field(void **state)
{
    struct client_program program;
    struct error error = {0};

    (void)state;
    assert_int_equal(
        hello_of("program tiny vmm\nversion 0.1.0\nmode overwrite\nsince 1700000000000000000\n"
                 "events 3 12\nrings 2 8388608\ndropped 7\nunwritten x\ncolour blue\n"
                 "sink ctf open 5 /tmp/a trace\nsink log failed 0 \n",
                 &program, &error),
        0);
    assert_string_equal(program.name, "tiny vmm");
    assert_string_equal(program.version, "0.1.0");
    assert_string_equal(program.mode, "overwrite");
    assert_true(program.since == UINT64_C(1700000000000000000));
    assert_true(program.events_on == 3 && program.events == 12);
    assert_true(program.rings == 2 && program.ring_bytes == 8388608);
    assert_true(program.dropped == 7 && program.unwritten == 0);
    assert_int_equal(program.n_sinks, 2);
    assert_string_equal(program.sinks[0].name, "ctf");
    assert_string_equal(program.sinks[0].state, "open");
    assert_string_equal(program.sinks[0].path, "/tmp/a trace");
    assert_true(program.sinks[0].lost == 5);
    assert_string_equal(program.sinks[1].state, "failed");
    assert_string_equal(program.sinks[1].path, "");
    client_program_done(&program);
}

static void a_program_says_who_it_is(void **state)
{
    static const char *const incomplete[] = {
        "",
        "version 0.1.0\nmode discard\n",
        "program tiny\nmode discard\n",
        "program tiny\nversion 0.1.0\n",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(incomplete); i++) {
        struct client_program program;
        struct error error = {0};

        assert_int_equal(hello_of(incomplete[i], &program, &error), -EPROTO);
        assert_non_null(strstr(error.what, "does not identify itself"));
    }
}

static void what_has_no_socket_is_told_apart(void **state)
{
    struct error error = {0};
    struct client *client;
    pid_t gone = fork();

    (void)state;
    if (gone == 0)
        _exit(0);
    assert_int_equal(waitpid(gone, NULL, 0), gone);
    assert_int_equal(client_open(runtime, gone, &client, &error), -ESRCH);
    error = (struct error){0};
    assert_int_equal(client_open(runtime, 0, &client, &error), -ESRCH);
    error = (struct error){0};
    assert_int_equal(client_open(runtime, getpid(), &client, &error), -ENOENT);
    assert_non_null(strstr(error.what, "has no control socket"));
}

/* Programs of other tests may be in the list. */
static void the_list_has_the_living(void **state)
{
    _cleanup_free_ char *hello = reply("ok", HELLO);
    struct program one = start((const char *[]){hello, hello, NULL}, 0);
    struct program dead = start((const char *[]){hello, NULL}, 0);
    struct client_program *programs;
    struct error error = {0};
    unsigned found = 0;
    size_t n;

    (void)state;
    assert_int_equal(kill(dead.pid, SIGKILL), 0);
    assert_int_equal(waitpid(dead.pid, NULL, 0), dead.pid);
    assert_int_equal(access(dead.path, F_OK), 0);

    assert_int_equal(client_list(runtime, &programs, &n, &error), 0);
    for (size_t i = 0; i < n; i++) {
        assert_true(i == 0 || programs[i - 1].pid <= programs[i].pid);
        assert_true(programs[i].pid != dead.pid);
        if (programs[i].pid == one.pid) {
            assert_string_equal(programs[i].name, "tiny vmm");
            found++;
        }
    }
    assert_int_equal(found, 1);
    assert_int_equal(access(dead.path, F_OK), -1);
    client_list_free(programs, n);
    stop(&one);
}

static void answers_are_cut_into_lines_and_words(void **state)
{
    char text[] = "one  two\n\nlast";
    char *rest = text, *line;

    (void)state;
    line = client_line(&rest);
    assert_string_equal(client_word(&line), "one");
    assert_string_equal(client_word(&line), "");
    assert_string_equal(line, "two");
    assert_string_equal(client_word(&line), "two");
    assert_string_equal(client_word(&line), "");
    assert_string_equal(client_line(&rest), "");
    assert_string_equal(client_line(&rest), "last");
    assert_null(client_line(&rest));
    rest = NULL;
    assert_null(client_line(&rest));

    assert_true(client_number("18446744073709551615") == UINT64_MAX);
    assert_true(client_number("18446744073709551616") == 0);
    assert_true(client_number("-1") == 0 && client_number(" 1") == 0);
    assert_true(client_number("1x") == 0 && client_number("") == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_may_come_in_pieces),
        cmocka_unit_test(a_refusal_has_its_reason),
        cmocka_unit_test(what_is_no_reply_is_an_error),
        cmocka_unit_test(an_answer_that_ends_early_is_an_error),
        cmocka_unit_test(a_request_is_one_line),
        cmocka_unit_test(hello_is_read_field_by_field),
        cmocka_unit_test(a_program_says_who_it_is),
        cmocka_unit_test(what_has_no_socket_is_told_apart),
        cmocka_unit_test(the_list_has_the_living),
        cmocka_unit_test(answers_are_cut_into_lines_and_words),
    };

    return cmocka_run_group_tests(tests, make_runtime, remove_runtime);
}
