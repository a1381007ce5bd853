/* SPDX-License-Identifier: MIT */
#pragma once

/* Files of QEMU's option -readconfig, as its manual and `qemu -writeconfig` show them: lines
 *
 *     # a comment
 *     [group]             or [group "id"]
 *       key = "value"
 */

typedef void config_entry_fn(void *arg, const char *group, const char *key, const char *value);

/* Calls ENTRY for each key of the file at PATH. Does nothing if the file is missing, is not a regular file (only QEMU may
 * read a pipe), or has more than 64 KiB: QEMU itself reports what is wrong with it. */
void config_file_read(const char *path, config_entry_fn *entry, void *arg);
