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

set_engine() {
	need_lift || return 1
	case " $(cat $LIFT/available_engines) " in
	*" $1 "*) ;;
	*)
		echo "foliolift: unknown engine '$1'; this kernel has: $(cat $LIFT/available_engines)." >&2
		return 1
		;;
	esac
	put $LIFT/engine "$1" && put $LIFT/enabled 1
}

lift_off() { ! has_lift || put $LIFT/enabled 0; }

# engine_count ENGINE COUNTER: 0 where there is none
engine_count() { cat "$LIFT/engines/$1/$2" 2>/dev/null || echo 0; }
