// SPDX-License-Identifier: BSD-3-Clause
// Figures over all peers, and parameters that fields of either kind of mesh have.
#include "coded_fields.hpp"

#include <algorithm>
#include <cmath>

#include "../common/options.hpp"

namespace pillion::stages::encode {

double Figures::error() const {
  if (is_largest) return largest;
  const double worst = squares.empty() ? 0 : *std::max_element(squares.begin(), squares.end());
  return volume > 0 ? std::sqrt(worst / volume) : 0;
}

void combine(const stage::Step& step, std::vector<Figures>& all) {
  std::vector<int64_t> counts;
  std::vector<double> sums, most;
  for (const auto& f : all) {
    counts.insert(counts.end(), {f.bytes_in, f.bytes_out, f.values, f.kept, f.untouched});
    sums.push_back(f.volume);
    sums.insert(sums.end(), f.squares.begin(), f.squares.end());
    most.insert(most.end(), {f.largest, f.bound, f.is_largest ? 1.0 : 0.0});
  }
  step.sum(std::span(counts));
  step.sum(std::span(sums));
  step.max(std::span(most));
  const double* sum = sums.data();
  for (size_t i = 0; i < all.size(); ++i) {
    const auto* c = &counts[5 * i];
    const auto* m = &most[3 * i];
    Figures out{c[0], c[1], c[2], c[3], c[4]};
    out.volume = *sum++;
    out.squares.assign(sum, sum + all[i].squares.size());
    sum += out.squares.size();
    out.largest = m[0];
    out.bound = m[1];
    out.is_largest = m[2] > 0;
    all[i] = std::move(out);
  }
}

Coder coder_of(const stage::Setup& setup) {
  const auto name = setup["codec"].text();
  const LosslessCodec* codec = name == "auto" ? &codecs().front() : codec_of(name);
  if (codec == nullptr)
    setup["codec"].fail("there is no code '" + name + "' in this build; there are " +
                        codec_names());
  const auto level = setup["level"];
  if (level.text() == "auto") return {codec, codec->standard};
  const int64_t number = level.integer();
  if (number < codec->least || number > codec->most)
    level.fail("levels of " + std::string(codec->name) + " are " + std::to_string(codec->least) +
               " to " + std::to_string(codec->most) + ", not " + std::to_string(number));
  return {codec, static_cast<int>(number)};
}

const char* type_name(pillion_type type) { return type == PILLION_FLOAT32 ? "float32" : "float64"; }

}  // namespace pillion::stages::encode
