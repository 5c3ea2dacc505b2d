/*
 * float_mode.h - the floating-point mode that the documented order of summation needs.
 *
 * It rounds to nearest, keeps subnormals, and traps no exception: sums in float32 may overflow on
 * their way to a finite result. A program may have set another mode (start-up code of -ffast-math
 * does). A reduction then sets the default mode, works, and restores the program's, flags included.
 *
 * Hazard: a compiler may move arithmetic across a change of mode, but not a call of a function that
 * it does not inline. So the function that changes the mode calls another one that computes.
 */
#ifndef DUO_FLOAT_MODE_H
#define DUO_FLOAT_MODE_H

#include <stdbool.h>

#if defined(__x86_64__)

#include <xmmintrin.h>

typedef unsigned int float_mode;

/*
 * MXCSR at program start: every exception is masked. Its lowest six bits are flags and do not
 * matter. Any other difference makes a mode unfit: flush to zero, another rounding, denormals are
 * zero, an unmasked exception.
 */
enum { FLOAT_MODE_DEFAULT = 0x1F80, FLOAT_MODE_FLAGS = 0x3F };

/* The flags that a sum raises if it overflows on the way: invalid operation, and overflow. */
enum { FLOAT_FLAGS_OF_OVERFLOW = 0x01 | 0x08 };

static inline float_mode float_mode_read(void) { return _mm_getcsr(); }

static inline bool float_mode_fits(float_mode mode)
{
    return (mode & ~(float_mode)FLOAT_MODE_FLAGS) == FLOAT_MODE_DEFAULT;
}

/* Does it round to nearest, and keep subnormals where that is known? */
static inline bool float_mode_usual(float_mode mode) { return float_mode_fits(mode); }

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

/* Restores those two flags to their values in `before`. */
static inline void float_flags_restore(float_mode before)
{
    const float_mode risked = FLOAT_FLAGS_OF_OVERFLOW;
    _mm_setcsr((_mm_getcsr() & ~risked) | (before & risked));
}

/* The calling thread's mode, with all exceptions masked: for helpers that work for the thread. */
static inline float_mode float_mode_now(void)
{
    return (_mm_getcsr() & ~(float_mode)FLOAT_MODE_FLAGS) | FLOAT_MODE_DEFAULT;
}

/* Sets the mode that float_mode_now returned on another thread. */
static inline void float_mode_adopt(float_mode mode) { _mm_setcsr(mode); }

/* The calling thread's mode, flags included, for float_mode_restore on the same thread. */
static inline float_mode float_mode_save(void) { return _mm_getcsr(); }
static inline void float_mode_restore(float_mode saved) { _mm_setcsr(saved); }

#else

#include <fenv.h>

typedef fenv_t float_mode;

/* Standard C cannot ask about subnormals: no mode is known to fit. So a reduction always sets the
 * default mode and restores the caller's, which includes the flags. */
static inline float_mode float_mode_read(void) { return (float_mode){0}; }
static inline bool float_mode_fits(float_mode mode) { return (void)mode, false; }
static inline bool float_mode_usual(float_mode mode)
{
    return (void)mode, fegetround() == FE_TONEAREST;
}
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

static inline float_mode float_mode_save(void)
{
    float_mode mode;
    fegetenv(&mode);
    return mode;
}
static inline void float_mode_restore(float_mode saved) { fesetenv(&saved); }

#endif

#endif
