/* SPDX-License-Identifier: MIT */

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hypervisor.h"

#define CPUS_MAX 64

static void on_stop(int signal)
{
    (void)signal;
    cpu_stop();
}

static _Noreturn void usage(void)
{
    fputs("usage: toy-hypervisor [OPTION VALUE]...\n"
          "  -buffer NAME  the shared-memory object of its trace buffers (toy)\n"
          "  -pages N      of each processor's buffer (64)\n"
          "  -cpus N       processors (2)\n"
          "  -vcpus N      virtual ones on each, of a domain each (3)\n"
          "  -exits N      end when each processor had so many exits; 0: never (0)\n"
          "  -wait         begin when tracing is on\n",
          stderr);
    exit(2);
}

static unsigned long number(const char *text, unsigned long min, unsigned long max)
{
    char *end;
    unsigned long value = text && *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;

    if (!text || *text < '0' || *text > '9' || *end || value < min || value > max)
        usage();
    return value;
}

/* Domain I has a vCPU on each processor. */
static int make_vcpus(struct cpu *cpu)
{
    cpu->vcpus = calloc(cpu->n_vcpus, sizeof(*cpu->vcpus));
    if (!cpu->vcpus)
        return -1;
    for (unsigned i = 0; i < cpu->n_vcpus; i++)
        cpu->vcpus[i] = (struct vcpu){
            .domain = (uint16_t)(i + 1),
            .number = (uint16_t)cpu->number,
            .state = OFFLINE,
            .random = cpu->number * 1000 + i,
            .next = &cpu->vcpus[(i + 1) % cpu->n_vcpus],
        };
    return 0;
}

int main(int argc, char **argv)
{
    static struct cpu cpus[CPUS_MAX];
    struct sigaction action = {.sa_handler = on_stop};
    struct timespec moment = {.tv_nsec = 1000000};
    const char *buffer = "toy";
    unsigned long n_cpus = 2, n_vcpus = 3, pages = 64, exits = 0;
    bool wait = false, failed = false;
    int r;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-wait") == 0)
            wait = true;
        else if (strcmp(argv[i], "-buffer") == 0 && argv[i + 1])
            buffer = argv[++i];
        else if (strcmp(argv[i], "-pages") == 0)
            pages = number(argv[++i], 1, 4096);
        else if (strcmp(argv[i], "-cpus") == 0)
            n_cpus = number(argv[++i], 1, CPUS_MAX);
        else if (strcmp(argv[i], "-vcpus") == 0)
            n_vcpus = number(argv[++i], 1, 1000);
        else if (strcmp(argv[i], "-exits") == 0)
            exits = number(argv[++i], 0, 1000000000);
        else
            usage();
    }

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    r = trace_init(buffer, (unsigned)n_cpus, (unsigned)pages);
    if (r < 0) {
        fprintf(stderr,
                "toy-hypervisor: no trace buffers '%s' with %lu pages for %lu processors: %s\n",
                buffer, pages, n_cpus, strerror(-r));
        return 1;
    }
    printf("%s\n", buffer);
    fflush(stdout);
    while (wait && !strata_percpu_on() && !cpu_stopping())
        nanosleep(&moment, NULL);

    for (unsigned i = 0; i < n_cpus; i++) {
        cpus[i] = (struct cpu){.number = i, .n_vcpus = (unsigned)n_vcpus, .exits_wanted = exits};
        if (make_vcpus(&cpus[i]) < 0 ||
            pthread_create(&cpus[i].thread, NULL, cpu_main, &cpus[i]) != 0) {
            fprintf(stderr, "toy-hypervisor: no processor %u: out of memory\n", i);
            return 1;
        }
    }
    for (unsigned i = 0; i < n_cpus; i++) {
        pthread_join(cpus[i].thread, NULL);
        if (cpus[i].error < 0)
            fprintf(stderr, "toy-hypervisor: processor %u: %s\n", i, strerror(-cpus[i].error));
        failed |= cpus[i].error < 0;
        printf("cpu %u: %" PRIu64 " exits, %" PRIu64 " ticks, %" PRIu64 " records\n", i,
               cpus[i].exits, cpus[i].ticks, cpus[i].traced);
        free(cpus[i].vcpus);
    }
    trace_done(buffer);
    return failed;
}
