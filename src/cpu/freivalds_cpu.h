/* freivalds_cpu.h - products of Freivalds' check (src/freivalds.h) on the CPU, by the team. */
#ifndef DUO_FREIVALDS_CPU_H
#define DUO_FREIVALDS_CPU_H

#include "freivalds.h"

/* Computes sums and magnitudes. */
void duo_freivalds_cpu_multiply(const duo_freivalds_product *p, int threads);

/* Rows that are not within their bounds. */
int64_t duo_freivalds_cpu_wrong(const duo_freivalds_rows *rows);

#endif
