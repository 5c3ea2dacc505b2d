/*
 * consumer.cpp - a C++ program that uses an installed DuoBLAS, with a context of its own.
 */
#include <duoblas.h>

#include <iostream>
#include <vector>

int main()
{
    const std::vector<float> x(1000, -0.5f);
    float sum = -1, absolute = -1;
    duo_context *context = nullptr;
    bool ok = duo_create(&context) == DUO_OK;
    ok = ok && duo_ssum(context, 1000, x.data(), 1, &sum) == DUO_OK && sum == -500.0f;
    ok = ok && duo_sasum(context, 500, x.data(), 2, &absolute) == DUO_OK && absolute == 250.0f;
    ok = ok && duo_ssum(context, 1, nullptr, 1, &sum) == DUO_ERR_NULL && sum == -500.0f;
    ok = ok && duo_destroy(context) == DUO_OK;
    std::cout << "C++: " << (ok ? "right" : "wrong") << '\n';
    return ok ? 0 : 1;
}
