/*
 * sized.h - public structures that begin with their size, so that later versions may append fields.
 *
 * A program and the library may come from different versions: the program's structure may have
 * fewer fields than the library knows, or more.
 */
#ifndef DUO_SIZED_H
#define DUO_SIZED_H

#include "duoblas.h"

/* Copies as many bytes as both structures have to the program's. Both begin with a size_t; the one
 * in `to` gives the program's size, and stays. */
void duo_sized_give(void *to, const void *known, size_t known_size);

/* Reads the program's structure. Fields that it does not have are 0. DUO_ERR_SIZE: it has fewer
 * than `least` bytes, which every version has. DUO_ERR_UNSUPPORTED: fields that the library does
 * not know are not 0. On failure `known` is unchanged. */
duo_status duo_sized_take(void *known, size_t known_size, size_t least, const void *from);

#endif
