/* second.h - a second, short run in a process of its own: how far do two runs differ? */
#ifndef DUO_SECOND_H
#define DUO_SECOND_H

#include "bench/crossover/compare.h"

/* Seconds that the second run may take; 0: there is no time for one. */
double duo_second_seconds(const duo_crossover *x);

/*
 * Runs this tool again, for a tenth of the time, and takes the figures that both have: other
 * memory, another moment. If the other process fails or is disturbed, nothing is known.
 */
void duo_second_run(duo_crossover *x);
/* Takes the figures of that run. */
void duo_second_take(duo_crossover *x, const duo_run *other);

/* The share by which the quotient of the CPU's and the GPU's time may be off: at this case; NULL:
 * where no case was measured. If the GPU's is predicted only the CPU's time counts. */
double duo_second_off(const duo_crossover *x, const duo_case *c, duo_place place, bool predicted);

/* The text of duo_noise_text, and then the shares of the second run: "within 4 % (CPU), 12 %
 * (plain)". */
const char *duo_second_text(const duo_crossover *x, char *text, size_t size);

#endif
