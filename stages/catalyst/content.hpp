// SPDX-License-Identifier: BSD-3-Clause
// What ParaView's side is sent of a publication: a message, a line of JSON that describes the mesh
// and the fields, and their values as doubles, block by block.
#pragma once

#include <array>
#include <cstdint>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

namespace pillion::stages::catalyst {

struct Field {
  std::string name;
  pillion_field_description description{};
};

/// As a text of JSON, which is one of Python, too.
std::string json_text(const std::string& text);

/// The fields that a script reads, all of one mesh.
class Content {
 public:
  /// Of the parameters `fields` and `position`. Throws at the place of what is wrong.
  explicit Content(const stage::Setup& setup);

  /// The layout in which peers have them: to be gathered, or to be the pieces of a whole.
  [[nodiscard]] stage::Input input(bool in_pieces) const;
  [[nodiscard]] std::vector<std::string> names() const;
  /// Bytes of all fields as doubles, in a cell or an item.
  [[nodiscard]] double doubles() const;

  /// The values of this peer, block by block: what the mesh needs, and the values of each field. Of
  /// boxes these are the box, the box without its ghost cells, and the points of curvilinear cells;
  /// of unstructured cells the numbers, types, flags, points and faces; of others their number.
  [[nodiscard]] std::vector<double> packed(const stage::Step& step, int32_t input) const;
  /// A map of JSON with `entries`, which name the place of the values. It is `whole` if these are
  /// those of all peers.
  [[nodiscard]] std::string message(const stage::Step& step, bool whole,
                                    const std::string& entries) const;

 private:
  void add(const stage::Setup& setup, const std::string& name, const stage::Value& place);
  void read_position(const stage::Setup& setup);
  [[nodiscard]] bool has_boxes() const;
  void expect_supported(const stage::Value& place) const;
  void pack_box(const stage::Block& block, const pillion_mesh& mesh,
                std::vector<double>& out) const;
  void pack_cells(const stage::Block& block, std::vector<double>& out) const;
  void pack_items(const stage::Block& block, std::vector<double>& out) const;
  [[nodiscard]] std::string described(const Field& field) const;

  pillion_mesh_kind kind_ = PILLION_UNIFORM;
  std::vector<Field> fields_;
  std::string mesh_, coordinates_;
};

}  // namespace pillion::stages::catalyst
