// SPDX-License-Identifier: BSD-3-Clause
// Plans are measured once, within a time, and used for all publications.
#include "transform.hpp"

#include <algorithm>
#include <new>

namespace pillion::stages {

using stage::Step;

namespace {

constexpr unsigned effort = FFTW_MEASURE;
constexpr double planning_seconds = 10;  // each

template <class T>
T* allocate(int64_t count) {
  void* memory = fftw_malloc(sizeof(T) * static_cast<size_t>(std::max<int64_t>(count, 1)));
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<T*>(memory);
}

fftw_complex* raw(Complex* data) { return reinterpret_cast<fftw_complex*>(data); }

std::array<int, 3> extents(const Step::Part& part) {
  return {static_cast<int>(part.hi[0] - part.lo[0]), static_cast<int>(part.hi[1] - part.lo[1]),
          static_cast<int>(part.hi[2] - part.lo[2])};
}

}  // namespace

Transform::Transform(const Cells& cells, int axes, Decomposition decomposition)
    : axes_(axes),
      cells_(cells),
      waves_{cells[0] / 2 + 1, cells[1], cells[2]},
      decomposition_(decomposition) {}

pillion_division Transform::division(int32_t layout, int32_t axis) const {
  return {layout, axis, axes_, 0, {waves_[0], waves_[1], waves_[2]}};
}

Transform::Plan Transform::along(int axis, const Step::Part& part, Complex* data) {
  if (part.count() == 0) return {};
  const auto n = extents(part);
  const int strides[3] = {1, n[0], n[0] * n[1]};
  std::array<fftw_iodim, 2> others{};
  size_t other = 0;
  for (int d = 0; d < 3; ++d)
    if (d != axis) others[other++] = {n[static_cast<size_t>(d)], strides[d], strides[d]};
  const fftw_iodim line{n[static_cast<size_t>(axis)], strides[axis], strides[axis]};
  return Plan(
      fftw_plan_guru_dft(1, &line, 2, others.data(), raw(data), raw(data), FFTW_FORWARD, effort));
}

void Transform::prepare(const Step& step) {
  if (peers_ == step.peers()) return;
  const bool slabs = decomposition_ == Decomposition::slabs;
  const int32_t layout = slabs ? PILLION_LAYOUT_SLABS : PILLION_LAYOUT_PENCILS;
  first_ = step.part(division(layout, slabs ? 2 : 0));
  middle_ = slabs || axes_ < 2 ? Step::Part{} : step.part(division(layout, 1));
  last_ = slabs       ? step.part(division(layout, 1))
          : axes_ < 3 ? middle_
                      : step.part(division(layout, 2));
  if (axes_ < 2) last_ = first_;
  auto n = extents(first_);
  n[0] = first_.count() > 0 ? static_cast<int>(cells_[0]) : 0;
  size_ = int64_t{n[0]} * n[1] * n[2];
  real_.reset(allocate<double>(size_));
  const int64_t most = std::max({first_.count(), middle_.count(), last_.count()});
  one_.reset(allocate<Complex>(most));
  other_.reset(allocate<Complex>(most));
  fftw_set_timelimit(planning_seconds);
  if (first_.count() > 0) {
    const int waves = static_cast<int>(waves_[0]);
    const std::array<fftw_iodim, 2> lines{{{n[1], n[0], waves}, {n[0], 1, 1}}};
    const std::array<fftw_iodim, 2> many{{{n[2], n[0] * n[1], waves * n[1]}, {n[1], n[0], waves}}};
    first_plan_.reset(fftw_plan_guru_dft_r2c(slabs ? 2 : 1, lines.data() + (slabs ? 0 : 1),
                                             slabs ? 1 : 2, many.data(), real_.get(),
                                             raw(one_.get()), effort));
  }
  middle_plan_ = along(1, middle_, other_.get());
  if (axes_ > 2) last_plan_ = along(2, last_, slabs ? other_.get() : one_.get());
  peers_ = step.peers();
}

double* Transform::real(const Step& step) {
  prepare(step);
  return real_.get();
}

// FFTW may take other memory than it has planned with if that is aligned as well, and leaves what
// it reads here as it is.
const Complex* Transform::forward(const Step& step, const double* values) {
  auto* from = const_cast<double*>(values);
  if (first_plan_ && fftw_alignment_of(from) != fftw_alignment_of(real_.get())) {
    std::copy_n(values, size_, real_.get());
    from = real_.get();
  }
  if (first_plan_) fftw_execute_dft_r2c(first_plan_.get(), from, raw(one_.get()));
  const auto turn = [&](int32_t layout, int from, int to, Complex* data, Complex* turned,
                        const Plan& lines) {
    step.regroup(division(layout, from), division(layout, to), data, turned);
    if (lines) fftw_execute(lines.get());
    return turned;
  };
  if (decomposition_ == Decomposition::slabs)
    return turn(PILLION_LAYOUT_SLABS, 2, 1, one_.get(), other_.get(), last_plan_);
  const Complex* done = one_.get();
  if (axes_ > 1) done = turn(PILLION_LAYOUT_PENCILS, 0, 1, one_.get(), other_.get(), middle_plan_);
  if (axes_ > 2) done = turn(PILLION_LAYOUT_PENCILS, 1, 2, other_.get(), one_.get(), last_plan_);
  return done;
}

}  // namespace pillion::stages
