#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# packages.sh [--arm64] [PACKAGE...]: installs what is missing of the lab's packages and of those named; --arm64: also of
# those that the arm64 machine needs. Costs nothing when everything is there.
set -euo pipefail
# shellcheck source=lab/lib.sh
. "$(dirname "$0")/lib.sh"

more=()
if [ "${1-}" = --arm64 ]; then
	more=(qemu-system-arm gcc-aarch64-linux-gnu libc6-dev-arm64-cross device-tree-compiler)
	shift
fi
want=(linux-source-6.12 qemu-system-x86 busybox-static ccache build-essential libc6-dev flex bison bc cpio kmod rsync patch
	libelf-dev libssl-dev libnuma-dev xz-utils zstd jq perl python3-minimal git procps util-linux
	libcmocka-dev libcap-dev liburing-dev "${more[@]}" "$@")
missing=$(comm -23 <(printf '%s\n' "${want[@]}" | sort -u) \
	<(dpkg-query -W -f '${Package} ${Status}\n' "${want[@]}" 2>/dev/null | sed -n 's/ install ok installed$//p' | sort -u))
[ -n "$missing" ] || exit 0
need_root "installing packages"
command -v apt-get >/dev/null || die "apt-get is missing; foliolift's lab runs on Debian 12."
say "installing: $(commas "$missing")"
mkdir -p "$BUILD/log"
log=$BUILD/log/packages.log
export DEBIAN_FRONTEND=noninteractive
apt=(apt-get -q -o Acquire::Retries=2 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 -o DPkg::Lock::Timeout=120)
mapfile -t missing <<<"$missing"
# a stale or unreachable list is no failure yet: what counts is whether the packages come
if ! { "${apt[@]}" update; "${apt[@]}" install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
	why="are the package sources of Debian 12 complete?"
	! grep -qE 'Temporary failure|Could not (resolve|connect)|Failed to fetch|Network is unreachable|Unable to connect' "$log" ||
		why="the network is out of reach; connect the machine and try again."
	die "these packages are missing and cannot be installed: $(commas "${missing[@]}"): $why (log: $(rel "$log"))"
fi
