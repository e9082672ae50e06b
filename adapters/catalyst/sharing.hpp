// SPDX-License-Identifier: BSD-3-Clause
// Sharing parts with a session. Values are shared where the simulation has them; those that lie as
// no array of Pillion's can, such as members of a packed struct, are copied.
#pragma once

#include <pillion/pillion.h>

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "plan.hpp"

namespace pillion::catalyst {

/// Turns a status of the C interface into an exception.
void check(pillion_status status);

class Sharing {
 public:
  Sharing(pillion_session* session, Plan plan) : session_(session), plan_(std::move(plan)) {}

  [[nodiscard]] const Plan& plan() const { return plan_; }
  /// Coordinates of rectilinear meshes, which stay.
  void set_coordinates();
  /// Shares what `description` has of the fields in `used`, and takes back all else. Its memory
  /// must stay until the step has been offered. Returns a sentence for each thing that does not
  /// fit; Pillion then leaves the publications out that would lack it.
  std::vector<std::string> share(const Description& description, const std::set<std::string>& used);

 private:
  struct Blocks {
    const PlannedMesh& mesh;
    std::vector<const Part*> parts;
    std::vector<Place> places;  ///< of boxes
    bool is_faulty = false;
    std::map<std::string, std::string> faults;  ///< of single fields, by the simulation's names
  };
  /// Values of a field, and which of them are shared: all if `chosen` is empty.
  struct Values {
    const FieldValues& field;
    std::vector<int64_t> chosen;
    int64_t count = 0;
    int32_t components = 1;  ///< of the field in the catalogue
  };
  void find(const Description& description, const Key& key, Blocks& blocks);
  void share_mesh(const Blocks& blocks, const std::set<std::string>& used);
  void share_cells(const Blocks& blocks);
  void begin_blocks(const std::string& name);
  void end_blocks(const std::string& name);
  void share_points(const PlannedMesh& mesh, const Part& part, int32_t block);
  void share_field(const Blocks& blocks, const std::string& name, const std::string* original);
  void share_box(const Blocks& blocks, size_t number, const std::string& name,
                 const FieldValues& field);
  void share_items(const Blocks& blocks, size_t number, const std::string& name,
                   const FieldValues& field, pillion_type type);
  void share_view(const PlannedMesh& mesh, const std::string& name, int32_t block, int64_t count,
                  const pillion_view& view);
  /// The chosen values in memory of this object's, component by component of each item.
  pillion_view gather(const Values& values, pillion_type type);
  void note(const std::string& text) { faults_.push_back(text); }

  pillion_session* session_;
  Plan plan_;
  std::deque<std::vector<std::byte>> copies_;
  std::deque<CellTable> tables_;
  std::vector<std::string> faults_;
  std::set<std::string> open_;  ///< fields that failed at this step: their blocks are not ended
};

}  // namespace pillion::catalyst
