/* SPDX-License-Identifier: MIT */
#pragma once

/* Draws CPUs while it is unknown what they run (analysis/states/states.h), for example if switches do not follow from
 * one another (T2). Such a CPU has a slice `unknown` from when it was last seen to run what its switches say. Then it
 * has a slice of the thread that it is found to run. */

#include "tracks/slice_spans.h"

void slice_cpus_init(struct slices *slices);
/* Handles ITEM, an event of slices->class: it may contradict what its CPU was thought to run, or end what it was found
 * to run. 0, -ENOMEM. */
int slice_cpus_put(struct slices *slices, const struct item *item);
/* Handles a loss. What is unknown because of it is drawn as lost. */
int slice_cpus_put_loss(struct slices *slices, const struct item *loss);
/* Call after the slices that LOSS, of GROUP, ends: on Xen it is unknown then what a CPU runs. 0, -ENOMEM. */
int slice_cpus_follow_loss(struct slices *slices, const struct group *group,
                           const struct item *loss);
/* At the end, draws what is still unknown. 0, -ENOMEM. */
int slice_cpus_finish(struct slices *slices);
