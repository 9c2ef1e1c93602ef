/* The width of addresses: 32 bits, unless the architecture has a header of this name. */
#ifndef ARCH_TYPES_H
#define ARCH_TYPES_H

/* Addresses of a program, of any space that the processor translates, and physical. */
typedef u32 uaddr_t;
typedef u32 vaddr_t;
typedef u32 paddr_t;

/* For printf: an address with all its digits, in hexadecimal, and as a decimal number. */
#define ADDRESS_HEX "%08x"
#define ADDRESS_NUMBER "%u"

#endif
