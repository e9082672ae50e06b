// SPDX-License-Identifier: BSD-3-Clause
// Creating a stage: its parameters, the catalogue of fields, and the inputs and outputs that it
// asks for. Nothing is read or computed yet.
#pragma once

#include <array>
#include <cstdint>
#include <pillion/stage/host.hpp>
#include <pillion/stage/value.hpp>
#include <string>
#include <utility>
#include <vector>

namespace pillion::stage {

/// Which rank holds what, and which fields. Made with one of its functions; from `blocks` on they
/// are for meshes of boxes, and stage.h defines the blocks.
struct Input {
  std::vector<std::string> fields{};
  int32_t layout = PILLION_LAYOUT_AS_SHARED;
  std::string key{};
  std::string position{};
  double halo = 0;
  std::string select{};
  std::vector<int64_t> select_values{};
  int32_t axis = 0;
  std::array<int32_t, 3> sides{};
  std::array<int64_t, 3> ghosts{};
  bool parts = false;
  bool levels = false;
  bool points = false;

  /// Blocks as the simulation shares them.
  static Input as_shared(std::vector<std::string> fields) { return {.fields = std::move(fields)}; }
  /// Each particle, element or cell of an unstructured mesh always at the same owner, given by an
  /// integer field; sorted by it. Without one, cells have their ids as keys. Only cells may have a
  /// halo, as many layers of copies around those of the owner.
  static Input by_key(std::string key, std::vector<std::string> fields, double halo = 0) {
    return {.fields = std::move(fields),
            .layout = PILLION_LAYOUT_BY_KEY,
            .key = std::move(key),
            .halo = halo};
  }
  /// Particles by place, with copies of all within `halo` (in the mesh's units of length); or cells
  /// of an unstructured mesh, with `halo` layers of copies and no position.
  static Input spatial(std::string position, double halo, std::vector<std::string> fields) {
    return {.fields = std::move(fields),
            .layout = PILLION_LAYOUT_SPATIAL,
            .position = std::move(position),
            .halo = halo};
  }
  /// One block per peer, as near to cubes as can be.
  static Input blocks(std::vector<std::string> fields) {
    return {.fields = std::move(fields), .layout = PILLION_LAYOUT_BLOCKS};
  }
  /// One block per peer, cut along one axis alone.
  static Input slabs(std::vector<std::string> fields, int32_t axis) {
    return {.fields = std::move(fields), .layout = PILLION_LAYOUT_SLABS, .axis = axis};
  }
  /// One block per peer, whole along one axis.
  static Input pencils(std::vector<std::string> fields, int32_t axis) {
    return {.fields = std::move(fields), .layout = PILLION_LAYOUT_PENCILS, .axis = axis};
  }
  /// One block per peer to begin a Fourier transform with: cut along the third axis alone, or, if
  /// there are fewer planes than peers, whole along the first.
  static Input transform(std::vector<std::string> fields) {
    return {.fields = std::move(fields), .layout = PILLION_LAYOUT_TRANSFORM};
  }
  /// Any number of blocks of 2^sides[d] cells along axis d, fewer at its upper end, or of sides
  /// that follow from the blocks as shared (pillion_side). Neighbours are usually with the same
  /// peer.
  static Input powers_of_two(std::vector<std::string> fields, std::array<int32_t, 3> sides) {
    return {.fields = std::move(fields), .layout = PILLION_LAYOUT_POWERS_OF_TWO, .sides = sides};
  }
  /// The same with 2^side cells along every axis.
  static Input powers_of_two(std::vector<std::string> fields, int32_t side) {
    return powers_of_two(std::move(fields), std::array<int32_t, 3>{side, side, side});
  }
  /// Blocks grown by `widths` cells on both sides of each axis; not for blocks as shared.
  [[nodiscard]] Input with_ghosts(std::array<int64_t, 3> widths) && {
    ghosts = widths;
    return std::move(*this);
  }
  /// Boxes may come as several blocks, whose values lie wherever they are: saves their copying. Not
  /// with ghost cells.
  [[nodiscard]] Input in_parts() && {
    parts = true;
    return std::move(*this);
  }
  /// Blocks may be of several levels of refinement, with cells that finer blocks cover, and cells
  /// of the mesh may be missing. Without this, fields on such meshes are refused. As shared only.
  [[nodiscard]] Input with_levels() && {
    levels = true;
    return std::move(*this);
  }
  /// Fields may have values at points of meshes of boxes: one more than cells along each axis.
  /// Without this, such fields are refused. As shared only.
  [[nodiscard]] Input with_points() && {
    points = true;
    return std::move(*this);
  }
  /// Only particles whose integer field has one of these values.
  [[nodiscard]] Input where(std::string field, std::vector<int64_t> values) && {
    select = std::move(field);
    select_values = std::move(values);
    return std::move(*this);
  }
};

/// A stage being created: its parameters and the catalogue.
class Setup {
 public:
  Setup(const pillion_stage_host* host, pillion_setup* handle) : host_(host), handle_(handle) {}

  [[nodiscard]] Value parameters() const { return {host_, host_->parameters(handle_)}; }
  /// A parameter, whose default the host has filled in; false in a condition if it is null.
  [[nodiscard]] Value operator[](const std::string& name) const { return parameters().find(name); }

  /// The catalogue's entry for a field that the simulation shares or an earlier stage produces.
  /// Throws, pointing at `place`, if there is none.
  [[nodiscard]] pillion_field_description field(const std::string& name, const Value& place) const {
    return described(PILLION_DESCRIBE_FIELD, name, place);
  }
  /// What is known of a mesh: the entry of a field without a name, with the units of its lengths.
  [[nodiscard]] pillion_field_description mesh(const std::string& name, const Value& place) const {
    return described(PILLION_DESCRIBE_MESH, name, place);
  }
  /// Asks for fields in a layout; returns the number by which Step knows the input.
  [[nodiscard]] int32_t input(const Input& wanted) const;
  /// Declares a field that this stage produces on the blocks of field `like`, which it must read as
  /// shared; returns the number by which Step knows the output.
  [[nodiscard]] int32_t output(const std::string& name, const std::string& like, pillion_type type,
                               int32_t components, const std::string& units) const {
    return output_centred(name, like, type, components, 0, units);
  }
  /// The same for a field on a spectral mesh that is centred otherwise than `like`: with
  /// `components` values at each point (PILLION_POINT) or in each element (PILLION_CELL).
  [[nodiscard]] int32_t output_centred(const std::string& name, const std::string& like,
                                       pillion_type type, int32_t components,
                                       pillion_centering centering,
                                       const std::string& units) const {
    auto wanted = described_output(name, type, components, units);
    wanted.like = like.c_str();
    wanted.centering = centering;
    return declared(wanted);
  }
  /// The same on the inner cells of an input in one of the layouts from blocks on.
  [[nodiscard]] int32_t output_on(const std::string& name, int32_t input, pillion_type type,
                                  int32_t components, const std::string& units) const {
    auto wanted = described_output(name, type, components, units);
    wanted.input = input;
    return declared(wanted);
  }
  /// The same on boxes of a uniform mesh that Step::produce_box chooses.
  [[nodiscard]] int32_t output_of(const std::string& name, const std::string& mesh,
                                  pillion_type type, int32_t components,
                                  const std::string& units) const {
    auto wanted = described_output(name, type, components, units);
    wanted.mesh = mesh.c_str();
    return declared(wanted);
  }
  /// Says that results from coarse publications (see Step::coarsening) would be wrong. While the
  /// stage runs in sidecars, its analysis skips the publications that would be coarse.
  void require_whole_publications() const { check(host_, host_->require_whole(handle_)); }
  /// Says that this stage may end the processes that it runs in, as a library that aborts may.
  /// Throws, pointing at `place`, unless these are sidecars of a job without the simulation.
  void require_separate_job(const Value& place) const {
    check(host_, host_->require_separate_job(handle_, place.node()));
  }
  /// Says that a publication at which `run` fails, on any peer, leaves what this stage keeps as it
  /// was on every peer. Before the stage changes anything it finds all that can be wrong, and has
  /// the peers agree on that. The analysis then loses that publication alone. Without this the
  /// first failure of a stage that saves anything disables its analysis.
  void survives_failures() const { check(host_, host_->declare_recoverable(handle_)); }
  /// Declares a product that this stage may write, by its name without a step: "NAME.csv" for a
  /// table called NAME. Throws if an earlier stage of the analysis declares the same one.
  void product(const std::string& name) const {
    check(host_, host_->declare_product(handle_, name.c_str()));
  }
  /// Declares memory that this stage takes on each peer beside its inputs and outputs:
  /// `per_input_byte` for each byte of its inputs there, plus `bytes`. `pillion check` adds it up.
  /// Throws for negative values.
  void memory(double per_input_byte, int64_t bytes = 0) const {
    check(host_, host_->declare_memory(handle_, per_input_byte, bytes));
  }
  [[nodiscard]] const pillion_stage_host* host() const { return host_; }

 private:
  [[nodiscard]] pillion_field_description described(int32_t what, const std::string& name,
                                                    const Value& place) const {
    pillion_field_description description{};
    description.size = sizeof description;
    check(host_, host_->describe(handle_, what, name.c_str(), place.node(), &description));
    return description;
  }
  /// Its texts must live as long as it does.
  static pillion_output described_output(const std::string& name, pillion_type type,
                                         int32_t components, const std::string& units) {
    pillion_output wanted{};
    wanted.size = sizeof wanted;
    wanted.name = name.c_str();
    wanted.units = units.c_str();
    wanted.type = type;
    wanted.components = components;
    return wanted;
  }
  [[nodiscard]] int32_t declared(const pillion_output& wanted) const {
    int32_t number = 0;
    check(host_, host_->declare_output(handle_, &wanted, &number));
    return number;
  }
  const pillion_stage_host* host_;
  pillion_setup* handle_;
};

inline int32_t Setup::input(const Input& wanted) const {
  std::vector<const char*> names;
  for (const auto& field : wanted.fields) names.push_back(field.c_str());
  pillion_input_request request{};
  request.size = sizeof request;
  request.fields = names.data();
  request.field_count = static_cast<int32_t>(names.size());
  request.layout = wanted.layout;
  request.key = wanted.key.c_str();
  request.position = wanted.position.c_str();
  request.halo = wanted.halo;
  request.select = wanted.select.empty() ? nullptr : wanted.select.c_str();
  request.select_values = wanted.select_values.data();
  request.select_count = static_cast<int32_t>(wanted.select_values.size());
  request.in_parts = wanted.parts ? 1 : 0;
  request.with_levels = wanted.levels ? 1 : 0;
  request.with_points = wanted.points ? 1 : 0;
  request.axis = wanted.axis;
  for (size_t d = 0; d < 3; ++d) {
    request.sides[d] = wanted.sides[d];
    request.ghosts[d] = wanted.ghosts[d];
  }
  int32_t number = 0;
  check(host_, host_->request_input(handle_, &request, &number));
  return number;
}

}  // namespace pillion::stage
