/* SPDX-License-Identifier: MIT */
/* strata-agent and trace-agent: the guest's agent. Only this file of agent/ prints and exits. */
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "agent/clock_ms.h"
#include "agent/key.h"
#include "agent/server.h"
#include "agent/virtio_trace.h"
#include "agent/workload.h"

#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define EXIT_USAGE 2

/* How long the agent sends what it has read after a signal: it must end within a second. */
#define DRAIN_TIMEOUT_MS 400
/* The same after the command of --run has ended; a signal shortens it. */
#define AFTER_COMMAND_MS 30000

static const char *called = "strata-agent";

static const char help[] =
    "Usage: strata-agent [OPTION...] [--run COMMAND [ARGUMENT...]]\n"
    "\n"
    "Sends this kernel's trace to the host, over virtio-serial.\n"
    "\n"
    "On the port org.strata.agent, or at an address, the agent serves 'strata record'\n"
    "and 'strata collect' on the host. On the ports agent-ctl-path and\n"
    "trace-path-cpuN it speaks the virtio-trace protocol of Linux's trace-agent: `1`\n"
    "on the first starts tracing, `0` stops it, and the others carry raw pages of the\n"
    "trace buffer.\n"
    "\n"
    "Connection:\n"
    "  -n, --port=NAME         port name (org.strata.agent)\n"
    "  -l, --listen=ADDRESS    listen at tcp:ADDRESS:PORT, vsock:PORT or unix:PATH\n"
    "  -c, --connect=ADDRESS   connect to tcp:ADDRESS:PORT, vsock:CID:PORT or\n"
    "                          unix:PATH\n"
    "  -k, --key=FILE          require this key from hosts; mandatory over TCP and\n"
    "                          vsock\n"
    "      --fd=N              use this connected socket, and end with it\n"
    "  -p, --ports=DIR         directory of the ports (/dev/virtio-ports); may hold\n"
    "                          FIFOs or listening sockets of their names\n"
    "  -w, --wait=SECONDS      how long to wait for ports to appear (10)\n"
    "\n"
    "virtio-trace protocol:\n"
    "  -o, --stdout            write the pages to standard output; without a port\n"
    "                          agent-ctl-path, trace from the start\n"
    "  -i, --instance=NAME     send the buffer of this tracefs instance (top level)\n"
    "\n"
    "Options:\n"
    "      --run               start COMMAND when a host has started tracing, and end\n"
    "                          with it; the rest of the command line is COMMAND's\n"
    "      --run-after=SECONDS start COMMAND after SECONDS even if no host traces\n"
    "                          (never)\n"
    "      --pid=PID           trace only while threads of this process or of its\n"
    "                          children run\n"
    "  -q, --queue-size=SIZE   size of the queue of each CPU (4M)\n"
    "  -t, --tracefs=DIR       directory where tracefs is mounted (searched for)\n"
    "  -V, --version           show the version\n"
    "  -h, --help              show this help\n";

struct options {
    struct virtio_trace_options virtio_trace;
    const char *port, *listen, *connect;
    const char *key_file;
    uint8_t *key; /* NULL: none */
    size_t key_size;
    const char *instance;
    const char *tracefs;
    int fd;    /* -1: none */
    pid_t pid; /* 0: all */
    unsigned wait_seconds;
    struct workload workload;
    int64_t run_after_ms; /* -1: never */
};

/* One write(2), skipped if it would block: a stuck console or journal must not stop the agent. */
static void print_line(void *userdata, const char *text)
{
    char line[1200];
    int n = snprintf(line, sizeof line, "%s: %s\n", called, text);
    struct pollfd fd = {.fd = STDERR_FILENO, .events = POLLOUT};

    (void)userdata;
    if (n > 0 && poll(&fd, 1, 0) > 0 && fd.revents & POLLOUT)
        (void)!write(STDERR_FILENO, line, MIN((size_t)n, sizeof line - 1));
}

static const struct agent_log log_to_stderr = {.line = print_line};

static int usage_error(const char *what, const char *value)
{
    fprintf(stderr, "%s: %s '%s'\nTry '%s --help'.\n", called, what, value, called);
    return EXIT_USAGE;
}

/* "4M", "512k", "65536". */
static bool parse_size(const char *text, size_t *ret_size)
{
    static const char units[] = "kmg";
    unsigned long long size;
    const char *unit;
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    size = strtoull(text, &end, 10);
    if (errno)
        return false;
    if (*end) {
        unit = strchr(units, *end | 0x20);
        if (!unit || end[1] || size > UINT64_MAX >> 30)
            return false;
        size <<= 10 * (unit - units + 1);
    }
    *ret_size = (size_t)size;
    return true;
}

/* The options of upstream's trace-agent: -h and errors print its usage and exit with 1, as upstream
 * does. Its -s was the size of a pipe, which this agent does not use; values out of range are still
 * rejected. */
static int parse_virtio_trace_options(int argc, char **argv, struct options *options)
{
    size_t size;
    int c;

    opterr = 0;
    options->port = NULL; /* virtio-trace protocol only */
    while ((c = getopt(argc, argv, "hos:")) != -1) {
        if (c == 'o') {
            options->virtio_trace.to_stdout = true;
            continue;
        }
        if (c == 's' && parse_size(optarg, &size) && size >= (size_t)64 << 10 &&
            size <= (size_t)1 << 20)
            continue;
        if (c == 's')
            fprintf(stderr, "%s: a pipe has 64K to 1M\n", called);
        fprintf(stderr, "usage: %s [-h] [-o] [-s <size of pipe>]\n", called);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

/* Returns EXIT_SUCCESS: run; another exit status: exit with it; -1: exit with success. */
static int parse_options(int argc, char **argv, struct options *options)
{
    static const struct option table[] = {
        {"port", required_argument, NULL, 'n'},
        {"listen", required_argument, NULL, 'l'},
        {"connect", required_argument, NULL, 'c'},
        {"key", required_argument, NULL, 'k'},
        {"fd", required_argument, NULL, 'F'},
        {"pid", required_argument, NULL, 'P'},
        {"run", no_argument, NULL, 'R'},
        {"run-after", required_argument, NULL, 'A'},
        {"stdout", no_argument, NULL, 'o'},
        {"instance", required_argument, NULL, 'i'},
        {"queue-size", required_argument, NULL, 'q'},
        {"ports", required_argument, NULL, 'p'},
        {"tracefs", required_argument, NULL, 't'},
        {"wait", required_argument, NULL, 'w'},
        {"version", no_argument, NULL, 'V'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    size_t number;
    int c;

    while (!options->workload.argv &&
           (c = getopt_long(argc, argv, "+n:l:c:k:oi:q:p:t:w:Vh", table, NULL)) != -1) {
        switch (c) {
        case 'n': options->port = optarg; break;
        case 'l': options->listen = optarg; break;
        case 'c': options->connect = optarg; break;
        case 'k': options->key_file = optarg; break;
        case 'o': options->virtio_trace.to_stdout = true; break;
        case 'i': options->instance = optarg; break;
        case 'p': options->virtio_trace.ports = optarg; break;
        case 't': options->tracefs = optarg; break;
        case 'q':
            if (!parse_size(optarg, &options->virtio_trace.queue_bytes) ||
                options->virtio_trace.queue_bytes < (size_t)64 << 10 ||
                options->virtio_trace.queue_bytes > (size_t)1 << 30)
                return usage_error("invalid queue size (64K to 1G):", optarg);
            break;
        case 'w':
            if (!parse_size(optarg, &number) || number > 86400)
                return usage_error("invalid number of seconds (0 to 86400):", optarg);
            options->wait_seconds = (unsigned)number;
            break;
        case 'F':
            if (!parse_size(optarg, &number) || number > INT_MAX)
                return usage_error("invalid descriptor:", optarg);
            options->fd = (int)number;
            break;
        case 'P':
            if (!parse_size(optarg, &number) || number == 0 || number > INT_MAX)
                return usage_error("invalid process ID:", optarg);
            options->pid = (pid_t)number;
            break;
        case 'A':
            if (!parse_size(optarg, &number) || number > 86400)
                return usage_error("invalid number of seconds (0 to 86400):", optarg);
            options->run_after_ms = (int64_t)number * 1000;
            break;
        case 'R':
            if (optind < argc && strcmp(argv[optind], "--") == 0)
                optind++;
            if (optind == argc)
                return usage_error("COMMAND is required after", "--run");
            options->workload.argv = argv + optind;
            break;
        case 'V': puts("strata-agent " STRATA_VERSION); return -1;
        case 'h': fputs(help, stdout); return -1;
        default: fprintf(stderr, "Try '%s --help'.\n", called); return EXIT_USAGE;
        }
    }
    if (!options->workload.argv && optind < argc)
        return usage_error("unexpected argument", argv[optind]);
    if (!options->workload.argv && options->run_after_ms >= 0)
        return usage_error("--run COMMAND is required with", "--run-after");
    options->workload.stdout_to_stderr = options->virtio_trace.to_stdout;
    if (options->listen && options->connect)
        return usage_error("--listen and --connect exclude each other:", options->connect);
    if (options->fd >= 0 &&
        (options->listen || options->connect || options->virtio_trace.to_stdout))
        return usage_error("--fd excludes other endpoints:", options->listen    ? options->listen
                                                             : options->connect ? options->connect
                                                                                : "--stdout");
    return EXIT_SUCCESS;
}

/* The running servers; NULL: not running. */
struct servers {
    struct agent_server *server;
    struct virtio_trace *virtio_trace;
};

static int start_server(const struct options *options, const struct tracefs *tracefs,
                        struct notify *notify, struct servers *servers, struct error *error)
{
    const char *address = options->listen ? options->listen : options->connect;
    struct endpoint endpoint;
    int r = 0;

    if (options->fd >= 0)
        r = endpoint_fd(options->fd, &endpoint, error);
    else if (address)
        r = endpoint_parse(address, options->listen ? ENDPOINT_LISTEN : ENDPOINT_CONNECT, &endpoint,
                           error);
    else
        endpoint_port(options->virtio_trace.ports, options->port, &endpoint);
    if (r < 0)
        return r;
    if (endpoint.is_network && !options->key)
        return error_set(error, -EACCES, address,
                         "any program that can reach this address could trace this kernel; give a "
                         "key with --key=FILE");
    r = endpoint_open(&endpoint, error);
    if (r < 0)
        return r;
    r = server_new(&endpoint, tracefs, options->virtio_trace.queue_bytes, options->pid,
                   options->key, options->key_size, &log_to_stderr, notify, &servers->server,
                   error);
    if (r < 0)
        endpoint_done(&endpoint);
    return r;
}

/* Whether all hosts that there can be are served by `server`. */
static bool is_for_server(const struct options *options)
{
    return options->listen || options->connect || options->fd >= 0;
}

/* Starts the servers whose ports exist. -ENOENT: none exists yet. */
static int start(const struct options *options, const struct tracefs *tracefs, int dir,
                 struct notify *notify, struct servers *servers, struct error *error)
{
    bool only_virtio_trace = options->virtio_trace.to_stdout || options->instance || !options->port;
    bool only_server = is_for_server(options);
    int r = -ENOENT;

    if (!only_virtio_trace && !servers->server) {
        r = start_server(options, tracefs, notify, servers, error);
        if (r < 0 && r != -ENOENT)
            return r;
    }
    if (!only_server && !servers->virtio_trace) {
        struct error unused = {0};
        int err = virtio_trace_new(dir, &options->virtio_trace, &log_to_stderr, notify,
                                   &servers->virtio_trace, only_virtio_trace ? error : &unused);

        if (err >= 0 || (err != -ENOENT && !servers->server))
            r = err;
        if (err < 0 && err != -ENOENT && !only_virtio_trace)
            *error = unused;
    }
    if (r == -ENOENT && !only_virtio_trace && !only_server) {
        error_clear(error);
        error_set(error, r, "", "no virtio-serial port %s or " VIRTIO_TRACE_CONTROL_PORT,
                  options->port);
    }
    return servers->server || servers->virtio_trace ? 0 : r;
}

/* Sleeps up to MS (-1: without limit) until a thread or a signal has something to report. */
static void wait_for_event(int signal_fd, struct notify *notify, int ms)
{
    struct pollfd fds[2] = {{.fd = signal_fd, .events = POLLIN},
                            {.fd = notify->wakeup.fd, .events = POLLIN}};

    poll(fds, 2, ms);
    wakeup_disarm(&notify->wakeup);
}

/* Reads pending signals. Returns the number of a signal that ends the agent; 0: none. */
static int read_signals(int signal_fd, struct workload *workload)
{
    struct signalfd_siginfo info;

    while (read(signal_fd, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGCHLD) {
            workload_reap(workload);
            continue;
        }
        /* A signal from the terminal reaches COMMAND without us. */
        if (info.ssi_code <= 0)
            workload_signal(workload, (int)info.ssi_signo);
        return (int)info.ssi_signo;
    }
    return 0;
}

/* Starts COMMAND if it is time to. Returns false if it cannot be run. */
static bool run_workload(struct options *options, struct notify *notify, int64_t began)
{
    struct workload *workload = &options->workload;
    bool is_late = options->run_after_ms >= 0 && agent_now_ms() - began >= options->run_after_ms;
    int r;

    if (!workload->argv || workload->pid || !(atomic_load(&notify->tracing) || is_late))
        return true;
    if (!atomic_load(&notify->tracing))
        agent_log(&log_to_stderr,
                  "no host has started tracing after %" PRId64 " s; %s starts untraced",
                  options->run_after_ms / 1000, workload->argv[0]);
    r = workload_start(workload);
    if (r < 0)
        agent_log(&log_to_stderr, "cannot run '%s': %s", workload->argv[0], strerror(-r));
    return r >= 0;
}

/* Serves hosts until a signal, COMMAND's end or the loss of the last possible host. Returns the number
 * of the signal; 0: COMMAND has ended, or no host can connect any more; -1: starting failed. */
static int serve_hosts(struct options *options, const struct tracefs *tracefs, int dir,
                       int signal_fd, struct notify *notify, struct servers *servers)
{
    int64_t began = agent_now_ms();

    for (;;) {
        bool is_running = servers->server || servers->virtio_trace;
        bool is_full = servers->server && (servers->virtio_trace || is_for_server(options));
        bool waits = options->workload.argv && !options->workload.pid && options->run_after_ms >= 0;
        struct error error = {0};
        int number;
        /* Tried again later: the ports of the other protocol may appear. */
        int r = is_full || atomic_load(&notify->host_gone)
                    ? 0
                    : start(options, tracefs, dir, notify, servers, &error);

        if (r < 0 &&
            (r != -ENOENT || agent_now_ms() - began >= (int64_t)options->wait_seconds * 1000)) {
            agent_log_error(&log_to_stderr, &error);
            return -1;
        }
        if (!run_workload(options, notify, began) || workload_reap(&options->workload))
            return 0;
        /* COMMAND continues when its host has disconnected. */
        if (atomic_load(&notify->host_gone) && !workload_is_running(&options->workload))
            return 0;
        wait_for_event(signal_fd, notify, !is_running || waits ? 50 : is_full ? -1 : 1000);
        number = read_signals(signal_fd, &options->workload);
        if (number)
            return number;
    }
}

/* Sends what was read, for MS or until another signal. */
static void finish(struct servers *servers, int64_t ms, int signal_fd, struct notify *notify,
                   struct workload *workload)
{
    unsigned n_servers = (servers->server ? 1u : 0u) + (servers->virtio_trace ? 1u : 0u);
    uint64_t left_server = 0, left_virtio_trace = 0;
    int64_t deadline = agent_now_ms() + ms;

    server_stop(servers->server, deadline);
    virtio_trace_stop(servers->virtio_trace, deadline);
    while (atomic_load(&notify->n_finished) < n_servers && agent_now_ms() < deadline) {
        wait_for_event(signal_fd, notify, (int)MAX(deadline - agent_now_ms(), (int64_t)1));
        if (read_signals(signal_fd, workload))
            deadline = MIN(deadline, agent_now_ms() + DRAIN_TIMEOUT_MS);
    }
    server_free(servers->server, deadline, &left_server);
    virtio_trace_free(servers->virtio_trace, deadline, &left_virtio_trace);
    if (left_server + left_virtio_trace)
        agent_log(&log_to_stderr, "%" PRIu64 " pages were read but could not be sent",
                  left_server + left_virtio_trace);
}

/* The exit status of the agent if there is a COMMAND. */
static int workload_exit_status(const struct workload *workload, int number)
{
    if (number > 0)
        return WORKLOAD_SIGNALLED + number;
    return workload->ended ? workload->status : WORKLOAD_NOT_STARTED;
}

/* Waits for ports, serves, and shuts down. */
static int serve(struct options *options, const struct tracefs *tracefs, int dir, int signal_fd)
{
    struct notify notify = {.wakeup.fd = -1};
    struct servers servers = {NULL, NULL};
    int number;
    int r = wakeup_init(&notify.wakeup);

    if (r < 0) {
        agent_log(&log_to_stderr, "%s", strerror(-r));
        return EXIT_FAILURE;
    }
    if (options->workload.argv)
        agent_log(&log_to_stderr, "%s starts when a host starts tracing",
                  options->workload.argv[0]);
    number = serve_hosts(options, tracefs, dir, signal_fd, &notify, &servers);
    r = servers.virtio_trace ? atomic_load(&servers.virtio_trace->dead) : 0;
    finish(&servers, options->workload.ended ? AFTER_COMMAND_MS : DRAIN_TIMEOUT_MS, signal_fd,
           &notify, &options->workload);
    wakeup_done(&notify.wakeup);
    if (r == -EPIPE && !options->workload.argv) {
        /* The program that reads standard output has ended: end as if by SIGPIPE. */
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    if (r < 0)
        agent_log(&log_to_stderr, "cannot continue: %s", strerror(-r));
    if (options->workload.argv)
        return workload_exit_status(&options->workload, number);
    return r < 0 || number < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Reads the key, which is needed for as long as the agent runs. */
static int read_key(struct options *options)
{
    struct error error = {0};

    if (!options->key_file ||
        key_read(options->key_file, &options->key, &options->key_size, &error) >= 0)
        return 0;
    agent_log_error(&log_to_stderr, &error);
    return -EINVAL;
}

int main(int argc, char **argv)
{
    struct options options = {.virtio_trace.queue_bytes = (size_t)4 << 20,
                              .wait_seconds = 10,
                              .port = PROTO_PORT,
                              .fd = -1,
                              .run_after_ms = -1};
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    struct error error = {0};
    struct tracefs tracefs;
    sigset_t signals;
    int signal_fd, dir, status, failure, r;

    if (argc > 0)
        called = slash ? slash + 1 : argv[0];
    status = strcmp(called, "trace-agent") == 0 ? parse_virtio_trace_options(argc, argv, &options)
                                                : parse_options(argc, argv, &options);
    if (status != EXIT_SUCCESS)
        return MAX(status, 0);
    failure = options.workload.argv ? WORKLOAD_NOT_STARTED : EXIT_FAILURE;

    /* Before creating threads, which inherit the mask. */
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &signals, &options.workload.signal_mask);
    options.workload.sigpipe_ignored = signal(SIGPIPE, SIG_IGN) == SIG_IGN;
    signal(SIGCHLD, SIG_DFL); /* if it is ignored, the end of a child cannot be waited for */
    signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signal_fd < 0) {
        agent_log(&log_to_stderr, "cannot wait for signals: %s", strerror(errno));
        return failure;
    }

    if (read_key(&options) < 0)
        return failure;
    if (tracefs_open(options.tracefs, &tracefs, &error) < 0) {
        agent_log_error(&log_to_stderr, &error);
        return failure;
    }
    dir = tracefs.fd;
    if (options.instance) {
        r = tracefs_instance_open(&tracefs, options.instance, &dir);
        if (r < 0) {
            agent_log(&log_to_stderr, "no instance '%s' in %s: %s", options.instance, tracefs.path,
                      strerror(-r));
            return failure;
        }
    }
    tracefs_instance_sweep(&tracefs);
    status = serve(&options, &tracefs, dir, signal_fd);
    tracefs_done(&tracefs);
    free(options.key);
    return status;
}
