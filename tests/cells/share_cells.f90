! SPDX-License-Identifier: BSD-3-Clause
! The mesh of cell_sample.py, shared by a simulation in Fortran, where indices count from 1. Before it
! runs, arrays that contradict each other must be refused.
program share_cells
  use mpi_f08
  use, intrinsic :: iso_fortran_env, only: int8, int32, int64, real32, real64
  use pillion
  implicit none
  ! By id, which count from 0.
  real(real64), parameter :: all_points(3, 0:15) = reshape([ &
    0d0, 0d0, 0d0, 1d0, 0d0, 0d0, 1d0, 1d0, 0d0, 0d0, 1d0, 0d0, &
    0d0, 0d0, 1d0, 1d0, 0d0, 1d0, 1d0, 1d0, 1d0, 0d0, 1d0, 1d0, &
    0.5d0, 0.5d0, 2d0, 2d0, 0d0, 0d0, 2d0, 0d0, 1d0, 1.5d0, 0.5d0, -1d0, &
    -1d0, 0d0, 0d0, -1d0, 1d0, 0d0, -1d0, 0d0, 1d0, -1d0, 1d0, 1d0], [3, 16])
  integer(int64), allocatable :: ids(:), cells(:)
  integer(int32), allocatable :: points(:), offsets(:), types(:)
  real(real64), allocatable, target :: pressure(:), stress(:)
  integer(int32), allocatable, target :: number(:, :)
  real(real32), allocatable, target :: velocity(:, :)
  real(real64), allocatable :: moved(:, :)
  type(pillion_session) :: session
  type(MPI_Comm) :: comm
  integer :: rank, step, i

  call MPI_Init()
  call pillion_open('run.yaml', MPI_COMM_WORLD, session)
  if (.not. pillion_serve(session)) then
    call pillion_communicator(session, comm)
    call MPI_Comm_rank(comm, rank)
    call share_fluid()
    call share_skin()
    allocate (pressure(size(cells)), number(2, size(cells)), velocity(size(ids), 3))
    number(1, :) = int(cells, int32)
    number(2, :) = -number(1, :)
    call pillion_share_values(session, 'pressure', 0, size(cells), pressure)
    call pillion_share_values(session, 'number', 0, size(cells, kind=int64), number)
    call pillion_share_values(session, 'velocity', 0, size(ids), velocity, pillion_components_last)
    call pillion_share_values(session, 'stress', 0, size(stress), stress)
    do step = 0, 2
      pressure = real(10*cells + step, real64)
      moved = coordinates(ids, step)
      velocity = real(2*transpose(moved), real32)
      if (step == 0) call pillion_share_points(session, 'fluid', 0, moved, ids)
      if (step == 1) call pillion_share_points(session, 'fluid', 0, transpose(moved), ids, &
        pillion_components_last)
      if (step == 2) call pillion_share_points(session, 'fluid', 0, real(moved(1, :), real32), &
        real(moved(2, :), real32), real(moved(3, :), real32), ids)
      call pillion_step(session, step, 0.5d0*step)
    end do
    call pillion_close(session)
  end if
  call MPI_Finalize()

contains

  ! Points move up with the steps.
  function coordinates(of, at) result(found)
    integer(int64), intent(in) :: of(:)
    integer, intent(in) :: at
    real(real64) :: found(3, size(of))
    found = all_points(:, of)
    found(3, :) = found(3, :) + 0.25d0*at
  end function

  ! Where points with these ids are in the block, counted from 1.
  function places(of) result(found)
    integer, intent(in) :: of(:)
    integer(int32) :: found(size(of))
    integer :: p
    do p = 1, size(of)
      found(p) = int(findloc(ids, int(of(p), int64), 1), int32)
    end do
  end function

  subroutine share_fluid()
    if (rank == 0) then
      ids = [(int(i, int64), i=0, 10)]
      cells = [0_int64, 2_int64, 1_int64]
      types = [12, 13, 14]
      offsets = [1, 9, 15, 20]
      points = places([0, 1, 2, 3, 4, 5, 6, 7, 1, 2, 9, 5, 6, 10, 4, 5, 6, 7, 8])
      call expect_refusals()
      call pillion_share_cells(session, 'fluid', 0, types, offsets, points, &
        ids=cells, flags=[0_int8, 1_int8, 0_int8])
    else
      ids = int([1, 2, 5, 6, 9, 10, 11, 0, 3, 4, 7, 12, 13, 14, 15], int64)
      cells = [2_int64, 3_int64, 4_int64]
      types = [13, 10, 42]
      offsets = [1, 7, 11, 19]
      points = places([1, 2, 9, 5, 6, 10, 1, 2, 9, 11, 12, 0, 3, 13, 14, 4, 7, 15])
      call pillion_share_cells(session, 'fluid', 0, int(types, int8), offsets, points, &
        face_offsets=[(4*i + 1, i=0, 6)], face_points=places([12, 13, 3, 0, 14, 4, 7, 15, &
        12, 0, 4, 14, 13, 15, 7, 3, 12, 14, 15, 13, 0, 3, 7, 4]), &
        polyhedron_offsets=[1, 1, 1, 7], polyhedron_faces=[(i, i=1, 6)], ids=cells)
    end if
  end subroutine

  ! Its cells name points by their ids; those of rank 0 are all of one type.
  subroutine share_skin()
    integer(int64), allocatable :: skin_ids(:), parents(:)
    integer(int32), allocatable :: patches(:)
    if (rank == 0) then
      allocate (skin_ids, source=int([0, 1, 2, 3], int64))
      allocate (parents, source=[0_int64])
      allocate (patches, source=[1])
    else
      allocate (skin_ids, source=int([1, 9, 11, 12, 13, 15, 14], int64))
      allocate (parents, source=[3_int64, 4_int64])
      allocate (patches, source=[2, 1])
    end if
    call pillion_share_points(session, 'skin', 0, coordinates(skin_ids, 0), ids=skin_ids)
    if (rank == 0) then
      call pillion_share_cells(session, 'skin', 0, 9, reshape(int([0, 3, 2, 1], int64), [4, 1]), &
        points_are_ids=.true., parents=parents, patches=patches)
    else
      call pillion_share_cells(session, 'skin', 0, int([5, 9], int64), int([1, 4, 8], int64), &
        int([1, 9, 11, 12, 14, 15, 13], int64), points_are_ids=.true., parents=parents, &
        patches=patches)
    end if
    stress = real(100*parents + patches - 1, real64)
  end subroutine

  subroutine expect_refusals()
    integer :: ierr
    call pillion_share_cells(session, 'fluid', 0, types, offsets(:3), points, ierr=ierr)
    call expect(ierr, 'mesh ''fluid'' was shared with 3 offsets; give 4')
    call pillion_share_cells(session, 'fluid', 0, types, offsets, points(:18), ierr=ierr)
    call expect(ierr, 'mesh ''fluid'' was shared with 18 points, and offsets that reach 19; '// &
      'give all that they reach')
    call pillion_share_cells(session, 'fluid', 0, types, offsets, points, ids=cells(:2), ierr=ierr)
    call expect(ierr, 'mesh ''fluid'' was shared with 2 ids; give 3')
    call pillion_share_points(session, 'fluid', 0, all_points, ids, ierr=ierr)
    call expect(ierr, 'mesh ''fluid'' was shared with 11 ids of points; give 16')
  end subroutine

  subroutine expect(ierr, message)
    integer, intent(in) :: ierr
    character(*), intent(in) :: message
    if (pillion_error_message() == message .and. ierr == pillion_error_argument) return
    print *, ierr, pillion_error_message()
    error stop 'expected: '//message
  end subroutine
end program
