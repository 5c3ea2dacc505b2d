/*
 * float_mode.h - the floating-point mode that the documented order of summation needs.
 *
 * Rounding to nearest, subnormals kept, exceptions masked. An application may have set otherwise
 * (-ffast-math start-up code does); a reduction then sets the default mode, works, and restores.
 * Enter and leave in a function other than the one that computes: a compiler may move arithmetic
 * across them, calls it may not.
 */
#ifndef DUO_FLOAT_MODE_H
#define DUO_FLOAT_MODE_H

#include <stdbool.h>

#if defined(__x86_64__)

#include <xmmintrin.h>

typedef unsigned int float_mode;

/* MXCSR: the low six bits are sticky exception flags, the rest is control. */
enum { FLOAT_MODE_FLAGS = 0x3F, FLOAT_MODE_DEFAULT = 0x1F80 };

static inline bool float_mode_is_default(void)
{
    return (_mm_getcsr() & ~(unsigned)FLOAT_MODE_FLAGS) == FLOAT_MODE_DEFAULT;
}

static inline float_mode float_mode_enter(void)
{
    const float_mode caller = _mm_getcsr();
    if ((caller & ~(unsigned)FLOAT_MODE_FLAGS) != FLOAT_MODE_DEFAULT)
        _mm_setcsr(FLOAT_MODE_DEFAULT);
    return caller;
}

static inline void float_mode_leave(float_mode caller)
{
    if ((caller & ~(unsigned)FLOAT_MODE_FLAGS) != FLOAT_MODE_DEFAULT) _mm_setcsr(caller);
}

#else

#include <fenv.h>

typedef fenv_t float_mode;

/* Reading the whole mode is not portable: enter and leave always. */
static inline bool float_mode_is_default(void) { return false; }

static inline float_mode float_mode_enter(void)
{
    float_mode caller;
    fegetenv(&caller);
    fesetenv(FE_DFL_ENV);
    return caller;
}

static inline void float_mode_leave(float_mode caller) { fesetenv(&caller); }

#endif

#endif
