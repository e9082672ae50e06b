// SPDX-License-Identifier: BSD-3-Clause
// The discrete Fourier transform of a real field over a box of cells that peers hold in parts: one
// direction after the other, each where the peer has whole lines of it. With slabs two directions
// are done at once and the field moves once; pencils move it twice, and there may be more of them.
#pragma once

#include <fftw3.h>

#include <array>
#include <complex>
#include <memory>
#include <pillion/stage.hpp>

namespace pillion::stages::power_spectrum {

using Complex = std::complex<double>;
using Cells = std::array<int64_t, 3>;

enum class Decomposition { slabs, pencils };

struct DestroyPlan {
  void operator()(fftw_plan plan) const { fftw_destroy_plan(plan); }
};
struct FreeFftw {
  void operator()(void* memory) const { fftw_free(memory); }
};
using Plan = std::unique_ptr<fftw_plan_s, DestroyPlan>;
template <class T>
using Memory = std::unique_ptr<T, FreeFftw>;

/// Transforms in place of all lines of a box along its second or third axis. Some at a time are
/// copied to where they are contiguous: without measurements FFTW is slow on lines with a stride.
class Lines {
 public:
  Lines() = default;
  Lines(int axis, const stage::Step::Part& part);
  void transform(Complex* data) const;

 private:
  static constexpr int64_t at_once = 8;
  int64_t width_ = 0;                  ///< of rows along the first axis
  int64_t rows_ = 0, row_stride_ = 0;  ///< along the axis that is neither
  int64_t length_ = 0, stride_ = 0;    ///< along the lines
  Memory<Complex> buffer_;
  Plan plan_;
};

class Transform {
 public:
  Transform(const Cells& cells, int axes, Decomposition decomposition);

  /// Memory for this peer's part of the field, first axis fastest: a box of pencils along the
  /// first axis, or slabs along the third.
  [[nodiscard]] double* real(const stage::Step& step);
  /// Transforms `values`, which are this peer's part, there or elsewhere. [peers] The result is sum
  /// f exp(-2 pi i n x / N) for n_x from 0 to N_x / 2 and all n_y, n_z, in the box part(), until
  /// the next call.
  [[nodiscard]] const Complex* forward(const stage::Step& step, const double* values);
  /// The part of the wave numbers that this peer has.
  [[nodiscard]] const stage::Step::Part& part() const { return last_; }

 private:
  void prepare(const stage::Step& step);
  [[nodiscard]] pillion_division division(int32_t layout, int32_t axis) const;

  int axes_;
  Cells cells_, waves_;  ///< of the field, and of its transform
  Decomposition decomposition_;
  int32_t peers_ = -1;  ///< for which everything is prepared
  stage::Step::Part first_, middle_, last_;
  int64_t size_ = 0;  ///< of the first part
  Memory<double> real_;
  Memory<Complex> one_, other_;
  Plan first_plan_;
  Lines middle_lines_, last_lines_;
};

}  // namespace pillion::stages::power_spectrum
