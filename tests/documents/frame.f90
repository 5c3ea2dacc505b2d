! frame.f90 - what fragments of Fortran in the documents may take for granted (test_documents.sh).
module frame
    implicit none
    integer :: m, n, k
    real, allocatable, target :: a(:, :), b(:, :), c(:, :), x(:), y(:), u(:, :, :), v(:, :, :)
    real :: total
    integer :: status
contains
    subroutine fragment()
        include 'fragment'
    end subroutine fragment
end module frame
