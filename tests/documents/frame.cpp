/* frame.cpp - what fragments of C++ in the documents may take for granted (test_documents.sh). */
#include <duoblas.hpp>

#include <vector>

extern std::vector<float> a, b, c, d, x, y;
extern int64_t m, n, k, p, count;

void fragment();

void fragment()
{
#include "fragment"
}
