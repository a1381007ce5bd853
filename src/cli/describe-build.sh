#!/bin/sh
# What this tree is: "release", or in a git checkout the commit, as git describe has it. A checkout of another project
# that has this tree in it, as packages have, is not looked at.
set -eu

cd "$(dirname "$0")/../.."
if [ -e .git ]; then
    git describe --tags --match 'v[0-9]*' --always --dirty 2>/dev/null || echo "from git"
else
    echo release
fi
