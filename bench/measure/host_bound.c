/* host_bound.c - see host_bound.h */
#include "bench/measure/host_bound.h"

#include <math.h>

/* Of C, what comes home behind the last product: a tile of an eighth of C's rows and columns. */
static const double kLastTile = 1.0 / 64.0;

/*
 * When the last product is done, at the earliest. U: seconds until all of A and B has arrived; W:
 * seconds of all the arithmetic. A share f of A and of B, there at f U, makes f^2 of C possible. So
 * whatever the order, at f U there are (1 - f^2) W still to come, and the end is not before
 * f U + (1 - f^2) W: at its largest where f = U / 2W, or at f = 1 where that is beyond.
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
