# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Common to every script of the lab: where things are, how to end with one sentence, how to show progress.
# Sourced, never run: the caller has set -euo pipefail (or wants what `set -u` finds).

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=$ROOT/build
export ROOT BUILD

die() {
	printf 'foliolift: %s\n' "$*" >&2
	exit 1
}

# usage_die SENTENCE: a mistake on the command line; status 2, as getopt users expect.
usage_die() {
	printf 'foliolift: %s\n' "$*" >&2
	exit 2
}

say() { printf '%s\n' "$*" >&2; }

# A path as a person in the tree would write it.
rel() { printf '%s' "${1#"$ROOT"/}"; }

# take_lock NAME: waits for nobody; two runs in one tree would build over one another.
# A child of the holder inherits FOLIOLIFT_LOCKS and passes; the lock ends with the holder.
take_lock() {
	case " ${FOLIOLIFT_LOCKS-} " in *" $1 "*) return 0 ;; esac
	mkdir -p "$BUILD"
	exec {LOCK_FD}>"$BUILD/.lock-$1"
	flock -n "$LOCK_FD" || die "another foliolift run is using this tree; wait for it to end, then try again."
	export FOLIOLIFT_LOCKS="${FOLIOLIFT_LOCKS-} $1"
}

# An interactive guest may stay for hours: it does not keep others from the tree.
drop_lock() {
	[ -z "${LOCK_FD-}" ] || exec {LOCK_FD}>&-
	unset FOLIOLIFT_LOCKS
}

need_root() {
	[ "$(id -u)" = 0 ] || die "$1 needs root; start it again with sudo."
}

topologies() {
	local f
	for f in "$ROOT"/lab/topologies/*.conf; do basename "$f" .conf; done
}

# "a, b, c" from arguments or lines
commas() { printf '%s\n' "$@" | paste -sd, | sed 's/,/, /g'; }

# wait_lock FILE: for one step, among scripts that may run side by side. Held until the script ends.
wait_lock() {
	local fd
	mkdir -p "$(dirname "$1")"
	exec {fd}>"$1"
	flock -n "$fd" || { say "waiting for another step that uses $(rel "${1%.lock}")"; flock "$fd"; }
}

# The processor of a topology: x86_64, or what its line "arch NAME" says.
topology_arch() {
	awk '$1 == "arch" { arch = $2 } END { print arch ? arch : "x86_64" }' "$ROOT/lab/topologies/$1.conf"
}

# check_topology NAME [ARCH]: it exists, and its kernel is one for ARCH
check_topology() {
	local name fits=()
	[ -f "$ROOT/lab/topologies/$1.conf" ] ||
		usage_die "unknown topology '$1'; known are: $(commas "$(topologies)")."
	[ -n "${2-}" ] && [ "$(topology_arch "$1")" != "$2" ] || return 0
	for name in $(topologies); do [ "$(topology_arch "$name")" != "$2" ] || fits+=("$name"); done
	usage_die "the topology '$1' is no $2 machine; of those there are: $(commas "${fits[@]}")."
}

# The version a kernel's top Makefile (standard input) declares: 6.12.y
kernel_version() {
	awk '$2 == "=" && $1 ~ /^(VERSION|PATCHLEVEL|SUBLEVEL)$/ { v[$1] = $3 }
		END { if ("VERSION" in v) print v["VERSION"] "." v["PATCHLEVEL"] "." v["SUBLEVEL"] }'
}

# Minutes and seconds since the second $1 of SECONDS.
elapsed() { printf '%d:%02d' $(((SECONDS - $1) / 60)) $(((SECONDS - $1) % 60)); }

# Kernels the lab builds; arm64 is the lifted source for the machine with DMA channels (docs/arm64-dma.md).
KERNELS='stock lifted debug arm64'
check_kernel() {
	case " $KERNELS " in
	*" $1 "*) ;;
	*) usage_die "unknown kernel '$1'; known are: ${KERNELS// /, }." ;;
	esac
}

# Engines a measurement can be asked for: NAME, or NAME:N with so many threads or channels. none is foliolift
# switched off. An engine more: a word here.
ENGINES='none cpu mt dma auto'
check_engine() {
	case " $ENGINES " in
	*" ${1%%:*} "*) ;;
	*) usage_die "unknown engine '${1%%:*}'; known are: ${ENGINES// /, }." ;;
	esac
	[[ $1 == *:* ]] || return 0
	[[ $1 =~ ^(mt|dma):[0-9]+$ ]] || usage_die "engine '$1': only mt and dma take a number, of threads or channels."
	[[ ${1#*:} =~ ^([1-9]|[12][0-9]|3[012])$ ]] || usage_die "engine '$1': from 1 to 32 threads or channels, not ${1#*:}."
}

# The environment of a results file as a JSON object: environment TOPOLOGY ACCELERATOR
environment() {
	local commit
	commit=$(git -C "$ROOT" describe --always --dirty --abbrev=12 --exclude '*' 2>/dev/null || echo unknown)
	jq -n --arg topology "$1" --arg accelerator "$2" --arg commit "$commit" \
		--arg kernel_version "$(kernel_version <"$BUILD/linux/plain/Makefile")" \
		--arg date "$(date -u +%Y-%m-%dT%H:%M:%SZ)" \
		--arg cpu "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n1)" --arg cpus "$(nproc)" \
		'{$kernel_version, $topology, $accelerator, $date, $commit, machine: {cpu_model: $cpu, cpus: ($cpus | tonumber)}}'
}
