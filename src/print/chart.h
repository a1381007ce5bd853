/* SPDX-License-Identifier: MIT */
#pragma once

/* Draws the charts of a page (print/html.h), as SVG in the page. Their colours are classes of html.css. Words or
 * numbers beside each chart say the same, so charts are hidden from programs that read the page aloud. */

#include "base/text.h"

/* Puts the pattern by which charts show lost events; once per page, before the charts. */
void chart_put_patterns(struct text *out);

/* Puts VALUES (N, at least 1) as steps with heights relative to the largest value. Where LOST is set, the whole height
 * is hatched. */
void chart_put_series(struct text *out, const uint64_t *values, const bool *lost, unsigned n);

/* Puts parts of a whole (0 to 1) side by side. CLASSES are literals. NAN is an unknown part. */
void chart_put_shares(struct text *out, const double *shares, const char *const *classes,
                      unsigned n);

/* Puts a distribution: COUNTS of N classes side by side, each twice as wide as the previous class, so the scale is
 * logarithmic. MARKS (N_MARKS) are percentiles, with the maximum last. Their unit is classes (1.5: the middle of the
 * second class). */
void chart_put_distribution(struct text *out, const uint64_t *counts, unsigned n,
                            const double *marks, unsigned n_marks);

/* Puts a bar with a length from 0 to 1. */
void chart_put_bar(struct text *out, double length, const char *class);
