/*
 * interrupt.h - Ctrl-C ends the tool at once and leaves no half-written file.
 *
 * Files are written in one go, after all measuring, while the signals are held back. At any other
 * moment nothing of ours is on disk, so that the handler may simply leave; waiting for the end of a
 * measurement could take seconds.
 */
#ifndef DUO_INTERRUPT_H
#define DUO_INTERRUPT_H

/* From here on Ctrl-C (and SIGTERM, SIGHUP) ends the process at once, with 128 + signal. */
void duo_interrupt_watch(void);
/* Between these two files are written, and a signal waits. */
void duo_interrupt_hold(void);
void duo_interrupt_allow(void);

#endif
