#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# overlay.sh [--into DIR] [--extra-patch FILE]... [--check]
#
# Brings the tree DIR (build/linux/lifted) up to date: hard links to the plain source, the files of kernel/src, and
# the files that kernel/hooks (and --extra-patch, in order, after them) change. Everything is worked out aside first
# and only files whose content differs are replaced, so a build after it takes seconds. A patch that does not apply
# is named and leaves the tree as it was. --check: only see whether everything applies.
set -euo pipefail
# shellcheck source=lab/lib.sh
. "$(dirname "$0")/lib.sh"

into=$BUILD/linux/lifted plain=$BUILD/linux/plain extra=() check=0
while [ $# -gt 0 ]; do
	case $1 in
	--into | --extra-patch) [ $# -ge 2 ] || usage_die "overlay: $1 wants a value." ;;
	esac
	case $1 in
	--into) into=$(realpath -m "$2"); shift ;;
	--extra-patch) extra+=("$(realpath "$2")"); shift ;;
	--check) check=1 ;;
	lifted) ;;
	*) usage_die "overlay: unknown argument '$1'; its first lines list them." ;;
	esac
	shift
done
[ -f "$plain/Makefile" ] || die "there is no plain kernel source yet; ./run kernel stock unpacks it."
version=$(kernel_version <"$plain/Makefile")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tree"

# ---- what the files should be
hooks=()
for hook in "$ROOT"/kernel/hooks/*.patch; do [ ! -f "$hook" ] || hooks+=("$hook"); done
if [ -d "$ROOT/kernel/src" ]; then cp -r "$ROOT/kernel/src/." "$work/tree/"; fi
for patch in "${hooks[@]}" "${extra[@]}"; do
	sed -n 's/^+++ b\/\([^\t]*\).*/\1/p' "$patch"
done | sort -u | while read -r file; do
	[ ! -f "$plain/$file" ] || [ -e "$work/tree/$file" ] || install -D -m 644 "$plain/$file" "$work/tree/$file"
done
for patch in "${hooks[@]}" "${extra[@]}"; do
	# offsets pass, so that other point releases do; fuzz would be guessing
	patch -p1 -F0 -s -f --no-backup-if-mismatch -r - -d "$work/tree" <"$patch" >"$work/said" 2>&1 || {
		sed 's/^/  /' "$work/said" >&2
		die "$(rel "$patch") does not apply to Linux $version; mend the hook for this release, or use the one it was made for."
	}
done
[ $check = 0 ] || exit 0
(cd "$work/tree" && find . -type f ! -name '.*' -printf '%P\n' | sort) >"$work/want"

# ---- bring the tree there
wait_lock "$into.lock"
manifest=$into.overlay
if [ ! -f "$into/Makefile" ]; then
	rm -rf "$into.new"
	mkdir -p "$(dirname "$into")"
	cp -al "$plain" "$into.new"
	: >"$manifest"
	mv "$into.new" "$into"
fi
touch "$manifest"
sort -u "$manifest" "$work/want" >"$work/both"
comm -23 "$manifest" "$work/want" >"$work/gone"
cp "$work/both" "$manifest"
# rename, never write in place: the old file may be a hard link to the plain one
place() {
	cmp -s "$1" "$into/$2" || {
		mkdir -p "$(dirname "$into/$2")"
		cp "$1" "$into/$2.new"
		mv "$into/$2.new" "$into/$2"
	}
}
while read -r file; do place "$work/tree/$file" "$file"; done <"$work/want"
while read -r file; do
	if [ -f "$plain/$file" ]; then place "$plain/$file" "$file"; else rm -f "$into/$file"; fi
done <"$work/gone"
cp "$work/want" "$manifest"
