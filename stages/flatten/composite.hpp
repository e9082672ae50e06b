// SPDX-License-Identifier: BSD-3-Clause
// The values of one level on the cells that this peer has of it, put together from the blocks of
// all levels and peers.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "tiles.hpp"

namespace pillion::stages::flatten {

/// Values of some cells of a level: `width` for each cell, and how much of the cell they stand for.
struct Piece {
  int32_t level = 0;  ///< of the cells
  int32_t from = 0;   ///< level of the block that they come from
  Index first{};      ///< where that block begins
  Box box;
  std::vector<double> values;
  std::vector<double> weights;
};

/// Pieces on their way to peers.
class Mail {
 public:
  explicit Mail(size_t width) : width_(width) {}

  /// The part of a piece that lies in `box`.
  void put(int32_t peer, const Piece& piece, const Box& box) {
    auto& bytes = out_[peer];
    append(bytes, Head{piece.level, piece.from, piece.first, box});
    for_each_cell(box, [&](int64_t i, int64_t j, int64_t k) {
      const auto at = static_cast<size_t>(piece.box.at(i, j, k));
      append(bytes, piece.weights[at]);
      for (size_t c = 0; c < width_; ++c) append(bytes, piece.values[at * width_ + c]);
    });
  }

  /// Sends all, and returns what others have sent here, in an order that does not depend on how
  /// blocks are divided among peers. [peers]
  [[nodiscard]] std::vector<Piece> exchange(const stage::Step& step) const {
    std::vector<stage::Message> messages;
    for (const auto& [peer, bytes] : out_) messages.push_back({peer, bytes});
    std::vector<Piece> in;
    for (const auto& message : step.exchange(messages)) take(message.bytes, in);
    std::stable_sort(in.begin(), in.end(), [](const Piece& a, const Piece& b) {
      return std::tie(a.from, a.first) < std::tie(b.from, b.first);
    });
    return in;
  }

 private:
  struct Head {
    int32_t level, from;
    Index first;
    Box box;
  };

  template <class T>
  static void append(std::vector<std::byte>& bytes, const T& value) {
    const auto* begin = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), begin, begin + sizeof value);
  }

  void take(std::span<const std::byte> bytes, std::vector<Piece>& in) const {
    const auto next = [&](auto& value) {
      std::memcpy(&value, bytes.data(), sizeof value);
      bytes = bytes.subspan(sizeof value);
    };
    while (!bytes.empty()) {
      Head head{};
      next(head);
      auto& piece = in.emplace_back(Piece{head.level, head.from, head.first, head.box, {}, {}});
      const auto cells = static_cast<size_t>(head.box.volume());
      piece.weights.resize(cells);
      piece.values.resize(cells * width_);
      for (size_t cell = 0; cell < cells; ++cell) {
        next(piece.weights[cell]);
        for (size_t c = 0; c < width_; ++c) next(piece.values[cell * width_ + c]);
      }
    }
  }

  size_t width_;
  std::map<int32_t, std::vector<std::byte>> out_;
};

class Composite {
 public:
  /// On the cells of `box`, of level `level`.
  Composite(int level, const Box& box, size_t width)
      : level_(level),
        width_(width),
        box_(box),
        inside_(box),
        values_(static_cast<size_t>(box.volume()) * width),
        weights_(static_cast<size_t>(box.volume())) {}

  /// Adds a piece of this level or of a coarser one, whose cells then stand for all cells in them.
  void add(const Piece& piece, const Tiles& tiles) {
    const Index ratio = tiles.ratio(piece.level, level_);
    for_each_cell(common(refined(piece.box, ratio), box_), [&](int64_t i, int64_t j, int64_t k) {
      const auto from = static_cast<size_t>(piece.box.at(i / ratio[0], j / ratio[1], k / ratio[2]));
      const auto to = static_cast<size_t>(box_.at(i, j, k));
      if (piece.weights[from] == 0) return;
      weights_[to] += piece.weights[from];
      for (size_t c = 0; c < width_; ++c)
        values_[to * width_ + c] += piece.values[from * width_ + c];
    });
  }
  /// Sums become means. Unknown cells stay unknown.
  void divide() {
    for (size_t cell = 0; cell < weights_.size(); ++cell)
      if (weights_[cell] > 0)
        for (size_t c = 0; c < width_; ++c) values_[cell * width_ + c] /= weights_[cell];
  }
  /// Fills unknown cells by linear interpolation between the centres of cells of the next coarser
  /// level, which has one cell more on each side.
  void fill_from(const Composite& coarse, const Tiles& tiles) {
    const Index ratio = tiles.ratio(level_ - 1, level_);
    for_each_cell(box_, [&](int64_t i, int64_t j, int64_t k) {
      const auto to = static_cast<size_t>(box_.at(i, j, k));
      if (weights_[to] == 0 && coarse.interpolate({i, j, k}, ratio, &values_[to * width_]))
        weights_[to] = 1;
    });
  }

  /// Cells outside of `inside` are not in the mesh.
  void limit(const Box& inside) { inside_ = common(box_, inside); }

  [[nodiscard]] const Box& box() const { return box_; }
  [[nodiscard]] bool is_known(int64_t cell) const {
    return weights_[static_cast<size_t>(cell)] > 0;
  }
  [[nodiscard]] const double* values(int64_t cell) const {
    return &values_[static_cast<size_t>(cell) * width_];
  }
  [[nodiscard]] Piece piece(const Index& shift) const {
    return {level_, 0, {}, moved(box_, shift), values_, weights_};
  }

 private:
  /// At the centre of a cell that is `ratio` times finer; false if the cell that holds it is
  /// unknown. Unknown neighbours count as that cell.
  bool interpolate(const Index& cell, const Index& ratio, double* out) const {
    Index base{}, own{};
    std::array<double, 3> upper{};
    for (size_t d = 0; d < 3; ++d) {
      own[d] = cell[d] / ratio[d];
      const double x =
          (static_cast<double>(cell[d] % ratio[d]) + 0.5) / static_cast<double>(ratio[d]) - 0.5;
      base[d] = x < 0 ? own[d] - 1 : own[d];
      upper[d] = x < 0 ? x + 1 : x;
    }
    const int64_t home = box_.at(own[0], own[1], own[2]);
    if (!is_known(home)) return false;
    std::fill_n(out, width_, 0.0);
    for (int corner = 0; corner < 8; ++corner) {
      double weight = 1;
      Index at{};
      for (size_t d = 0; d < 3; ++d) {
        const bool up = (corner >> d & 1) != 0;
        weight *= up ? upper[d] : 1 - upper[d];
        at[d] = std::clamp(base[d] + (up ? 1 : 0), inside_.lo[d], inside_.hi[d] - 1);
      }
      if (weight == 0) continue;
      int64_t from = box_.at(at[0], at[1], at[2]);
      if (!is_known(from)) from = home;
      for (size_t c = 0; c < width_; ++c) out[c] += weight * values(from)[c];
    }
    return true;
  }

  int level_;
  size_t width_;
  Box box_;
  Box inside_;  ///< the part of the box that is in the mesh, whose cells stand for those beyond
  std::vector<double> values_, weights_;
};

/// The same with one cell more on each side along the mesh's axes: those of other peers, or of the
/// other end of a periodic mesh. [peers]
inline Composite with_neighbours(const Composite& own, int level, size_t width, const Tiles& tiles,
                                 const pillion_mesh& mesh, const stage::Step& step) {
  Index one{}, images{};
  const Box domain = tiles.domain(level);
  for (size_t d = 0; d < static_cast<size_t>(mesh.axes); ++d) {
    one[d] = 1;
    images[d] = mesh.periodic[d] != 0 ? 1 : 0;
  }
  Mail mail(width);
  for_each_cell(
      {{-images[0], -images[1], -images[2]}, {images[0] + 1, images[1] + 1, images[2] + 1}},
      [&](int64_t x, int64_t y, int64_t z) {
        const Index shift{x * domain.extent(0), y * domain.extent(1), z * domain.extent(2)};
        const Box near = common(grown(moved(own.box(), shift), one), domain);
        if (own.box().volume() == 0 || near.volume() == 0) return;
        const Piece image = own.piece(shift);
        tiles.for_each_peer(near, level, [&](int32_t peer, const Box& cells) {
          const Box part = common(image.box, grown(cells, one));
          if (part.volume() > 0) mail.put(peer, image, part);
        });
      });
  Composite out(level, own.box().volume() > 0 ? grown(own.box(), one) : own.box(), width);
  for (const auto& piece : mail.exchange(step)) out.add(piece, tiles);
  out.limit(grown(domain, images));
  return out;
}

}  // namespace pillion::stages::flatten
