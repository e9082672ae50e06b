// SPDX-License-Identifier: BSD-3-Clause
// The stage `average`: means of a field over boxes of cells, which are the cells of a coarser
// uniform mesh, or over spectral elements, weighted by their volume; and of values at points over
// the cells that have these. The result is for later stages; a stage that follows many series then
// follows fewer.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "../common/by_block.hpp"
#include "../common/cells.hpp"
#include "../common/element_volumes.hpp"
#include "../common/elements.hpp"
#include "../common/options.hpp"
#include "../common/volumes.hpp"

namespace pillion::stages::average {

// Means over boxes of cells, by volume. A box belongs to the peer that has its first cell,
// which gets the others as ghost cells, so that every mean is one sum in one order.

class Boxes {
 public:
  Boxes(stage::Setup& setup, const pillion_field_description& field) : mesh_(field.mesh) {
    const auto onto = setup["onto"];
    if (!onto) setup["field"].fail("say onto which mesh: `onto: MESH`");
    const auto target = setup.mesh(onto.text(), onto);
    bool fits = target.mesh_kind == field.mesh_kind && target.axes == field.axes &&
                target.metric == field.metric;
    onto_ = onto.text();
    for (size_t d = 0; fits && d < static_cast<size_t>(field.axes); ++d) {
      side_[d] = field.cells[d] / target.cells[d];
      // Coordinates of a rectilinear mesh are compared when they are there.
      const bool is_known = field.mesh_kind == PILLION_UNIFORM;
      const double slack = is_known ? 1e-9 * field.length[d] : HUGE_VAL;
      fits = side_[d] * target.cells[d] == field.cells[d] &&
             std::abs(target.length[d] - field.length[d]) <= slack &&
             std::abs(target.origin[d] - field.origin[d]) <= slack;
    }
    if (!fits)
      onto.fail("cells of mesh '" + onto.text() + "' are not boxes of whole cells of mesh '" +
                mesh_ + "'");
    field_ = field;
    components_ = field.components;
    input_ = setup.input(stage::Input::blocks({setup["field"].text()})
                             .with_ghosts({side_[0] - 1, side_[1] - 1, side_[2] - 1}));
    output_ = setup.output_of(setup["into"].text(), onto.text(), PILLION_FLOAT64, components_,
                              field.units);
  }

  /// Coarse publications, which lack most cells of a box, are left out.
  void run(const stage::Step& step) {
    if (step.coarsening(mesh_) != 1) return step.withhold();
    const auto& mesh = step.mesh(mesh_);
    compare(mesh, step.mesh(onto_));
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      const auto block = step.block(input_, b);
      std::array<int64_t, 3> lo{}, hi{};
      for (size_t d = 0; d < 3; ++d) {
        lo[d] = (block.inner_lo()[d] + side_[d] - 1) / side_[d];
        hi[d] = (block.inner_hi()[d] + side_[d] - 1) / side_[d];
      }
      if (lo[0] < hi[0] && lo[1] < hi[1] && lo[2] < hi[2])
        fill(step, block, weights_of(mesh, field_, block), lo, hi);
    }
  }

 private:
  using Index = std::array<int64_t, 3>;

  /// Throws unless faces of the coarser mesh are faces of this one.
  void compare(const pillion_mesh& mesh, const pillion_mesh& onto) const {
    for (size_t d = 0; d < 3 && mesh.coordinates[d] != nullptr; ++d)
      for (int64_t i = 0; i <= onto.cells[d]; ++i)
        if (onto.coordinates[d] == nullptr ||
            std::abs(onto.coordinates[d][i] - mesh.coordinates[d][i * side_[d]]) >
                1e-9 * mesh.length[d])
          throw Error(ErrorCode::Stage, "face " + std::to_string(i) + " of mesh '" + onto_ +
                                            "' along axis " + std::to_string(d) +
                                            " is not at face " + std::to_string(i * side_[d]) +
                                            " of mesh '" + mesh_ + "'");
  }

  void fill(const stage::Step& step, const stage::Block& block, const CellWeights& weights,
            const Index& lo, const Index& hi) {
    auto* out = step.produce_box<double>(output_, lo, hi);
    const auto array = block[0];
    const auto& stride = array.strides;
    array.visit([&](const auto* data) {
      for (int64_t k = lo[2]; k < hi[2]; ++k)
        for (int64_t j = lo[1]; j < hi[1]; ++j)
          for (int64_t i = lo[0]; i < hi[0]; ++i) {
            const Index at = {i * side_[0] - block.lo()[0], j * side_[1] - block.lo()[1],
                              k * side_[2] - block.lo()[2]};
            const auto* first = data + at[0] * stride[0] + at[1] * stride[1] + at[2] * stride[2];
            for (int32_t c = 0; c < components_; ++c)
              *out++ = weights.are_equal() ? mean(first + c * stride[3], stride)
                                           : mean(first + c * stride[3], stride, weights, at);
          }
    });
  }

  template <class T>
  [[nodiscard]] double mean(const T* first, const int64_t* stride) const {
    double sum = 0;
    for (int64_t k = 0; k < side_[2]; ++k)
      for (int64_t j = 0; j < side_[1]; ++j)
        for (int64_t i = 0; i < side_[0]; ++i)
          sum += static_cast<double>(first[i * stride[0] + j * stride[1] + k * stride[2]]);
    return sum / static_cast<double>(side_[0] * side_[1] * side_[2]);
  }

  template <class T>
  [[nodiscard]] double mean(const T* first, const int64_t* stride, const CellWeights& weights,
                            const Index& at) const {
    double sum = 0, volume = 0;
    for (int64_t k = 0; k < side_[2]; ++k)
      for (int64_t j = 0; j < side_[1]; ++j)
        for (int64_t i = 0; i < side_[0]; ++i) {
          const double weight = weights.of(at[0] + i, at[1] + j, at[2] + k);
          sum += weight * static_cast<double>(first[i * stride[0] + j * stride[1] + k * stride[2]]);
          volume += weight;
        }
    return sum / volume;
  }

  std::string mesh_, onto_;
  pillion_field_description field_{};
  Index side_{1, 1, 1};  ///< cells of a box
  int32_t components_ = 1, input_ = 0, output_ = 0;
};

// Means over spectral elements: the quadrature of the field, which is exact for what the basis can
// represent on an element that is not deformed, over that of 1.

class ElementsMean {
 public:
  ElementsMean(stage::Setup& setup, const pillion_field_description& field) : field_(field) {
    if (setup["onto"])
      setup["onto"].fail(
          "means over elements of a spectral mesh are on that mesh; leave `onto` out");
    volumes_ = by_mesh_.elements(setup, field, setup["field"]);
    if (!volumes_)
      setup["field"].fail("mesh '" + std::string(field.mesh) +
                          "' does not name the field of its `coordinates`");
    const auto name = setup["field"].text();
    input_ = setup.input(stage::Input::as_shared({name, volumes_->coordinates()}).with_points());
    output_ = setup.output_centred(setup["into"].text(), name, PILLION_FLOAT64, field.components,
                                   PILLION_CELL, field.units);
  }

  void run(const stage::Step& step) {
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      const auto block = step.block(input_, b);
      fill(block, volumes_->weights(step, field_, block, block[1]).of_values,
           step.produce<double>(output_, input_, b));
    }
  }

 private:
  void fill(const stage::Block& block, std::span<const double> weights, double* out) const {
    const auto array = unfolded(block[0], field_);
    const int64_t points = points_of(field_);
    block[0].visit([&](const auto* data) {
      for (int64_t e = 0; e < block.count(); ++e)
        for (int32_t c = 0; c < field_.components; ++c) {
          const auto* values = data + e * array.strides[1] + c * array.strides[3];
          const double* volumes = weights.data() + e * points;
          double sum = 0, volume = 0;
          for (int64_t p = 0; p < points; ++p) {
            sum += volumes[p] * static_cast<double>(values[p * array.strides[0]]);
            volume += volumes[p];
          }
          *out++ = sum / volume;
        }
    });
  }

  pillion_field_description field_;
  VolumesByMesh by_mesh_;
  std::shared_ptr<ElementVolumes> volumes_;
  int32_t input_ = 0, output_ = 0;
};

// Means over cells of the values at their points. Each point of a cell has the same part of its
// volume, or the integral of its interpolation, as in the weights of values at points.

class CellsMean {
 public:
  CellsMean(const stage::Setup& setup, const pillion_field_description& field) : field_(field) {
    if (setup["onto"])
      setup["onto"].fail(
          "means over cells of values at points are on the mesh of the field; leave `onto` out");
    const auto name = setup["field"].text();
    input_ = setup.input(stage::Input::as_shared({name}).with_points());
    output_ = setup.output_centred(setup["into"].text(), name, PILLION_FLOAT64, field.components,
                                   PILLION_CELL, field.units);
    // A point is one of about four quadratic cells.
    if (is_unstructured(field)) setup.memory(32 / bytes_of(setup, {name}));
  }

  void run(const stage::Step& step) {
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      const auto block = step.block(input_, b);
      auto* out = step.produce<double>(output_, input_, b);
      const auto array = block[0];
      array.visit([&](const auto* data) {
        if (is_unstructured(field_)) over_cells(step, block, array, data, out);
        else over_box(block, array, data, out);
      });
    }
  }

 private:
  template <class T>
  void over_cells(const stage::Step& step, const stage::Block& block, const stage::Array& array,
                  const T* data, double* out) {
    const auto& shares = shares_of(step, block).of_points;
    const auto& cells = block.connectivity();
    for (int64_t cell = 0; cell < block.count(); ++cell) {
      const int64_t begin = cells.offsets[cell], end = cells.offsets[cell + 1];
      for (int32_t c = 0; c < field_.components; ++c) {
        double sum = 0;
        for (int64_t p = begin; p < end; ++p)
          sum +=
              (shares.empty() ? 1 : shares[static_cast<size_t>(p)]) *
              static_cast<double>(data[cells.points[p] * array.strides[0] + c * array.strides[3]]);
        *out++ = shares.empty() ? sum / static_cast<double>(end - begin) : sum;
      }
    }
  }

  /// What the points of each cell weigh, in all 1, as the cells list them; empty if those of every
  /// cell weigh the same.
  struct Shares {
    int64_t topology = 0, geometry = 0;
    std::vector<double> of_points;
  };

  /// Of a block; found again only when its cells have changed, or their points.
  const Shares& shares_of(const stage::Step& step, const stage::Block& block) {
    Shares& known = shares_.at(step.index(), block.id());
    const auto& raw = block.raw();
    const auto& list = block.connectivity();
    const auto size = static_cast<size_t>(block.count() > 0 ? list.offsets[block.count()] : 0);
    const bool is_known = raw.topology_version != 0 && raw.geometry_version != 0 &&
                          known.topology == raw.topology_version &&
                          known.geometry == raw.geometry_version;
    if (is_known) return known;
    known = {raw.topology_version, raw.geometry_version, {}};
    if (std::none_of(list.types, list.types + block.count(),
                     [](uint8_t type) { return quadratic_of(type) != nullptr; }))
      return known;
    BlockCells cells(step.mesh(field_.mesh), block);
    known.of_points.resize(size);
    for (int64_t cell = 0; cell < block.count(); ++cell) {
      const auto points =
          std::span(known.of_points)
              .subspan(static_cast<size_t>(list.offsets[cell]), cells.points(cell).size());
      std::fill(points.begin(), points.end(), 1 / static_cast<double>(points.size()));
      const auto* quadratic = quadratic_of(list.types[cell]);
      if (quadratic == nullptr) continue;
      const auto shares = node_integrals(cells, cell, *quadratic, 1);
      double sum = 0;
      for (const double share : shares) sum += share;
      if (std::abs(sum - 1) < 1e-6)  // not of a cell that is flat
        std::copy(shares.begin(), shares.end(), points.begin());
    }
    return known;
  }

  template <class T>
  void over_box(const stage::Block& block, const stage::Array& array, const T* data,
                double* out) const {
    const auto& stride = array.strides;
    Extent cells{1, 1, 1}, corners{1, 1, 1};
    for (int32_t d = 0; d < field_.axes; ++d) {
      const auto axis = static_cast<size_t>(d);
      cells[axis] = block.hi()[d] - block.lo()[d];
      corners[axis] = is_at_points_along(field_, d) ? 2 : 1;
    }
    const auto sum = [&](const T* first) {
      double out = 0;
      for (int64_t k = 0; k < corners[2]; ++k)
        for (int64_t j = 0; j < corners[1]; ++j)
          for (int64_t i = 0; i < corners[0]; ++i)
            out += static_cast<double>(first[i * stride[0] + j * stride[1] + k * stride[2]]);
      return out;
    };
    for (int64_t k = 0; k < cells[2]; ++k)
      for (int64_t j = 0; j < cells[1]; ++j)
        for (int64_t i = 0; i < cells[0]; ++i) {
          const T* first = data + i * stride[0] + j * stride[1] + k * stride[2];
          for (int32_t c = 0; c < field_.components; ++c)
            *out++ = sum(first + c * stride[3]) / static_cast<double>(size_of(corners));
        }
  }

  pillion_field_description field_;
  ByBlock<Shares> shares_;
  int32_t input_ = 0, output_ = 0;
};

namespace {

class Average final : public stage::Stage {
 public:
  explicit Average(stage::Setup& setup) {
    const auto field = field_of(setup, "field", 0, Numbers::any);
    const bool is_at_points = field.centering == PILLION_POINT || field.point_axes != 0;
    if (field.mesh_kind == PILLION_SPECTRAL && is_at_points)
      elements_ = std::make_unique<ElementsMean>(setup, field);
    else if (is_at_points && (has_boxes(field) || has_placed_points(field)))
      cells_ = std::make_unique<CellsMean>(setup, field);
    else if (has_boxes(field)) boxes_ = std::make_unique<Boxes>(setup, field);
    else if (has_placed_points(field))
      setup["field"].fail(
          "field '" + setup["field"].text() + "' has values at the cells of " +
          (is_unstructured(field) ? "an unstructured" : "a curvilinear") +
          " mesh, and no box of another mesh holds a whole number of these. `slice` "
          "averages over pixels, `statistics` over the mesh");
    else
      setup["field"].fail(
          "field '" + setup["field"].text() +
          "' is neither on a mesh of cells in boxes nor at the points of a spectral one");
  }

  void run(stage::Step& step) override {
    if (boxes_) boxes_->run(step);
    else if (cells_) cells_->run(step);
    else elements_->run(step);
  }

 private:
  std::unique_ptr<Boxes> boxes_;
  std::unique_ptr<ElementsMean> elements_;
  std::unique_ptr<CellsMean> cells_;
};

const pillion_parameter parameters[] = {
    {"field", "field", nullptr,
     "Field on a uniform or rectilinear mesh, or at the points of a mesh of any kind"},
    {"onto", "mesh", "null",
     "Mesh of the same kind and box, of whose cells each holds a whole number of cells; not for "
     "values at points"},
    {"into", "name", nullptr, "Name of the field that is made"},
};

}  // namespace
}  // namespace pillion::stages::average

PILLION_STAGE(
    pillion::stages::average::Average, "average",
    "Means over boxes of cells, over elements, or over cells of values at points, as a new field",
    pillion::stages::average::parameters)
