/* SPDX-License-Identifier: MIT */
/* Prints what a guest needs to connect to its agent, as QEMU's options and libvirt's XML. */

#include <stdio.h>

#include "base/macro.h"
#include "cmd/collect.h"
#include "proto/message.h"

/* Port 0 of a virtio-serial device is for consoles, so ports count from 1. Without max_ports= the highest number is
 * 30. */
#define PORTS_DEFAULT 31

/* Puts S as a value of a QEMU option, in which a comma is doubled, within a shell word in ''. */
static void put_value(const char *s)
{
    for (; *s; s++) {
        if (*s == '\'')
            printf("'\\''");
        else if (*s == ',')
            printf(",,");
        else
            putchar(*s);
    }
}

static void put_xml(const char *s)
{
    for (; *s; s++) {
        switch (*s) {
        case '<': printf("&lt;"); break;
        case '&': printf("&amp;"); break;
        case '\'': printf("&apos;"); break;
        default: putchar(*s);
        }
    }
}

/* The ports of a guest: their number, their names in the guest, and the names of their host's ends. */
struct ports {
    const char *own;
    bool fifos;
    const char *old;
    unsigned n;
};

static struct ports make_ports(const char *own, bool fifos, const char *old, unsigned cpus)
{
    return (struct ports){own, fifos, old, (own ? 1 : 0) + (old ? cpus + 1 : 0)};
}

/* Finds port NR, from 1. True if its end is a pair of FIFOs. */
static bool find_port(const struct ports *ports, unsigned nr, char name[static 64],
                      char end[static 1024])
{
    unsigned of_old = nr - (ports->own ? 2 : 1);

    if (ports->own && nr == 1) {
        snprintf(name, 64, PROTO_PORT);
        snprintf(end, 1024, "%s", ports->own);
        return ports->fifos;
    }
    if (of_old == 0)
        snprintf(name, 64, "agent-ctl-path");
    else
        snprintf(name, 64, "trace-path-cpu%u", of_old - 1);
    snprintf(end, 1024, "%s/%s", ports->old, name);
    return true;
}

void collect_print_qemu(const char *port, bool fifos, const char *old, unsigned cpus)
{
    struct ports ports = make_ports(port, fifos, old, cpus);

    printf("-device virtio-serial-pci,id=strata-serial");
    if (ports.n >= PORTS_DEFAULT)
        printf(",max_ports=%u", ports.n + 1);
    for (unsigned nr = 1; nr <= ports.n; nr++) {
        char name[64], end[1024];
        bool pipe = find_port(&ports, nr, name, end);

        printf(" \\\n-chardev '%s,id=strata%u,path=", pipe ? "pipe" : "socket", nr);
        put_value(end);
        printf("%s' \\\n-device virtserialport,bus=strata-serial.0,nr=%u,chardev=strata%u,name=%s",
               pipe ? "" : ",server=on,wait=off", nr, nr, name);
    }
    printf("\n");
}

void collect_print_libvirt(const char *port, bool fifos, const char *old, unsigned cpus)
{
    struct ports ports = make_ports(port, fifos, old, cpus);

    /* One that the domain has already may be used: then only the channels are new. */
    printf("<controller type='virtio-serial' index='0' ports='%u'/>\n",
           MAX(ports.n + 1, PORTS_DEFAULT));
    for (unsigned nr = 1; nr <= ports.n; nr++) {
        char name[64], end[1024];
        bool pipe = find_port(&ports, nr, name, end);

        printf("<channel type='%s'>\n  <source %spath='", pipe ? "pipe" : "unix",
               pipe ? "" : "mode='bind' ");
        put_xml(end);
        printf("'/>\n  <target type='virtio' name='%s'/>\n"
               "  <address type='virtio-serial' controller='0' bus='0' port='%u'/>\n</channel>\n",
               name, nr);
    }
}
