/*
 * float_mode.h - the floating-point mode that the documented order of summation needs.
 *
 * Rounding to nearest, subnormals kept, and no exception that traps: sums in float32 may overflow
 * on their way to a finite result. An application may have set otherwise (start-up code of
 * -ffast-math does); a reduction then sets the default mode, works, and restores what it found,
 * flags included. Enter and leave in a function that calls the one that computes: a compiler may
 * move arithmetic across a change of mode, but no call of an unknown function.
 */
#ifndef DUO_FLOAT_MODE_H
#define DUO_FLOAT_MODE_H

#include <stdbool.h>

#if defined(__x86_64__)

#include <xmmintrin.h>

typedef unsigned int float_mode;

/*
 * MXCSR at program start: every exception masked. All else but its flags, the lowest six bits, is
 * unfit: flush to zero, rounding control, denormals are zero, exceptions that are not masked.
 */
enum { FLOAT_MODE_DEFAULT = 0x1F80, FLOAT_MODE_FLAGS = 0x3F };

/* The flags of an invalid operation and of overflow. */
enum { FLOAT_FLAGS_OF_OVERFLOW = 0x01 | 0x08 };

static inline float_mode float_mode_read(void) { return _mm_getcsr(); }

static inline bool float_mode_fits(float_mode mode)
{
    return (mode & ~(float_mode)FLOAT_MODE_FLAGS) == FLOAT_MODE_DEFAULT;
}

static inline float_mode float_mode_enter(void)
{
    const float_mode caller = _mm_getcsr();
    if (!float_mode_fits(caller)) _mm_setcsr(FLOAT_MODE_DEFAULT);
    return caller;
}

static inline void float_mode_leave(float_mode caller)
{
    if (!float_mode_fits(caller)) _mm_setcsr(caller);
}

/* Takes back what sums that overflowed on the way have raised since `before` was read. */
static inline void float_flags_restore(float_mode before)
{
    const float_mode risked = FLOAT_FLAGS_OF_OVERFLOW;
    _mm_setcsr((_mm_getcsr() & ~risked) | (before & risked));
}

/* The caller's, for others who work for it: no exception of theirs is to be trapped. */
static inline float_mode float_mode_now(void)
{
    return (_mm_getcsr() & ~(float_mode)FLOAT_MODE_FLAGS) | FLOAT_MODE_DEFAULT;
}

static inline void float_mode_adopt(float_mode mode) { _mm_setcsr(mode); }

#else

#include <fenv.h>

typedef fenv_t float_mode;

/* Standard C cannot ask about subnormals: enter and leave always, which restores the flags, too. */
static inline float_mode float_mode_read(void) { return (float_mode){0}; }
static inline bool float_mode_fits(float_mode mode) { return (void)mode, false; }
static inline void float_flags_restore(float_mode before) { (void)before; }

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
