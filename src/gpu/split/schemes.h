/*
 * schemes.h - the schemes that make a product of float32 from products of 16-bit planes.
 *
 * A line is one scheme: its name, which its algorithm has, too (sgemm_gpu_NAME); the planes into
 * which it splits an operand; and how many products of planes it adds up. The name says the type of
 * the planes and that number. What a plane holds: split/scheme.cuh.
 */
#ifndef DUO_SCHEMES_H
#define DUO_SCHEMES_H

#define DUO_SCHEME_LIST(X)                                                                         \
    X(bf16x6, 3, 6)                                                                                \
    X(fp16x3, 2, 3)                                                                                \
    X(fp16x1, 1, 1)

#endif
