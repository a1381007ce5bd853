/* SPDX-License-Identifier: MIT */
#pragma once

/* cmocka's header wants these before it, in this order. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
