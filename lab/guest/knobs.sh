#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Sourced by guest scripts: foliolift's knobs.   . /lab/knobs.sh; set_engine cpu; ...; lift_off

LIFT=/sys/kernel/mm/foliolift

has_lift() { [ -d $LIFT ]; }

need_lift() {
	has_lift || {
		echo "foliolift: this kernel has no $LIFT; it is not a foliolift kernel." >&2
		return 1
	}
}

# put FILE VALUE, and see that it reads back
put() {
	echo "$2" >"$1" 2>/dev/null || {
		echo "foliolift: $1 does not take '$2'." >&2
		return 1
	}
	[ "$(cat "$1")" = "$2" ] || {
		echo "foliolift: $1 reads '$(cat "$1")' after '$2' was written." >&2
		return 1
	}
}

# set_engine NAME[:N]: with so many threads (mt) or channels (dma); without N as the policy has it
set_engine() {
	name=${1%%:*} width=0
	[ "$name" = "$1" ] || width=${1#*:}
	need_lift || return 1
	[ "$name" != dma ] || load_dma || return 1
	case " $(cat $LIFT/available_engines) " in
	*" $name "*) ;;
	*)
		echo "foliolift: unknown engine '$name'; this kernel has: $(cat $LIFT/available_engines)." >&2
		return 1
		;;
	esac
	case $name in
	mt) put $LIFT/engines/mt/threads "$width" || return 1 ;;
	dma) put $LIFT/engines/dma/channels "$width" || return 1 ;;
	esac
	put $LIFT/engine "$name" && put $LIFT/enabled 1
}

# The DMA engine and, where no device has channels, the software provider with 8 of them.
load_dma() {
	dir=/lib/modules/foliolift
	[ ! -d $LIFT/engines/dma ] || return 0
	if [ -z "$(ls /sys/class/dma 2>/dev/null)" ]; then
		for m in "virt-dma" "softdma channels=8"; do
			# shellcheck disable=SC2086 # a module and its parameters
			[ -d "/sys/module/$(echo "${m%% *}" | tr - _)" ] || insmod "$dir/${m%% *}.ko" ${m#"${m%% *}"} || return 1
		done
	fi
	insmod $dir/foliolift_dma.ko
}

lift_off() { ! has_lift || put $LIFT/enabled 0; }

# engine_count ENGINE COUNTER: 0 where there is none
engine_count() { cat "$LIFT/engines/${1%%:*}/$2" 2>/dev/null || echo 0; }
