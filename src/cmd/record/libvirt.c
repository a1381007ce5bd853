/* SPDX-License-Identifier: MIT */
/* strata record --libvirt: a domain of libvirt, whose monitor is reached through libvirt's daemon. */

#include "cmd/cmd.h"
#include "cmd/libvirt_domain.h"
#include "cmd/record/record.h"
#include "record/qemu/recorder.h"

static int record_domain(const struct record_options *options, const struct qemu_process *running,
                         struct libvirt_domain *domain)
{
    const struct qemu_recorder_settings how = {
        .running = running,
        .monitor = libvirt_domain_monitor(domain),
        .domain = domain,
    };

    return record_vm_running(options, &how);
}

/* ---- By the domain ---- */

struct search {
    const struct libvirt_domain *domain;
    pid_t pid; /* 0: not found */
};

static int find_process(const struct qemu_process *running, void *userdata)
{
    struct search *search = userdata;

    if (!libvirt_domain_is(search->domain, running))
        return 0;
    search->pid = running->pid;
    return 1;
}

int record_libvirt(const struct record_options *options)
{
    _cleanup_(libvirt_domain_closep) struct libvirt_domain *domain = NULL;
    struct search search = {0};
    struct qemu_process running;
    struct error error = {0};
    int status;

    if (libvirt_find_domain(options->libvirt_uri, options->libvirt, &domain, &error) < 0) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    search.domain = domain;
    (void)qemu_process_foreach(find_process, &search);
    if (search.pid == 0) {
        cli_error("libvirt domain '%s': this user sees no QEMU of it on this machine; record on "
                  "the machine where it runs, as root",
                  libvirt_domain_name(domain));
        return EXIT_FAILURE;
    }
    if (qemu_process_open(search.pid, &running, &error) < 0) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    status = record_domain(options, &running, domain);
    qemu_process_done(&running);
    return status;
}

/* ---- By the process ---- */

int record_libvirt_process(const struct record_options *options, const struct qemu_process *running)
{
    _cleanup_(libvirt_domain_closep) struct libvirt_domain *domain = NULL;
    struct error error = {0};

    if (libvirt_find_domain_of(options->libvirt_uri, running, &domain, &error) >= 0)
        return record_domain(options, running, domain);
    cli_print_error(&error);
    return EXIT_FAILURE;
}
