// SPDX-License-Identifier: BSD-3-Clause
// The fields that are coded, of one mesh of either kind, and what is told of them.
#pragma once

#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <vector>

#include "compressed_file.hpp"
#include "lossless.hpp"

namespace pillion::stages::encoding {

/// Of one field at one publication, over all peers.
struct Figures {
  int64_t bytes_in = 0, bytes_out = 0;
  int64_t values = 0, kept = 0;  ///< numbers, and those that are not 0 when they are coded
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
  const Codec* codec;
  int level;
  /// A piece of these bytes: whether it is coded, how many they were, and what `about` says.
  [[nodiscard]] Piece operator()(Bytes bytes, std::vector<int64_t> about) const {
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
  /// What a run that goes on after a restart has to know of the one before.
  [[nodiscard]] virtual std::vector<int64_t> saved() const { return {}; }
  virtual void restore(std::vector<int64_t>) {}
  /// What is stored once for all steps; none if nothing is.
  virtual std::vector<StoredArray> once(const stage::Step& step) = 0;
  [[nodiscard]] virtual std::vector<Attribute> attributes(const stage::Step& step) const = 0;
};

}  // namespace pillion::stages::encoding
