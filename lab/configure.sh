#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# configure.sh SOURCE OBJECTS FRAGMENT...: makes OBJECTS/.config from allnoconfig and the fragments, and
# refuses a symbol that did not take effect (renamed, or a dependency is missing), naming each.
set -euo pipefail
# shellcheck source=lab/lib.sh
. "$(dirname "$0")/lib.sh"

source=$1 objects=$2
shift 2
mkdir -p "$objects"
cat "$@" >"$objects/fragment"
# The configuration is made aside, and put in place only when it changed: make then rebuilds nothing.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
make -C "$source" O="$objects" KCONFIG_CONFIG="$scratch/config" KCONFIG_ALLCONFIG="$objects/fragment" allnoconfig \
	>"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; die "the kernel cannot be configured; its messages are above."; }
missing=$(sed -n 's/^\(CONFIG_[A-Za-z0-9_]*=.*\)$/\1/p' "$objects/fragment" | awk -F= '{ last[$1] = $0 } END { for (s in last) print last[s] }' |
	while read -r want; do
		grep -qxF -- "$want" "$scratch/config" || { [ "${want#*=}" = n ] && ! grep -q "^${want%%=*}=" "$scratch/config"; } || echo "$want"
	done | sort)
[ -z "$missing" ] || die "the kernel's configuration lacks $(commas "$missing"): mend kernel/configs."
cmp -s "$scratch/config" "$objects/.config" || cp "$scratch/config" "$objects/.config"
