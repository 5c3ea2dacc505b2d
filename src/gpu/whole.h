/* whole.h - ceil, inline, for predictions that call it often. */
#ifndef DUO_WHOLE_H
#define DUO_WHOLE_H

#include <stdint.h>

/* For 0 <= x < 2^63. */
static inline double duo_whole(double x)
{
    const double cut = (double)(int64_t)x;
    return cut < x ? cut + 1.0 : cut;
}

#endif
