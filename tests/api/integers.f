! SPDX-License-Identifier: BSD-3-Clause
! The calls that every program makes, in fixed form with mpif.h, as
! older codes have it: communicators are integers, arrays are work
! arrays with one dimension.
      program integers
      use pillion
      implicit none
      include 'mpif.h'
      integer nx, ny, nz
      parameter (nx = 4, ny = 3, nz = 8)
      double precision, target :: rho(nx*ny*nz)
      real, target :: u(3*nx*ny*nz)
      double precision, target :: x(3*10)
      type(pillion_session) pil
      type(pillion_options) opt
      integer comm, rank, ranks, step, ierr, bad, worst, lo(3), hi(3)
      integer cells
      call MPI_INIT(ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
      call pillion_options_create(opt)
      call pillion_options_set(opt, 'sidecars', min(1, ranks - 1))
      call pillion_options_set(opt, 'nx', nx)
      call pillion_options_set(opt, 'ny', ny)
      call pillion_options_set(opt, 'nz', nz)
      call pillion_options_set_log(opt)
      call pillion_options_set_catalogue(opt,
     &  '{meshes: {atoms: {kind: particles}}, fields: {position: '//
     &  '{mesh: atoms, type: float64, components: 3}}}')
      call pillion_open_with('session.yaml', MPI_COMM_WORLD, opt, pil,
     &  ierr)
      bad = 0
      call pillion_options_free(opt)
      if (ierr /= 0) print *, pillion_error_message()
      if (ierr /= 0) call MPI_ABORT(MPI_COMM_WORLD, 1, ierr)
      if (.not. pillion_serve(pil)) then
        call pillion_communicator(pil, comm)
        call MPI_COMM_RANK(comm, rank, ierr)
        call MPI_COMM_SIZE(comm, ranks, ierr)
        lo = [1, 1, nz*rank/ranks + 1]
        hi = [nx, ny, nz*(rank + 1)/ranks]
        cells = product(hi - lo + 1)
        call pillion_share_box(pil, 'density', 0, lo, hi, rho(:cells))
        call pillion_share_box(pil, 'velocity', 0, lo, hi,
     &    u(:3*cells), pillion_components_last)
        call pillion_share_particles(pil, 'position', 0, 10, x)
        call pillion_set_domain(pil, 'atoms', [0d0, 0d0, 0d0],
     &    [1d0, 2d0, 3d0], periodic=[.true., .true., .false.])
        do step = 0, 3
          rho = step
          u = 1
          x = 0.5d0
          call pillion_step(pil, step, 0.1d0*step, ierr)
          bad = max(bad, ierr)
        end do
        call pillion_close(pil, ierr)
        bad = max(bad, ierr)
      end if
      call MPI_ALLREDUCE(bad, worst, 1, MPI_INTEGER, MPI_MAX,
     &  MPI_COMM_WORLD, ierr)
      call MPI_FINALIZE(ierr)
      if (worst /= 0) stop 1
      end program
