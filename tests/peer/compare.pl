#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0
# compare.pl LIST WANTED OUT COMMIT WHOLE JSON: from what the guests left in OUT/stock and OUT/lifted, one line
# of TAP a test on standard output, and JSON. LIST has all tests, WANTED those that ran; WHOLE: it was no selection.
#
# A test passes on lifted if it, and each of its cases, does at least as well as on stock. Failing on both is TODO
# in TAP's sense: shown, not counted. A skip on both is a skip.
use strict;
use warnings;
use JSON::PP;

my ($list, $wanted, $out, $commit, $whole, $json) = @ARGV;

sub lines {
	my ($file) = @_;
	open(my $h, '<', $file) or return ();
	my @l = <$h>;
	s/\r?\n$// for @l;
	return @l;
}

# The cases of a test, in the order of their appearance: [name, ok|skip|fail].
sub cases {
	my @cases;
	my $open = 0;
	for (@_) {
		s/\e\[\d*m//g;
		if (/^(not )?ok\s+(\d+)\s*(?:- )?(.*)/) {
			my ($not, $n, $text) = ($1, $2, $3);
			my $skip = $text =~ s/#\s*SKIP\s*//i;
			push @cases, ["$n $text", $skip ? 'skip' : $not ? 'fail' : 'ok'];
		} elsif (/^Testing (.*)\.\.\. (done|skipped|failed)/) { # uffd-unit-tests
			push @cases, [$1, { done => 'ok', skipped => 'skip', failed => 'fail' }->{$2}];
		} elsif (/^Run test: (.*)/) { # khugepaged: several lines a case, any of which may fail
			push @cases, [$1, 'ok'];
			$open = 1;
		} elsif ($open && /\.\s*Fail$/) {
			$cases[-1][1] = 'fail';
		} elsif ($open && /\.\s*Skip$/) {
			$cases[-1][1] = 'skip' unless $cases[-1][1] eq 'fail';
		}
	}
	return \@cases;
}

sub load {
	my ($dir) = @_;
	my %of;
	my %report = map { $_ => 1 } lines("$dir/reports");
	for (lines("$dir/results")) {
		my ($name, $status, $seconds, $migrated, $copied) = split;
		my @log = lines("$dir/$name.log");
		my $cases = cases(@log);
		my %n = (ok => 0, skip => 0, fail => 0);
		$n{ $_->[1] }++ for @$cases;
		my ($why) = map { /skip(?:ped|ping)?\W*(?:reason: )?(.*?)\]?$/i && $1 ? $1 : () } grep { !/Totals/ } @log;
		my $r = { seconds => $seconds + 0, migrated => $migrated + 0, cases => $cases, n => \%n };
		$r->{copied} = $copied if $copied ne '-';
		if ($status eq 'died') {
			@$r{qw(result why)} = ('fail', 'the guest died');
		} elsif ($report{$name}) {
			@$r{qw(result why)} = ('fail', 'a report in the kernel log');
		} elsif ($status == 124) {
			@$r{qw(result why)} = ('fail', 'timed out');
		} elsif ($status == 4 && !$n{fail}) { # khugepaged's status is its number of failures
			@$r{qw(result why)} = ('skip', $why // 'it says no more');
		} elsif ($status != 0) {
			@$r{qw(result why)} = ('fail', $n{fail} ? "$n{fail} cases" : "status $status");
		} elsif (!$n{ok} && ($n{skip} || grep { /^# Totals: pass:0 fail:0 xfail:0 xpass:0/ } @log)) {
			@$r{qw(result why)} = ('skip', $why // 'it ran no case');
		} else {
			$r->{result} = 'pass';
		}
		$of{$name} = $r;
	}
	return \%of;
}

my %kernel = map { $_ => load("$out/$_") } qw(stock lifted);
my (@tap, @rows, %count, $copied, $bad);

sub line {
	my ($ok, $name, $note) = @_;
	$note =~ s/#//g;
	$bad++ if $ok ne 'ok' && $note !~ /^TODO/;
	push @tap, sprintf("%s %d - %s # %s", $ok, @tap + 1, $name, $note);
}

for (lines($wanted)) {
	my ($name) = split;
	my ($s, $l) = map { $kernel{$_}{$name} // { result => 'none', why => 'not reached', cases => [], n => {} } } qw(stock lifted);
	my ($sr, $lr) = ($s->{result}, $l->{result});
	$count{stock}{$sr}++;
	$count{lifted}{$lr}++;
	$copied += $l->{copied} // 0;
	push @rows, { test => $name, stock => $sr, lifted => $lr,
		map { my $r = $_; map { ("$_->[0]_seconds" => $_->[1]{seconds}, "$_->[0]_cases" => $_->[1]{n},
			"$_->[0]_migrated_pages" => $_->[1]{migrated}) } $r }
			(['stock', $s], ['lifted', $l]) };
	$rows[-1]{lifted_copied_folios} = $l->{copied} + 0 if defined $l->{copied};

	# the cases that stock passes and lifted does not: by name and how often the name came before
	my (%have, %seen, @lost);
	$have{ $_->[0] . "\0" . $seen{ $_->[0] }++ } = $_->[1] for @{ $l->{cases} };
	%seen = ();
	for (@{ $s->{cases} }) {
		my $key = $_->[0] . "\0" . $seen{ $_->[0] }++;
		push @lost, $_->[0] if $_->[1] eq 'ok' && ($have{$key} // 'none') ne 'ok';
	}
	my $both = "stock $sr, lifted $lr";
	$both .= ", $s->{n}{ok} and $l->{n}{ok} cases" if ($s->{n}{ok} // 0) + ($l->{n}{ok} // 0) > 1;
	$both .= ", $s->{migrated} and $l->{migrated} pages migrated" if ($s->{migrated} // 0) + ($l->{migrated} // 0);
	$both .= ", $l->{copied} folios copied in batches" if $l->{copied};
	if ($sr eq 'none' || $lr eq 'none') {
		line('not ok', $name, $both);
	} elsif (@lost && !($sr eq 'skip' && $lr eq 'skip')) {
		line('not ok', $name, "$both; stock passes and lifted does not: " . join('; ', @lost[0 .. ($#lost < 4 ? $#lost : 4)]) .
			(@lost > 5 ? ' ...' : ''));
	} elsif ($lr eq 'pass') {
		line('ok', $name, $both . ($sr eq 'pass' ? '' : " ($s->{why})"));
	} elsif ($sr eq 'skip' && $lr eq 'skip') {
		line('ok', $name, "SKIP on both: $l->{why}");
	} elsif ($sr eq 'fail' && $lr eq 'fail') {
		line('not ok', $name, "TODO $both: $s->{why}; $l->{why}");
	} else {
		line('not ok', $name, "$both: $l->{why}");
	}
}
if ($whole) {
	if ($copied) {
		line('ok', 'the copy stage took part', "$copied folios copied in batches on lifted");
	} else {
		line('not ok', 'the copy stage took part', 'the engine copied no folio on lifted, so nothing was tested');
	}
}
print "TAP version 13\n1..", scalar @tap, "\n";
print "$_\n" for @tap;
for my $k (qw(stock lifted)) {
	print "# $k: ", join(', ', map { ($count{$k}{$_} // 0) . " $_" } qw(pass skip fail)), "\n";
}
for (lines($list)) {
	my ($name, $when, $s, $h, @why) = split;
	print "# not run: $name: @why\n" if $when eq 'off';
}

my %env = map { split ' ', $_, 2 } lines("$out/lifted/environment");
my ($sec, $min, $hour, $day, $mon, $year) = gmtime;
open(my $h, '>', "$json.new") or die "$json.new: $!\n";
print $h JSON::PP->new->canonical->pretty->encode({
	rows => \@rows, counts => \%count, commit => $commit, %env,
	date => sprintf('%04d-%02d-%02dT%02d:%02d:%02dZ', $year + 1900, $mon + 1, $day, $hour, $min, $sec),
});
close $h;
rename "$json.new", $json;
