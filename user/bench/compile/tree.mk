# The makefile of make-job.sh. As in the kernel's makefiles of the 1990s, a shell starts a further make in each directory. There, the
# driver gcc starts the preprocessor, the compiler and the assembler for each file, three processes; then the linker makes one
# object of the directory's. Last, one of all directories'. The files are the twelve shortest of Lua, by their lines.
CFLAGS = -O2 -pipe -no-integrated-cpp -std=gnu99
CORE = lctype.o ldump.o lfunc.o lmem.o lopcodes.o lstring.o ltm.o lundump.o lzio.o
LIBRARY = lcorolib.o linit.o lutf8lib.o

library.o: directories
	ld -r -o library.o core/core.o library/library.o

directories:
	mkdir core library
	cd core && make -r -f /bench/tree.mk SOURCE=$(SOURCE) WAIT=$(WAIT) core.o
	cd library && make -r -f /bench/tree.mk SOURCE=$(SOURCE) WAIT=$(WAIT) library/library.o

core.o: $(CORE)
	ld -r -o core.o $(CORE)

library/library.o: $(LIBRARY)
	ld -r -o library.o $(LIBRARY)

.PATH: $(SOURCE)
.SUFFIXES: .c .o
.c.o:
	usleep $(WAIT)
	gcc $(CFLAGS) -c -o $@ $<
