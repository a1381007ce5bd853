/* SPDX-License-Identifier: MIT */
#include "qemu/osdep.h"

#include "qemu/error-report.h"

bool message_with_timestamp;
