/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"

int main(int argc, char **argv)
{
    return strata_main(argc, argv);
}
