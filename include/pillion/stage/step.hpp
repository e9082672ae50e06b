// SPDX-License-Identifier: BSD-3-Clause
// A publication as a stage sees it: which step it is, the blocks of the inputs, the peers, and the
// sink for products.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <pillion/stage/block.hpp>
#include <pillion/stage/host.hpp>
#include <pillion/stage/table.hpp>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace pillion::stage {

/// Bytes for a peer, or from one.
struct Message {
  int32_t peer = 0;
  std::span<const std::byte> bytes;
};

/// A publication being worked on. Functions marked [peers] must be called by every peer.
class Step {
 public:
  Step(const pillion_stage_host* host, pillion_work* work) : host_(host), work_(work) {}

  [[nodiscard]] int64_t index() const { return host_->step(work_); }
  [[nodiscard]] double time() const { return host_->time(work_); }
  /// How many publications this analysis has worked on before, restarts included.
  [[nodiscard]] int64_t publication() const { return host_->publication(work_); }
  /// Of the schedule, in time; 0 if it counts steps.
  [[nodiscard]] double interval() const { return host_->interval(work_); }
  /// Whether a product that each writing replaces is worth writing now.
  [[nodiscard]] bool products_due() const { return host_->products_due(work_) != 0; }
  /// A number that the simulation sets for each step, as of this publication; not a number if it
  /// has never set it. Throws if there is no such scalar.
  [[nodiscard]] double scalar(const std::string& name) const {
    double value = 0;
    check(host_, host_->scalar(work_, name.c_str(), &value));
    return value;
  }
  /// The names of all of them.
  [[nodiscard]] std::vector<std::string> scalars() const {
    std::vector<std::string> names;
    for (int32_t s = 0; s < host_->scalar_count(work_); ++s)
      names.emplace_back(host_->scalar_name(work_, s));
    return names;
  }
  /// Units of a field, of a mesh's lengths, of a scalar, or of "time".
  [[nodiscard]] std::string units(const std::string& name) const {
    return host_->units(work_, name.c_str());
  }
  /// A mesh as it is in this publication; good until the callback returns.
  [[nodiscard]] const pillion_mesh& mesh(const std::string& name) const {
    const pillion_mesh* found = host_->mesh(work_, name.c_str());
    if (found == nullptr) throw Error(ErrorCode::Stage, host_->failure());
    return *found;
  }
  /// Where its particles live.
  [[nodiscard]] pillion_domain domain(const std::string& mesh_name) const {
    return domain_of(mesh(mesh_name));
  }
  /// The coarsening factor; 1 for a publication at full resolution. Cell i of a uniform mesh is
  /// cell i * factor of the mesh as described. One in `factor` particles was kept.
  [[nodiscard]] int32_t coarsening(const std::string& mesh_name) const {
    return mesh(mesh_name).coarsening;
  }

  [[nodiscard]] int32_t block_count(int32_t input) const {
    return host_->block_count(work_, input);
  }
  [[nodiscard]] Block block(int32_t input, int32_t index = 0) const {
    return Block(host_->block(work_, input, index));
  }

  /// Memory for an output on one block of an input, or on its inner cells if it may have ghost
  /// cells: contiguous, first axis fastest, components interleaved, uninitialised.
  template <class T>
  [[nodiscard]] T* produce(int32_t output, int32_t input, int32_t index) const {
    void* data = nullptr;
    check(host_, host_->produce(work_, output, input, index, &data));
    return static_cast<T*>(data);
  }

  /// Memory for an output on boxes of a mesh, in one of them; no cell may be in two, of any peers.
  template <class T>
  [[nodiscard]] T* produce_box(int32_t output, const std::array<int64_t, 3>& lo,
                               const std::array<int64_t, 3>& hi) const {
    void* data = nullptr;
    check(host_, host_->produce_box(work_, output, lo.data(), hi.data(), &data));
    return static_cast<T*>(data);
  }
  /// The part of the domain whose particles are this peer's in a spatial input, in units of the
  /// domain's edges.
  struct Region {
    std::array<double, 3> lo{}, hi{};
  };
  [[nodiscard]] Region spatial_part(int32_t input) const {
    Region out;
    check(host_, host_->spatial_part(work_, input, out.lo.data(), out.hi.data()));
    return out;
  }

  /// Writes a product. [peers] The first peer's table is the one that is written, unless it is in
  /// parts.
  void write(const Table& table) const { check(host_, table.write(host_, work_)); }

  /// The folder of the analysis's products, for files of the stage's own.
  [[nodiscard]] std::string product_folder() const {
    const char* path = nullptr;
    check(host_, host_->product_folder(work_, &path));
    return path;
  }
  /// Writes a product that is a text, whole or not at all, with its origin in front, in lines that
  /// begin with `comment`; none if that is null. If `durable`, it is on disk on return. [peers] The
  /// first peer's is the one that is written.
  void write_text(const std::string& name, const std::string& title, const char* comment,
                  const std::string& text, bool durable) const {
    check(host_, host_->write_text(work_, name.c_str(), title.c_str(), comment, text.c_str(),
                                   durable ? 1 : 0));
  }

  /// Writes a product that is bytes as they are, whole or not at all. If `per_step`, there is one
  /// for each step, whose number stands before the ending of the name. [peers] The first peer's is
  /// written.
  void write_file(const std::string& name, const std::string& title,
                  std::span<const std::byte> bytes, bool per_step) const {
    check(host_, host_->write_file(work_, name.c_str(), title.c_str(), bytes.data(), bytes.size(),
                                   per_step ? 1 : 0));
  }

  /// Where a product in a file of the stage's own comes from: a YAML document.
  [[nodiscard]] std::string origin(const std::string& name, const std::string& title) const {
    const char* text = nullptr;
    check(host_, host_->origin(work_, name.c_str(), title.c_str(), &text));
    return text;
  }

  /// Keeps this publication from the stages after this one: they do not run, outputs need not be
  /// produced, and nothing crosses to sidecars. [peers]
  void withhold() const { check(host_, host_->withhold(work_)); }
  /// Records of `width` values each, of the keys that this peer wants, from whichever peers have
  /// them. [peers]
  template <class T>
  [[nodiscard]] std::vector<T> fetch(std::span<const int64_t> keys, std::span<const T> records,
                                     size_t width, std::span<const int64_t> wanted) const {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> out(wanted.size() * width);
    const pillion_records have{keys.data(), static_cast<int64_t>(keys.size()), records.data(),
                               width * sizeof(T)};
    check(host_, host_->fetch(work_, &have, wanted.data(), static_cast<int64_t>(wanted.size()),
                              out.data()));
    return out;
  }

  /// As `fetch`, but peers may want records that none has: `found` says of each whether there is
  /// one. Missing ones are zeros. [peers]
  template <class T>
  [[nodiscard]] std::vector<T> fetch_known(std::span<const int64_t> keys,
                                           std::span<const T> records, size_t width,
                                           std::span<const int64_t> wanted,
                                           std::vector<uint8_t>& found) const {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> out(wanted.size() * width);
    found.assign(wanted.size(), 0);
    const pillion_records have{keys.data(), static_cast<int64_t>(keys.size()), records.data(),
                               width * sizeof(T)};
    check(host_, host_->fetch_known(work_, &have, wanted.data(),
                                    static_cast<int64_t>(wanted.size()), out.data(), found.data()));
    return out;
  }
  /// Warns of something about this publication that users must know, in the log and the report:
  /// once for each `topic` of this stage. The first peer's call counts.
  void warn(const std::string& topic, const std::string& message) const {
    check(host_, host_->warn(work_, topic.c_str(), message.c_str()));
  }

  [[nodiscard]] int32_t peer() const { return host_->peer(work_); }
  [[nodiscard]] int32_t peers() const { return host_->peers(work_); }
  /// Reductions in place; every peer gets the result. [peers]
  template <class T>
  void sum(std::span<T> values) const {
    reduce(values, PILLION_SUM);
  }
  template <class T>
  void min(std::span<T> values) const {
    reduce(values, PILLION_MIN);
  }
  template <class T>
  void max(std::span<T> values) const {
    reduce(values, PILLION_MAX);
  }
  /// The part of a division that this peer has: of no cell where lo and hi are 0.
  struct Part {
    std::array<int64_t, 3> lo{}, hi{};
    [[nodiscard]] int64_t count() const {
      return (hi[0] - lo[0]) * (hi[1] - lo[1]) * (hi[2] - lo[2]);
    }
  };
  [[nodiscard]] Part part(const pillion_division& division) const {
    Part out;
    check(host_, host_->part(work_, &division, out.lo.data(), out.hi.data()));
    return out;
  }
  /// Moves what this stage has computed from one division of some cells to another, a T for each
  /// cell, first axis fastest. [peers]
  template <class T>
  void regroup(const pillion_division& from, const pillion_division& to, const T* source,
               T* target) const {
    static_assert(std::is_trivially_copyable_v<T>);
    check(host_, host_->regroup(work_, &from, &to, sizeof(T), source, target));
  }
  /// Throws on all peers if one of them has failed. [peers]
  void agree() const { check(host_, host_->reduce(work_, nullptr, 0, PILLION_INT64, PILLION_SUM)); }
  /// Sends at most one message to each of some peers; returns the messages that others have sent
  /// here, in ascending order of peers. Empty ones are not sent. The bytes live until the next such
  /// call, gather or broadcast, or until the callback returns. [peers]
  [[nodiscard]] std::vector<Message> exchange(std::span<const Message> out) const {
    std::vector<pillion_message> sent;
    for (const auto& [peer, bytes] : out) sent.push_back({peer, 0, bytes.size(), bytes.data()});
    const pillion_message* in = nullptr;
    int32_t count = 0;
    check(host_,
          host_->exchange(work_, sent.data(), static_cast<int32_t>(sent.size()), &in, &count));
    return messages(in, count);
  }
  /// The bytes of all peers at one of them, in their order; nothing at the others. They live as
  /// those of `exchange`. [peers]
  [[nodiscard]] std::vector<Message> gather(std::span<const std::byte> bytes,
                                            int32_t to = 0) const {
    const pillion_message* in = nullptr;
    int32_t count = 0;
    check(host_, host_->gather(work_, to, bytes.data(), bytes.size(), &in, &count));
    return messages(in, count);
  }
  /// The bytes of one peer, on all. They live as those of `exchange`. [peers]
  [[nodiscard]] std::span<const std::byte> broadcast(std::span<const std::byte> bytes,
                                                     int32_t from = 0) const {
    const void* received = nullptr;
    size_t size = 0;
    check(host_, host_->broadcast(work_, from, bytes.data(), bytes.size(), &received, &size));
    return {static_cast<const std::byte*>(received), size};
  }
  /// Calls `body` on every peer, on at most `at_once` of them at the same time: a peer begins when
  /// the one `at_once` before it has ended. With 0 all begin at once, and none waits for another.
  /// `body` may call nothing that is marked [peers]. [peers]
  template <class Body>
  void in_turn(int64_t at_once, Body&& body) const {
    struct Call {
      Body& body;
      std::exception_ptr failure;
    } call{body, {}};
    const auto run = [](void* argument) -> int32_t {
      auto& called = *static_cast<Call*>(argument);
      try {
        called.body();
        return 0;
      } catch (...) {
        called.failure = std::current_exception();
        return static_cast<int32_t>(ErrorCode::Stage);
      }
    };
    const int32_t status = host_->in_turn(work_, static_cast<int32_t>(at_once), run, &call);
    if (call.failure) std::rethrow_exception(call.failure);
    check(host_, status);
  }
  /// For libraries that take one. A peer that fails while others are in a call on it hangs them, so
  /// prefer the functions above.
  [[nodiscard]] int32_t communicator() const { return host_->communicator(work_); }

 private:
  template <class T>
  void reduce(std::span<T> values, int32_t operation) const {
    check(host_, host_->reduce(work_, values.data(), static_cast<int64_t>(values.size()),
                               type_of<T>(), operation));
  }
  static std::vector<Message> messages(const pillion_message* in, int32_t count) {
    std::vector<Message> out;
    for (int32_t i = 0; i < count; ++i)
      out.push_back({in[i].peer, {static_cast<const std::byte*>(in[i].bytes), in[i].size}});
    return out;
  }
  const pillion_stage_host* host_;
  pillion_work* work_;
};

}  // namespace pillion::stage
