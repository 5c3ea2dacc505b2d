/* blas_rivals.h - the other BLAS libraries that are installed: is one of them faster? */
#ifndef DUO_BLAS_RIVALS_H
#define DUO_BLAS_RIVALS_H

/*
 * Looks for OpenBLAS, BLIS, MKL and libblas.so.3, and times a product of 512 with each, as a
 * program gets it: each in a child process, with the library's own number of threads. To be called
 * before this process opens a library or starts a thread. It takes some 0.1 s for each library, and
 * almost nothing if only one is there.
 */
void duo_blas_rivals_look(void);

/* What was found, beside the library that this process uses: "BLIS 0.9.0 would be 1.4 times as fast
 * (DUOBLAS_CPU_BLAS=/usr/lib/libblis.so.4)", "the loader finds no other". "": nobody has looked. */
const char *duo_blas_rivals_text(void);

#endif
