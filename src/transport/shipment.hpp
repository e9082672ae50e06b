// SPDX-License-Identifier: BSD-3-Clause
// What a simulation rank sends straight to the sidecars that work on it, one message for each:
// parts of blocks if these are divided anew, particles dealt to their owners, and blocks that
// belong to another sidecar than the one that gets the rank's heads.
#pragma once

#include <pillion/types.h>

#include <deque>
#include <optional>

#include "layout/copy_region.hpp"
#include "layout/particles.hpp"
#include "layout/request.hpp"
#include "redistribution/balance.hpp"
#include "transport/announcement.hpp"
#include "transport/bill.hpp"

namespace pillion::transport {

using Routes = std::map<std::string, layout::Request>;
/// What a shipment is planned with.
struct Destination {
  int sidecars = 0;
  int home = 0;  ///< the sidecar that gets this rank's heads
  const model::Catalogue* catalogue = nullptr;
  const Routes* routes = nullptr;
  const MeshCuts* cuts = nullptr;
  const std::map<std::string, pillion_domain>* domains = nullptr;
};

class Shipment {
 public:
  /// Takes out of `meshes` what does not go home, in a publication of that coarsening. Never fails
  /// for what is shared: what cannot go straight stays, and sidecars carry it on.
  Shipment(Meshes& meshes, int coarsening, const Destination& destination);
  Shipment(const Shipment&) = delete;
  Shipment& operator=(const Shipment&) = delete;

  /// The meshes whose blocks are in here.
  [[nodiscard]] Meshes& meshes() { return meshes_; }
  [[nodiscard]] std::vector<int32_t> sidecars() const;
  /// Particles stayed at home that should have been dealt.
  [[nodiscard]] bool is_scattered() const { return scattered_; }
  /// Whether the same blocks with other values go the same way.
  [[nodiscard]] bool is_lasting() const;
  /// All that sidecars must know beforehand.
  [[nodiscard]] const base::Bytes& terms() const { return terms_; }
  /// Bytes of values of one field.
  [[nodiscard]] const std::map<std::string, int64_t>& bytes_of_fields() const { return bytes_; }

  /// Bytes of values that come to the sidecar in the layout in which it works on them.
  [[nodiscard]] int64_t direct_bytes() const { return direct_; }

  /// Whether bills are sent. Decides where pieces lie.
  void lay_out(bool with_bills);
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] const std::vector<Piece>& pieces() const { return pieces_; }
  /// Writes all pieces to memory aligned to 64 bytes.
  void encode(std::byte* to, int64_t sequence) const;

 private:
  /// A region of one array, and where it goes among the values.
  struct Bit {
    const model::Array* array;
    model::Box box;
    model::Box region;
    layout::Index3 shift;
    size_t offset;
  };
  struct Deal {
    const layout::ParticleMoves* moves = nullptr;
    int rank;
    size_t offset;
  };
  struct Load {
    Bill bill;
    base::Bytes bill_bytes;
    std::vector<Bit> bits;
    std::vector<Deal> deals;
    size_t size = 0;  ///< of values
  };
  void take_blocks(const std::string& name, model::MeshBlocks& mesh, int coarsening,
                   const Destination& to);
  void take_parts(const std::string& name, int coarsening, const Destination& to);
  bool take_particles(const std::string& name, const Destination& to);
  void add_block(const std::string& mesh, const model::Block& block, Load& load);
  void count(const Item& item, int64_t cells);
  void settle(const Meshes& left, const Destination& to);

  Meshes meshes_;
  std::map<int, Load> loads_;
  std::deque<layout::ParticleMoves> particles_;
  std::map<std::string, int64_t> bytes_;
  std::vector<Piece> pieces_;
  base::Bytes terms_;
  size_t size_ = 0;
  int64_t direct_ = 0;
  bool scattered_ = false;
  bool with_bills_ = true;
};

DueSet due_set_of(const Announcement& head);
/// For so many messages both sides remember what was said about a set of analyses.
constexpr int64_t terms_last = 64;

/// What this rank has told sidecars.
class Told {
 public:
  [[nodiscard]] bool knows(const DueSet& due, const base::Bytes& terms, int64_t sequence) const;
  void note(const DueSet& due, const base::Bytes& terms, int64_t sequence);

 private:
  struct Entry {
    base::Bytes terms;
    int64_t sequence = 0;
  };
  std::map<DueSet, Entry> entries_;
};

}  // namespace pillion::transport
