/* SPDX-License-Identifier: MIT */
/* Comma-separated values as `strata report --format csv` writes them: one header line, one line an
 * event or loss (print/view.h has the columns). */

#include "export/export.h"
#include "print/view.h"

struct csv {
    struct export export;
    struct view *view;
};

static int csv_put(struct export *export, const struct item *items, unsigned n)
{
    struct csv *csv = container_of(export, struct csv, export);

    if (view_put(csv->view, items, n) < 0)
        return export_no_memory(&export->fault);
    return 0;
}

static int csv_finish(struct export *export)
{
    (void)export;
    return 0;
}

static void csv_free(struct export *export)
{
    struct csv *csv = container_of(export, struct csv, export);

    view_free(csv->view);
    free(csv);
}

int export_csv_open(const struct export_options *options, struct export **ret_export,
                    struct fault *fault)
{
    static const struct export_ops ops = {.put = csv_put, .finish = csv_finish, .free = csv_free};
    struct view_options view_options = {.origin_number =
                                            options->lines_numbered ? options->origin_number : NULL,
                                        .errors = options->errors,
                                        .spreadsheet = options->spreadsheet,
                                        .origin_arg = options->origin_arg};
    struct csv *csv = calloc(1, sizeof *csv);

    if (!csv || line_csv_open(&view_options, options->out, &csv->view) < 0) {
        free(csv);
        return export_no_memory(fault);
    }
    csv->export.ops = &ops;
    view_begin(csv->view);
    *ret_export = &csv->export;
    return 0;
}
