// SPDX-License-Identifier: BSD-3-Clause
// A stage that writes down, cell by cell, what it gets in a layout: every peer leaves a file
// FOLDER/STEP-PEER, in the words of test_divisions.py.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <pillion/stage.hpp>

namespace {

using namespace pillion::stage;

const pillion_parameter parameters[] = {
    {"fields", "list of fields", nullptr, "what to read"},
    {"folder", "path", nullptr, "where to write"},
    {"layout", "text", "blocks", "blocks, slabs, pencils, powers, cubes, key or shared"},
    {"key", "field", "null", "of the layout key"},
    {"axis", "integer", "0", "of slabs and pencils"},
    {"sides", "list of integers", "[0, 0, 0]", "of powers; cubes take the first"},
    {"ghosts", "list of integers", "[0, 0, 0]", "cells on both sides"},
    {"into", "field", "null", "a field to produce on the blocks, which is refused"},
};

Input input_of(const Setup& setup) {
  const auto fields = setup["fields"].texts();
  const auto layout = setup["layout"].text();
  const auto axis = static_cast<int32_t>(setup["axis"].integer());
  std::array<int32_t, 3> sides{};
  for (int64_t d = 0; d < 3; ++d)
    sides[static_cast<size_t>(d)] = static_cast<int32_t>(setup["sides"][d].integer());
  if (layout == "key") return Input::by_key(setup["key"].text(), fields);
  if (layout == "slabs") return Input::slabs(fields, axis);
  if (layout == "pencils") return Input::pencils(fields, axis);
  if (layout == "powers") return Input::powers_of_two(fields, sides);
  if (layout == "cubes") return Input::powers_of_two(fields, sides[0]);
  return layout == "shared" ? Input::as_shared(fields) : Input::blocks(fields);
}

class Cells : public Stage {
 public:
  explicit Cells(Setup& setup) : folder_(setup["folder"].text()) {
    std::array<int64_t, 3> ghosts{};
    for (int64_t d = 0; d < 3; ++d) ghosts[static_cast<size_t>(d)] = setup["ghosts"][d].integer();
    input_ = setup.input(input_of(setup).with_ghosts(ghosts));
    fields_ = static_cast<int32_t>(setup["fields"].texts().size());
    if (const auto into = setup["into"])
      output_ = setup.output(into.text(), setup["fields"].texts().front(), PILLION_FLOAT64, 1, "");
  }

  void run(Step& step) override {
    std::filesystem::create_directories(folder_);
    std::ofstream out(
        folder_ + "/" + std::to_string(step.index()) + "-" + std::to_string(step.peer()),
        std::ios::binary);
    put(out, step.peers());
    put(out, step.block_count(input_));
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      if (output_ >= 0) (void)step.produce<double>(output_, input_, b);
      write(out, step.block(input_, b));
    }
    if (!out.flush()) throw pillion::Error(pillion::ErrorCode::Stage, "cannot write " + folder_);
  }

 private:
  static void put(std::ofstream& out, int64_t value) {
    out.write(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void write(std::ofstream& out, const Block& block) const {
    put(out, block.number());
    put(out, block.count());
    put(out, block.owned());
    for (const auto* corner : {block.lo(), block.hi(), block.inner_lo(), block.inner_hi()})
      for (int d = 0; d < 3; ++d) put(out, corner[d]);
    for (int32_t f = 0; f < fields_; ++f)
      block[f].visit([&](const auto* values) { write(out, block, block[f], values); });
  }
  // By strides, as a stage that takes any layout would read it.
  template <class T>
  static void write(std::ofstream& out, const Block& block, const Array& array, const T* values) {
    const auto& stride = array.strides;
    const auto extent = [&](int d) { return block.hi()[d] - block.lo()[d]; };
    for (int64_t k = 0; k < extent(2); ++k)
      for (int64_t j = 0; j < extent(1); ++j)
        for (int64_t i = 0; i < extent(0); ++i)
          for (int64_t c = 0; c < array.components; ++c) {
            const T value = values[i * stride[0] + j * stride[1] + k * stride[2] + c * stride[3]];
            out.write(reinterpret_cast<const char*>(&value), sizeof value);
          }
  }

  std::string folder_;
  int32_t fields_ = 0, input_ = 0, output_ = -1;
};

}  // namespace

PILLION_STAGE(Cells, "cells", "What a stage gets in a layout, written down cell by cell",
              parameters)
