/* A guest that makes Xen write trace records, then powers itself off. As a PVH guest (started in 32-bit
 * mode by the note below) or, with HVM defined, one with the devices that Xen emulates itself: it also
 * uses the timers of a PC then.
 *
 * What tests/xen/ look for among what is recorded: LOOPS rounds, each with
 *   CPUID of leafs 0 and 0x40000001, RDMSR and WRMSR of 0xc0000080, an MSR that is not there (0x12345),
 *   port 0x1234 read and written with 0x11223344, memory at 0xfe000000, which has no device,
 *   hypercalls xen_version (17), hvm_op (34) and sched_op (29), and by hvm_op's subcall xentrace (11)
 *   an event of the guest class, 0x123, with the words 0xdecafbad, 1 and a count of the rounds,
 *   a timer's interrupt that ends a HLT. */
#define LAPIC 0xfee00000
#ifndef LOOPS
#define LOOPS 40
#endif
	.section .note.Xen,"a",@note
	.long 4, 4, 18
	.asciz "Xen"
	.long _start

	.text
	.code32
	.global _start
_start:
	cld
	movl $stack_top, %esp
	movl $msg_hello, %esi
	call puts32
	lgdt gdtr
	ljmp $8, $1f
1:	movw $0x10, %ax
	movw %ax, %ds
	movw %ax, %es
	movw %ax, %ss
	/* part A: 32-bit, paging off */
	movl $8, %ebp
a_loop:	xorl %eax, %eax
	cpuid
	movl $0x40000000, %eax
	xorl %ecx, %ecx
	cpuid
	movl $0x1b, %ecx
	rdmsr
	movw $0x3f8, %dx
	movb $0x41, %al
	outb %al, %dx
	inb %dx, %al
	movl $17, %eax		/* xen_version, cmd 0 */
	xorl %ebx, %ebx
	xorl %ecx, %ecx
	vmmcall
	rdtsc
	decl %ebp
	jnz a_loop
	/* page tables: identity 4 GiB with 2 MiB pages; first 2MiB of a test window (0x40000000) by 4K */
	movl $pd, %edi
	xorl %ecx, %ecx
2:	movl %ecx, %eax
	shll $21, %eax
	orl $0x83, %eax
	movl %eax, (%edi,%ecx,8)
	movl $0, 4(%edi,%ecx,8)
	incl %ecx
	cmpl $2048, %ecx
	jb 2b
	/* window: pd entry 512 (1 GiB) -> pt, whose entries map wpages.. */
	movl $pt, %eax
	orl $3, %eax
	movl %eax, pd+512*8
	xorl %ecx, %ecx
3:	movl %ecx, %eax
	andl $7, %eax
	shll $12, %eax
	addl $wpages, %eax
	orl $3, %eax
	movl %eax, pt(,%ecx,8)
	movl $0, pt+4(,%ecx,8)
	incl %ecx
	cmpl $64, %ecx
	jb 3b
	movl $pdpt, %eax
	orl $3, %eax
	movl %eax, pml4
	movl $pd, %eax
	orl $3, %eax
	xorl %ecx, %ecx
4:	movl %eax, pdpt(,%ecx,8)
	addl $4096, %eax
	incl %ecx
	cmpl $4, %ecx
	jb 4b
	movl %cr4, %eax
	orl $0x620, %eax		/* PAE OSFXSR OSXMMEXCPT */
	movl %eax, %cr4
	movl $pml4, %eax
	movl %eax, %cr3
	movl $0xC0000080, %ecx
	rdmsr
	orl $0x100, %eax
	wrmsr
	movl %cr0, %eax
	orl $0x80010001, %eax
	movl %eax, %cr0
	ljmp $0x18, $lm
puts32:	lodsb
	testb %al, %al
	jz 1f
	outb %al, $0xe9
	jmp puts32
1:	ret

	.code64
lm:	movl $stack_top, %esp
	/* idt */
	movl $0, %ecx
5:	movl $isr_other, %eax
	call setgate
	incl %ecx
	cmpl $256, %ecx
	jb 5b
	movl $13, %ecx
	movl $isr_gp, %eax
	call setgate
	movl $14, %ecx
	movl $isr_pf, %eax
	call setgate
	movl $6, %ecx
	movl $isr_ud, %eax
	call setgate
	movl $0x40, %ecx
	movl $isr_timer, %eax
	call setgate
	lidt idtr
	movl $msg_lm, %esi
	call puts64
	/* lapic on, timer one-shot vec 0x40, divide by 16 */
	movl $LAPIC, %r12d
	movl $0x1ff, 0xf0(%r12)
	movl $0x3, 0x3e0(%r12)
	movl $0x40, 0x320(%r12)
	/* osxsave if present */
	movl $1, %eax
	cpuid
	btl $26, %ecx
	setc have_xsave
#ifdef HVM
	movl $0x700, 0x350(%r12)	/* LVT0 = ExtINT */
	movl $pictab, %esi
20:	lodsw
	testw %ax, %ax
	jz 21f
	movw %ax, %dx
	lodsb
	outb %al, %dx
	jmp 20b
21:	movl $0x20, %ecx
22:	movl $isr_pic, %eax
	call setgate
	incl %ecx
	cmpl $0x30, %ecx
	jb 22b
	movl $0xfed00000, %r13d
	movl $1, 0x10(%r13)		/* HPET on */
#endif
	movl $LOOPS, %ebp
b_loop:
	xorl %eax, %eax
	cpuid
	movl $0x40000001, %eax
	xorl %ecx, %ecx
	cpuid
	movl $0x1b, %ecx
	rdmsr
	movl $0xC0000080, %ecx
	rdmsr
	wrmsr
	movl $0x277, %ecx
	rdmsr
	wrmsr
	/* unknown MSR -> #GP */
	movl $6f, %r15d
	movl $0x12345, %ecx
	rdmsr
6:	/* CR0 / CR4 / CR3 / DR */
	movq %cr0, %rax
	xorq $8, %rax
	movq %rax, %cr0
	xorq $8, %rax
	movq %rax, %cr0
	clts
	movq %cr4, %rax
	xorq $0x4, %rax
	movq %rax, %cr4
	xorq $0x4, %rax
	movq %rax, %cr4
	movq %cr3, %rax
	movq %rax, %cr3
	movq $0x400, %rax
	movq %rax, %dr7
	movq %dr6, %rax
	smsw %ax
	lmsw %ax
	/* ports */
	movw $0x70, %dx
	movb $0x0a, %al
	outb %al, %dx
	movw $0x71, %dx
	inb %dx, %al
	movw $0x3fd, %dx
	inb %dx, %al
	movw $0x1234, %dx
	inl %dx, %eax
	movl $0x11223344, %eax
	outl %eax, %dx
	/* mmio outside of ram: read + write */
	movl $0xfe000000, %esi
	movl (%rsi), %eax
	movl $0x55, (%rsi)
	/* lapic */
	movl 0x20(%r12), %eax
	movl 0x30(%r12), %eax
	/* hypercalls */
	movl $17, %eax
	xorl %edi, %edi
	xorl %esi, %esi
	vmmcall
	movl $34, %eax			/* hvm_op, HVMOP_xentrace */
	movl $11, %edi
	movl $gtrace, %esi
	vmmcall
	incl gtrace+12
	movl $29, %eax			/* sched_op yield */
	xorl %edi, %edi
	xorl %esi, %esi
	vmmcall
	rdtsc
	ud2_skip:
	movl $7f, %r15d
	ud2
7:	/* paging: write, unmap, invlpg, touch -> #PF -> handler remaps */
	movl $0x40000000, %ebx
	movl $16, %ecx
	xorl %edx, %edx
8:	movl %ecx, (%rbx)
	andl $~1, pt(,%rdx,8)
	invlpg (%rbx)
	movl %ebp, (%rbx)
	addl $4096, %ebx
	incl %edx
	decl %ecx
	jnz 8b
	cmpb $0, have_xsave
	je 9f
	movq %cr4, %rax
	orq $0x40000, %rax
	movq %rax, %cr4
	xorl %ecx, %ecx
	xgetbv
	xsetbv
9:	/* timer + halt */
#ifdef HVM
	/* Seldom enough that a busy machine, which emulates all this, gets done with one interrupt before
	 * the next: else the guest does nothing but take them. */
	/* PIT channel 0: alternate one-shot and periodic, 34 ms */
	movb $0x30, %al
	testl $1, %ebp
	jz 23f
	movb $0x34, %al
23:	outb %al, $0x43
	movb $0x9c, %al
	outb %al, $0x40
	movb $0x9c, %al
	outb %al, $0x40
	/* RTC periodic on, 31 ms, then off again next time */
	movb $0x0a, %al
	outb %al, $0x70
	movb $0x2b, %al
	outb %al, $0x71
	movb $0x0b, %al
	outb %al, $0x70
	movl %ebp, %eax
	andl $1, %eax
	shll $6, %eax
	orl $2, %eax
	outb %al, $0x71
	movb $0x0c, %al
	outb %al, $0x70
	inb $0x71, %al
	/* HPET timer 0 one-shot, disabled again on the other turn */
	movl 0xf0(%r13), %eax
	addl $200000, %eax
	movl %eax, 0x108(%r13)
	movl %ebp, %eax
	andl $1, %eax
	shll $2, %eax
	orl $(20<<9), %eax
	movl %eax, 0x100(%r13)
#endif
	movl $60000, 0x380(%r12)
	sti
	hlt
	nop
	cli
	decl %ebp
	jnz b_loop
	movl $msg_bye, %esi
	call puts64
	movl $29, %eax			/* sched_op shutdown(poweroff) */
	movl $2, %edi
	movl $sh_arg, %esi
	vmmcall
10:	hlt
	jmp 10b

puts64:	lodsb
	testb %al, %al
	jz 1f
	outb %al, $0xe9
	jmp puts64
1:	ret
setgate: /* ecx vec, eax handler */
	movl %ecx, %edx
	shll $4, %edx
	movw %ax, idt(%rdx)
	movw $0x18, idt+2(%rdx)
	movw $0x8e00, idt+4(%rdx)
	shrl $16, %eax
	movw %ax, idt+6(%rdx)
	ret
isr_gp:	addq $8, %rsp
	movq %r15, (%rsp)
	iretq
isr_ud:	movq %r15, (%rsp)
	iretq
isr_pf:	addq $8, %rsp
	orl $1, pt(,%rdx,8)
	iretq
isr_pic:
	pushq %rax
	movb $0x20, %al
	outb %al, $0xa0
	outb %al, $0x20
	popq %rax
	iretq
isr_timer:
	movl $0, 0xb0(%r12)
isr_other:
	iretq

	.data
	.balign 16
gdt:	.quad 0
	.quad 0x00cf9a000000ffff	/* 08 code32 */
	.quad 0x00cf92000000ffff	/* 10 data */
	.quad 0x00af9a000000ffff	/* 18 code64 */
gdtr:	.word .-gdt-1
	.long gdt
	.long 0
idtr:	.word 256*16-1
	.quad idt
	.balign 8
gtrace:	.word 0x123, 12		/* event, bytes */
	.long 0xdecafbad, 1, 0, 0, 0, 0, 0
	.long 0
sh_arg:	.long 0, 0
have_xsave: .byte 0
pictab:
	.macro P port, val
	.word \port
	.byte \val
	.endm
	P 0x20,0x11
	P 0x21,0x20
	P 0x21,4
	P 0x21,1
	P 0x21,0xfa
	P 0xa0,0x11
	P 0xa1,0x28
	P 0xa1,2
	P 0xa1,1
	P 0xa1,0xfe
	.word 0
msg_hello: .asciz "guest: hello\n"
msg_lm:	.asciz "guest: long mode\n"
msg_bye:  .asciz "guest: bye\n"
	.bss
	.balign 4096
pml4:	.skip 4096
pdpt:	.skip 4096
pd:	.skip 4096*4
pt:	.skip 4096
idt:	.skip 4096
wpages:	.skip 4096*8
	.skip 4096*4
stack_top:
