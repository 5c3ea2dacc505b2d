/*
 * sized.h - public structures that begin with their size, so that later versions may append fields.
 *
 * A program and the library may come from different versions: the program's structure may have
 * fewer fields than the library knows, or more.
 */
#ifndef DUO_SIZED_H
#define DUO_SIZED_H

#include "duoblas.h"

/* Fills in as many bytes of the program's structure as it has, and the library's. Both begin with
 * a size_t: that of `to` says how many it has, and stays. */
void duo_sized_give(void *to, const void *known, size_t known_size);

/* Reads the program's structure. Fields that it does not have are 0. DUO_ERR_SIZE: it has fewer
 * than `least` bytes, which every version has. DUO_ERR_UNSUPPORTED: it asks, in fields that the
 * library does not know, for what is not 0. Where it fails `known` is as it was. */
duo_status duo_sized_take(void *known, size_t known_size, size_t least, const void *from);

#endif
