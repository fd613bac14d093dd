#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# profile.sh: instructions per page of move_pages(2), by kernel function. --help tells its options.
#
# How it is measured. Each kernel boots under -icount with the plugin lab/plugin/insnprof.c, which counts the
# instructions that all CPUs execute between two marks; tools/moveonce.c sets the marks around one move_pages() call,
# so boot, set-up and checks are not in the figures. For each number of pages a call is made several times, after a
# few that are not counted, and the median stands for it (attribute.pl says more). What a page costs is the difference of two calls that moved
# different numbers, divided by the difference of the numbers: so the fixed cost of a call cancels too.
# What would make two equal runs differ is switched off: address space randomisation, the rounds of automatic NUMA
# balancing, the timer that trims the page allocator's per-CPU lists (vm.stat_interval), and the choice of a CPU for
# RCU's threads, which every move_pages() call waits for: they stay on the CPU that moves. Timer ticks are counted
# (about 0.2 %).
set -euo pipefail
# shellcheck source=lab/lib.sh
. "$(dirname "$0")/lib.sh"

usage() {
	cat <<'USAGE'
./run profile [options]: instructions per page of move_pages(2), by kernel function, kernels side by side
  --quick              4 KB pages and totals only, one boot of each
  --variants LIST      what to compare, the first is what the others are compared with: a kernel, and after a colon the
                       engine (stock,lifted,lifted:cpu,lifted:mt:1); without an engine foliolift is switched off. The arm64 kernel is
                       profiled on the machine with DMA channels: arm64,arm64:cpu
  --kernel NAME=DIR    take that kernel from a build directory (may be repeated)
  --boots N            boots of each variant (2)
  --jobs N             boots at a time (as many as there are CPUs)
  --topology NAME      a topology whose nodes 0 and 1 have memory (numa2; of arm64 arm64-dma)
  --top N              functions in a table (30)
  --out FILE           the results (build/results/instructions.json)
  --check              only look whether the options are right, and tell which of the lab's kernels are wanted
USAGE
}

quick=0 variants='' boots='' jobs=$(nproc) topology='' top=30 results=$BUILD/results/instructions.json only_check=0
declare -A objects=()
while [ $# -gt 0 ]; do
	case $1 in
	--variants | --kernel | --boots | --jobs | --topology | --top | --out)
		[ $# -ge 2 ] || usage_die "profile: $1 wants a value." ;;
	esac
	case $1 in
	--quick) quick=1 ;;
	--variants) variants=$2; shift ;;
	--kernel)
		[[ $2 == ?*=?* ]] || usage_die "profile: --kernel wants NAME=DIR, not '$2'."
		[ -f "${2#*=}/System.map" ] || usage_die "profile: ${2#*=} has no System.map; --kernel wants the directory of a built kernel."
		objects[${2%%=*}]=$(realpath "${2#*=}")
		shift
		;;
	--boots) boots=$2; shift ;;
	--jobs) jobs=$2; shift ;;
	--topology) topology=$2; shift ;;
	--top) top=$2; shift ;;
	--out) results=$2; shift ;;
	--check) only_check=1 ;;
	-h | --help) usage; exit 0 ;;
	*) usage_die "profile: unknown option '$1'; lab/profile.sh --help lists them." ;;
	esac
	shift
done
[ -n "$boots" ] || boots=$((quick ? 1 : 2))
for number in "boots $boots" "jobs $jobs" "top $top"; do
	[[ ${number#* } =~ ^[1-9][0-9]{0,2}$ ]] || usage_die "profile: --${number% *} wants a number from 1 to 999, not '${number#* }'."
done
[ -z "$topology" ] || check_topology "$topology"
IFS=, read -ra variants <<<"${variants:-stock,lifted,lifted:cpu,lifted:mt:1}"
[ ${#variants[@]} -gt 0 ] || usage_die "profile: --variants wants at least one kernel."
wanted=() arch=''
for variant in "${variants[@]}"; do
	name=${variant%%:*}
	if [ -z "${objects[$name]-}" ]; then
		[[ " $KERNELS " == *" $name "* ]] || usage_die "profile: unknown kernel '$name'; known are ${KERNELS// /, } and those of --kernel NAME=DIR."
		objects[$name]=$BUILD/kernel/$name
	fi
	[[ ${objects[$name]} != "$BUILD/kernel/$name" || " ${wanted[*]} " == *" $name "* ]] || wanted+=("$name")
	of=x86_64
	[ "$name" != arm64 ] && [ ! -d "${objects[$name]}/arch/arm64" ] || of=arm64
	[ "${arch:=$of}" = "$of" ] || usage_die "profile: instructions of $arch and $of kernels cannot be compared; profile them one after the other."
	[[ $variant == *:* ]] || continue
	check_engine "${variant#*:}"
	[ "$name" != stock ] || [ "${variant#*:}" = none ] || usage_die "profile: the stock kernel has no engines."
done
programs=build/guest/bin
if [ "$arch" = arm64 ]; then
	: "${topology:=arm64-dma}"
	programs=build/guest/arm64/bin
fi
: "${topology:=numa2}"
check_topology "$topology" "$arch"
if [ "$only_check" = 1 ]; then
	echo "${wanted[@]}"
	exit 0
fi
for variant in "${variants[@]}"; do
	[ -f "${objects[${variant%%:*}]}/System.map" ] || die "there is no built kernel '${variant%%:*}'; build it with ./run kernel ${variant%%:*}."
done

# ---- what is built
mkdir -p "$BUILD/log" "$(dirname "$results")"
plugin=$("$ROOT/lab/plugin/build.sh")
make -s -C "$ROOT" $programs/moveonce || die "tools/moveonce.c does not compile; the compiler's messages are above."

work=$(mktemp -d "${TMPDIR:-/tmp}/foliolift-profile.XXXXXX")
pids=()
# shellcheck disable=SC2317 # called by the traps
finish() {
	local pid
	for pid in "${pids[@]}"; do kill "$pid" && wait "$pid"; done 2>/dev/null || true
	rm -rf "$work"
}
trap finish EXIT
trap 'say "foliolift: stopped."; exit 130' INT
trap 'say "foliolift: stopped."; exit 143' TERM HUP

# ---- what runs in a guest: moveonce's lines are kept until all windows are over, or the serial port's interrupts
# would be counted. Each line: folios, calls before, calls counted.
moves() {
	if [ "$quick" = 1 ]; then
		set -- '4k 1 4 31' '4k 512 2 3' '4k 8192 2 3'
	else
		set -- '4k 1 4 31' '4k 8 4 15' '4k 512 2 7' '4k 8192 2 3' '4k 32768 2 2' \
			'2m 1 2 8' '2m 8 1 4' '2m 32 1 3'
	fi
	local words
	for words; do
		read -ra words <<<"$words"
		echo "moveonce --page-size ${words[0]} --folios ${words[1]} --warm-up ${words[2]} --repeat ${words[3]} >>/tmp/windows"
	done
}
guest_script() { # ENGINE
	cat <<-SCRIPT
		set -e
		. /lab/knobs.sh
		if [ $1 = none ]; then lift_off; else set_engine $1; fi
		[ ! -e /proc/sys/kernel/numa_balancing ] || echo 0 >/proc/sys/kernel/numa_balancing
		echo 3600 >/proc/sys/vm/stat_interval
		for task in /proc/[0-9]*; do
			case \$(cat \$task/comm) in rcu*) taskset -p 1 \${task#/proc/} >/dev/null || true ;; esac
		done
		$(moves)
		echo "kernel_version \$(uname -r)"
		cat /tmp/windows
	SCRIPT
}
boot() { # NAME KERNEL ENGINE INIT_ON_ALLOC; becomes boot.sh, so that its process can be ended
	local map=${objects[$2]}/System.map text
	text=$(awk '$3 == "_text" { from = $1 } $3 == "_end" { to = $1 } END { print from "-" to }' "$map")
	exec "$ROOT/lab/boot.sh" --kernel "${objects[$2]}" --topology "$topology" --icount --plugin "$plugin,out=$work/$1.prof,text=$text" \
		--append "norandmaps init_on_alloc=$4" --timeout 1200 --out "$work" --log "$BUILD/log/profile-$1.log" \
		-- "$(guest_script "$3")" >"$work/$1.out" 2>"$work/$1.err"
}

# ---- all boots, several at a time
plan=() start=$SECONDS done=0
for ((n = 1; n <= boots; n++)); do
	for variant in "${variants[@]}"; do
		for init in 0 1; do
			engine=none
			[[ $variant != *:* ]] || engine=${variant#*:}
			plan+=("${variant%%:*}-$engine-$init-$n ${variant%%:*} $engine $init")
		done
	done
done
say "profile: ${#plan[@]} boots of $(commas "${variants[@]}"), $jobs at a time"
declare -A name_of=()
await_one() {
	local pid status=0 name
	wait -n -p pid "${pids[@]}" || status=$?
	name=${name_of[$pid]}
	unset "pids[$pid]"
	if [ "$status" != 0 ]; then
		cat "$work/$name.err" "$work/$name.out" >&2
		die "the profile boot $name failed (status $status); what it said is above, its console is in build/log/profile-$name.log."
	fi
	done=$((done + 1))
	say "profile: $done of ${#plan[@]} boots, $name, $(elapsed "$start")"
}
for entry in "${plan[@]}"; do
	[ ${#pids[@]} -lt "$jobs" ] || await_one
	read -ra words <<<"$entry"
	boot "${words[@]}" &
	pids[$!]=$!
	name_of[$!]=${words[0]}
	printf '%s\t%s\t%s\t%s\t%s\t%s\n' "${words[@]:1}" "$work/${words[0]}.prof" "$work/${words[0]}.out" "${objects[${words[1]}]}/System.map" >>"$work/boots"
done
while [ ${#pids[@]} -gt 0 ]; do await_one; done

# ---- the results
"$ROOT/lab/plugin/attribute.pl" "$work/boots" >"$work/rows.json"
version=$(awk '$1 == "kernel_version" { print $2; exit }' "$work"/*.out)
method='instructions executed by all CPUs between two marks around move_pages(2), counted by a TCG plugin under -icount;
each call several times after some uncounted ones, the median taken, below 64 pages the least; measure "difference": (call with more pages - call
with fewer) / difference of pages, "call": a whole call; pages are of 4 KB, also those of 2 MB pages; copy: the functions
that move bytes, with one instruction per byte (rep movsb); serial: all but the copy, so with the zeroing; cpu_copy: copy and the functions around it that only engine cpu runs;
copy_left: what another engine leaves of that to the CPUs'
jq --argjson env "$(environment "$topology" tcg)" --arg version "$version" --arg method "${method//$'\n'/ }" --arg boots "$boots" \
	'$env + {kernel_version: $version, $method, boots: ($boots | tonumber)} + .' "$work/rows.json" >"$work/results.json"
mv "$work/results.json" "$results"
if [ "$quick" = 1 ]; then top=0; fi
"$ROOT/lab/plugin/report.pl" --top "$top" "$results"
say "results: $(rel "$results"), $(elapsed "$start")"
