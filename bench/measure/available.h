/* available.h - memory that may be taken without making other programs swap. */
#ifndef DUO_AVAILABLE_H
#define DUO_AVAILABLE_H

/* Of the machine, or of the container if that has less. 1e300: not known. */
double duo_available_bytes(void);

#endif
