#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# arm64-busybox.sh: Debian's static busybox for arm64, to build/guest/arm64/busybox. Costs nothing when it is there.
#
# apt fetches the package, with lists of its own below build/: the machine does not become one with two architectures.
set -euo pipefail
# shellcheck source=lab/lib.sh
. "$(dirname "$0")/lib.sh"

busybox=$BUILD/guest/arm64/busybox
[ ! -x "$busybox" ] || exit 0
command -v apt-get >/dev/null || die "apt-get is missing; foliolift's lab runs on Debian 12."
say "fetching busybox for arm64"
mkdir -p "$BUILD/log" "$(dirname "$busybox")"
log=$BUILD/log/arm64-busybox.log
work=$(mktemp -d "$BUILD/guest/arm64/apt.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
apt=(apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root
	-o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o Dir::State::status=/dev/null
	-o Acquire::Languages=none -o Acquire::Retries=2 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20)
if ! (cd "$work" && "${apt[@]}" update && "${apt[@]}" download busybox-static && dpkg-deb -x busybox-static_*.deb root) >"$log" 2>&1 </dev/null; then
	die "the package busybox-static for arm64 cannot be fetched; connect the machine, or put that program at $(rel "$busybox") (log: $(rel "$log"))."
fi
mv "$work/root/bin/busybox" "$busybox"
