/* kernels.h - the arithmetic of the simulated device. */
#ifndef DUO_TESTS_SIM_KERNELS_H
#define DUO_TESTS_SIM_KERNELS_H

#include "sim/worker.h"

void sim_run_sgemm(const work *w);
void sim_run_reduction(const work *w, const duo_call *call);
bool sim_errs(void); /* has this product or reduction a wrong result? (sim_err) */

/* The tag of a block, by its definition: pairs of words, the second half with the key from 16 bytes
 * on. */
enum { SIM_TAG_BLOCK = 4096, SIM_TAG = 16 };
void sim_tag(uint64_t tag[2], const char *bytes, const char *key);

/* The steps of Freivalds' check, straight from their definition. */
void sim_freivalds_multiply(const duo_freivalds_product *product);
void sim_freivalds_compare(const duo_freivalds_rows *rows, uint32_t *wrong, uint32_t number);

#endif
