// SPDX-License-Identifier: BSD-3-Clause
// Plans are made once and used for all publications. FFTW chooses them by rule (FFTW_ESTIMATE): a
// choice by measurement differs from run to run, and with it the last digits of the result.
#include "transform.hpp"

#include <algorithm>
#include <new>

namespace pillion::stages::power_spectrum {

using stage::Step;

namespace {

constexpr unsigned effort = FFTW_ESTIMATE;

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

Lines::Lines(int axis, const Step::Part& part) {
  if (part.count() == 0) return;
  const auto n = extents(part);
  const int64_t strides[3] = {1, n[0], int64_t{n[0]} * n[1]};
  const int other = 3 - axis;
  width_ = n[0];
  rows_ = n[static_cast<size_t>(other)];
  row_stride_ = strides[other];
  length_ = n[static_cast<size_t>(axis)];
  stride_ = strides[axis];
  buffer_.reset(allocate<Complex>(at_once * length_));
  std::fill_n(buffer_.get(), at_once * length_, Complex());
  const int length = static_cast<int>(length_);
  plan_.reset(fftw_plan_many_dft(1, &length, static_cast<int>(at_once), raw(buffer_.get()), nullptr,
                                 1, length, raw(buffer_.get()), nullptr, 1, length, FFTW_FORWARD,
                                 effort));
}

void Lines::transform(Complex* data) const {
  Complex* const buffer = buffer_.get();
  for (int64_t row = 0; row < rows_; ++row)
    for (int64_t first = 0; first < width_; first += at_once) {
      const int64_t count = std::min(at_once, width_ - first);
      Complex* const at = data + row * row_stride_ + first;
      for (int64_t k = 0; k < length_; ++k)
        for (int64_t i = 0; i < count; ++i) buffer[i * length_ + k] = at[k * stride_ + i];
      fftw_execute(plan_.get());
      for (int64_t k = 0; k < length_; ++k)
        for (int64_t i = 0; i < count; ++i) at[k * stride_ + i] = buffer[i * length_ + k];
    }
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
  if (first_.count() > 0) {
    const int waves = static_cast<int>(waves_[0]);
    const std::array<fftw_iodim, 2> lines{{{n[1], n[0], waves}, {n[0], 1, 1}}};
    const std::array<fftw_iodim, 2> many{{{n[2], n[0] * n[1], waves * n[1]}, {n[1], n[0], waves}}};
    first_plan_.reset(fftw_plan_guru_dft_r2c(slabs ? 2 : 1, lines.data() + (slabs ? 0 : 1),
                                             slabs ? 1 : 2, many.data(), real_.get(),
                                             raw(one_.get()), effort));
  }
  middle_lines_ = Lines(1, middle_);
  if (axes_ > 2) last_lines_ = Lines(2, last_);
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
                        const Lines& lines) {
    step.regroup(division(layout, from), division(layout, to), data, turned);
    lines.transform(turned);
    return turned;
  };
  if (decomposition_ == Decomposition::slabs)
    return turn(PILLION_LAYOUT_SLABS, 2, 1, one_.get(), other_.get(), last_lines_);
  const Complex* done = one_.get();
  if (axes_ > 1) done = turn(PILLION_LAYOUT_PENCILS, 0, 1, one_.get(), other_.get(), middle_lines_);
  if (axes_ > 2) done = turn(PILLION_LAYOUT_PENCILS, 1, 2, other_.get(), one_.get(), last_lines_);
  return done;
}

}  // namespace pillion::stages::power_spectrum
