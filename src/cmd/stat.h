/* SPDX-License-Identifier: MIT */
#pragma once

/* strata stat: its options. */

#include "cmd/walk.h"
#include "report/print_stat.h"

struct stat_options {
    struct open_options open;
    struct select_options select;
    struct stat_report_options report;
    unsigned jobs;
    bool wide;
};
