/*
 * interrupt.h - Ctrl-C ends the tool at once and leaves no half-written file.
 *
 * Files are written whole, while the signals are held back. At any other moment nothing is open, so
 * that the handler may simply leave; waiting for the end of a measurement could take seconds.
 */
#ifndef DUO_INTERRUPT_H
#define DUO_INTERRUPT_H

/* From here on Ctrl-C (and SIGTERM, SIGHUP) ends the process at once, with 128 + signal. */
void duo_interrupt_watch(void);
/* Between this and the next of the two below files are written, and a signal waits. */
void duo_interrupt_hold(void);
/* All files are written. */
void duo_interrupt_allow(void);
/* A part is, and this line tells how to go on with it. It has to live as long as the process. */
void duo_interrupt_allow_with(const char *advice);

#endif
