/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads and writes parts of the XML of a libvirt domain. This is not an XML parser: it relies on the form that libvirt
 * writes, with each attribute in quotes. Other forms are not found. */

/* Finds the path of the socket of the virtio-serial port NAME, and QEMU's ID of the port or NULL; the caller frees
 * both: <channel><source path="PATH"/><target name="NAME"/><alias name="ID"/></channel>. Returns 1; 0: no such port
 * with a path; -ENOMEM. */
int libvirt_xml_port(const char *xml, const char *name, char **ret_path, char **ret_id);
/* Returns the XML of such a channel, which the caller frees. PATH NULL: libvirt names the socket. NULL: out of
 * memory. */
char *libvirt_xml_channel(const char *path, const char *name);
