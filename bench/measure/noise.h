/*
 * noise.h - was the machine quiet while something was measured?
 *
 * Three kinds of evidence: how long a fixed piece of work had to wait for a processor, how busy
 * other processes kept the processors, and how far repeated samples lie apart. The first two see a
 * neighbour who is always there, the last one who comes and goes, on a GPU too.
 *
 * A process measures one thing at a time: there is one watch, and nobody hands it around.
 */
#ifndef DUO_NOISE_H
#define DUO_NOISE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct duo_noise {
    /* The evidence; 0 where it could not be had. */
    int looks;             /* 0: nothing is known */
    int processors;        /* on which this process may run */
    int threads;           /* that it uses */
    double waited;         /* share of its time for which the fixed work waited */
    double work_spread;    /* of the fixed work: upper over lower quartile, less 1 */
    double figures_spread; /* of what was measured: the same, the median of all */
    double others;         /* processors that others kept busy, on average */
    double running;        /* other processes that were ready to run, on average */

    /* The verdict. */
    bool noisy;
    double
        error; /* a figure may be off by this share; more than DUO_NOISE_MOST is not told apart */
} duo_noise;

/* Who gets a tenth of a processor, or less, waits for nine tenths of his time. */
#define DUO_NOISE_MOST 9.0

/* From the evidence to the verdict. What is not known, or not a number, counts as noisy. */
void duo_noise_judge(duo_noise *noise);

/* "12 %", "more than 900 %" */
const char *duo_noise_percent(double error, char *text, size_t size);
/* One line: "quiet: figures lie within 2 %", or who disturbed and by how much. */
const char *duo_noise_text(const duo_noise *noise, char *text, size_t size);

/* ---- Looking while something is measured: duo_measure does, once it was begun ---- */

/* Forgets what was seen before. */
void duo_noise_begin(void);
/* Some milliseconds. To be called now and then, while nothing else of this process is at work. */
void duo_noise_look(void);
/* The quartiles of repeated samples. */
void duo_noise_add(double low, double high);
/* What was seen since the beginning, judged for a process of this many threads. Looking goes on. */
duo_noise duo_noise_told(int threads);

#endif
