/* External interrupts: of devices, and between processors (dev/irq.c). */
#ifndef IRQ_H
#define IRQ_H

#include <types.h>

struct text;

/* What the processors' interrupt inputs come from. */
struct irq_controller {
	const char *name;
	void (*dispatch)(void);         /* handles what is pending: vector 0x500 comes here */
	void (*unmask)(unsigned irq);   /* lets an input of the 8259 pair interrupt */
	void (*ipi_send)(u32 cpus, unsigned kind);      /* NULL: there are no interrupts between processors */
};

/* Boot: the controller is set up and all its inputs are masked. */
void irq_init(const struct irq_controller *controller);

/* Input irq of the 8259 pair interrupts from now on. */
void irq_register(unsigned irq, const char *name, void (*handler)(void));

/* Interrupts of this kind run the handler, on the processor that gets one; NULL: nobody's. */
void ipi_register(unsigned kind, const char *name, void (*handler)(void));
bool ipi_possible(void);        /* the board has them */
/*
 * Interrupts these processors (a bit for each number), the caller's own among them if it is named. One that has not
 * taken an earlier interrupt of this kind gets one for both: handlers look for all that there is to do.
 */
void ipi_send(u32 cpus, unsigned kind);

void irq_dispatch(void);
/* From a controller's dispatch: false if nobody handles this input. */
bool irq_handle(unsigned irq);
void ipi_handle(unsigned kind);

void irq_show(struct text *text);       /* /proc/interrupts */

/* check=on: sends itself each kind, before anybody is registered for one (test/ipi.c). */
void ipi_test(void);

#endif
