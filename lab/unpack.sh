#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# unpack.sh: Debian's kernel source package to build/linux/plain. Does nothing when that package is there
# already; a new point release replaces it. KERNEL_SOURCE=FILE takes another tarball of the same layout.
set -euo pipefail
# shellcheck source=lab/lib.sh
. "$(dirname "$0")/lib.sh"

tarball=${KERNEL_SOURCE:-/usr/src/linux-source-6.12.tar.xz}
plain=$BUILD/linux/plain
[ -z "${KERNEL_SOURCE-}" ] || [ -f "$tarball" ] ||
	die "KERNEL_SOURCE=$tarball is not a file; give the whole path of a linux-source-6.12.tar.xz, or unset it."
[ -f "$tarball" ] || die "the kernel source $(basename "$tarball") is missing; install the package linux-source-6.12."
stamp=$(stat -Lc '%n %s %Y' "$tarball")
if [ "${1-}" != --check ] && [ "$(cat "$plain.stamp" 2>/dev/null)" = "$stamp" ]; then exit 0; fi

# The version stands in the Makefile near the front of the archive: look before anything is unpacked.
top=$(tar -tf "$tarball" 2>/dev/null | head -n1 | cut -d/ -f1) || true
[ -n "$top" ] || die "$(basename "$tarball") cannot be read as a tar archive; install linux-source-6.12 again."
version=$(tar -xOf "$tarball" --occurrence=1 "$top/Makefile" 2>/dev/null | kernel_version) || true
[[ $version == 6.12.* ]] ||
	die "the kernel source package holds Linux ${version:-of no known version}, foliolift is for 6.12.y; install linux-source-6.12."
[ "${1-}" != --check ] || { printf '%s\n' "$version"; exit 0; }

say "unpacking Linux $version"
new=$BUILD/linux/.plain.new
rm -rf "$new" "$BUILD/linux/.plain.old"
mkdir -p "$new"
trap 'rm -rf "$new" "$new.log"' EXIT
# -m: files get today's time, so that a build of an earlier release sees that they changed
tar -xmf "$tarball" -C "$new" --strip-components=1 --no-same-owner 2>"$new.log" ||
	die "$(head -n1 "$new.log"): unpacking the kernel source failed; there may be too little disk (15 GB are wanted)."
rm -f "$plain.stamp"
[ ! -d "$plain" ] || mv "$plain" "$BUILD/linux/.plain.old"
mv "$new" "$plain"
# made from the tree that was just replaced
rm -rf "$BUILD/linux/lifted" "$BUILD/linux/.plain.old" "$BUILD/linux/lifted.overlay"
printf '%s\n' "$stamp" >"$plain.stamp"
