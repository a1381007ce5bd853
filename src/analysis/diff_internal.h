/* SPDX-License-Identifier: MIT */
#pragma once

#include "analysis/diff.h"

/* Sets the tests and verdicts of all rows, which have their values. */
void diff_test_rows(struct diff *diff);
