/* host_bound.c - see host_bound.h */
#include "bench/measure/host_bound.h"

#include <math.h>

/* The share of C that comes home after the last product: a tile of 1/8 of C's rows and columns. */
static const double kLastTile = 1.0 / 64.0;

/*
 * The earliest time at which the last product is done. U: seconds until all of A and B has arrived;
 * W: seconds of all the arithmetic. At f U a share f of A and of B has arrived, which allows f^2 of
 * C. So in any order, (1 - f^2) W is still to come at f U, and the end is not before f U + (1 -
 * f^2) W. That is largest at f = U / 2W, or at f = 1 if U / 2W > 1.
 */
static double last_product(double arrived, double arithmetic)
{
    if (2.0 * arithmetic <= arrived) return arrived;
    return arithmetic + arrived * arrived / (4.0 * arithmetic);
}

duo_host_bound duo_host_bound_of(const duo_problem *problem, double resident_seconds,
                                 const duo_host_rates *rates, bool pageable)
{
    duo_host_bound bound = {0};
    const double m = (double)problem->shape[0], n = (double)problem->shape[1],
                 k = (double)problem->shape[2];
    const double up = 4.0 * (m * k + k * n), home = 4.0 * m * n;
    const bool known = resident_seconds > 0.0 && rates->up > 0.0 && rates->down > 0.0 &&
                       rates->both > 0.0 && (!pageable || (rates->in > 0.0 && rates->out > 0.0));
    if (!known) return bound;
    const double arriving = pageable ? fmin(rates->up, rates->in) : rates->up;
    const double leaving = pageable ? fmin(rates->down, rates->out) : rates->down;
    bound.arrival = last_product(up / arriving, resident_seconds) + kLastTile * home / leaving;
    bound.link = (up + home) / rates->both;
    if (pageable) bound.copies = up / rates->in + home / rates->out;
    bound.seconds = fmax(bound.arrival, fmax(bound.link, bound.copies));
    return bound;
}
