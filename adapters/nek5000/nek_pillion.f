! SPDX-License-Identifier: BSD-3-Clause
! What is compiled with each Nek5000 case: the places at which Nek calls, and Nek's arrays, whose
! sizes are those of the case's SIZE. The linker's option --wrap puts these procedures before
! nek_init and the hooks in_situ_init, in_situ_check and in_situ_end, which Nek has for such
! purposes; a case needs no change. What Pillion does there is in the library pillion_nek5000.
      module nek_pillion
        use, intrinsic :: iso_c_binding, only:
     $    c_char, c_double, c_int, c_null_char
        implicit none

        interface
          subroutine nek_open(comm, simulation)
     $        bind(C, name='pillion_nek_open')
            integer :: comm, simulation
          end subroutine
          function nek_is_open() result(yes)
     $        bind(C, name='pillion_nek_is_open')
            import :: c_int
            integer(c_int) :: yes
          end function
          subroutine nek_begin_case(order, dimensions, flow, axis,
     $        magnetic, solid, moving, temperature, scalars,
     $        on_thermal)
     $        bind(C, name='pillion_nek_begin_case')
            import :: c_int
            integer(c_int), value :: order, dimensions, flow, axis,
     $        magnetic, solid, moving, temperature, scalars
            integer(c_int) :: on_thermal(*)
          end subroutine
          subroutine nek_share(field, elements, components, x, y, z)
     $        bind(C, name='pillion_nek_share')
            import :: c_char, c_double, c_int
            character(kind=c_char) :: field(*)
            integer(c_int), value :: elements, components
            real(c_double) :: x(*), y(*), z(*)
          end subroutine
          subroutine nek_share_numbers(field, elements, numbers)
     $        bind(C, name='pillion_nek_share_numbers')
            import :: c_char, c_int
            character(kind=c_char) :: field(*)
            integer(c_int), value :: elements
            integer(c_int) :: numbers(*)
          end subroutine
          subroutine nek_add_field(field, values)
     $        bind(C, name='pillion_nek_add_field')
            import :: c_char, c_double
            character(kind=c_char) :: field(*)
            real(c_double) :: values(*)
          end subroutine
          subroutine nek_share_added(elements)
     $        bind(C, name='pillion_nek_share_added')
            import :: c_int
            integer(c_int), value :: elements
          end subroutine
          function nek_is_due(step, time) result(yes)
     $        bind(C, name='pillion_nek_is_due')
            import :: c_double, c_int
            integer(c_int), value :: step
            real(c_double), value :: time
            integer(c_int) :: yes
          end function
          subroutine nek_step(step, time, dt)
     $        bind(C, name='pillion_nek_step')
            import :: c_double, c_int
            integer(c_int), value :: step
            real(c_double), value :: time, dt
          end subroutine
          subroutine nek_checkpoint(file)
     $        bind(C, name='pillion_nek_checkpoint')
            import :: c_char
            character(kind=c_char) :: file(*)
          end subroutine
          subroutine nek_close() bind(C, name='pillion_nek_close')
          end subroutine

!         Nek's own procedures, behind those that come in their place.
          subroutine real_nek_init(comm)
     $        bind(C, name='__real_nek_init_')
            integer :: comm
          end subroutine
          subroutine real_in_situ_init()
     $        bind(C, name='__real_in_situ_init_')
          end subroutine
          subroutine real_in_situ_check()
     $        bind(C, name='__real_in_situ_check_')
          end subroutine
          subroutine real_in_situ_end()
     $        bind(C, name='__real_in_situ_end_')
          end subroutine
        end interface
      end module

! Sidecar ranks stay in nek_open until the simulation has ended.
      subroutine nek_pillion_open(comm)
     $    bind(C, name='__wrap_nek_init_')
      use nek_pillion, only: nek_open, real_nek_init
      implicit none
      integer :: comm, simulation
      call nek_open(comm, simulation)
      call real_nek_init(simulation)
      end subroutine

! Nek has read its inputs, and has the initial state.
      subroutine nek_pillion_begin()
     $    bind(C, name='__wrap_in_situ_init_')
      use nek_pillion, only: nek_is_open, real_in_situ_init
      call real_in_situ_init()
      if (nek_is_open() .eq. 0) return
      call nek_pillion_describe()
      call nek_pillion_share()
      call nek_pillion_offer()
      end subroutine

! After each step, and after Nek has written its files of the step.
      subroutine nek_pillion_check()
     $    bind(C, name='__wrap_in_situ_check_')
      use nek_pillion, only: nek_is_open, real_in_situ_check
      call real_in_situ_check()
      if (nek_is_open() .eq. 0) return
      call nek_pillion_offer()
      call nek_pillion_save()
      end subroutine

      subroutine nek_pillion_end()
     $    bind(C, name='__wrap_in_situ_end_')
      use nek_pillion, only: nek_close, real_in_situ_end
      call nek_close()
      call real_in_situ_end()
      end subroutine

! For .usr files: a field of their own, one value at each point of the elements of the fluid. The
! first call is before the first step, in usrdat3, or in userchk at istep 0. Values are read where
! they are, at steps at which pillion_nek_due() is true in userchk.
      subroutine pillion_nek_field(name, values)
      use nek_pillion, only: c_null_char, nek_add_field
      implicit none
      character(*) :: name
      real :: values(*)
      call nek_add_field(trim(name)//c_null_char, values)
      end subroutine

      logical function pillion_nek_due()
      use nek_pillion, only: nek_is_due
      include 'SIZE'
      include 'TSTEP'
      pillion_nek_due = nek_is_due(istep, time) .ne. 0
      end function

! Tells what the case computes. Meshes of temperature and scalars: iftmsh is true where the solid
! elements belong to them.
      subroutine nek_pillion_describe()
      use nek_pillion, only: nek_begin_case
      include 'SIZE'
      include 'TOTAL'
      integer on_thermal(ldimt1)

      isolid = 0
      if (nelgt.gt.nelgv) isolid = 1
      do i=1,npscal+1
         on_thermal(i) = 0
         if (isolid.eq.1 .and. iftmsh(i+1)) on_thermal(i) = 1
      enddo
      iheat = 0
      if (ifheat .and. idpss(1).ge.0) iheat = 1
      call nek_begin_case(lx1-1, ldim, merge(1,0,ifflow),
     $     merge(1,0,ifaxis), merge(1,0,ifmhd), isolid,
     $     merge(1,0,ifmvbd), iheat, npscal, on_thermal)
      end subroutine

! Shares Nek's arrays where they are; nothing is copied. The pressure of PnPn-2, and arrays of an
! axisymmetric case, are as Nek writes them while a step is offered: see nek_pillion_offer.
      subroutine nek_pillion_share()
      use nek_pillion, only: nek_share, nek_share_added,
     $                       nek_share_numbers, c_null_char
      include 'SIZE'
      include 'TOTAL'
      common /scrcg/ pm1(lx1,ly1,lz1,lelv)
      character*12 name

      call nek_share_numbers('number'//c_null_char, nelv, lglel)
      call nek_share('coordinates'//c_null_char, nelv, ldim,
     $               xm1, ym1, zm1)
      if (ifflow) then
         call nek_share('velocity'//c_null_char, nelv, ldim, vx, vy, vz)
         if (ifsplit) then
            call nek_share('pressure'//c_null_char, nelv, 1, pr, pr, pr)
         else
            call nek_share('pressure'//c_null_char, nelv, 1,
     $                     pm1, pm1, pm1)
         endif
      endif
      call nek_share_added(nelv)
      if (ifmhd) call nek_share('magnetic_field'//c_null_char, nelv,
     $                          ldim, bx, by, bz)
      if (nelgt.gt.nelgv) then
         call nek_share_numbers('thermal_number'//c_null_char, nelt,
     $                          lglel)
         call nek_share('thermal_coordinates'//c_null_char, nelt, ldim,
     $                  xm1, ym1, zm1)
      endif
      if (.not.ifheat) return
      do i=1,npscal+1
         if (i.gt.1 .or. idpss(1).ge.0) then
            n = nelv
            if (nelgt.gt.nelgv .and. iftmsh(i+1)) n = nelt
            name = 'temperature'
            if (i.gt.1) write(name,'(a,i0)') 'scalar_', i-1
            call nek_share(trim(name)//c_null_char, n, 1,
     $           t(1,1,1,1,i), t(1,1,1,1,i), t(1,1,1,1,i))
         endif
      enddo
      end subroutine

! Offers a step. At a step with a due analysis, prepost_map puts the pressure on Gauss-Lobatto
! points, and does the same to an axisymmetric case's arrays in elements at the axis; then it puts
! back what it changed. That is what Nek itself does when it writes its files.
      subroutine nek_pillion_offer()
      use nek_pillion, only: nek_is_due, nek_share, nek_step,
     $                       c_null_char
      include 'SIZE'
      include 'TOTAL'
      parameter (lt=lx1*ly1*lz1*lelv)
      real, allocatable, save :: vort(:,:), w1(:), w2(:)
      logical ifdue, ifmap, ifvort

      ifdue = nek_is_due(istep, time) .ne. 0
      ifmap = ifdue .and. ifflow .and. (ifaxis .or. .not.ifsplit)
!     Nek's derivatives are those of other points in elements at the axis.
      ifvort = ifflow .and. .not.ifaxis
      if (ifvort .and. .not.allocated(vort)) then
         allocate(vort(lt,3), w1(lt), w2(lt))
         call nek_share('vorticity'//c_null_char, nelv, 2*ldim-3,
     $        vort(1,1), vort(1,2), vort(1,3))
      endif
      if (ifdue .and. ifvort) call comp_vort3(vort, w1, w2, vx, vy, vz)
      if (ifmap) call prepost_map(0)
      call nek_step(istep, time, dt)
      if (ifmap) call prepost_map(1)
      end subroutine

! Saves the analyses beside Nek's own file of this step, from which Nek may start again.
      subroutine nek_pillion_save()
      use nek_pillion, only: nek_checkpoint, c_null_char
      include 'SIZE'
      include 'TOTAL'
      integer nopen(1000,2)
      common /nopenf2/ nopen
      character*160 name

      if (.not.ifoutfld .or. abs(param(66)).ne.6 .or. ifreguo) return
      number = nopen(i_find_prefix('   ',1000),1)
      write(name,'(a,a,i5.5)') trim(session), '0.f', number
      call nek_checkpoint(trim(name)//c_null_char)
      end subroutine
