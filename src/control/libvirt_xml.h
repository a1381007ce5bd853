/* SPDX-License-Identifier: MIT */
#pragma once

/* What Strata reads in the XML of a domain of libvirt, and writes. It is no XML parser: libvirt has written it, each attribute in
 * quotes. Anything else is not found. */

/* The path of the socket of the virtio-serial port NAME, and QEMU's ID of the port or NULL, allocated: <channel>
 * <source path="PATH"/><target name="NAME"/><alias name="ID"/></channel>. 1: found; 0: there is no such port with a path;
 * -ENOMEM. */
int libvirt_xml_port(const char *xml, const char *name, char **ret_path, char **ret_id);
/* The XML of such a channel, allocated. PATH NULL: libvirt names the socket. NULL: no memory. */
char *libvirt_xml_channel(const char *path, const char *name);
