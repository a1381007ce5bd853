/* SPDX-License-Identifier: MIT */
#pragma once

#include "trace/events.h"
