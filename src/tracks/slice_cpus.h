/* SPDX-License-Identifier: MIT */
#pragma once

/* CPUs of which it is not known what they run (analysis/states/states.h), as where switches do not follow from one another (T2): a
 * slice `unknown` since a CPU was last seen to run what its switches say, and then what it is found to run. */

#include "tracks/slice_spans.h"

void slice_cpus_init(struct slices *slices);
/* ITEM, an event of slices->class, may contradict what its CPU was thought to run, or end what it was found to run.
 * 0, -ENOMEM. */
int slice_cpus_put(struct slices *slices, const struct item *item);
/* The same for a loss: what is unknown because of it is drawn as lost. */
int slice_cpus_put_loss(struct slices *slices, const struct item *loss);
/* After the slices that LOSS, of GROUP, ends: what a CPU of Xen runs is unknown. 0, -ENOMEM. */
int slice_cpus_follow_loss(struct slices *slices, const struct group *group,
                           const struct item *loss);
/* At the end: draws what is unknown up to it. 0, -ENOMEM. */
int slice_cpus_finish(struct slices *slices);
