/* SPDX-License-Identifier: MIT */
#include "analysis/analysis.h"

int analysis_result(struct analysis *analysis, const struct coverage *coverage,
                    struct result *ret_result)
{
    result_init(ret_result, analysis->ops->name, &analysis->settings.clock, coverage);
    analysis->ops->add_columns(analysis, ret_result);
    return ret_result->error ? ret_result->error : analysis->ops->add_rows(analysis, ret_result);
}
