/* python.h - Python's header, for one module that serves every Python from 3.9 on. */
#ifndef DUOBLAS_PYTHON_H
#define DUOBLAS_PYTHON_H

#include <pyconfig.h>
#ifndef Py_GIL_DISABLED
#define Py_LIMITED_API 0x03090000
#endif
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

#endif
