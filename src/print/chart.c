/* SPDX-License-Identifier: MIT */
#include "print/chart.h"

#include <math.h>

#include "base/macro.h"

/* Units of the pictures; the style sets their size on the page. */
#define SERIES_WIDTH 960
#define SERIES_HEIGHT 48
#define BAR_WIDTH 100
#define BAR_HEIGHT 10
#define CLASS_WIDTH 10
#define DISTRIBUTION_HEIGHT 24

static void begin(struct text *out, const char *class, unsigned width, unsigned height)
{
    text_printf(out,
                "<svg class=\"%s\" viewBox=\"0 0 %u %u\" preserveAspectRatio=\"none\" "
                "aria-hidden=\"true\">",
                class, width, height);
}

static void put_rect(struct text *out, const char *class, double x, double y, double width,
                     double height)
{
    text_printf(out, "<rect class=\"%s\" x=\"%.6g\" y=\"%.6g\" width=\"%.6g\" height=\"%.6g\"/>",
                class, x, y, width, height);
}

static void end(struct text *out)
{
    text_put_literal(out, "</svg>");
}

void chart_put_patterns(struct text *out)
{
    text_put_literal(
        out, "<svg class=\"patterns\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>"
             "<pattern id=\"lost\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" "
             "patternTransform=\"rotate(45)\"><rect class=\"lost-ground\" width=\"7\" "
             "height=\"7\"/><rect class=\"lost-line\" width=\"2.5\" height=\"7\"/>"
             "</pattern></defs></svg>\n");
}

static uint64_t find_largest(const uint64_t *values, unsigned n)
{
    uint64_t largest = 0;

    for (unsigned i = 0; i < n; i++)
        largest = MAX(largest, values[i]);
    return largest;
}

/* A value that is not 0 is at least one unit high. */
static double scale(uint64_t value, uint64_t largest, double height)
{
    return value == 0 ? 0 : MAX((double)value / (double)largest * height, 1.0);
}

/* Puts steps, from the base line up and back to it at the end. */
static void put_steps(struct text *out, const uint64_t *values, unsigned n, double step,
                      double height)
{
    uint64_t largest = find_largest(values, n);

    text_printf(out, "<path class=\"area\" d=\"M0 %.6g", height);
    for (unsigned i = 0; i < n; i++)
        text_printf(out, "V%.4gH%.6g", height - scale(values[i], largest, height - 1),
                    step * (i + 1));
    text_printf(out, "V%.6gZ\"/>", height);
}

void chart_put_series(struct text *out, const uint64_t *values, const bool *lost, unsigned n)
{
    double step = (double)SERIES_WIDTH / n;

    begin(out, "series", SERIES_WIDTH, SERIES_HEIGHT);
    put_steps(out, values, n, step, SERIES_HEIGHT);
    for (unsigned i = 0, run; i < n; i += run) {
        for (run = 1; i + run < n && lost[i + run] == lost[i];)
            run++;
        if (lost[i])
            put_rect(out, "lost", step * i, 0, step * run, SERIES_HEIGHT);
    }
    end(out);
}

void chart_put_shares(struct text *out, const double *shares, const char *const *classes,
                      unsigned n)
{
    double x = 0;

    begin(out, "shares", BAR_WIDTH, BAR_HEIGHT);
    for (unsigned i = 0; i < n; i++) {
        double width = isfinite(shares[i]) ? MIN(MAX(shares[i], 0), 1) * BAR_WIDTH : 0;

        if (width <= 0)
            continue;
        put_rect(out, classes[i], x, 0, width, BAR_HEIGHT);
        x += width;
    }
    end(out);
}

void chart_put_distribution(struct text *out, const uint64_t *counts, unsigned n,
                            const double *marks, unsigned n_marks)
{
    begin(out, "distribution", n * CLASS_WIDTH, DISTRIBUTION_HEIGHT);
    put_steps(out, counts, n, CLASS_WIDTH, DISTRIBUTION_HEIGHT);
    for (unsigned i = 0; i < n_marks; i++)
        if (isfinite(marks[i]))
            text_printf(out, "<path class=\"%s\" d=\"M%.6g 0V%d\"/>",
                        i + 1 == n_marks ? "mark-max"
                        : i == 0         ? "mark-first"
                                         : "mark",
                        MIN(MAX(marks[i], 0), n) * CLASS_WIDTH, DISTRIBUTION_HEIGHT);
    end(out);
}

void chart_put_bar(struct text *out, double length, const char *class)
{
    begin(out, "bar", BAR_WIDTH, BAR_HEIGHT);
    put_rect(out, class, 0, 0, MIN(MAX(length, 0), 1) * BAR_WIDTH, BAR_HEIGHT);
    end(out);
}
