// SPDX-License-Identifier: BSD-3-Clause
// The stage `write`: fields as datasets that people can open, one step for each publication.
#include <memory>
#include <pillion/stage.hpp>
#include <string>

#include "../common/options.hpp"
#include "dataset_format.hpp"
#include "hdf5_format.hpp"
#include "idx_format.hpp"
#include "parameters.hpp"
#include "raw_format.hpp"

namespace {

using namespace pillion;
using namespace pillion::stages;

std::unique_ptr<DatasetFormat> format_of(stage::Setup& setup) {
  switch (choice(setup["format"], {"idx", "hdf5", "raw"})) {
    case 1: return make_hdf5_format(setup);
    case 2: return std::make_unique<RawFormat>(setup);
    default:
      refuse_foreign(setup, "idx",
                     {{"files", "shared"},
                      {"groups", "auto"},
                      {"chunk", "auto"},
                      {"position", "null"},
                      {"shuffle", "true"}});
      return std::make_unique<IdxFormat>(setup);
  }
}

class Write final : public stage::Stage {
 public:
  explicit Write(stage::Setup& setup) : format_(format_of(setup)) {}

  void run(stage::Step& step) override { format_->write(step); }
  void save(stage::State& state) const override { format_->save(state); }
  void restore(stage::State& state) override { format_->restore(state); }

 private:
  std::unique_ptr<DatasetFormat> format_;
};

const pillion_parameter parameters[] = {
    {"fields", "list of fields", nullptr,
     "Fields to write, all on one mesh: a uniform one, or, for hdf5 and raw, any"},
    {"format", "idx | hdf5 | raw", "idx", "What kind of dataset"},
    {"name", "name", "null", "Of the dataset; that of the mesh if left out"},
    {"phases", "1 | 2 | 3", "3",
     "3: boxes of powers of two, blocks put together, large writes; 2: without such boxes; 1: "
     "every rank writes what it has"},
    {"box", "fit | enlarged | cube | enlarged_cube | [side, …]", "fit",
     "Sides of the boxes, which are powers of two: such as hold the longest shared block along "
     "each axis, twice that, the same for cubes, or as given"},
    {"bits_per_block", "integer | auto", "auto", "log2 of the number of samples in a block"},
    {"blocks_per_file", "integer | auto", "auto", "Blocks in a file"},
    {"aggregators", "integer | auto", "auto", "Ranks that put blocks together"},
    {"compression",
     "none | zip | lz4 | zfp | {zfp: {tolerance | precision: …}}; hdf5: none | gzip | zstd | blosc",
     "none", "Of each block or chunk"},
    {"region", "[[first, end], …]", "null",
     "idx: the cells that are written, along each axis; all if left out"},
    {"leave_out", "integer", "0", "How many of the finest levels are not written"},
    {"files", "shared | grouped", "shared",
     "hdf5: one file for a step, or several, each of one rank, that a further one shows as one"},
    {"groups", "integer | auto", "auto", "hdf5: how many files; one for 8 ranks"},
    {"chunk", "[side, …] | auto", "auto", "hdf5: sides of chunks, which are powers of two"},
    {"shuffle", "true | false", "true", "hdf5: bytes of like worth lie together when compressed"},
    {"position", "field", "null",
     "hdf5, of particles: where viewers show them; that called position if left out"},
    {"at_once", "integer", "0", "How many ranks write at the same time; 0: all"},
    {"durable", "true | false", "true", "A step is told of only when it is on disk"},
};

}  // namespace

PILLION_STAGE(Write, "write", "Fields as datasets on disk", parameters)
