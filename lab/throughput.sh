#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# throughput.sh [--runs N] [--topology NAME] [--engine NAME]...: the main job's measurement. Boots stock once and
# lifted once, moves pages between nodes 0 and 1, and leaves a table and build/results/throughput.json.
set -euo pipefail
# shellcheck source=lab/lib.sh
. "$(dirname "$0")/lib.sh"

runs=5 topology=numa2 engines=() only_check=0
while [ $# -gt 0 ]; do
	case $1 in
	--runs | --topology | --engine) [ $# -ge 2 ] || usage_die "bench throughput: $1 wants a value." ;;
	esac
	case $1 in
	--runs) runs=$2; shift ;;
	--topology) topology=$2; shift ;;
	--engine) engines+=("$2"); shift ;;
	--check) only_check=1 ;;
	*) usage_die "bench throughput: unknown argument '$1'; known are --runs N, --topology NAME, --engine NAME." ;;
	esac
	shift
done
[[ $runs =~ ^[1-9][0-9]{0,2}$ ]] || usage_die "bench throughput: --runs wants a number from 1 to 999, not '$runs'."
check_topology "$topology"
[ ${#engines[@]} -gt 0 ] || engines=(none cpu)
for engine in "${engines[@]}"; do check_engine "$engine"; done
[ "$only_check" = 0 ] || exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
guest() { # KERNEL ENGINE...
	local kernel=$1 status=0
	shift
	"$ROOT/lab/boot.sh" --kernel "$kernel" --topology "$topology" --timeout $((240 + runs * 120)) --out "$work" \
		-- sh /lab/throughput.sh "$runs" "$@" >&2 || status=$?
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

jq -r '.rows[] | [.kernel, .engine, .page_size, .pages, .gbps_mean, .gbps_sd] | @tsv' "$results" | awk -F '\t' '
	function column(c) { return c == "stock" ? "stock" : c == "none" ? "lifted, off" : "lifted, " c }
	{
		c = $1 == "stock" ? "stock" : $2
		r = $3 == 4096 ? sprintf("%6d x 4 KB", $4) : sprintf("%6d x 2 MB", $4 / 512)
		if (!(c in seen)) { seen[c] = 1; cols[++nc] = c }
		if (!(r in line)) { line[r] = 1; rows[++nr] = r }
		mean[r, c] = $5; sd[r, c] = $6
	}
	END {
		printf "\n%13s", "pages moved"
		for (i = 1; i <= nc; i++) printf "   %-23s", column(cols[i])
		printf "\n"
		for (j = 1; j <= nr; j++) {
			r = rows[j]
			printf "%13s", r
			for (i = 1; i <= nc; i++) {
				c = cols[i]
				ratio = i > 1 && mean[r, "stock"] > 0 ? sprintf("%5.2fx", mean[r, c] / mean[r, "stock"]) : "      "
				printf "   %7.3f +-%6.3f %s ", mean[r, c], sd[r, c], ratio
			}
			printf "\n"
		}
	}' | sed 's/ *$//'
cat <<NOTE

GB/s of move_pages(2) from node 0 to node 1: mean +- standard deviation of $runs runs, and the ratio to stock.
Every page's status, node and contents were checked after each move.
NOTE
if [ "$accel" = tcg ]; then
	cat <<'NOTE'
This guest was emulated in software: its times compare kernels with each other roughly and say nothing of the speed of
a real machine. Exact figures, in instructions per page: ./run profile.
NOTE
fi
say "results: $(rel "$results")"
