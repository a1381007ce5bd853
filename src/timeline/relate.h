/* SPDX-License-Identifier: MIT */
#pragma once

/* A stage that tells times in another clock, by how the two relate. */

#include "event/source.h"
#include "timeline/relation.h"

/* Takes SOURCE over, also when it fails (-ENOMEM); RELATION is borrowed, and not shared with another thread. The
 * order of items stays. Whoever opens it changes the clocks of the origins. */
int relate_open(struct source *source, struct relation *relation, struct source **ret_source);
