/* SPDX-License-Identifier: MIT */
#pragma once

/* Which QEMU the code is for, seen from its source tree.
 *
 * Most of what differs between versions is told to the C compiler by the headers that the generated
 * code includes. What is not, is looked up in the tree when the code is generated: whoever builds
 * QEMU calls the generator with files of that tree, or from a directory configured from it. */

#include "gen/gen.h"

/* The root of the tree (malloc): the nearest directory above INPUT that holds QEMU's sources; else the
 * one that the working directory was configured from, by its config-host.mak or meson-info; else the
 * nearest one above the working directory. INPUT may be NULL or "-": not a file. -ENOENT: there is
 * none; -ENOMEM. */
int qemu_tree_find(const char *input, char **ret_root);

/* What the tree at ROOT needs. A file that is not there says that the tree does without it. -ENOMEM,
 * or an errno from reading. */
int qemu_tree_look(const char *root, struct gen_qemu_tree *ret_tree);

/* Both; without a tree, what the newest QEMU that is known here needs. */
int qemu_tree_of(const char *input, struct gen_qemu_tree *ret_tree);
