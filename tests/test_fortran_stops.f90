! test_fortran_stops.f90 - each case is a call that fails without a status, and ends the program.
program test_fortran_stops
    use duoblas
    implicit none
    type(duo_context) :: ctx
    real, target :: x(3, 4), y(4, 4), z(2, 2, 3), w(2, 2, 2)
    real :: total
    character(20) :: name
    x = 1
    y = 1
    z = 1
    w = 1
    call duo_create(ctx)
    call get_command_argument(1, name)
    select case (name)
    case ("shapes")
        call duo_sgemm(ctx, x, x, y)
    case ("letter")
        call duo_sgemm(ctx, x, x, y, transa="X")
    case ("batches")
        call duo_sgemm_batched(ctx, w, z, z)
    case ("dot")
        total = duo_sdot(ctx, x(:, 1), y(:, 1))
    case ("keep")
        call duo_keep(ctx, y(1:3, :))
    case ("copy")
        call duo_copy(ctx, x, y)
    case ("release")
        call duo_release(ctx, x)
    case ("path")
        call duo_set_path(ctx, 9)
    case ("ended")
        call duo_destroy(ctx)
        call duo_synchronize(ctx)
    end select
    print *, "went on", total
end program test_fortran_stops
