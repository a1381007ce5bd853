/* SPDX-License-Identifier: MIT */
#pragma once

#include "analysis/diff.h"

/* Sets the tests and verdicts of all rows. Their values must be set. */
void diff_test_rows(struct diff *diff);
