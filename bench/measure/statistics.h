/* statistics.h - medians and quantiles of measured values. All sort the values first. */
#ifndef DUO_STATISTICS_H
#define DUO_STATISTICS_H

/* The mean of the middle two if count is even. */
double duo_median(double *value, int count);

/* So large a share of the values (0 to 1) is at most this one: the nearest of them. */
double duo_quantile(double *value, int count, double share);

/* A fifth of the values are smaller. */
double duo_low_quantile(double *value, int count);
/* A tenth of the values are larger. */
double duo_high_quantile(double *value, int count);

#endif
