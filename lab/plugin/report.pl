#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0
# report.pl [--top N] instructions.json: the profile as tables for people.
use strict;
use warnings;
use Getopt::Long;
use JSON::PP;
use List::Util qw(max);

my $top = 30;
GetOptions('top=i' => \$top) && @ARGV == 1 or die "usage: report.pl [--top N] instructions.json\n";
my $results = decode_json(do { local (@ARGV, $/) = @ARGV; <> });

# ---- a column for each kernel and engine, stock first

my (@columns, %title);
for (@{$results->{rows}}) {
	my $column = "$_->{kernel} $_->{engine}";
	next if $title{$column};
	$title{$column} = $_->{engine} ne 'none' ? "$_->{kernel}, $_->{engine}" : $_->{kernel} eq 'stock' ? 'stock' : "$_->{kernel}, off";
	push @columns, $column;
}
my $base = $columns[0];
my (%calls, %differences, %first, %functions);
for (@{$results->{rows}}) {
	my $column = "$_->{kernel} $_->{engine}";
	if ($_->{measure} eq 'call') {
		$calls{$_->{page_size}}{$_->{init_on_alloc}}{$_->{pages}}{$column} = $_;
	} else {
		$differences{$_->{page_size}}{$_->{pages_of_calls}[0]}{$_->{init_on_alloc}}{$column} = $_;
		$first{$_->{page_size}} //= $_;
	}
}
for (@{$results->{functions}}) {
	# the first difference of a size: there the page allocator's buddy lists add least noise
	next if $_->{measure} ne 'difference' || $_->{init_on_alloc} || $_->{pages} != $first{$_->{page_size}}{pages};
	$functions{$_->{page_size}}{$_->{function}}{"$_->{kernel} $_->{engine}"} = $_->{instructions_per_page};
}

sub heading {
	my ($label, $width) = @_;
	printf "%-${width}s %14s", $label, $title{$base};
	printf " %14s   /%s", $title{$_}, $title{$base} for @columns[1 .. $#columns];
	print "\n";
}

sub line {
	my ($label, $width, $digits, $cells) = @_;
	printf "%-${width}s", $label;
	for (@columns) {
		my $value = $cells->{$_};
		printf ' %14s', defined $value ? sprintf("%.${digits}f", $value) : '-';
		next if $_ eq $base;
		my $ratio = defined $value && $cells->{$base} ? sprintf('%.4f', $value / $cells->{$base}) : '-';
		printf ' %*s', length($title{$base}) + 3, $ratio;
	}
	print "\n";
}

sub cells {
	my ($rows, $field) = @_;
	return { map { $_ => $rows->{$_}{$field} } keys %$rows };
}

# ---- totals

my %size = (4096 => '4 KB pages', 2097152 => '2 MB pages');
sub interval { # "513-8192": from one call's number of pages to the next's
	my ($row) = @_;
	my ($from, $to) = map { $_ * 4096 / $row->{page_size} } @{$row->{pages_of_calls}};
	return $from + 1 . "-$to";
}

print "\nInstructions per 4 KB page of move_pages(2), the further pages of a call (difference of two calls)\n\n";
for my $bytes (sort { $a <=> $b } keys %differences) {
	for my $from (sort { $a <=> $b } keys %{$differences{$bytes}}) {
		for my $init (sort { $a <=> $b } keys %{$differences{$bytes}{$from}}) {
			my $rows = $differences{$bytes}{$from}{$init};
			heading("$size{$bytes} " . interval((values %$rows)[0]) . ", init_on_alloc=$init", 40);
			line('  total', 40, 1, cells($rows, 'instructions_per_page'));
			line('  the copy', 40, 1, cells($rows, 'copy_instructions_per_page'));
			line('  serial path (total - copy)', 40, 1, cells($rows, 'serial_instructions_per_page'));
			line('    of it zeroing', 40, 1, cells($rows, 'zero_instructions_per_page')) if $init;
			for my $column (@columns) {
				my $row = $rows->{$column};
				next unless $row && defined $row->{copy_left_percent};
				printf "  %s: %.1f instructions of the copy are left to the CPUs, %.2f %% of engine cpu's\n", $title{$column},
					$row->{copy_left_instructions_per_page}, $row->{copy_left_percent};
			}
			print "\n";
		}
	}
}

print "Instructions of a whole call (the median of several; of small calls the least)\n\n";
for my $bytes (sort { $a <=> $b } keys %calls) {
	for my $init (sort { $a <=> $b } keys %{$calls{$bytes}}) {
		heading("$size{$bytes}, init_on_alloc=$init", 40);
		for my $pages (sort { $a <=> $b } keys %{$calls{$bytes}{$init}}) {
			my $rows = $calls{$bytes}{$init}{$pages};
			my $folios = $pages * 4096 / $bytes;
			line("  $folios" . ($folios > 1 ? ' pages' : ' page'), 40, 0, cells($rows, 'instructions'));
			my ($any) = values %$rows;
			line('    median', 40, 0, cells($rows, 'median')) if $any->{instructions} != $any->{median};
		}
		print "\n";
	}
}

# ---- functions: those that cost stock most, then those whose cost changed most

sub breakdown {
	my ($heading, $table, @names) = @_;
	my $width = max(34, map { length } @names);
	heading($heading, $width);
	line($_, $width, 1, $table->{$_}) for @names;
	print "\n";
}

my %notable = (4096 => 1, 2097152 => 20);    # a change of so many instructions per page is worth a line
for my $bytes ($top ? sort { $a <=> $b } keys %functions : ()) {
	my $table = $functions{$bytes};
	for (values %$table) {
		$_ *= $bytes / 4096 for values %$_;    # per page of its size
	}
	my @costly = sort { ($table->{$b}{$base} // 0) <=> ($table->{$a}{$base} // 0) || $a cmp $b } keys %$table;
	splice @costly, $top if @costly > $top;
	my $what = "$size{$bytes} " . interval($first{$bytes}) . ', init_on_alloc=0';
	print "Instructions per page by function, $what: the $top that cost $title{$base} most\n\n";
	breakdown('function', $table, @costly);
	my $change = sub {
		my $f = $table->{$_[0]};
		return max(0, map { abs(($f->{$_} // 0) - ($f->{$base} // 0)) } @columns[1 .. $#columns]);
	};
	my @changed = grep { $change->($_) >= $notable{$bytes} } keys %$table;
	@changed = sort { $change->($b) <=> $change->($a) || $a cmp $b } @changed;
	splice @changed, $top if @changed > $top;
	next unless @changed;
	print "The same: those that differ most, by $notable{$bytes} or more\n\n";
	breakdown('function', $table, @changed);
}
