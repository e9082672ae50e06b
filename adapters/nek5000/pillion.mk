# SPDX-License-Identifier: BSD-3-Clause
# Make reads this before the makefile that Nek5000 writes into the folder of a case: pillion-makenek
# names it in MAKEFILES. It compiles nek_pillion.f with the case's flags and adds it to the program.
# Other makefiles that makenek starts, in folders without SIZE, are left alone.
ifneq ($(wildcard SIZE),)
LDFLAGS += obj/nek_pillion.o obj/libnek5000.a \
  -Wl,--wrap=nek_init_ -Wl,--wrap=in_situ_init_ -Wl,--wrap=in_situ_check_ \
  -Wl,--wrap=in_situ_end_ \
  -L$(PILLION_LIBRARIES) -lpillion_nek5000 -Wl,-rpath,$(PILLION_LIBRARIES)

# For lines of a .usr file that are for builds with Pillion alone.
FFLAGS += -DPILLION

nek5000: obj/nek_pillion.o

# Always, because the source may be that of another version, and no newer. In obj, because compilers
# leave module files where they are started.
.PHONY: pillion-source
obj/nek_pillion.o: pillion-source
	cd obj && $(FC) -c $(FL2) $(PILLION_NEK5000)/nek_pillion.f -o nek_pillion.o
endif
