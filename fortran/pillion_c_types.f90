! SPDX-License-Identifier: BSD-3-Clause
! The constants and structures of pillion.h and types.h as they are. The module `pillion_c` adds the
! functions.
module pillion_c_types
  use, intrinsic :: iso_c_binding, only: &
    c_char, c_double, c_funptr, c_int, c_int32_t, c_int64_t, c_null_ptr, c_ptr, c_size_t
  implicit none
  public

  ! The number of a block that Pillion is to number.
  integer, parameter :: pillion_any_block = -1

  ! Statuses.
  enum, bind(C)
    enumerator :: pillion_ok = 0, pillion_error_argument, pillion_error_configuration, &
      pillion_error_sharing, pillion_error_placement, pillion_error_plugin, pillion_error_stage, &
      pillion_error_file, pillion_error_state, pillion_error_internal
  end enum

  ! What a rank may become.
  enum, bind(C)
    enumerator :: pillion_role_any = 0, pillion_role_simulation, pillion_role_sidecar
  end enum

  ! Severity of a log message.
  enum, bind(C)
    enumerator :: pillion_log_debug = 0, pillion_log_info, pillion_log_warning, pillion_log_error
  end enum

  ! Element types of a field.
  enum, bind(C)
    enumerator :: pillion_int32 = 1, pillion_int64, pillion_float32, pillion_float64
    enumerator :: pillion_int8 = 5, pillion_uint8, pillion_int16, pillion_uint16
    enumerator :: pillion_uint32 = 9, pillion_uint64
  end enum

  ! Kinds of mesh.
  enum, bind(C)
    enumerator :: pillion_uniform = 1, pillion_particles, pillion_spectral
    enumerator :: pillion_rectilinear = 4, pillion_curvilinear, pillion_unstructured
  end enum

  ! Where a mesh has the values of a field; one value for each element is pillion_cell.
  enum, bind(C)
    enumerator :: pillion_cell = 1, pillion_point, pillion_face, pillion_edge
  end enum

  ! What the axes of a mesh measure.
  enum, bind(C)
    enumerator :: pillion_cartesian = 1, pillion_cylindrical, pillion_spherical
  end enum

  ! The points of elements of a spectral mesh, and those of one of its other point sets.
  enum, bind(C)
    enumerator :: pillion_gauss_lobatto = 0, pillion_gauss
  end enum

  ! Where memory is.
  enum, bind(C)
    enumerator :: pillion_memory_host = 1, pillion_memory_pinned, pillion_memory_managed
    enumerator :: pillion_memory_device = 4
  end enum

  ! Where the components of an array stand.
  enum, bind(C)
    enumerator :: pillion_components_first = 0, pillion_components_last
  end enum

  ! An array that knows its shape; extents and strides, in bytes, of the first `rank` dimensions.
  type, bind(C) :: pillion_view
    type(c_ptr) :: data = c_null_ptr
    integer(c_int32_t) :: type = 0
    integer(c_int32_t) :: rank = 0
    integer(c_int64_t) :: extents(5) = 0
    integer(c_int64_t) :: strides(5) = 0
  end type

  ! A field whose components lie in arrays of their own.
  type, bind(C) :: pillion_arrays
    integer(c_size_t) :: size = 0           ! c_sizeof of this
    type(c_ptr) :: data = c_null_ptr        ! addresses, one of each component
    integer(c_int32_t) :: type = 0
    integer(c_int32_t) :: components = 0
    type(c_ptr) :: strides = c_null_ptr     ! in elements; c_null_ptr if arrays are packed
  end type

  ! The parallelepiped that particles live in.
  type, bind(C) :: pillion_domain
    real(c_double) :: lo(3) = 0
    real(c_double) :: hi(3) = 0
    real(c_double) :: tilt(3) = 0
    integer(c_int32_t) :: periodic(3) = 0
    integer(c_int32_t) :: dimensions = 0   ! 2 or 3; 0: as the configuration says
  end type

  ! How the run is doing, as this simulation rank knows it without asking anyone.
  type, bind(C) :: pillion_progress
    integer(c_int64_t) :: step = 0           ! the last step offered
    real(c_double) :: time = 0               ! its time, in the simulation's units
    real(c_double) :: steps_per_second = 0   ! since the first step
    integer(c_int64_t) :: publications = 0   ! made so far
    integer(c_int64_t) :: skipped = 0        ! publications that were due and skipped
    integer(c_int64_t) :: behind = 0         ! publications that sidecars have not finished
    real(c_double) :: stall_seconds = 0      ! spent waiting for sidecars
    integer(c_int64_t) :: disabled = 0       ! analyses disabled by a failure
  end type

  ! A field of the catalogue, and the mesh that it lives on.
  type, bind(C) :: c_field
    type(c_ptr) :: name = c_null_ptr
    type(c_ptr) :: mesh = c_null_ptr
    integer(c_int32_t) :: mesh_kind = 0
    integer(c_int32_t) :: type = 0
    integer(c_int32_t) :: components = 0
    integer(c_int32_t) :: axes = 0
    integer(c_int64_t) :: cells(3) = 0
    integer(c_int32_t) :: used = 0
    integer(c_int32_t) :: order = 0
    integer(c_int32_t) :: levels = 1
    integer(c_int32_t) :: is_partial = 0
    integer(c_int32_t) :: centering = 0
    integer(c_int32_t) :: point_axes = 0
    integer(c_int32_t) :: is_constant = 0
    type(c_ptr) :: units = c_null_ptr
  end type

  ! Points of a block of an unstructured mesh: coordinate d of point i is element i*stride behind
  ! data(d), or, where data(2) is null, element i*stride + d behind data(1).
  type, bind(C) :: pillion_points
    integer(c_size_t) :: size = 0
    integer(c_int64_t) :: count = 0
    type(c_ptr) :: data(3) = c_null_ptr
    integer(c_int64_t) :: stride = 0   ! in elements; 0 if points are packed
    integer(c_int32_t) :: type = 0
    integer(c_int32_t) :: dimensions = 0   ! coordinates of each point; 0 stands for 3
    type(c_ptr) :: ids = c_null_ptr    ! integer(c_int64_t)
  end type

  ! Cells of a block of an unstructured mesh; the header of C describes them.
  type, bind(C) :: pillion_cells
    integer(c_size_t) :: size = 0
    integer(c_int64_t) :: count = 0
    type(c_ptr) :: types = c_null_ptr
    integer(c_int32_t) :: type = 0
    integer(c_int32_t) :: index_type = 0
    integer(c_int32_t) :: base = 0
    integer(c_int32_t) :: points_are_ids = 0
    type(c_ptr) :: offsets = c_null_ptr
    type(c_ptr) :: points = c_null_ptr
    integer(c_int64_t) :: face_count = 0
    type(c_ptr) :: face_offsets = c_null_ptr
    type(c_ptr) :: face_points = c_null_ptr
    type(c_ptr) :: polyhedron_offsets = c_null_ptr
    type(c_ptr) :: polyhedron_faces = c_null_ptr
    type(c_ptr) :: flags = c_null_ptr
    type(c_ptr) :: ids = c_null_ptr
    type(c_ptr) :: parents = c_null_ptr
    type(c_ptr) :: patches = c_null_ptr
  end type
end module
