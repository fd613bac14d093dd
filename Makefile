# SPDX-License-Identifier: GPL-2.0
# What ./run calls. Incremental: a target with nothing to do costs next to nothing.
B := build/guest/bin
CFLAGS := -O2 -Wall -Wextra -static -s -pthread -Itests/guest/lib
sources := $(wildcard tools/*.c tests/guest/*.c)
programs := $(addprefix $(B)/,$(notdir $(sources:.c=)))
vpath %.c tools tests/guest

# static programs for the guest
guest: $(programs)

$(B)/%: %.c $(wildcard tests/guest/*.h tests/guest/lib/*.h) lab/plugin/mark.h tools/options.h
	@mkdir -p $(B) build/guest/tmp
	gcc $(CFLAGS) -o build/guest/tmp/$*.$$$$ $< -lm && mv build/guest/tmp/$*.$$$$ $@

# outside the emulator: the copy speed of this machine
copyspeed: $(B)/copyspeed
	$<

stock lifted debug:
	lab/unpack.sh
	lab/kernel.sh $@

clean:
	rm -rf build

.PHONY: guest copyspeed stock lifted debug clean
.DELETE_ON_ERROR:
