#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# dma-cost.sh: what one transfer costs the CPUs of the arm64 machine, in instructions, by kernel function.
#
# dmatest makes transfers one by one, on channels that see the CPU's caches and on channels that do not; the profile
# plugin counts (profile.sh tells how). A transfer is the difference of two runs, so that what a run costs cancels. What
# dmatest itself does for each is in it, and an interrupt for each: an engine that hands over many at a time has less.
set -euo pipefail
# shellcheck source=lab/lib.sh
. "$(dirname "$0")/lib.sh"

[ $# = 0 ] || usage_die "dma-cost takes no argument, not '$1'."
map=$BUILD/kernel/arm64/System.map
[ -f "$map" ] || die "there is no built kernel 'arm64'; build it with ./run kernel arm64."
plugin=$("$ROOT/lab/plugin/build.sh")
make -s -C "$ROOT" build/guest/arm64/bin/window || die "tools/window.c does not compile; the compiler's messages are above."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
results=$BUILD/results/dma-cost.json
mkdir -p "$BUILD/results"
text=$(awk '$3 == "_text" { from = $1 } $3 == "_end" { to = $1 } END { print from "-" to }' "$map")

for topology in arm64-dma arm64-dma-noncoherent; do
	status=0
	"$ROOT/lab/boot.sh" --kernel arm64 --topology $topology --icount --plugin "$plugin,out=$work/$topology,text=$text" \
		--append norandmaps --timeout 600 --out "$work" -- sh /lab/dma-cost.sh >&2 || status=$?
	[ $status = 0 ] || die "the transfers on $topology failed (status $status); what the guest said is above."
	for size in "4096 1 2 1000" "2097152 3 4 200"; do
		read -ra words <<<"$size"
		"$ROOT/lab/plugin/attribute.pl" --difference "$work/$topology" "$map" "${words[@]:1}" |
			sed "s/^/$topology ${words[0]} /" >>"$work/counts"
	done
done

awk '{
	what = "interrupt, tasklet, waiting, dmatest"
	if ($4 == "(total)") what = "total"
	else if ($4 ~ /^dcache_/) what = "cache maintenance"
	else if ($4 ~ /^dma_(un)?map_/) what = "dma_map and dma_unmap"
	else if ($4 ~ /^zynqmp_/) what = "the driver, zynqmp_dma"
	sum[$1 "\t" $2 "\t" what] += $3
} END { for (key in sum) print key "\t" sum[key] }' "$work/counts" | sort | jq -R -s --argjson env "$(environment arm64-dma tcg)" '
	$env + {measure: "instructions of one transfer by dmatest, all CPUs, under -icount"} + {
		rows: [split("\n")[] | select(. != "") | split("\t") |
			{topology: .[0], bytes: (.[1] | tonumber), part: .[2], instructions: (.[3] | tonumber)}]}' >"$results.new"
mv "$results.new" "$results"
jq -r '.rows[] | [.topology, .bytes, .part, .instructions] | @tsv' "$results" | awk -F '\t' '
	BEGIN { printf "%-40s %12s %12s %12s %12s\n%-40s %25s %25s\n", "instructions of one transfer", "4 KB", "2 MB", "4 KB", "2 MB",
			"", "coherent", "not coherent" }
	{ n[$3, $1, $2] = $4; parts[$3] }
	END {
		for (p in parts)
			if (p != "total") order[++k] = p
		order[++k] = "total"
		for (i = 1; i <= k; i++)
			printf "%-40s %12.0f %12.0f %12.0f %12.0f\n", order[i], n[order[i], "arm64-dma", 4096], n[order[i], "arm64-dma", 2097152],
				n[order[i], "arm64-dma-noncoherent", 4096], n[order[i], "arm64-dma-noncoherent", 2097152]
	}'
say "results: $(rel "$results")"
