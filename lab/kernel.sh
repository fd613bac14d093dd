#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# kernel.sh stock|lifted|debug|arm64 [--source DIR --objects DIR]: builds one kernel, its image and modules.
# With --source and --objects another source tree is built elsewhere with that kernel's configuration (mutants),
# starting from a copy of that kernel's objects when there is one. Nothing changed: it ends at once.
set -euo pipefail
# shellcheck source=lab/lib.sh
. "$(dirname "$0")/lib.sh"

name=${1-}
configs=$ROOT/kernel/configs
fragments=("$configs/lab.config")
source=$BUILD/linux/lifted seed=stock image=arch/x86/boot/bzImage
case $name in
stock) source=$BUILD/linux/plain seed= ;;
lifted) ;;
debug) seed= ;;
arm64) # the lifted source for another processor: a fragment of its own holds everything
	fragments=("$configs/arm64.config") seed='' image=arch/arm64/boot/Image
	export ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-
	;;
*) usage_die "unknown kernel '$name'; known are: ${KERNELS// /, }." ;;
esac
objects=$BUILD/kernel/$name
[ $# -eq 0 ] || shift
while [ $# -gt 0 ]; do
	case $1 in
	--source) source=$(realpath "$2"); shift ;;
	--objects) objects=$(realpath -m "$2") seed=$name; shift ;;
	*) usage_die "kernel: unknown argument '$1'; its first lines list them." ;;
	esac
	shift
done
wait_lock "$objects.lock"
[ "$source" != "$BUILD/linux/lifted" ] || "$ROOT/lab/overlay.sh"
manifest=$source.overlay
# foliolift's symbols exist once kernel/src brings a Kconfig
if [[ $name != @(stock|arm64) ]] && [ -f "$manifest" ] && grep -q 'Kconfig$' "$manifest"; then fragments+=("$configs/foliolift.config"); fi
[ "$name" != debug ] || fragments+=("$configs/debug.config")

# ---- is there anything to do: one hash over all that goes in
key=$({
	cat "${fragments[@]}" "$BUILD/linux/plain.stamp"
	"${CROSS_COMPILE-}gcc" --version | head -n1
	echo "recipe 1 $source" # a higher number rebuilds everywhere
	[ ! -f "$manifest" ] || (cd "$source" && xargs -r -d '\n' sha256sum <"$manifest")
} | sha256sum)
stamp=$objects/.foliolift
if [ "$(cat "$stamp" 2>/dev/null)" = "$key" ] && [ -f "$objects/$image" ]; then exit 0; fi
rm -f "$stamp"

# ---- start from the objects of the kernel that differs least: hard-linked sources keep their times, so with
# the recorded paths rewritten make compiles only what differs
origin=$BUILD/kernel/$seed
if [ -n "$seed" ] && [ ! -d "$objects" ] && [ -f "$origin/.foliolift" ]; then
	from=$(readlink "$origin/source")
	rm -rf "$objects.new"
	cp -a "$origin" "$objects.new"
	rm -f "$objects.new/.foliolift"
	find "$objects.new" \( -name '.*.cmd' -o -name '*.cmd' -o -name '.*.d' -o -name Makefile \) -type f -print0 |
		xargs -0 sed -i -e "s|$from/|$source/|g" -e "s|$from\$|$source|" -e "s|$origin/|$objects/|g"
	ln -sfn "$source" "$objects.new/source"
	mv "$objects.new" "$objects"
fi
"$ROOT/lab/configure.sh" "$source" "$objects" "${fragments[@]}"

# ---- build, telling how far it is
log=$BUILD/log/kernel-$(basename "$objects").log
mkdir -p "$BUILD/log"
compiled() { grep -cE '^  (CC|AS|HOSTCC) .*\.o$|^  CC \[M\]' "$log" 2>/dev/null || true; }
total=$(cat "$objects/.objects" 2>/dev/null || true)
case $name in
arm64) total=${total:-735} ;;
*) total=${total:-1370} ;;
esac
whole=$([ -f "$objects/vmlinux" ] || echo 1)
export PATH=/usr/lib/ccache:$PATH CCACHE_DIR=${CCACHE_DIR:-$BUILD/ccache} CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-3G}
export KBUILD_BUILD_TIMESTAMP='2025-01-01' KBUILD_BUILD_USER=foliolift KBUILD_BUILD_HOST=lab KBUILD_BUILD_VERSION=1
: >"$log"
make -C "$objects" -j"${JOBS:-$(nproc)}" "$(basename "$image")" modules >"$log" 2>&1 </dev/null &
pid=$!
# shellcheck disable=SC2317 # called by the trap
stop() {
	kill "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	[ ! -t 2 ] || echo >&2
	die "the build of the $name kernel was stopped; the next run goes on from there."
}
trap stop INT TERM HUP
start=$SECONDS last=-10
show() {
	local line
	if [ "$whole" ]; then line="$(compiled) of about $total objects"; else line="$(compiled) objects compiled anew of $total"; fi
	line="building the $(basename "$objects") kernel: $line, $(elapsed "$start")"
	if [ -t 2 ]; then
		printf '\r%s\033[K' "$line" >&2
	elif [ "${1-}" = end ] || [ $((SECONDS - last)) -ge 10 ]; then
		say "$line"
		last=$SECONDS
	fi
}
while kill -0 "$pid" 2>/dev/null; do
	show
	sleep 1
done
status=0
wait "$pid" || status=$?
show end
[ ! -t 2 ] || echo >&2
if [ "$status" != 0 ]; then
	say "--- $(rel "$log"), the last lines and the errors:"
	{ grep -nE 'error:|undefined reference|\*\*\*' "$log" | head -n 20; tail -n 15 "$log"; } >&2
	die "the $name kernel does not build; the whole log is in $(rel "$log")."
fi
# (what is left of a build that was stopped is not a whole one)
count=$(compiled)
[ -z "$whole" ] || [ "$count" -le "$(cat "$objects/.objects" 2>/dev/null || echo 99)" ] || echo "$count" >"$objects/.objects"
printf '%s\n' "$key" >"$stamp"
