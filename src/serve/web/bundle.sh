#!/bin/sh
# Checks the page's types and makes one script of its files: bundle.sh TSC ESBUILD DIRECTORY OUTPUT. No network.
set -eu
"$1" -p "$3/tsconfig.json"
"$2" "$3/main.ts" --bundle --minify --format=iife --target=es2020 --log-level=warning --legal-comments=none \
    --outfile="$4"
