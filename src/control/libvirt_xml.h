/* SPDX-License-Identifier: MIT */
#pragma once

/* What Strata reads in the XML of a domain of libvirt, and writes. It is no XML parser: libvirt has written it, each attribute in
 * quotes. Anything else is not found. */

/* The path of the socket of the virtio-serial port NAME, allocated: <channel><source path="PATH"/><target name="NAME"/>
 * </channel>. 1: found; 0: there is no such port with a path; -ENOMEM. */
int libvirt_xml_port(const char *xml, const char *name, char **ret);
/* The XML of such a channel, allocated. PATH NULL: libvirt names the socket. NULL: no memory. */
char *libvirt_xml_channel(const char *path, const char *name);
