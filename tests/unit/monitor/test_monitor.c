/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "qemu_user.h"
#include "strata/monitor.h"
#include "strata/trace.h"

/* Sessions without a transport: what is fed to them and what they say. What QMP replies to malformed
 * input is what QEMU 7.2 replied to the same bytes; tests/golden/monitor_qemu.sh asks it again. */

static uint8_t states[4];

#define EVENT(number, name_)                                                    \
    {                                                                           \
        .name = (name_), .state = &states[number], .compiled_in = (number) != 3 \
    }

static struct strata_event events[] = {
    EVENT(0, "disk_read"),
    EVENT(1, "disk_write"),
    EVENT(2, "net_send"),
    EVENT(3, "disk_none"),
};
static struct strata_group group = {STRATA_TRACE_ABI, 4, "monitor", events, NULL};

struct said {
    char *text;
    size_t len, size;
};

static void on_write(const void *bytes, size_t n, void *userdata)
{
    struct said *said = userdata;

    if (said->size - said->len <= n) {
        said->size = 2 * (said->len + n + 1);
        said->text = realloc(said->text, said->size);
        assert_non_null(said->text);
    }
    memcpy(said->text + said->len, bytes, n);
    said->len += n;
    said->text[said->len] = '\0';
}

static struct strata_monitor_session *open_session(enum strata_monitor_dialect dialect,
                                                   struct said *said)
{
    struct strata_monitor_session *session = NULL;

    assert_int_equal(strata_monitor_session_new(dialect, "test", NULL, on_write, said, &session),
                     0);
    return session;
}

/* What is said to BYTES, fed in pieces of SIZE. QMP has its capabilities negotiated. */
static char *ask(enum strata_monitor_dialect dialect, const char *bytes, size_t n, size_t size,
                 int *ret)
{
    struct said said = {0};
    struct strata_monitor_session *session = open_session(dialect, &said);
    int r = 0;

    if (dialect == STRATA_MONITOR_QMP) {
        static const char negotiate[] = "{\"execute\":\"qmp_capabilities\"}";

        assert_int_equal(strata_monitor_session_feed(session, negotiate, sizeof(negotiate) - 1), 0);
    }
    said.len = 0;
    on_write("", 0, &said);
    for (size_t at = 0; at < n; at += size)
        r = strata_monitor_session_feed(session, bytes + at, n - at < size ? n - at : size);
    if (ret)
        *ret = r;
    strata_monitor_session_free(session);
    return said.text;
}

static void assert_says(enum strata_monitor_dialect dialect, const char *bytes, size_t n,
                        const char *want)
{
    static const size_t sizes[] = {1, 2, 3, 7, SIZE_MAX};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        char *said = ask(dialect, bytes, n, sizes[i] > n ? n : sizes[i], NULL);

        assert_string_equal(said, want);
        free(said);
    }
}

#define SAYS(dialect, bytes, want) assert_says(dialect, bytes, sizeof(bytes) - 1, want)
#define QMP(bytes, want) SAYS(STRATA_MONITOR_QMP, bytes, want)
#define GENERIC(text) "{\"error\": {\"class\": \"GenericError\", \"desc\": \"" text "\"}}\r\n"
#define NOT_JSON(text) GENERIC("JSON parse error, " text)
#define NO_VALUE NOT_JSON("expecting value")
#define NOT_OBJECT GENERIC("QMP input must be a JSON object")

static void test_greetings(void **unused)
{
    struct said said = {0};
    struct strata_monitor_session *session = open_session(STRATA_MONITOR_HMP, &said);

    assert_string_equal(said.text, "test monitor - type 'help' for more information\r\n(qemu) ");
    strata_monitor_session_free(session);
    said.len = 0;
    assert_int_equal(
        strata_monitor_session_new(STRATA_MONITOR_HMP, "a", "b> ", on_write, &said, &session), 0);
    assert_string_equal(said.text, "a monitor - type 'help' for more information\r\nb> ");
    strata_monitor_session_free(session);
    said.len = 0;
    session = open_session(STRATA_MONITOR_QMP, &said);
    assert_string_equal(said.text,
                        "{\"QMP\": {\"version\": {\"qemu\": {\"micro\": 0, \"minor\": 1, "
                        "\"major\": 0}, \"package\": \"test (Strata " STRATA_VERSION
                        ")\"}, \"capabilities\": []}}\r\n");
    strata_monitor_session_free(session);
    /* Whatever a program is called, QMP is UTF-8. */
    said.len = 0;
    assert_int_equal(
        strata_monitor_session_new(STRATA_MONITOR_QMP, "b\xe4r", NULL, on_write, &said, &session),
        0);
    assert_non_null(strstr(said.text, "\"b\\uFFFDr (Strata"));
    strata_monitor_session_free(session);
    free(said.text);

    session = NULL;
    assert_int_equal(strata_monitor_session_new((enum strata_monitor_dialect)7, NULL, NULL,
                                                on_write, NULL, &session),
                     -EINVAL);
    assert_int_equal(
        strata_monitor_session_new(STRATA_MONITOR_QMP, NULL, NULL, NULL, NULL, &session), -EINVAL);
    assert_null(session);
    strata_monitor_session_free(NULL);
    strata_monitor_free(NULL);
}

static void test_json_words(void **unused)
{
    QMP("{'execute':'query-name','id':'a\"b'}",
        "{\"return\": {\"name\": \"test\"}, \"id\": \"a\\\"b\"}\r\n");
    QMP("{\"execute\" :\t\"query-name\" , \"id\":\r\n [ ] }\r\n",
        "{\"return\": {\"name\": \"test\"}, \"id\": []}\r\n");
    QMP("{'execute':'query-name','id':'\\u00e9\\ud83d\\ude00\\n\\/\\''}",
        "{\"return\": {\"name\": \"test\"}, \"id\": \"\\u00E9\\uD83D\\uDE00\\n/'\"}\r\n");
    QMP("{'execute':'query-name','id':'\\u0000'}{'execute':'query-name','id':'\xc0\x80'}",
        "{\"return\": {\"name\": \"test\"}, \"id\": \"\\u0000\"}\r\n"
        "{\"return\": {\"name\": \"test\"}, \"id\": \"\\u0000\"}\r\n");
    QMP("{'execute':'query-name','id':[-0,-12,1.5,2E+3,1e-2,true,false,null,{}]}",
        "{\"return\": {\"name\": \"test\"}, \"id\": [0, -12, 1.5, 2000.0, 0.01, true, false, null, "
        "{}]}\r\n");
    QMP("{'execute':'query-name','id':9223372036854775807}",
        "{\"return\": {\"name\": \"test\"}, \"id\": 9223372036854775807}\r\n");
    QMP("1 'a' []", NOT_OBJECT NOT_OBJECT NOT_OBJECT);
    QMP("1\"a\"2\n", NOT_OBJECT NOT_OBJECT NOT_OBJECT);
    QMP("\n \t\r\n", "");
}

static void test_json_wrong(void **unused)
{
    QMP("{1:2}", NOT_JSON("key is not a string in object"));
    QMP("{'a':1 'b':2}", NOT_JSON("expected separator in dict"));
    QMP("[1 2]", NOT_JSON("expected separator in list"));
    QMP("[1,]", NO_VALUE);
    QMP("[,1]", NO_VALUE);
    QMP("{,}", NO_VALUE);
    QMP("{'a'}", NOT_JSON("missing : in object pair"));
    QMP("{'a':}", NO_VALUE);
    QMP("{'a':1,}", NO_VALUE);
    QMP("{'a'::1}", NO_VALUE);
    QMP("{'a':1,'b'}", NOT_JSON("missing : in object pair"));
    QMP("{'a':1,'a':2}", NOT_JSON("duplicate key"));
    QMP("{'a':{'b':1,'b':2}}", NOT_JSON("duplicate key"));
    QMP("[}", NO_VALUE);
    QMP("{]", NO_VALUE);
    QMP("]:,", NO_VALUE NO_VALUE NO_VALUE);
    QMP("{'a':[}{'a':1]}", NO_VALUE);
    QMP("[[1,2],[3}]", NOT_JSON("expected separator in list") NO_VALUE);
    QMP("nonsense\n", NOT_JSON("invalid keyword 'nonsense'"));
    QMP("[nul]", NOT_JSON("invalid keyword 'nul'"));
    QMP("[1x]", NOT_JSON("expected separator in list"));
    QMP("[True]", NOT_JSON("stray 'T'") NO_VALUE);
    QMP("[01]", NOT_JSON("stray '01'") NO_VALUE);
    QMP("[1.]", NOT_JSON("stray '1.]'"));
    QMP("[1e+]", NOT_JSON("stray '1e+]'"));
    QMP("[--1]", NOT_JSON("stray '--'") NO_VALUE);
    QMP("[-x]", NOT_JSON("stray '-x'") NO_VALUE);
    QMP("[%s]", NOT_JSON("stray '%'") NO_VALUE);
    QMP("\"abc\n", NOT_JSON("stray '\\\"abc\\n'"));
    QMP("[\"a\x01\"]", NOT_JSON("stray '\\\"a\\u0001'") NO_VALUE);
    QMP("[\"a\xff\"]", NOT_JSON("stray '\\\"a\\uFFFD'") NO_VALUE);
    QMP("{\0}", NOT_JSON("stray ''") NO_VALUE);
    QMP("@@{'execute':'query-name'}",
        NOT_JSON("stray '@'") "{\"return\": {\"name\": \"test\"}}\r\n");
    QMP("@a nonsense\rnonsense\n", NOT_JSON("stray '@'") NOT_JSON("invalid keyword 'nonsense'"));
    QMP("[\"\\q\"]", NOT_JSON("invalid escape sequence in string"));
    QMP("[\"\\u12\"]", NOT_JSON("\\\\u12\\\" is not a valid Unicode character"));
    QMP("[\"\\u12G4\"]", NOT_JSON("\\\\u12G4 is not a valid Unicode character"));
    QMP("[\"\\uD83D\\u0041\"]", NOT_JSON("\\\\uD83D is not a valid Unicode character"));
    QMP("[\"\\uD83F\\uDFFE\"]", NOT_JSON("\\\\uD83F\\\\uDFFE is not a valid Unicode character"));
    QMP("[\"\\uFFFE\"]", NOT_JSON("\\\\uFFFE is not a valid Unicode character"));
    QMP("[\"\xed\xa0\x80\"]", NOT_JSON("invalid UTF-8 sequence in string"));
    QMP("[\"\xc3\"]", NOT_JSON("invalid UTF-8 sequence in string"));
    QMP("[\"\xe0\x80\x80\"]", NOT_JSON("invalid UTF-8 sequence in string"));
    QMP("[1e400]", NOT_JSON("a number is too large"));
}

static char *repeat(const char *text, size_t n)
{
    size_t len = strlen(text);
    char *all = malloc(n * len + 1);

    assert_non_null(all);
    for (size_t i = 0; i < n; i++)
        memcpy(all + i * len, text, len);
    all[n * len] = '\0';
    return all;
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;

    for (; (text = strstr(text, what)); text += strlen(what))
        n++;
    return n;
}

/* What is said to N times BEFORE, then BEHIND. */
static char *ask_much(const char *before, size_t n, const char *behind)
{
    char *many = repeat(before, n);
    char *all = NULL;
    char *said;

    assert_true(asprintf(&all, "%s%s", many, behind) >= 0);
    said = ask(STRATA_MONITOR_QMP, all, strlen(all), 4096, NULL);
    free(many);
    free(all);
    return said;
}

static void test_limits(void **unused)
{
    char *closing = repeat("]", 1025);
    char *said = ask_much("[", 1024, closing + 1);

    assert_string_equal(said, NOT_OBJECT);
    free(said);
    said = ask_much("[", 1025, closing);
    assert_int_equal(count(said, "JSON nesting depth limit exceeded"), 1);
    assert_int_equal(count(said, "expecting value"), 1025);
    free(said);
    free(closing);
    said = ask_much("[1,", 40000, "{'execute':'query-name'}");
    assert_non_null(strstr(said, "JSON nesting depth limit exceeded"));
    free(said);
    said = ask_much("1,", 0, "[");
    assert_string_equal(said, "");
    free(said);
    /* Many tokens in one list. */
    said = ask_much(" 1 ", 2000, "{'execute':'query-name'}");
    assert_int_equal(count(said, "must be a JSON object"), 2000); /* each is a message */
    free(said);
    {
        char *ones = repeat("1,", 70000);
        char *list = NULL;

        assert_true(asprintf(&list, "[%s1]\n{'execute':'query-name'}", ones) >= 0);
        said = ask(STRATA_MONITOR_QMP, list, strlen(list), 4096, NULL);
        assert_int_equal(count(said, "JSON token count limit exceeded"), 1);
        assert_non_null(strstr(said, "\"name\": \"test\""));
        free(said);
        free(list);
        free(ones);
    }
    /* One long string; behind a line's end all is well again. */
    {
        char *long_text = repeat("x", (1U << 20) + 10);
        char *message = NULL;

        assert_true(asprintf(&message, "{'%s':1\n}{'execute':'query-name'}", long_text) >= 0);
        said = ask(STRATA_MONITOR_QMP, message, strlen(message), 65536, NULL);
        assert_int_equal(count(said, "JSON token size limit exceeded"), 1);
        assert_non_null(strstr(said, "\"name\": \"test\""));
        free(said);
        free(message);
        free(long_text);
    }
}

static void test_requests(void **unused)
{
    struct said said = {0};
    struct strata_monitor_session *session = open_session(STRATA_MONITOR_QMP, &said);
    static const char early[] = "{'execute':'query-name','id':1}{'execute':'nonsense'}"
                                "{'execute':'qmp_capabilities','arguments':{'enable':['oob']}}"
                                "{'execute':'qmp_capabilities','arguments':{'enable':['x']}}"
                                "{'execute':'qmp_capabilities','arguments':{'enable':[]},'id':{}}"
                                "{'execute':'qmp_capabilities'}";

    said.len = 0;
    assert_int_equal(strata_monitor_session_feed(session, early, sizeof(early) - 1), 0);
    assert_string_equal(
        said.text,
        "{\"id\": 1, \"error\": {\"class\": \"CommandNotFound\", \"desc\": \"Expecting "
        "capabilities "
        "negotiation with 'qmp_capabilities'\"}}\r\n"
        "{\"error\": {\"class\": \"CommandNotFound\", \"desc\": \"Expecting capabilities "
        "negotiation "
        "with 'qmp_capabilities'\"}}\r\n" GENERIC("Capability oob not available") GENERIC(
            "Parameter 'enable' does not accept value 'x'") "{\"return\": {}, \"id\": {}}\r\n"
                                                            "{\"error\": {\"class\": "
                                                            "\"CommandNotFound\", \"desc\": "
                                                            "\"Capabilities negotiation is already "
                                                            "complete, command ignored\"}}\r\n");
    strata_monitor_session_free(session);
    free(said.text);

    QMP("{'execute':'none\\u00e9\\u0000'}", "{\"error\": {\"class\": \"CommandNotFound\", "
                                            "\"desc\": \"The command none\\u00E9\\u0000 has "
                                            "not been found\"}}\r\n");
    QMP("{}", GENERIC("QMP input lacks member 'execute'"));
    QMP("{'execute':1}", GENERIC("QMP input member 'execute' must be a string"));
    QMP("{'execute':'quit','arguments':[]}",
        GENERIC("QMP input member 'arguments' must be an object"));
    QMP("{'execute':'quit','x\\u0000':1}", GENERIC("QMP input member 'x\\u0000' is unexpected"));
    QMP("{'execute':'quit','arguments':{'y':1}}", GENERIC("Parameter 'y' is unexpected"));
    QMP("{'execute':'trace-event-get-state'}", GENERIC("Parameter 'name' is missing"));
    QMP("{'execute':'trace-event-get-state','arguments':{'name':1}}",
        GENERIC("Invalid parameter type for 'name', expected: string"));
    QMP("{'execute':'trace-event-get-state','arguments':{'name':'disk_read','vcpu':3}}",
        GENERIC("invalid vCPU index 3"));
    QMP("{'execute':'trace-event-set-state','arguments':{'name':'a','enable':'on'}}",
        GENERIC("Invalid parameter type for 'enable', expected: boolean"));
    QMP("{'execute':'trace-event-set-state','arguments':{'name':'a','enable':true}}",
        GENERIC("unknown event \\\"a\\\""));
    QMP("{'execute':'human-monitor-command','arguments':{'command-line':'nonsense 1'}}",
        "{\"return\": \"unknown command: 'nonsense'\\r\\n\"}\r\n");
    QMP("{'execute':'human-monitor-command','arguments':{'command-line':'','cpu-index':0}}",
        "{\"return\": \"\"}\r\n");
    QMP("{'execute':'human-monitor-command','arguments':{'command-line':'info trace'}}",
        "{\"return\": \"\"}\r\n"); /* nothing is in the rings */
    QMP("{'execute':'human-monitor-command','arguments':{'command-line':'a\\u00e9\\u0000b'}}",
        "{\"return\": \"unknown command: 'a\\u00E9'\\r\\n\"}\r\n");
}

static void set_all(uint8_t on)
{
    for (unsigned i = 0; i < 3; i++)
        assert_true(strata_event_set_state(events[i].name, on) >= 0);
}

static void assert_states(const char *want)
{
    char now[16];

    snprintf(now, sizeof(now), "%d%d%d%d", states[0], states[1], states[2], states[3]);
    assert_string_equal(now, want);
}

#define SET(arguments, want)                                                                       \
    do {                                                                                           \
        char *said_ = ask(                                                                         \
            STRATA_MONITOR_QMP, "{'execute':'trace-event-set-state','arguments':{" arguments "}}", \
            strlen("{'execute':'trace-event-set-state','arguments':{" arguments "}}"),             \
            SIZE_MAX / 2, NULL);                                                                   \
        assert_string_equal(said_, want);                                                          \
        free(said_);                                                                               \
    } while (0)
#define DONE "{\"return\": {}}\r\n"

static void test_states(void **unused)
{
    set_all(0);
    SET("'name':'disk_read','enable':true", DONE);
    assert_states("1000");
    QMP("{'execute':'trace-event-get-state','arguments':{'name':'disk*'}}",
        "{\"return\": [{\"name\": \"disk_read\", \"vcpu\": false, \"state\": \"enabled\"}, "
        "{\"name\": \"disk_write\", \"vcpu\": false, \"state\": \"disabled\"}, "
        "{\"name\": \"disk_none\", \"vcpu\": false, \"state\": \"unavailable\"}]}\r\n");
    QMP("{'execute':'trace-event-get-state','arguments':{'name':'nothing*'}}",
        "{\"return\": []}\r\n");
    /* One that is compiled out refuses the whole, unless it is to be ignored. */
    SET("'name':'disk_*','enable':true", GENERIC("event \\\"disk_none\\\" is disabled"));
    assert_states("1000");
    SET("'name':'disk_none','enable':true", GENERIC("event \\\"disk_none\\\" is disabled"));
    SET("'name':'disk_none','enable':true,'ignore-unavailable':true", DONE);
    SET("'name':'disk_*','enable':true,'ignore-unavailable':true", DONE);
    assert_states("1100");
    SET("'name':'*','enable':false,'ignore-unavailable':true", DONE);
    assert_states("0000");
    /* A name with a NUL behind is another name. */
    SET("'name':'disk_read\\u0000','enable':true",
        GENERIC("unknown event \\\"disk_read\\u0000\\\""));
    /* In the options' language these would mean something else. */
    SET("'name':'-disk_read','enable':true", GENERIC("unknown event \\\"-disk_read\\\""));
    SET("'name':'help','enable':true", GENERIC("unknown event \\\"help\\\""));
    SET("'name':'-*','enable':true", DONE);
    assert_states("0000");
}

#define HMP(bytes, want) SAYS(STRATA_MONITOR_HMP, bytes, want)
#define PROMPT "(qemu) "
#define TRY "Try \"help trace-event\" for more information\r\n" PROMPT

static void test_lines(void **unused)
{
    set_all(0);
    HMP("\n", PROMPT);
    HMP("\r\n  \t\r\r\n", PROMPT PROMPT PROMPT);
    HMP("info trace-events disk_read", "");
    HMP("info trace-events\n", "disk_read : state 0\r\ndisk_write : state 0\r\n"
                               "net_send : state 0\r\ndisk_none : state 0\r\n" PROMPT);
    HMP("trace-event disk_read on\n\tinfo\ttrace-events  disk_*\ntrace-event disk_read off\n",
        PROMPT
        "disk_read : state 1\r\ndisk_write : state 0\r\ndisk_none : state 0\r\n" PROMPT PROMPT);
    HMP("trace-event \"disk_read\" off\n", PROMPT);
    HMP("trace-event disk_none on\n", PROMPT); /* as QEMU: silently nothing */
    HMP("trace-event nosuch on\n", "unknown event \"nosuch\"\r\n" PROMPT);
    HMP("trace-event nosuch* on\n", PROMPT);
    HMP("info trace-events nosuch\n", "unknown event \"nosuch\"\r\n" PROMPT);
    HMP("trace-event\n", "trace-event: string expected\r\n" TRY);
    HMP("trace-event disk_read\n", "Expected 'on' or 'off'\r\n" TRY);
    HMP("trace-event disk_read on 0\n", "invalid vCPU index 0\r\n" PROMPT);
    HMP("trace-event disk_read on x\n", "invalid char 'x' in expression\r\n" TRY);
    HMP("trace-event disk_read on 99999999999999999999\n", "number too large\r\n" TRY);
    HMP("trace-event disk_read on -1\n",
        "'trace-event' has failed: integer is for 32-bit values\r\n" TRY);
    HMP("trace-event disk_read on 1 2\n",
        "trace-event: extraneous characters at the end of line\r\n" TRY);
    HMP("trace-event \"disk\n", "unterminated string\r\ntrace-event: string expected\r\n" TRY);
    HMP("trace-event \"disk\\", "");
    HMP("trace-event \"disk\\\n", "unterminated string\r\ntrace-event: string expected\r\n" TRY);
    HMP("trace-event \"\\x\" on\n",
        "unsupported escape code: '\\x'\r\ntrace-event: string expected\r\n" TRY);
    HMP("trace-event \"a\\n\\\"\\\\\" on\n", "unknown event \"a\r\n\"\\\"\r\n" PROMPT);
    HMP("nonsense x\n", "unknown command: 'nonsense'\r\n" PROMPT);
    HMP("info nonsense\n", "unknown command: 'info nonsense'\r\n" PROMPT);
    HMP("help nonsense\n", "unknown command: 'nonsense'\r\n" PROMPT);
    HMP("help info nonsense\n", "unknown command: 'info nonsense'\r\n" PROMPT);
    HMP("? help\n", "help|? [cmd] -- show the help\r\n" PROMPT);
    HMP("trace-filxy\x7f\be\n",
        "This program has no trace file: none of its events have the backend "
        "ring or simple\r\n" PROMPT);
    HMP("trace-file set /nonexistent/x\n", "This program has no trace file: none of its events "
                                           "have the backend ring or simple\r\n" PROMPT);
}

static void test_long_line(void **unused)
{
    char *name = repeat("x", 5000);
    char *line = NULL;
    char *said;

    assert_true(asprintf(&line, "%s\nfoo\n", name) >= 0);
    said = ask(STRATA_MONITOR_HMP, line, strlen(line), 100, NULL);
    assert_string_equal(said, "the line is longer than 4095 bytes\r\n" PROMPT
                              "unknown command: 'foo'\r\n" PROMPT);
    free(said);
    free(line);
    free(name);
}

static void test_quit(void **unused)
{
    static const char lines[] = "quit x\nq\ntrace-event disk_read on\n";
    static const char requests[] = "{'execute':'quit','id':1}{'execute':'query-name'}";
    static const char human[] =
        "{'execute':'human-monitor-command','arguments':{'command-line':'quit'}}[]";
    int r = 0;
    char *said = ask(STRATA_MONITOR_HMP, lines, sizeof(lines) - 1, 5, &r);

    assert_string_equal(said, "quit|q: extraneous characters at the end of line\r\n"
                              "Try \"help quit\" for more information\r\n" PROMPT);
    assert_int_equal(r, 1);
    assert_states("0000");
    free(said);
    said = ask(STRATA_MONITOR_QMP, requests, sizeof(requests) - 1, 1000, &r);
    assert_string_equal(said, "{\"return\": {}, \"id\": 1}\r\n");
    assert_int_equal(r, 1);
    free(said);
    said = ask(STRATA_MONITOR_QMP, human, sizeof(human) - 1, 1000, &r);
    assert_string_equal(said, "{\"return\": \"\"}\r\n");
    assert_int_equal(r, 1);
    free(said);
}

static void test_addresses(void **unused)
{
    static const char *const wrong[] = {
        "",          "unix",         "unix:",   "unix:,server", "tcp:",       "tcp:1234",
        "tcp:host:", "tcp:::1:1234", "udp:a:1", "stdio,server", "unix:x,foo", "unix:x,wait=on",
    };
    struct strata_monitor *monitor = NULL;

    assert_int_equal(strata_monitor_new((enum strata_monitor_dialect)9, &monitor), -EINVAL);
    assert_int_equal(strata_monitor_new(STRATA_MONITOR_HMP, &monitor), 0);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_int_equal(strata_monitor_listen(monitor, wrong[i]), -EINVAL);
    assert_int_equal(strata_monitor_listen(monitor, NULL), -EINVAL);
    assert_int_equal(strata_monitor_listen(monitor, "unix:/nonexistent/x"), -ENOENT);
    assert_int_equal(strata_monitor_listen(monitor, "unix:/etc/passwd"), -EEXIST);
    assert_int_equal(strata_monitor_add(monitor, -1, 1), -EBADF);
    assert_int_equal(strata_monitor_dispatch(monitor), 0);
    assert_int_equal(strata_monitor_start(monitor), 0);
    assert_int_equal(strata_monitor_start(monitor), -EBUSY);
    strata_monitor_free(monitor);
}

/* What is said by the monitor at PATH to a line, up to the next prompt. */
static void ask_socket(const char *path, const char *line, char *ret, size_t size)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t len = 0;
    size_t prompts = 0;

    assert_true(fd >= 0);
    strncpy(name.sun_path, path, sizeof(name.sun_path) - 1);
    assert_int_equal(connect(fd, (const struct sockaddr *)&name, sizeof(name)), 0);
    assert_int_equal(write(fd, line, strlen(line)), strlen(line));
    while (prompts < 2) {
        ssize_t n = read(fd, ret + len, size - 1 - len);

        assert_true(n > 0);
        len += (size_t)n;
        ret[len] = '\0';
        prompts = count(ret, PROMPT);
    }
    close(fd);
}

/* A child has copies of everything but the thread: when it frees the monitor, the parent goes on. */
static void test_fork(void **unused)
{
    struct strata_monitor *monitor = NULL;
    char dir[] = "/tmp/strata-monitor-XXXXXX";
    char path[64];
    char where[80];
    char said[512];
    int status;
    pid_t child;

    SKIP_BY_QEMU_USER("may end by an assertion of its own where a program with threads forks");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/socket", dir);
    snprintf(where, sizeof(where), "unix:%s", path);
    assert_int_equal(strata_monitor_new(STRATA_MONITOR_HMP, &monitor), 0);
    assert_int_equal(strata_monitor_listen(monitor, where), 0);
    assert_int_equal(strata_monitor_start(monitor), 0);
    ask_socket(path, "info nonsense\n", said, sizeof(said));
    child = fork();
    if (child == 0) {
        strata_monitor_free(monitor);
        _exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    ask_socket(path, "info nonsense\n", said, sizeof(said));
    assert_non_null(strstr(said, "unknown command: 'info nonsense'\r\n" PROMPT));
    strata_monitor_free(monitor);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(rmdir(dir), 0);
}

static int setup(void **unused)
{
    strata_group_register(&group);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_greetings),  cmocka_unit_test(test_json_words),
        cmocka_unit_test(test_json_wrong), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_requests),   cmocka_unit_test(test_states),
        cmocka_unit_test(test_lines),      cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_quit),       cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_fork),
    };

    unsetenv("STRATA_TRACE");
    return cmocka_run_group_tests(tests, setup, NULL);
}
