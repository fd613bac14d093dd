#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0
# attribute.pl BOOTS: turns what insnprof counted into rows, {"rows": [...], "functions": [...]} on standard output.
# attribute.pl --difference PROFILE MAP FROM TO DIVISOR: only one profile's window TO less its window FROM, divided by
# DIVISOR, by function.
#
# BOOTS has a line for each boot of a guest, separated by tabs:
#	kernel  engine  init_on_alloc  insnprof's file  moveonce's output  System.map
# The k-th window of insnprof's file is the k-th line of moveonce's output. Several boots with the same first three
# fields are repetitions. Of the windows that moved the same one stands for all: the one with the median total, or, of
# calls that moved few pages, the one with the least. A small call mostly waits for other CPUs (it has every CPU drain
# its lists), and whether the scheduler runs a thread once more for that, or a timer ticks, is a matter of chance that
# can outweigh what is looked for; the least is the call into which nothing else fell.
use strict;
use warnings;
use JSON::PP;
use List::Util qw(max min sum0);

# The functions that move or clear a page's bytes. An engine that copies with one of its own: a word more.
my $copies = qr/^(?:copy_mc_enhanced_fast_string|copy_mc_fragile|copy_page|copy_page_regs)$/;
my $clears = qr/^(?:clear_page_erms|clear_page_rep|clear_page_orig|clear_page)$/;
# What engine cpu does for the sake of the copy, and an engine that copies otherwise does not; and what it runs through
# once a page on top of that, to let others run.
my $by_cpu = qr/^(?:copy_highpage|folio_copy|folio_mc_copy|foliolift_cpu_copy)$/;
my @yield = ('__cond_resched', 'rcu_all_qs');
my $least = 0.05;    # instructions per page below which a function has no row
my $few = 64;        # pages of a small call

# ---- System.map: start addresses, ascending, and the function at each

sub symbols {
	my ($file) = @_;
	my (%name, @starts);
	open(my $map, '<', $file) or die "foliolift: cannot read $file: $!.\n";
	while (<$map>) {
		my ($addr, $type, $name) = split;
		# __pfx_ and __cfi_ are the padding before a function
		next if $type !~ /^[tTwW]$/ || $name =~ /^__(?:pfx|cfi)_/;
		# Of several names of one address the first that is not an internal alias. All parts of a function that the
		# compiler split or specialised are that function: so two kernels compare.
		$name =~ s/\.(?:part|isra|constprop|cold|llvm)\b.*//;
		$name{$addr} = $name if !defined $name{$addr} || ($name{$addr} =~ /^__/ && $name !~ /^__/);
	}
	@starts = sort { $a cmp $b } keys %name;    # 16 digits each
	die "foliolift: $file is no System.map.\n" unless @starts;
	return (\@starts, \%name);
}

# ---- insnprof's file: for each window its functions' counts

sub windows {
	my ($file, $map) = @_;
	my ($starts, $names) = symbols($map);
	my (@windows, $w, $i);
	open(my $profile, '<', $file) or die "foliolift: the plugin left no profile ($file: $!).\n";
	while (<$profile>) {
		my ($key, $n) = split;
		if ($key eq 'window') {
			$w = $windows[$n] = {};
			$i = 0;
		} elsif ($key =~ /^(?:kernel|user|total)$/) {
			$w->{"($key)"} = $n;
		} else {
			# both lists ascend
			$i++ while $i + 1 < @$starts && $starts->[$i + 1] le $key;
			my $name = $names->{$starts->[$i]};
			$w->{$name} += $n;
			$w->{"(calls)"} += $n if $name eq $yield[0] && $starts->[$i] eq $key;
		}
	}
	shift @windows;
	die "foliolift: $file ends in the middle of a window.\n" if !@windows || !exists $windows[-1]{'(total)'};
	return @windows;
}

if (@ARGV && $ARGV[0] eq '--difference') {
	@ARGV == 6 or die "usage: attribute.pl --difference PROFILE MAP FROM TO DIVISOR\n";
	my ($profile, $map, $from, $to, $by) = @ARGV[1 .. 5];
	my @windows = windows($profile, $map);
	die "foliolift: $profile has " . @windows . " windows, not $to.\n" if $to > @windows || $from < 1;
	my %n = %{$windows[$to - 1]};
	delete $n{'(calls)'};
	$n{$_} -= $windows[$from - 1]{$_} // 0 for keys %n;
	printf "%12.1f %s\n", $n{$_} / $by, $_ for grep { abs($n{$_}) >= $by } sort { $n{$b} <=> $n{$a} || $a cmp $b } keys %n;
	exit;
}

# ---- all boots: windows that moved the same, together

my (%groups, @order);
while (<>) {
	chomp;
	my ($kernel, $engine, $init, $profile, $output, $map) = split /\t/;
	my @windows = windows($profile, $map);
	open(my $lines, '<', $output) or die "foliolift: cannot read $output: $!.\n";
	while (<$lines>) {
		my ($size, $folios, $pages, $ns) = /^page_size=(\d+) folios=(\d+) pages=(\d+) ns=(\d+)$/ or next;
		my $w = shift @windows or die "foliolift: $profile has fewer windows than $output.\n";
		# With -icount the guest's clock counts the same instructions, and idle time besides.
		die "foliolift: the plugin counted $w->{'(total)'} instructions in $ns ns: do both run with -icount?\n"
			if $w->{'(total)'} > $ns;
		my $variant = join "\t", $kernel, $engine, $init;
		push @order, $variant unless $groups{$variant};
		push @{$groups{$variant}{$size}{$folios}{windows}}, $w;
		$groups{$variant}{$size}{$folios}{pages} = $pages;
	}
	die "foliolift: $profile has more windows than $output.\n" if @windows;
}

# ---- rows

my (@rows, @functions);

sub matching {
	my ($counts, $what) = @_;
	return sum0(map { $counts->{$_} } grep { /$what/ } keys %$counts);
}

sub row {
	my ($variant, $size, $pages, $counts, %more) = @_;
	my ($kernel, $engine, $init) = split /\t/, $variant;
	my %common = (
		kernel => $kernel, engine => $engine, init_on_alloc => $init + 0,
		page_size => $size + 0, pages => $pages + 0, measure => $more{measure},
	);
	my $total = $counts->{'(total)'};
	my ($copy, $zero) = (matching($counts, $copies), matching($counts, $clears));
	warn "foliolift: $kernel copies with a function that lab/plugin/attribute.pl does not know; its copy counts as serial.\n"
		if $engine eq 'none' && $copy < 64 * $pages;
	if ($engine eq 'cpu') {
		my $calls = $counts->{'(calls)'} // 0;
		my $yields = $calls > 0 ? $pages * sum0(map { $counts->{$_} // 0 } @yield) / $calls : 0;
		$more{cpu_copy_instructions_per_page} = 0 + sprintf '%.3f', ($copy + matching($counts, $by_cpu) + $yields) / $pages;
	}
	my $per_page = sub { 0 + sprintf '%.3f', $_[0] / $pages };
	push @rows, {
		%common, %more,
		folios => $pages * 4096 / $size,
		instructions => $total + 0,
		instructions_per_page => $per_page->($total),
		copy_instructions_per_page => $per_page->($copy),
		zero_instructions_per_page => $per_page->($zero),
		serial_instructions_per_page => $per_page->($total - $copy),
	};
	return if $more{measure} eq 'call' && $pages >= $few;    # the differences tell it better
	for (sort { $counts->{$b} <=> $counts->{$a} || $a cmp $b } keys %$counts) {
		next if $_ eq '(total)' || $_ eq '(calls)' || abs($counts->{$_}) < $least * $pages;
		my $name = { '(kernel)' => '(modules)', '(user)' => '(user space)' }->{$_} // $_;
		push @functions, { %common, function => $name, instructions_per_page => $per_page->($counts->{$_}) };
	}
}

for my $variant (@order) {
	for my $size (sort { $a <=> $b } keys %{$groups{$variant}}) {
		my $calls = $groups{$variant}{$size};
		my @counts = sort { $a <=> $b } keys %$calls;
		for my $call (@$calls{@counts}) {
			my @sorted = sort { $a->{'(total)'} <=> $b->{'(total)'} } @{$call->{windows}};
			my ($low, $median, $high) = map { $_->{'(total)'} } @sorted[0, $#sorted / 2, -1];
			$call->{chosen} = $sorted[$call->{pages} < $few ? 0 : $#sorted / 2];
			row($variant, $size, $call->{pages}, $call->{chosen}, measure => 'call', calls => scalar @sorted,
				least => $low + 0, median => $median + 0, most => $high + 0);
		}
		# what a page more costs, without what a call costs
		for (1 .. $#counts) {
			my ($fewer, $more) = @$calls{@counts[$_ - 1, $_]};
			next if $fewer->{pages} < 512 || $counts[$_ - 1] < 8;
			my %seen = (%{$fewer->{chosen}}, %{$more->{chosen}});
			my %difference = map { $_ => ($more->{chosen}{$_} // 0) - ($fewer->{chosen}{$_} // 0) } keys %seen;
			row($variant, $size, $more->{pages} - $fewer->{pages}, \%difference, measure => 'difference',
				pages_of_calls => [ $fewer->{pages} + 0, $more->{pages} + 0 ]);
		}
	}
}
# What other engines leave to the CPUs of what engine cpu does for the copy: all that a page costs with them, less all
# that it costs with cpu apart from the copy. So interrupts, waiting and descriptors are in it.
for my $row (grep { $_->{engine} !~ /^(?:none|cpu)$/ } @rows) {
	my ($cpu) = grep {
		my $other = $_;
		$other->{engine} eq 'cpu' && !grep { $other->{$_} ne $row->{$_} } qw(kernel init_on_alloc page_size pages measure)
	} @rows;
	next unless $cpu;
	my $copy = $cpu->{cpu_copy_instructions_per_page};
	my $left = $row->{instructions_per_page} - ($cpu->{instructions_per_page} - $copy);
	$row->{copy_left_instructions_per_page} = 0 + sprintf '%.3f', $left;
	$row->{copy_left_percent} = 0 + sprintf '%.2f', 100 * $left / $copy;
}
print JSON::PP->new->canonical->encode({ rows => \@rows, functions => \@functions }), "\n";
