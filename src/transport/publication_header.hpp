// SPDX-License-Identifier: BSD-3-Clause
// What crosses from a simulation rank to a sidecar rank: a header that describes the message, and
// the values of the blocks, each aligned so that stages can read them where they lie.
#pragma once

#include <pillion/types.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/bytes.hpp"
#include "model/block.hpp"
#include "redistribution/kept_arrays.hpp"
#include "transport/transport.hpp"

namespace pillion::base {
class CopyThreads;
}

namespace pillion::transport {

using redistribution::KeptArrays;
using redistribution::SentArrays;

/// `Take` and `Give` are of the one analysis that is due: sidecars must resume it from what was
/// saved in `path`, or save it there and stop it.
enum class MessageKind : int32_t { Publication = 1, Checkpoint = 2, End = 3, Take = 4, Give = 5 };

/// One analysis that is due in a publication.
struct Due {
  int32_t analysis = 0;   ///< its number in the configuration
  int32_t unusable = 0;   ///< 1 if this rank cannot give what it needs; at the end, if disabled
  int64_t skipped = 0;    ///< publications of it that were skipped so far
  int64_t coarsened = 0;  ///< that were made coarser so far
  /// That the simulation withdrew so far; at the end, also publications of this rank that no
  /// sidecar could see.
  int64_t lost = 0;
};

struct PublicationHeader {
  MessageKind kind = MessageKind::Publication;
  bool dropped = false;    ///< this rank had no room: no sidecar can use the publication
  int32_t coarsening = 0;  ///< level of subsampling; 0 if the publication is whole
  int64_t sequence = 0;
  int64_t step = 0;
  double time = 0;
  double published = 0;  ///< calendar seconds
  std::string path;      ///< of a checkpoint, or of what moves
  base::Bytes summary;   ///< at the end: what this rank knows for the report
  std::string time_units;
  std::vector<Due> due;
  std::vector<double> scalars;   ///< of the catalogue, in its order
  std::vector<int32_t> targets;  ///< sidecars to which messages of this rank go directly
  MeshKeys box_keys;             ///< this rank's boxes, of meshes whose blocks go whole
  bool schema_changed =
      false;               ///< of the messages that go directly to the sidecars that work on them
  bool scattered = false;  ///< particles that should have gone to their owners are among the blocks
  bool brings_new =
      false;  ///< arrays that the sidecar keeps for later messages: see kept_arrays.hpp
  std::map<std::string, pillion_domain> domains;
  std::map<std::string, model::Faces> coordinates;  ///< of meshes whose program sets them
  std::map<std::string, std::string> units;         ///< of fields and meshes, where set at run time

  /// Members of a fixed size, which come first in a message.
  static constexpr auto numbers() {
    using H = PublicationHeader;
    return std::tuple{&H::kind,      &H::dropped,    &H::coarsening, &H::schema_changed,
                      &H::scattered, &H::brings_new, &H::sequence,   &H::step,
                      &H::time,      &H::published};
  }
  static constexpr auto members() {
    using H = PublicationHeader;
    return std::tuple_cat(numbers(), std::tuple{&H::due, &H::scalars, &H::targets, &H::box_keys,
                                                &H::path, &H::summary, &H::time_units, &H::domains,
                                                &H::coordinates, &H::units});
  }
};

/// The analyses that are due, after the coarsening.
DueSet due_set_of(const PublicationHeader& head);

/// For this number of messages both sides keep the schema of a set of analyses.
constexpr int64_t schema_lifetime = 64;

/// The schemas that this rank has sent: what sidecars know is not sent again.
class SchemaCache {
 public:
  [[nodiscard]] bool has(const DueSet& due, const base::Bytes& schema, int64_t sequence) const;
  void keep(const DueSet& due, const base::Bytes& schema, int64_t sequence);

 private:
  struct Entry {
    base::Bytes schema;
    int64_t sequence = 0;
  };
  std::map<DueSet, Entry> entries_;
};

/// A message being made: its size is known before memory for it is. It may be made once and used
/// for several messages that differ in numbers and in where their values are.
class Encoder {
 public:
  /// All arrays of all blocks of `meshes` are sent; these must stay. Arrays that `lender` finds are
  /// only pointed to. Arrays that `sent` has are left out; it must stay too.
  Encoder(const PublicationHeader& head, const Meshes& meshes, const Lender* lender = nullptr,
          const SentArrays* sent = nullptr);
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;
  /// Takes values from these arrays from the next renew() on: one for each that was given, in their
  /// order, which has the same arrangement and stays.
  void take_from(const std::vector<const model::Array*>& arrays);
  /// Takes the numbers of another head, as many analyses being due and as many scalars, and looks
  /// again where the values of the same arrays are.
  void renew(const PublicationHeader& head, const Lender* lender);
  [[nodiscard]] size_t size() const { return size_; }
  /// Bytes of values that are only pointed to.
  [[nodiscard]] int64_t bytes_lent() const { return lent_; }
  /// Whether there are arrays that receivers are to keep.
  [[nodiscard]] bool brings_new() const { return brings_new_; }
  /// Notes these arrays, once the message is on its way.
  void note_in(SentArrays& sent) const;
  /// Bytes of values of one field, over all blocks, and those of them that are only pointed to.
  struct FieldBytes {
    int64_t all = 0;
    int64_t lent = 0;
    int64_t left_out = 0;  ///< because the receiver has them
  };
  [[nodiscard]] const std::map<std::string, FieldBytes>& bytes_of_fields() const { return bytes_; }
  /// Writes the message to `to`, aligned to 64 bytes, which has room for size() bytes. Several
  /// threads copy large arrays, if there are any.
  void encode(std::byte* to, base::Copy how = base::Copy::Plain,
              base::CopyThreads* threads = nullptr) const;

 private:
  struct Part {
    const model::Array* array;
    const model::Block* block;
    model::Box box;
    size_t bytes;
    const std::string* field;
    FieldBytes* of_field;
    bool is_packed;
    bool is_here;  ///< in the message
    size_t offset;
  };
  void lay_out(const Lender* lender);
  base::Bytes head_;
  size_t places_ = 0;  ///< offset in the head of the places of arrays
  std::vector<Part> parts_;
  std::map<std::string, FieldBytes> bytes_;
  size_t size_ = 0;
  int64_t lent_ = 0;
  const SentArrays* sent_ = nullptr;
  bool brings_new_ = false;
};

struct Decoded {
  PublicationHeader head;
  Meshes meshes;
};

/// The head alone of a message, as a message without values.
base::Bytes head_of(const Delivery& delivery);
/// Reads the head only.
PublicationHeader decode_head(const std::byte* message, size_t size);
/// Where arrays are that a message only points to.
using Look = std::function<const std::byte*(const Lent&, size_t bytes)>;
/// Reads a message whose arrays then point into it; `keep` holds its memory. Arrays that the sender
/// has left out come from `kept`. Throws ErrorCode::Internal if anything in it points out of it.
Decoded decode(const std::byte* message, size_t size, std::shared_ptr<const void> keep,
               const Look& look = {}, const KeptArrays* kept = nullptr);
/// Keeps what a message brings whose header says that it brings_new.
void keep(const Decoded& decoded, KeptArrays& kept);

}  // namespace pillion::transport
