#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# log-check.sh FILE: prints what a kernel log reports (bugs, warnings, lockdep, sanitizers, stalls) with the
# lines that follow, and ends with 1 if there is anything. Nothing is allowed through at present; a line that
# truly must be goes into `allowed`, with its reason.
set -euo pipefail

bad='BUG[: ]|WARNING: |Oops|Kernel panic|general protection|KASAN|KFENCE|KCSAN|UBSAN|kmemleak:'
bad+='|INFO: (possible|task|rcu|suspicious|trying|inconsistent|lockdep)|rcu: INFO|detected .*stalls?|soft lockup'
bad+='|possible (circular|recursive|irq) |suspicious RCU|sleeping function|scheduling while atomic'
bad+='|refcount_t: |list_(add|del) corruption|Bad page state|Bad rss-counter|ODEBUG:|unable to handle'
allowed='^$'

tr -d '\r' <"$1" | awk -v bad="$bad" -v allowed="$allowed" '
	$0 ~ bad && $0 !~ allowed { found++; if (left < 40) left = 40 }
	left > 0 { if (shown++ < 200) print; left-- }
	END { exit found > 0 }'
