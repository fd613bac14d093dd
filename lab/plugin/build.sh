#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# build.sh: compiles the profile plugin if need be and says where it is.
set -euo pipefail
# shellcheck source=lab/lib.sh
. "$(dirname "$0")/../lib.sh"

plugin=$BUILD/plugin/insnprof.so
mkdir -p "$BUILD/plugin"
if [ ! -f "$plugin" ] || [ -n "$(find "$ROOT/lab/plugin" -name '*.[ch]' -newer "$plugin")" ]; then
	gcc -O2 -Wall -Wextra -fPIC -shared -fvisibility=hidden -o "$plugin.new" "$ROOT/lab/plugin/insnprof.c" >&2 ||
		die "the profile plugin does not compile; the compiler's messages are above."
	mv "$plugin.new" "$plugin"
fi
printf '%s\n' "$plugin"
