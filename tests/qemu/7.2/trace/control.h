/* SPDX-License-Identifier: MIT */
#pragma once

#define STANDIN_VCPU_IDS
#include "trace/events.h"
