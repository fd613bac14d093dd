# SPDX-License-Identifier: GPL-2.0
# What ./run calls. Incremental: a target with nothing to do costs next to nothing.
B := build/guest/bin
CFLAGS := -O2 -Wall -Wextra -static -s -pthread -Itests/guest/lib
sources := $(wildcard tools/*.c tests/guest/*.c)
headers := $(wildcard tests/guest/*.h tests/guest/lib/*.h) lab/plugin/mark.h $(wildcard tools/*.h)
programs := $(addprefix $(B)/,$(notdir $(sources:.c=)))
arm64_programs := $(addprefix build/guest/arm64/bin/,$(notdir $(sources:.c=)))
vpath %.c tools tests/guest

# static programs for the guest
guest: $(programs)

$(B)/%: %.c $(headers)
	@mkdir -p $(B) build/guest/tmp
	gcc $(CFLAGS) -o build/guest/tmp/$*.$$$$ $< -lm && mv build/guest/tmp/$*.$$$$ $@

# the same for the guest of lab/topologies/arm64-dma.conf; copyspeed is for the host
guest-arm64: $(filter-out %/copyspeed,$(arm64_programs))

build/guest/arm64/bin/%: %.c $(headers)
	@mkdir -p $(@D) build/guest/tmp
	aarch64-linux-gnu-gcc $(CFLAGS) -o build/guest/tmp/$*.arm64.$$$$ $< -lm && mv build/guest/tmp/$*.arm64.$$$$ $@

# outside the emulator: the copy speed of this machine
copyspeed: $(B)/copyspeed
	$<

stock lifted debug arm64:
	lab/unpack.sh
	lab/kernel.sh $@

clean:
	rm -rf build

.PHONY: guest guest-arm64 copyspeed stock lifted debug arm64 clean
.DELETE_ON_ERROR:
