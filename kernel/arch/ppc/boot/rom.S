/*
 * Start code for QEMU's 40p (-bios): reset enters at 0xfff00100. Gives the kernel what docs/interfaces.md,
 * section 4, promises, and jumps to physical 0, where the kernel's image begins with a branch to its entry.
 * qemu-40p (beside this file) places the device tree at 0x01000000.
 */
	.text
	.org	0x100
	.globl	_start
_start:
	lis	3, 0x0100
	li	4, 0
	li	5, 0
	mtsrr0	4
	mtsrr1	4
	rfi
