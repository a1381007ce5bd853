/* SPDX-License-Identifier: MIT */
/* What a guest needs so that its agent can be talked to, for QEMU's command line and libvirt's XML. */

#include <stdio.h>

#include "base/macro.h"
#include "cmd/collect.h"
#include "link/message.h"

/* Port 0 of a virtio-serial device is the console's, so ports count from 1; without max_ports= the highest
 * number is 30. */
#define PORTS_DEFAULT 31

/* S as a value of a QEMU option, in which a comma stands twice, inside a word of a shell in ''. */
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

/* The ports of one guest: their names in it, and what their host's ends are called. */
static void port_name(char *buf, size_t size, bool old, unsigned nr)
{
    if (!old)
        snprintf(buf, size, LINK_PORT);
    else if (nr == 1)
        snprintf(buf, size, "agent-ctl-path");
    else
        snprintf(buf, size, "trace-path-cpu%u", nr - 2);
}

static void port_path(char *buf, size_t size, const char *path, bool old, const char *name)
{
    snprintf(buf, size, old ? "%s/%s" : "%s", path, name);
}

void collect_print_qemu(const char *path, bool fifos, bool old, unsigned cpus)
{
    unsigned n = old ? cpus + 1 : 1;

    printf("-device virtio-serial-pci,id=strata-serial");
    if (n >= PORTS_DEFAULT)
        printf(",max_ports=%u", n + 1);
    for (unsigned nr = 1; nr <= n; nr++) {
        char name[64], end[1024];

        port_name(name, sizeof name, old, nr);
        port_path(end, sizeof end, path, old, name);
        printf(" \\\n-chardev '%s,id=strata%u,path=", fifos || old ? "pipe" : "socket", nr);
        put_value(end);
        printf("%s' \\\n-device virtserialport,bus=strata-serial.0,nr=%u,chardev=strata%u,name=%s",
               fifos || old ? "" : ",server=on,wait=off", nr, nr, name);
    }
    printf("\n");
}

void collect_print_libvirt(const char *path, bool fifos, bool old, unsigned cpus)
{
    unsigned n = old ? cpus + 1 : 1;

    /* One that the domain has already may be used: then only the channels are new. */
    printf("<controller type='virtio-serial' index='0' ports='%u'/>\n", MAX(n + 1, PORTS_DEFAULT));
    for (unsigned nr = 1; nr <= n; nr++) {
        char name[64], end[1024];

        port_name(name, sizeof name, old, nr);
        port_path(end, sizeof end, path, old, name);
        printf("<channel type='%s'>\n  <source %spath='", fifos || old ? "pipe" : "unix",
               fifos || old ? "" : "mode='bind' ");
        put_xml(end);
        printf("'/>\n  <target type='virtio' name='%s'/>\n"
               "  <address type='virtio-serial' controller='0' bus='0' port='%u'/>\n</channel>\n",
               name, nr);
    }
}
