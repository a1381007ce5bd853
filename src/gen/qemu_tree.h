/* SPDX-License-Identifier: MIT */
#pragma once

/* Detects the QEMU version for which code is generated, from its source tree.
 *
 * The generated code tests most differences between versions by the C preprocessor. The rest is looked
 * up in the tree during generation: QEMU's build calls the generator with files of its tree, or from a
 * directory configured from it. */

#include "gen/gen.h"

/* Finds the root of the tree: the nearest directory above INPUT with QEMU's sources; otherwise the tree from which the
 * working directory was configured, by its config-host.mak or meson-info; otherwise the nearest tree above the working
 * directory. The caller frees *RET_ROOT. INPUT NULL or "-": not a file. -ENOENT: none; -ENOMEM. */
int qemu_tree_find(const char *input, char **ret_root);

/* Fills RET_TREE from the tree at ROOT; a missing file means that the tree lacks the feature. -ENOMEM,
 * or an errno from reading. */
int qemu_tree_look(const char *root, struct gen_qemu_tree *ret_tree);

/* Calls both functions. Without a tree, sets the values for the newest supported QEMU. */
int qemu_tree_of(const char *input, struct gen_qemu_tree *ret_tree);
