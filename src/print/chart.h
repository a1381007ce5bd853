/* SPDX-License-Identifier: MIT */
#pragma once

/* Charts of a page (print/html.h), as SVG within it. Their colours are classes of html.css. What they show is said in
 * words or numbers beside them, so each is hidden from programs that read the page aloud. */

#include "base/text.h"

/* What a chart draws events that were lost with; once a page, before the charts. */
void chart_put_patterns(struct text *out);

/* VALUES, N of 1 or more, as steps whose heights are relative to the largest; where LOST, hatched over the whole height. */
void chart_put_series(struct text *out, const uint64_t *values, const bool *lost, unsigned n);

/* Parts of a whole, side by side; a part is from 0 to 1. CLASSES are literals; a part that is not known is NAN. */
void chart_put_shares(struct text *out, const double *shares, const char *const *classes,
                      unsigned n);

/* A distribution: COUNTS of N classes side by side, each twice as wide as the one before, so that the scale is
 * logarithmic. MARKS, N_MARKS in the unit of the classes from the first on (1.5: half of the second): percentiles, and the maximum
 * last. */
void chart_put_distribution(struct text *out, const uint64_t *counts, unsigned n,
                            const double *marks, unsigned n_marks);

/* A bar of a length from 0 to 1. */
void chart_put_bar(struct text *out, double length, const char *class);
