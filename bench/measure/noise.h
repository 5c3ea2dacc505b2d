/*
 * noise.h - was the machine quiet while something was measured?
 *
 * Three kinds of evidence: how long a fixed piece of work had to wait for a processor, how busy
 * other processes kept the processors, and how far repeated samples lie apart. The first two see a
 * neighbour who is always there, the last one who comes and goes, on a GPU too.
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
    double error; /* a figure may be off by this share */
} duo_noise;

/* From the evidence to the verdict. What is not known, or not a number, counts as noisy. */
void duo_noise_judge(duo_noise *noise);

/* One line: "quiet: figures lie within 2 %", or who disturbed and by how much. */
const char *duo_noise_text(const duo_noise *noise, char *text, size_t size);

/* ---- Looking while something is measured ---- */

enum { DUO_NOISE_LOOKS = 512 };

typedef struct duo_noise_watch {
    int looks;
    double work[DUO_NOISE_LOOKS]; /* seconds of the fixed work, a part of the looks */
    double work_seconds, waited_seconds, running;
    double began, own_seconds, all_seconds; /* when the watch began */
} duo_noise_watch;

void duo_noise_begin(duo_noise_watch *watch);
/* Some milliseconds. To be called now and then, while nothing else of this process is at work. */
void duo_noise_look(duo_noise_watch *watch);
/* Fills the evidence but `figures_spread`, and judges. The watch goes on. */
void duo_noise_told(const duo_noise_watch *watch, int threads, double figures_spread,
                    duo_noise *noise);

#endif
