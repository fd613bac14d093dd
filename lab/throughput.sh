#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# throughput.sh [options]: measures move_pages(2) between nodes 0 and 1. Boots stock once and lifted once, and leaves a
# table and build/results/throughput.json. Its options are those of ./run bench throughput, and --main: what the
# main job measures in place of the full matrix.
set -euo pipefail
# shellcheck source=lab/lib.sh
. "$(dirname "$0")/lib.sh"

usage() {
	cat <<'USAGE'
./run bench throughput [options]: GB/s of move_pages(2), every engine beside the stock kernel
  --runs N             runs of each (3)
  --topology NAME      (numa2)
  --engine NAME[:N]    only this engine, with N threads or channels (may be repeated)
  --direction D        push, pull or both: whose CPUs copy, the source node's or the destination's (both)
  --busy               with a real-time task on every CPU but the caller's: mt must cost no more than cpu then
  --sizes LIST         "4k 512,4096;2m 1,8": pages of 4 KB and of 2 MB to move at a time
USAGE
}
runs='' topology=numa2 engines=() only_check=0 directions='' sizes='' main=0 busy=0
while [ $# -gt 0 ]; do
	case $1 in
	--runs | --topology | --engine | --direction | --sizes) [ $# -ge 2 ] || usage_die "bench throughput: $1 wants a value." ;;
	esac
	case $1 in
	--runs) runs=$2; shift ;;
	--topology) topology=$2; shift ;;
	--engine) engines+=("$2"); shift ;;
	--direction) directions=$2; shift ;;
	--sizes) sizes=$2; shift ;;
	--main) main=1 ;;
	--busy) busy=1 ;;
	--check) only_check=1 ;;
	-h | --help) usage; exit 0 ;;
	*) usage_die "bench throughput: unknown argument '$1'; lab/throughput.sh --help lists them." ;;
	esac
	shift
done
if [ $main = 1 ]; then
	: "${runs:=5}" "${directions:=push}"
	[ ${#engines[@]} -gt 0 ] || engines=(none cpu mt:2)
else
	: "${runs:=3}" "${directions:=both}"
	if [ ${#engines[@]} -gt 0 ]; then
		:
	elif [ $busy = 1 ]; then
		# dma is left out: the provider's own threads would wait for a CPU
		engines=(none cpu mt:2 mt:8)
	else
		engines=(none cpu mt:1 mt:2 mt:4 mt:8 mt:16 mt:32 dma:1 dma:2 dma:4 dma:8 auto)
	fi
fi
: "${sizes:=4k 512,4096,16384;2m 1,8,32}"
[[ $runs =~ ^[1-9][0-9]{0,2}$ ]] || usage_die "bench throughput: --runs wants a number from 1 to 999, not '$runs'."
[[ $directions =~ ^(push|pull|both)$ ]] || usage_die "bench throughput: --direction wants push, pull or both, not '$directions'."
[[ $sizes =~ ^(4k|2m)\ [1-9][0-9]*(,[1-9][0-9]*)*(;(4k|2m)\ [1-9][0-9]*(,[1-9][0-9]*)*)*$ ]] ||
	usage_die "bench throughput: --sizes wants a list like '4k 512,4096;2m 1,8', not '$sizes'."
check_topology "$topology" x86_64
for engine in "${engines[@]}"; do check_engine "$engine"; done
[ "$only_check" = 0 ] || exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
guest() { # KERNEL ENGINE...
	local kernel=$1 status=0
	shift
	LAB_PREALLOC=1 "$ROOT/lab/boot.sh" --kernel "$kernel" --topology "$topology" --timeout $((240 + runs * 120 * $#)) --out "$work" \
		-- sh /lab/throughput.sh "$runs" "$directions" "$sizes" $busy "$@" >&2 || status=$?
	[ "$status" = 0 ] || die "the $kernel kernel's measurement failed (status $status); what it said is above."
}
guest stock none
guest lifted "${engines[@]}"

rows=$work/throughput.jsonl
results=$BUILD/results/throughput.json
accel=$(jq -rs '.[0].accelerator' "$rows")
mkdir -p "$BUILD/results"
jq -s --argjson env "$(environment "$topology" "$accel")" '$env + {rows: map(del(.accelerator))}' "$rows" >"$results.new"
mv "$results.new" "$results"

# A table for each direction and figure: rows are what was moved, columns the engines.
table() { # FIGURE DIRECTION TITLE
	jq -r --arg f "$1" --arg d "$2" '.rows[] | select(.direction == $d) |
		[.kernel, .engine, .threads, .page_size, .pages, .[$f], if $f == "gbps_mean" then .gbps_sd else 0 end] | @tsv' "$results" |
		awk -F '\t' -v title="$3" -v figure="$1" '
		{
			c = $1 == "stock" ? "stock" : $2 == "none" ? "off" : $2 == "mt" || $2 == "dma" ? $2 ":" $3 : $2
			r = $4 == 4096 ? sprintf("%6d x 4 KB", $5) : sprintf("%6d x 2 MB", $5 / 512)
			if (!(c in seen)) { seen[c] = 1; cols[++nc] = c }
			if (!(r in line)) { line[r] = 1; rows[++nr] = r }
			mean[r, c] = $6; sd[r, c] = $7
			if ($6 > 0) any = 1
		}
		END {
			if (!any) exit
			base = figure ~ /^gbps/ ? "stock" : "cpu"
			printf "\n%s\n", title
			for (from = 1; from <= nc; from += 5) {
				printf "%13s", "pages moved"
				for (i = from; i <= nc && i < from + 5; i++) printf "   %-21s", cols[i]
				printf "\n"
				for (j = 1; j <= nr; j++) {
					r = rows[j]
					printf "%13s", r
					for (i = from; i <= nc && i < from + 5; i++) {
						c = cols[i]
						ratio = c != base && mean[r, base] > 0 && mean[r, c] > 0 ? sprintf("%5.2fx", mean[r, c] / mean[r, base]) : "      "
						if (!mean[r, c]) printf "   %6s          %s ", "-", ratio
						else if (figure == "gbps_mean") printf "   %6.3f +-%5.3f %s", mean[r, c], sd[r, c], ratio
						else printf "   %6.3f        %s", mean[r, c], ratio
					}
					printf "\n"
				}
			}
		}' | sed 's/ *$//'
}
for direction in push pull; do
	table gbps_mean $direction "GB/s of the whole call, $direction, and the ratio to stock"
	table gbps_best $direction "GB/s of the whole call, $direction, the best run, and the ratio to stock"
	table copy_gbps_best $direction "GB/s of the copy stage alone, $direction, the best run, and the ratio to cpu"
done
cat <<NOTE

move_pages(2) from node 0 to node 1: mean +- standard deviation of $runs runs. push: the copying CPUs are those of node 0,
pull: those of node 1. Every page's status, node and contents were checked after each move.
NOTE
if [ "$accel" = tcg ]; then
	cat <<'NOTE'
This guest was emulated in software: its times compare kernels with each other roughly and say nothing of the speed of
a real machine. Whatever else the host does only makes a run slower, so the best runs say more of what runs in parallel
than the means do. Exact figures, in instructions per page: ./run profile.
NOTE
	if [[ " ${engines[*]}" == *\ dma* ]]; then
		echo "Engine dma used the software provider, whose threads copy on the same CPUs: it shows that the path works, no speed."
	fi
fi
say "results: $(rel "$results")"
