/* SPDX-License-Identifier: MIT */
#include "qemu/error-report.h"
#include "qemu/osdep.h"

bool message_with_timestamp;
