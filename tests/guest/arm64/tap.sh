# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# TAP for the scripts of this directory, which source it:   . /lab/tap.sh; COMMAND; ok $? "NAME"; ...; end
n=0 failures=0
ok() { # STATUS NAME
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		failures=$((failures + 1))
		echo "not ok $n - $2"
	fi
}
end() {
	echo "1..$n"
	[ $failures = 0 ]
	exit
}
