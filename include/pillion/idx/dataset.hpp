// SPDX-License-Identifier: BSD-3-Clause
// What the text file of an IDX dataset says: its box, its fields, its bitmask, and how samples are
// dealt out to blocks and files. A dataset is that text and a folder of binary files, which can be
// read coarse levels first.
#pragma once

#include <cstdint>
#include <optional>
#include <pillion/idx/bitmask.hpp>
#include <string>
#include <vector>

namespace pillion::idx {

/// Types of a field's components, little-endian in files.
enum class Type { uint8, int8, uint16, int16, uint32, int32, uint64, int64, float32, float64 };

size_t size_of(Type type);
std::string name_of(Type type);

/// How the bytes of a block are stored: the low four bits of a block's flags.
enum class Codec : uint32_t { raw = 0, zip = 3, lz4 = 7, zfp = 8 };

/// What zfp may lose of reals: nothing if both are 0, and no more than one of them is not.
struct ZfpLoss {
  int precision = 0;     ///< bit planes that are kept of each 4 x 4 x 4 samples
  double tolerance = 0;  ///< the largest absolute error
  bool operator==(const ZfpLoss&) const = default;
};

struct Field {
  std::string name;
  Type type = Type::float64;
  int components = 1;        ///< of a sample, interleaved
  Codec codec = Codec::raw;  ///< that writers use
  int fill = 0;              ///< byte of samples that are nowhere
  ZfpLoss zfp{};             ///< if that is the codec

  [[nodiscard]] size_t sample_size() const {
    return size_of(type) * static_cast<size_t>(components);
  }
  bool operator==(const Field&) const = default;
};

/// Steps of a dataset: files of step t lie in a folder, the template with t in it.
struct Times {
  std::vector<int64_t> steps{};  ///< increasing
  std::string folder{};          ///< such as "time%09d/"; empty if there is one step alone
  std::vector<double> values{};  ///< of the simulation, one for each step; empty if not known

  /// Notes a step, and forgets later ones.
  void add(int64_t step, double time);
  /// Forgets a step and all after it: a run that resumes from before them writes them again.
  void forget_from(int64_t step);
  [[nodiscard]] bool are_known() const { return !steps.empty() && values.size() == steps.size(); }
  bool operator==(const Times&) const = default;
};

struct Dataset {
  Point lo{}, hi{1, 1, 1};  ///< indices of samples: [lo, hi)
  int axes = 3;
  std::vector<Field> fields;
  Bitmask mask{"V"};
  int bits_per_block = 16;
  int64_t blocks_per_file = 256;
  std::string files;  ///< template of their names, such as "./data/%02x/%04x.bin"
  Times times;
  std::optional<std::array<double, 6>> physical_box;  ///< lower and upper edge of each axis
  int left_out = 0;  ///< number of finest levels that are not stored

  /// Number of samples in a block, of blocks that there may be, and of files.
  [[nodiscard]] int64_t block_samples() const { return int64_t{1} << bits_per_block; }
  [[nodiscard]] int64_t blocks() const { return int64_t{1} << (mask.bits() - bits_per_block); }
  [[nodiscard]] int finest() const { return mask.bits() - left_out; }
  [[nodiscard]] int64_t file_of(int64_t block) const { return block / blocks_per_file; }
  [[nodiscard]] int64_t samples() const {
    return (hi[0] - lo[0]) * (hi[1] - lo[1]) * (hi[2] - lo[2]);
  }

  /// The text of the .idx file, version 6.
  [[nodiscard]] std::string text() const;
  /// Reads such a text. Throws pillion::Error, naming `file`, if it lacks something or makes no
  /// sense.
  static Dataset parse(const std::string& text, const std::string& file);
};

/// The path of the file that begins with a block, at a step, seen from the .idx file's folder if it
/// is relative.
std::string file_name(const Dataset& dataset, int64_t first_block, int64_t step);

}  // namespace pillion::idx
