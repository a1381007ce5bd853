/* SPDX-License-Identifier: MIT */
#include "trace/vcpus.h"
