/* External interrupts: of devices, and between processors (dev/irq.c). */
#ifndef IRQ_H
#define IRQ_H
#include <types.h>

struct text;

/* The controller that drives the processors' interrupt inputs. */
struct irq_controller {
	const char *name;
	void (*dispatch)(void);         /* handles the pending interrupts */
	void (*unmask)(unsigned irq);   /* lets a device's input interrupt */
	void (*ipi_send)(u32 cpus, unsigned kind);      /* NULL: there are no interrupts between processors */
};

/* Boot: the controller is set up and all its inputs are masked. */
void irq_init(const struct irq_controller *controller);

/* A device's interrupt `irq` calls the handler from now on. */
void irq_register(unsigned irq, const char *name, void (*handler)(void));

/* Kinds of interrupts between processors: look what others want of you; flush (policy shootdown). */
#define IPI_LOOK  0u
#define IPI_FLUSH 1u

/* Sets the handler of a kind of interrupt between processors; the processor that gets one runs it. NULL: none. */
void ipi_register(unsigned kind, const char *name, void (*handler)(void));
bool ipi_possible(void);        /* the board has them */
/*
 * Interrupts these processors (bit n: processor n); the caller's may be among them. Two interrupts of a kind may arrive
 * as one, so a handler does all the work that it finds.
 */
void ipi_send(u32 cpus, unsigned kind);

void irq_dispatch(void);
/* Called by a controller's dispatch: runs the input's handler. False: it has none. */
bool irq_handle(unsigned irq);
void ipi_handle(unsigned kind);

void irq_spurious(void);                /* counts an interrupt whose request ended before it was acknowledged */
void irq_show_sums(struct text *text);  /* for /proc/stat: the sums over all processors, in all and by number */
void irq_show(struct text *text);       /* /proc/interrupts */

/* check=on: sends each kind to this processor, before any handler is set (test/ipi.c). */
void ipi_test(void);

#endif
