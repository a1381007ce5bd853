/* SPDX-License-Identifier: MIT */
/* What the command line of a running QEMU says. */

#include "cmocka_all.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/qemu/process.h"

static struct qemu_process parse(const char *const *argv, unsigned n)
{
    struct qemu_process running = {.argv = argv, .n = n};

    assert_int_equal(qemu_process_parse(&running), 0);
    return running;
}

#define PARSE(...)                                  \
    parse((const char *const[]){__VA_ARGS__, NULL}, \
          sizeof(const char *[]){__VA_ARGS__} / sizeof(const char *))

static void test_qmp(void **state)
{
    struct qemu_process r =
        PARSE("qemu", "-qmp", "unix:/run/a,,b,server=on,wait=off", "-qmp-pretty",
              "unix:/run/c,server,nowait", "--qmp", "tcp:localhost:4444,server=on");

    assert_int_equal(r.n_qmp, 2);
    assert_string_equal(r.qmp[0], "/run/a,b");
    assert_string_equal(r.qmp[1], "/run/c");
    assert_string_equal(r.qmp_elsewhere, "tcp:localhost:4444,server=on");
    qemu_process_done(&r);

    /* A monitor that connects to a server has no address to connect to, and the human monitor does not speak QMP. */
    r = PARSE("qemu", "-qmp", "unix:/run/a", "-monitor", "unix:/run/b,server=on", "-chardev",
              "socket,id=m,path=/run/m,server=on", "-mon", "m");
    assert_int_equal(r.n_qmp, 0);
    qemu_process_done(&r);

    r = PARSE("qemu", "-mon", "chardev=m,id=monitor,mode=control", "-chardev",
              "socket,id=m,path=/run/m,server=on,wait=off");
    assert_int_equal(r.n_qmp, 1);
    assert_string_equal(r.qmp[0], "/run/m");
    qemu_process_done(&r);

    /* libvirt */
    r = PARSE("qemu", "-name", "guest=web,debug-threads=on", "-chardev",
              "socket,id=charmonitor,fd=22,server=on,wait=off", "-mon",
              "chardev=charmonitor,id=monitor,mode=control");
    assert_int_equal(r.n_qmp, 0);
    assert_string_equal(r.qmp_elsewhere, "a descriptor");
    assert_string_equal(r.name, "web");
    assert_null(r.libvirt);
    qemu_process_done(&r);
}

/* The directory of the domain is that of its key; other secrets have none. */
static void test_libvirt(void **state)
{
    static const char secret[] =
        "{\"qom-type\":\"secret\",\"id\":\"masterKey0\",\"format\":\"raw\","
        "\"file\":\"/lib/q/domain-1-a\\\"b/master-key.aes\"}";
    struct qemu_process r =
        PARSE("qemu", "-uuid", "5ba92e19-1250-46d7-bb76-c3b806648880", "-object", secret);

    assert_string_equal(r.uuid, "5ba92e19-1250-46d7-bb76-c3b806648880");
    assert_string_equal(r.libvirt, "/lib/q/domain-1-a\"b");
    qemu_process_done(&r);

    r = PARSE("qemu", "-object",
              "secret,id=masterKey0,format=raw,file=/lib/q/domain-2-a,,b/master-key.aes");
    assert_null(r.uuid);
    assert_string_equal(r.libvirt, "/lib/q/domain-2-a,b");
    qemu_process_done(&r);

    r = PARSE("qemu", "-object", "secret,id=other,file=/lib/q/key", "-object",
              "secret,id=masterKey0,data=abcd", "-object", "secret,id=masterKey0,file=key");
    assert_null(r.libvirt);
    qemu_process_done(&r);
}

static void test_port(void **state)
{
    struct qemu_process r = PARSE("qemu", "-chardev", "socket,id=s,path=/run/s,server=on,wait=off",
                                  "-device", "virtio-serial-pci", "-device",
                                  "virtserialport,chardev=s,name=org.strata.agent,id=mine");

    assert_string_equal(r.port, "/run/s");
    assert_string_equal(r.port_id, "mine");
    assert_string_equal(r.port_chardev, "s");
    qemu_process_done(&r);

    r = PARSE("qemu", "-chardev", "socket,id=s,path=/run/s,server=on", "-device",
              "{\"driver\":\"virtserialport\",\"chardev\":\"s\",\"name\":\"org.strata.agent\"}");
    assert_string_equal(r.port, "/run/s");
    qemu_process_done(&r);

    r = PARSE("qemu", "-chardev", "socket,id=s,path=/run/s,server=on", "-device",
              "virtserialport,chardev=s,name=org.qemu.guest_agent.0");
    assert_null(r.port);
    qemu_process_done(&r);
}

static void test_log(void **state)
{
    struct qemu_process r = PARSE("qemu", "-D", "/tmp/log", "-msg", "timestamp=on,guest-name=on");

    assert_string_equal(r.log, "/tmp/log");
    assert_true(r.has_times);
    qemu_process_done(&r);
    r = PARSE("qemu", "-msg", "timestamp", "-name", "a,,b,process=x");
    assert_true(r.has_times);
    assert_string_equal(r.name, "a,b");
    qemu_process_done(&r);
    r = PARSE("qemu", "-msg", "timestamp=on", "-msg", "guest-name=on");
    assert_false(r.has_times);
    assert_null(r.log);
    qemu_process_done(&r);
    r = PARSE("qemu", "-msg");
    assert_false(r.has_times);
    qemu_process_done(&r);
}

static void test_config(void **state)
{
    static const char text[] = "# a comment = \"x\"\n"
                               "[chardev \"strata-control\"]\n  backend = \"socket\"\n"
                               "  path = \"/run/x\"\n  server = \"on\"\n  wait = \"off\"\n"
                               "[mon \"strata-control\"]\n  chardev = \"strata-control\"\n"
                               "  mode = \"control\"\n"
                               "[machine]\n  type = \"none\"\n[broken\npath = \"\n";
    char file[] = "/tmp/test-running-XXXXXX";
    int fd = mkstemp(file);
    struct qemu_process r;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    r = PARSE("qemu", "-qmp", "unix:/run/own,server=on,wait=off", "-readconfig", file);
    unlink(file);
    assert_int_equal(r.n_qmp, 2);
    /* The socket that a recording makes for other clients comes before the user's own, which may be in use. */
    assert_string_equal(r.qmp[0], "/run/x");
    assert_string_equal(r.qmp[1], "/run/own");
    qemu_process_done(&r);
    r = PARSE("qemu", "-readconfig", "/no/such/file");
    assert_int_equal(r.n_qmp, 0);
    qemu_process_done(&r);
}

/* What this and test_qemu.c ask of the same words has one answer. */
static void test_rules(void **state)
{
    static const char text[] =
        "[chardev \"c\"]\n  backend = \"socket\"\n  path = \"/run/x\" and \"y\"\n"
        "  server = \"on\"\n[mon]\n  chardev = \"c\"\n  mode = \"control\"\n";
    char file[] = "/tmp/test-running,XXXXXX";
    int fd = mkstemp(file);
    struct qemu_process r;

    /* The word behind -append is not an option. */
    r = PARSE("qemu", "-append", "-D", "/x", "-kernel", "-uuid", "y");
    assert_null(r.log);
    assert_null(r.uuid);
    qemu_process_done(&r);
    /* A value in a file ends with the next quote, and a comma in the name of the file is itself. */
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    r = PARSE("qemu", "-readconfig", file);
    unlink(file);
    assert_int_equal(r.n_qmp, 1);
    assert_string_equal(r.qmp[0], "/run/x");
    qemu_process_done(&r);
    /* JSON that only QEMU can read. */
    r = PARSE("qemu", "-device", "{'driver':'virtserialport'}", "-D", "/log");
    assert_string_equal(r.log, "/log");
    qemu_process_done(&r);
    /* A pipe is left to QEMU. */
    assert_int_equal(mkfifo(file, 0600), 0);
    fd = open(file, O_RDWR);
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    r = PARSE("qemu", "-readconfig", file);
    assert_int_equal(r.n_qmp, 0);
    qemu_process_done(&r);
    close(fd);
    unlink(file);
}

static void test_process(void **state)
{
    struct error error = {0};
    struct qemu_process r;
    int pipes[2], err;
    char c;
    pid_t pid;

    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        execlp("sleep", "sleep", "1000", NULL);
        _exit(1);
    }
    close(pipes[1]);
    assert_int_equal(read(pipes[0], &c, 1), 0); /* it is executed */
    close(pipes[0]);
    err = qemu_process_open(pid, &r, &error);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(err, -ENOEXEC);
    assert_non_null(strstr(error.what, "is not QEMU"));
    assert_int_equal(qemu_process_open(0x7ffffffe, &r, NULL), -ESRCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_libvirt), cmocka_unit_test(test_qmp),
        cmocka_unit_test(test_port),    cmocka_unit_test(test_log),
        cmocka_unit_test(test_config),  cmocka_unit_test(test_process),
        cmocka_unit_test(test_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
