// SPDX-License-Identifier: BSD-3-Clause
// The stage `average`: means of a field over boxes of cells, which are the cells of a coarser
// uniform mesh, or over spectral elements, weighted by their volume. What comes of it is for later
// stages, of which one that follows many series then follows fewer.
#include <memory>
#include <pillion/stage.hpp>
#include <string>

#include "../common/options.hpp"
#include "boxes.hpp"
#include "elements_mean.hpp"

namespace {

using namespace pillion;
using namespace pillion::stages;

class Average final : public stage::Stage {
 public:
  explicit Average(stage::Setup& setup) {
    const auto field = field_of(setup, "field", 0, Numbers::any);
    if (field.mesh_kind == PILLION_UNIFORM) boxes_ = std::make_unique<Boxes>(setup, field);
    else if (field.mesh_kind == PILLION_SPECTRAL && field.centering == PILLION_POINT)
      elements_ = std::make_unique<ElementsMean>(setup, field);
    else
      setup["field"].fail("field '" + setup["field"].text() +
                          "' is neither on a uniform mesh nor at the points of a spectral one");
  }

  void run(stage::Step& step) override {
    if (boxes_) boxes_->run(step);
    else elements_->run(step);
  }

 private:
  std::unique_ptr<Boxes> boxes_;
  std::unique_ptr<ElementsMean> elements_;
};

const pillion_parameter parameters[] = {
    {"field", "field", nullptr, "Field on a uniform mesh, or at the points of a spectral one"},
    {"onto", "mesh", "null",
     "Uniform mesh of the same box, of whose cells each holds a whole number of cells; not for "
     "spectral meshes"},
    {"into", "name", nullptr, "Name of the field that is made"},
};

}  // namespace

PILLION_STAGE(Average, "average", "Means over boxes of cells or over elements, as a new field",
              parameters)
