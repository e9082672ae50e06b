// SPDX-License-Identifier: BSD-3-Clause
// Fields in a code: those on spectral elements, whose coefficients are packed, and those on uniform
// meshes, which become streams of zfp or SZ3.
#pragma once

#include <array>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <vector>

#include "compressed_file.hpp"
#include "lossless.hpp"
#include "packet.hpp"

namespace pillion::stages::encode {

// The fields that are coded, of one mesh of either kind, and what the products say of them.

/// Of one field at one publication, over all peers.
struct Figures {
  int64_t bytes_in = 0, bytes_out = 0;
  int64_t values = 0, kept = 0;  ///< numbers, and the ones that are not 0 when coded
  int64_t untouched = 0;         ///< elements or boxes of a component that stayed as they are
  double volume = 0;
  std::vector<double> squares{};  ///< of each component's error, times the volume
  double largest = 0, bound = 0;  ///< of an element's error, or that of any point
  bool is_largest = false;        ///< whether the bound is on the error at any point

  /// Of the component that is worst, in the norm that is bounded.
  [[nodiscard]] double error() const;
};
/// Over all peers. [peers]
void combine(const stage::Step& step, std::vector<Figures>& all);

/// A code and how hard it tries.
struct Coder {
  const LosslessCodec* codec;
  int level;
  /// A piece of these bytes: whether it is coded, how many they were, and what `about` says.
  [[nodiscard]] StoredPiece operator()(Bytes bytes, std::vector<int64_t> about) const {
    auto out = compressed(*codec, level, bytes);
    about.insert(about.begin(), {out.empty() ? 0 : 1, static_cast<int64_t>(bytes.size())});
    return {out.empty() ? std::move(bytes) : std::move(out), std::move(about)};
  }
};

/// Throws on what the parameters `codec` and `level` cannot be.
Coder coder_of(const stage::Setup& setup);
const char* type_name(pillion_type type);

class CodedFields {
 public:
  CodedFields() = default;
  CodedFields(const CodedFields&) = delete;
  CodedFields& operator=(const CodedFields&) = delete;
  virtual ~CodedFields() = default;

  /// Names, in the order of figures.
  [[nodiscard]] virtual std::vector<std::string> names() const = 0;
  [[nodiscard]] virtual std::string mesh() const = 0;
  /// What this peer has of them: an array for each field, first, with its attributes but for those
  /// of figures, then others. [peers]
  virtual std::vector<StoredArray> arrays(const stage::Step& step,
                                          std::vector<Figures>& figures) = 0;
  /// What a resumed run has to know of the one before.
  [[nodiscard]] virtual std::vector<int64_t> saved() const { return {}; }
  virtual void restore(std::vector<int64_t>) {}
  /// What is stored once for all steps; none if nothing is.
  virtual std::vector<StoredArray> once(const stage::Step& step) = 0;
  [[nodiscard]] virtual std::vector<Attribute> attributes(const stage::Step& step) const = 0;
};

// Fields at the points of spectral elements: the coefficients that `truncate` has made of them, or
// their values, losslessly. With them, what a decoder needs: numbers of elements, coordinates.

class ElementFields final : public CodedFields {
 public:
  explicit ElementFields(const stage::Setup& setup);

  [[nodiscard]] std::vector<std::string> names() const override;
  [[nodiscard]] std::string mesh() const override { return mesh_.mesh; }
  std::vector<StoredArray> arrays(const stage::Step& step, std::vector<Figures>& figures) override;
  std::vector<StoredArray> once(const stage::Step& step) override;
  [[nodiscard]] std::vector<int64_t> saved() const override { return first_elements_; }
  void restore(std::vector<int64_t> saved) override { first_elements_ = std::move(saved); }
  [[nodiscard]] std::vector<Attribute> attributes(const stage::Step& step) const override;

 private:
  enum class Coordinates { once, each, none };
  struct One {
    std::string name;
    pillion_field_description field;
    int32_t array = 0, coding = -1;  ///< places in the input; coding -1: values
    bool is_continuous = false;      ///< as the user says
  };

  void add(const stage::Setup& setup, const std::string& name);
  void put_continuity(const stage::Setup& setup);
  void put_numbers(const stage::Setup& setup);
  void put_coordinates(const stage::Setup& setup);
  void put_periods(const stage::Setup& setup);
  void expect_no_clash(const stage::Setup& setup) const;
  /// Whether the coordinates that are stored once are those of this step's elements. [peers]
  bool has_elements_of_first(const stage::Step& step);
  int32_t place_of(const std::string& name);
  [[nodiscard]] StoredArray stored(const stage::Step& step, const One& one, Figures& figures) const;
  template <class T>
  void pack(const stage::Block& block, const One& one, StoredArray& to, Figures& figures) const;
  [[nodiscard]] StoredArray stored_numbers(const stage::Step& step) const;
  [[nodiscard]] bool has_numbers() const { return numbers_ >= 0; }

  pillion_field_description mesh_;
  Coder coder_;
  std::vector<std::string> input_names_;
  std::vector<One> fields_;
  One coordinates_{};
  Coordinates when_ = Coordinates::none;
  bool has_own_coordinates_ = false;       ///< of the last step
  std::vector<int64_t> first_elements_{};  ///< what was summed of those stored once
  int32_t numbers_ = -1;
  std::vector<double> periods_;
  int32_t input_ = 0;
};

// Fields of uniform meshes, compressed by zfp or SZ3 with a bound on the error. Each box is
// decompressed again to see whether the bound holds; where it doesn't, nothing of it is lost.

class UniformFields final : public CodedFields {
 public:
  explicit UniformFields(const stage::Setup& setup);

  [[nodiscard]] std::vector<std::string> names() const override;
  [[nodiscard]] std::string mesh() const override { return fields_.front().field.mesh; }
  std::vector<StoredArray> arrays(const stage::Step& step, std::vector<Figures>& figures) override;
  std::vector<StoredArray> once(const stage::Step&) override { return {}; }
  [[nodiscard]] std::vector<Attribute> attributes(const stage::Step& step) const override;

 private:
  struct One {
    std::string name;
    pillion_field_description field;
    double bound = 0;  ///< in its units, at this publication
  };
  void find_bounds(const stage::Step& step);
  template <class T>
  void pack(const stage::Block& block, int32_t place, StoredArray& to, Figures& figures) const;

  std::vector<One> fields_;
  double error_;
  bool is_sz3_;      ///< otherwise zfp
  int relative_;     ///< 0: to nothing, 1: to the range, 2: to the root mean square
  bool is_largest_;  ///< whether it is the error at any point that is bounded
  int32_t input_ = 0;
};

}  // namespace pillion::stages::encode
