/*
 * float_mode.h - the floating-point mode that the documented order of summation needs.
 *
 * Rounding to nearest and subnormals kept. An application may have set otherwise (start-up code of
 * -ffast-math does); a reduction then sets the default mode, works, and restores what it found.
 * Enter and leave in a function that calls the one that computes: a compiler may move arithmetic
 * across a change of mode, but no call of an unknown function.
 */
#ifndef DUO_FLOAT_MODE_H
#define DUO_FLOAT_MODE_H

#include <stdbool.h>

#include "../fault.h"

#if defined(__x86_64__)

#include <xmmintrin.h>

typedef unsigned int float_mode;

/* MXCSR: flush to zero, rounding control, denormals are zero; and its value at program start. */
enum { FLOAT_MODE_UNFIT = 0x8000 | 0x6000 | 0x0040, FLOAT_MODE_DEFAULT = 0x1F80 };

static inline bool float_mode_is_fit(void) { return (_mm_getcsr() & FLOAT_MODE_UNFIT) == 0; }

static inline float_mode float_mode_enter(void)
{
    const float_mode caller = _mm_getcsr();
    if ((caller & FLOAT_MODE_UNFIT) != 0 && !DUO_FAULT(mode_unfit)) _mm_setcsr(FLOAT_MODE_DEFAULT);
    return caller;
}

static inline void float_mode_leave(float_mode caller)
{
    if ((caller & FLOAT_MODE_UNFIT) != 0 && !DUO_FAULT(mode_kept)) _mm_setcsr(caller);
}

/* The caller's, for others who work for it: no exception of theirs is to be trapped. */
enum { FLOAT_MODE_FLAGS = 0x003F, FLOAT_MODE_MASKS = 0x1F80 };

static inline float_mode float_mode_now(void)
{
    return (_mm_getcsr() & ~(unsigned)FLOAT_MODE_FLAGS) | FLOAT_MODE_MASKS;
}

static inline void float_mode_adopt(float_mode mode) { _mm_setcsr(mode); }

#else

#include <fenv.h>

typedef fenv_t float_mode;

/* Standard C cannot ask about subnormals: enter and leave always. */
static inline bool float_mode_is_fit(void) { return false; }

static inline float_mode float_mode_enter(void)
{
    float_mode caller;
    fegetenv(&caller);
    fesetenv(FE_DFL_ENV);
    return caller;
}

static inline void float_mode_leave(float_mode caller) { fesetenv(&caller); }

static inline float_mode float_mode_now(void)
{
    float_mode mode;
    feholdexcept(&mode);
    fesetenv(&mode);
    return mode;
}

static inline void float_mode_adopt(float_mode mode)
{
    fesetenv(&mode);
    feclearexcept(FE_ALL_EXCEPT);
}

#endif

#endif
