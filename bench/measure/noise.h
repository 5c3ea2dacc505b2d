/*
 * noise.h - was the machine quiet while something was measured?
 *
 * Three kinds of evidence: how long a fixed piece of work had to wait for a processor, how busy
 * other processes kept the processors, and how much repeated samples differ. The first two find a
 * neighbour that is always there; the last finds one that comes and goes, also on a GPU.
 *
 * A process measures one thing at a time, so there is one global watch.
 */
#ifndef DUO_NOISE_H
#define DUO_NOISE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct duo_noise {
    /* The evidence; 0: not available. */
    int looks;             /* 0: nothing is known */
    int processors;        /* that this process may use */
    int threads;           /* that this process uses */
    double waited;         /* share of its time that the fixed work waited */
    double work_spread;    /* of the fixed work: upper / lower quartile - 1 */
    double figures_spread; /* the same for each benchmark's samples; the median of all */
    double others;         /* processors that others kept busy, on average */
    double running;        /* other threads that were ready to run, on average */

    /* The verdict. */
    bool noisy;
    double error; /* share by which a figure may be off; at most DUO_NOISE_MOST */
} duo_noise;

/* A process that gets a tenth of a processor takes ten times as long: an error of 9. */
#define DUO_NOISE_MOST 9.0

/* Fills in the verdict. Unknown evidence, or NaN, counts as noisy. */
void duo_noise_judge(duo_noise *noise);

/* "12 %", "more than 900 %" */
const char *duo_noise_percent(double error, char *text, size_t size);
/* One line: "quiet: figures lie within 2 %", or the disturbance and its size. */
const char *duo_noise_text(const duo_noise *noise, char *text, size_t size);

/* ---- Looking while something is measured: duo_measure does, once it was begun ---- */

/* Begins a new watch. */
void duo_noise_begin(void);
/* Looks for some milliseconds. To be called now and then, while this process does nothing else. */
void duo_noise_look(void);
/* Adds the quartiles of repeated samples. */
void duo_noise_add(double low, double high);
/* The evidence since the beginning, judged for a process with this many threads. The watch goes
 * on. */
duo_noise duo_noise_told(int threads);

#endif
