! fortran_first_call.f90 - Fortran by the module duoblas: one product of arrays that a program has
! anyway, products with a matrix that is kept on the device, and many small products in one call.
! Run it with DUOBLAS_VERBOSE=1 to see which side they ran on, and why.
program fortran_first_call
    use duoblas
    implicit none
    integer, parameter :: n = 500
    type(duo_context) :: default, ctx
    real, allocatable, target :: a(:, :), b(:, :), c(:, :)
    real, pointer, dimension(:, :, :) :: small_a, small_b, small_c
    real :: total
    integer :: step
    allocate (a(n, n), b(n, n), c(n, n))
    a = 1
    b = 1

    call duo_sgemm(default, a, b, c) ! C := A B
    print "(a, f0.0)", "c(1,1) = ", c(1, 1)

    call duo_create(ctx)
    call duo_keep(ctx, a)
    do step = 1, 3 ! the upper half of C := 0.5 A' B + C, where A is on the device
        call duo_sgemm(ctx, a(:, :n/2), b, c(:n/2, :), alpha=0.5, beta=1.0, transa=DUO_TRANS)
    end do
    call duo_release(ctx, a)
    total = duo_ssum(ctx, c(1, :)) ! a row: elements that are n apart
    print "(a, f0.0)", "sum of its first row = ", total
    if (c(n, n) /= 500 .or. total /= 1250.0*n) error stop "wrong"

    small_a(1:n/10, 1:n/10, 1:100) => a ! the same arrays as 100 matrices
    small_b(1:n/10, 1:n/10, 1:100) => b
    small_c(1:n/10, 1:n/10, 1:100) => c
    call duo_sgemm_batched(ctx, small_a, small_b, small_c)
    print "(a, f0.0)", "of small products: c(1,1) = ", c(1, 1)
    call duo_destroy(ctx)
    if (any(c /= 50)) error stop "wrong"
end program fortran_first_call
