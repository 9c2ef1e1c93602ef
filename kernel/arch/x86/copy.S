/*
 * Block copies. A user copy may fault: the recoveries say where it then continues. Arguments come in eax, edx, ecx, and
 * on the stack.
 */
#include <arch/asm.h>

	.section .text.cause.copy, "ax"

/*
 * u32 user_copy(void *to, const void *from, u32 n): copies to or from user memory; returns the number of bytes left. If
 * a fault stops the words, the bytes before the fault are still copied one by one.
 */
	.balign	16
FUNCTION(user_copy)
	pushl	%esi
	pushl	%edi
	movl	%eax, %edi
	movl	%edx, %esi
	movl	%ecx, %edx
	shrl	$2, %ecx
	andl	$3, %edx
copy_words:
	rep; movsl
	movl	%edx, %ecx
copy_bytes:
	rep; movsb
copy_end:
	movl	%ecx, %eax
	popl	%edi
	popl	%esi
	ret
copy_rest:
	leal	(%edx,%ecx,4), %ecx
	jmp	copy_bytes
END(user_copy)
	recovery copy_words, copy_bytes, copy_rest
	recovery copy_bytes, copy_end, copy_end

/* u32 user_clear(void *user, u32 n): the number of bytes that could not be cleared. */
	.balign	16
FUNCTION(user_clear)
	pushl	%edi
	movl	%eax, %edi
	movl	%edx, %ecx
	shrl	$2, %ecx
	andl	$3, %edx
	xorl	%eax, %eax
clear_words:
	rep; stosl
	movl	%edx, %ecx
clear_bytes:
	rep; stosb
clear_end:
	movl	%ecx, %eax
	popl	%edi
	ret
clear_rest:
	leal	(%edx,%ecx,4), %ecx
	jmp	clear_bytes
END(user_clear)
	recovery clear_words, clear_bytes, clear_rest
	recovery clear_bytes, clear_end, clear_end

/*
 * long user_string(char *to, const char *from, u32 n): copies up to n bytes to the NUL; its distance, n when there is
 * none, -1 after a fault.
 */
	.balign	16
FUNCTION(user_string)
	pushl	%esi
	pushl	%edi
	movl	%eax, %edi
	movl	%edx, %esi
	jecxz	string_end
string_byte:
	movb	(%esi), %al
	movb	%al, (%edi)
	testb	%al, %al
	jz	string_end
	incl	%esi
	incl	%edi
	decl	%ecx
	jnz	string_byte
string_end:
	movl	%esi, %eax
	subl	%edx, %eax
string_out:
	popl	%edi
	popl	%esi
	ret
string_fault:
	movl	$-1, %eax
	jmp	string_out
END(user_string)
	recovery string_byte, string_end, string_fault

/* long user_string_length(const char *user, u32 max): as above, without a copy. */
	.balign	16
FUNCTION(user_string_length)
	movl	%edx, %ecx
	movl	%eax, %edx
	jecxz	length_end
length_byte:
	cmpb	$0, (%edx)
	je	length_end
	incl	%edx
	decl	%ecx
	jnz	length_byte
length_end:
	subl	%eax, %edx
	movl	%edx, %eax
	ret
length_fault:
	movl	$-1, %eax
	ret
END(user_string_length)
	recovery length_byte, length_end, length_fault

/* int user_exchange(u32 *user, u32 expected, u32 wanted, u32 *seen): 0, or -1 after a fault. */
	.balign	16
FUNCTION(user_exchange)
	xchgl	%eax, %edx
exchange_begin:
	lock; cmpxchgl %ecx, (%edx)
exchange_end:
	movl	4(%esp), %edx
	movl	%eax, (%edx)
	xorl	%eax, %eax
	ret
END(user_exchange)
	recovery exchange_begin, exchange_end, length_fault

/* void *memcpy(void *to, const void *from, size_t n) */
	.balign	16
FUNCTION(memcpy)
	pushl	%esi
	pushl	%edi
	movl	%eax, %edi
	movl	%edx, %esi
	movl	%ecx, %edx
	shrl	$2, %ecx
	andl	$3, %edx
	rep; movsl
	movl	%edx, %ecx
	rep; movsb
	popl	%edi
	popl	%esi
	ret
END(memcpy)

/* void *memmove(void *to, const void *from, size_t n) */
	.balign	16
FUNCTION(memmove)
	cmpl	%edx, %eax
	jbe	memcpy
	pushl	%esi
	pushl	%edi
	leal	-1(%eax,%ecx), %edi
	leal	-1(%edx,%ecx), %esi
	std
	rep; movsb
	cld
	popl	%edi
	popl	%esi
	ret
END(memmove)

	.section .text.cause.clear, "ax"

/* void *memset(void *to, int byte, size_t n) */
	.balign	16
FUNCTION(memset)
	pushl	%edi
	pushl	%eax
	movl	%eax, %edi
	movzbl	%dl, %eax
	imull	$0x01010101, %eax, %eax
	movl	%ecx, %edx
	shrl	$2, %ecx
	andl	$3, %edx
	rep; stosl
	movl	%edx, %ecx
	rep; stosb
	popl	%eax
	popl	%edi
	ret
END(memset)
