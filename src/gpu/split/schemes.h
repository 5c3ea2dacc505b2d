/*
 * schemes.h - the schemes that make a product of float32 from products of 16-bit planes.
 *
 * A line is one scheme: its name (its algorithm is sgemm_gpu_NAME); the number of planes of an
 * operand; the number of products of planes that are added; and for the kernels for Hopper
 * (split/wgmma) the k of a stage, which the tensor cores add up in one chain, and how many of the
 * largest tiles of C, side by side, share their copies. The name says the type of the planes and
 * the number of products. The content of planes: split/planes.cuh.
 */
#ifndef DUO_SCHEMES_H
#define DUO_SCHEMES_H

#define DUO_SCHEME_LIST(X)                                                                         \
    X(bf16x6, 3, 6, 32, 2)                                                                         \
    X(fp16x3, 2, 3, 32, 1)                                                                         \
    X(fp16x1, 1, 1, 64, 1)

#endif
