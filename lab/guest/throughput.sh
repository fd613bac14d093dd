#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# throughput.sh RUNS ENGINE...: in the guest; rows go to the host as throughput.jsonl. ENGINE none is foliolift off,
# and all a stock kernel can do.
set -e
# shellcheck source=lab/guest/knobs.sh
. /lab/knobs.sh
runs=$1
shift
[ "$LAB_KERNEL" = stock ] || need_lift
for engine; do
	if [ "$engine" = none ]; then lift_off; else set_engine "$engine"; fi
	before=$(engine_count "$engine" folios)
	for work in "4k 512,4096,16384" "2m 1,8,32"; do
		throughput --page-size "${work% *}" --pages "${work#* }" --from 0 --to 1 --runs "$runs" \
			--kernel "$LAB_KERNEL" --engine "$engine" --json >/tmp/rows
		sed "s/}\$/,\"accelerator\":\"$LAB_ACCEL\"}/" /tmp/rows | emit throughput.jsonl
		echo "$LAB_KERNEL kernel, engine $engine: ${work% *} pages done, every byte checked"
	done
	[ "$engine" = none ] || [ "$(engine_count "$engine" folios)" -gt "$before" ] || {
		echo "foliolift: engine $engine copied nothing, so nothing of it was measured." >&2
		exit 1
	}
done
