# SPDX-License-Identifier: MIT
"""Packages that `tools/packages fetch` has fetched. fetched.sh is the same for shells."""

import os

TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')


def directory(group):
    """Where the packages of GROUP are, in debs: below this build directory, or below build, where ./setup check has them;
    None: they were not fetched."""
    for build in (os.path.join(os.environ['STRATA_BIN'], '..'), os.path.join(TREE, 'build')):
        if os.path.exists(os.path.join(build, group, 'debs', 'complete')):
            return os.path.abspath(os.path.join(build, group))
    return None
