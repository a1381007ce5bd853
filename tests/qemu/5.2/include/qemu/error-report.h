/* SPDX-License-Identifier: MIT */
#pragma once

extern bool error_with_timestamp;
