// SPDX-License-Identifier: BSD-3-Clause
// Gathering, exchanging and writing blocks. Blocks that are not compressed have their places by
// rule; of compressed ones peers first tell each other the sizes.
#include "idx_writer.hpp"

#include <chrono>

#include "batch.hpp"
#include "codec.hpp"

namespace pillion::stages {
namespace {

/// Adds the time until its end to a sum.
class Timed {
 public:
  explicit Timed(double& sum) : sum_(sum) {}
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;
  ~Timed() { sum_ += std::chrono::duration<double>(Clock::now() - begin_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  double& sum_;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace

IdxWriter::IdxWriter(idx::Dataset dataset, std::vector<Source> sources,
                     std::filesystem::path folder, const IdxOptions& options)
    : dataset_(std::move(dataset)),
      sources_(std::move(sources)),
      folder_(std::move(folder)),
      options_(options) {}

IdxCost IdxWriter::write(const std::vector<SampleBox>& boxes, const stage::Step& step,
                         const Exchange& exchange) {
  cost_ = {};
  step_ = step.index();
  boxes_ = &boxes;
  open_.emplace();
  make_plan(boxes, exchange);
  Packed packed;
  bool compresses = false;
  for (size_t f = 0; f < sources_.size(); ++f) {
    if (dataset_.fields[f].codec == idx::Codec::raw) continue;
    pack(f, exchange_field(f, exchange), packed);
    compresses = true;
  }
  entries_.clear();
  if (compresses) place(packed, step);
  for (size_t f = 0; f < sources_.size(); ++f) {
    if (dataset_.fields[f].codec != idx::Codec::raw) continue;
    if (options_.direct) write_direct(f);
    else write_raw(f, exchange_field(f, exchange));
  }
  const Timed timed(cost_.write);
  write_packed(packed);
  write_heads(exchange);
  if (options_.durable) open_->sync();
  cost_.bytes = open_->bytes();
  cost_.files = static_cast<int64_t>(open_->count());
  cost_.runs = static_cast<int64_t>(plan_.own.size());
  for (const auto& pieces : plan_.sent) cost_.runs += static_cast<int64_t>(pieces.size());
  open_.reset();
  return cost_;
}

// Boxes stay as they are from step to step, as a rule; then the plan stays, too.
void IdxWriter::make_plan(const std::vector<SampleBox>& boxes, const Exchange& exchange) {
  const Timed timed(cost_.plan);
  std::vector<std::pair<idx::Point, idx::Point>> now;
  for (const auto& box : boxes) now.emplace_back(box.lo, box.hi);
  const bool same = plan_.sent.size() == exchange.size() && now == planned_;
  std::vector<Bytes> word(exchange.size());
  if (!same)
    for (auto& bytes : word) bytes.resize(1);
  bool all_same = true;
  for (const auto& bytes : exchange(word)) all_same = all_same && bytes.empty();
  if (all_same) return;
  planned_ = std::move(now);
  Aggregators aggregators{exchange.size(), exchange.size(), options_.shared_blocks};
  if (options_.aggregators > 0) aggregators.count = std::min(options_.aggregators, exchange.size());
  plan_ = plan_blocks(dataset_, boxes, aggregators, options_.direct, exchange);
}

Elements IdxWriter::elements(const SampleBox& box, size_t field) const {
  const auto& source = sources_[field];
  return {box.arrays[source.array] + source.begin, source.stride,
          dataset_.fields[field].sample_size()};
}

void IdxWriter::gather_piece(const Piece& piece, size_t field, std::byte* to) {
  const auto& box = (*boxes_)[piece.box];
  gather(piece, elements(box, field), offsets_.of(dataset_.mask, box.extent(), piece.bits), to);
}

std::vector<Bytes> IdxWriter::exchange_field(size_t field, const Exchange& exchange) {
  const Timed timed(cost_.exchange);
  const size_t size = dataset_.fields[field].sample_size();
  std::vector<Bytes> out(exchange.size());
  for (size_t p = 0; p < out.size(); ++p) {
    size_t samples = 0;
    for (const auto& piece : plan_.sent[p]) samples += static_cast<size_t>(piece.count);
    out[p].resize(samples * size);
    std::byte* to = out[p].data();
    for (const auto& piece : plan_.sent[p]) {
      gather_piece(piece, field, to);
      to += static_cast<size_t>(piece.count) * size;
    }
    cost_.sent += static_cast<int64_t>(out[p].size());
  }
  return exchange(out);
}

template <class Room>
void IdxWriter::fill_blocks(size_t field, const std::vector<Bytes>& came, Room&& room) {
  const size_t size = dataset_.fields[field].sample_size();
  const auto fill = static_cast<unsigned char>(dataset_.fields[field].fill);
  std::byte* block = nullptr;
  int64_t current = -1;
  const auto slot_of = [&](int64_t number, int64_t slot) {
    if (number != current) {
      block = room(number);
      std::memset(block, fill, block_bytes(field));
      current = number;
    }
    return block + static_cast<size_t>(slot) * size;
  };
  for (const auto& piece : plan_.own) gather_piece(piece, field, slot_of(piece.block, piece.slot));
  for (const auto& landing : plan_.landing) {
    const auto* from = came[static_cast<size_t>(landing.peer)].data();
    std::memcpy(slot_of(landing.block, landing.slot), from + static_cast<size_t>(landing.at) * size,
                static_cast<size_t>(landing.count) * size);
  }
}

void IdxWriter::write_direct(size_t field) {
  const Timed timed(cost_.write);
  const size_t size = dataset_.fields[field].sample_size();
  Bytes buffer;
  for (const auto& piece : plan_.own) {
    buffer.resize(static_cast<size_t>(piece.count) * size);
    gather_piece(piece, field, buffer.data());
    open_->write(path_of(dataset_.file_of(piece.block)), buffer,
                 offset_of(field, piece.block) + piece.slot * static_cast<int64_t>(size));
  }
}

void IdxWriter::write_raw(size_t field, const std::vector<Bytes>& came) {
  const Timed timed(cost_.write);
  Batch batch(*open_);
  fill_blocks(field, came, [&](int64_t block) {
    return batch.room(path_of(dataset_.file_of(block)), offset_of(field, block),
                      block_bytes(field));
  });
  batch.flush();
}

void IdxWriter::pack(size_t field, const std::vector<Bytes>& came, Packed& out) {
  const Timed timed(cost_.write);
  Bytes bytes(block_bytes(field));
  int64_t current = -1;
  const auto finish = [&] {
    if (current < 0) return;
    auto smaller = packed(dataset_.fields[field].codec, bytes);
    out[{field, current}] = smaller.empty() ? bytes : std::move(smaller);
  };
  fill_blocks(field, came, [&](int64_t block) {
    finish();
    current = block;
    return bytes.data();
  });
  finish();
}

void IdxWriter::place(const Packed& packed, const stage::Step& step) {
  std::vector<size_t> first;  // of each file's sizes
  std::vector<int64_t> sizes;
  for (int64_t number = 0; number < file_count(); ++number) {
    first.push_back(sizes.size());
    sizes.resize(sizes.size() + sources_.size() * file(number).present().size());
  }
  for (const auto& [key, bytes] : packed) {
    const auto& [field, block] = key;
    const auto number = dataset_.file_of(block);
    const auto present = file(number).present();
    const auto at = std::lower_bound(present.begin(), present.end(), block) - present.begin();
    sizes[first[static_cast<size_t>(number)] + field * present.size() + static_cast<size_t>(at)] =
        static_cast<int64_t>(bytes.size());
  }
  step.sum(std::span(sizes));
  for (int64_t number = 0; number < file_count(); ++number) {
    const auto& in = file(number);
    auto& entries = entries_[number] = idx::raw_entries(dataset_, in);
    int64_t at = in.begin();
    size_t next = first[static_cast<size_t>(number)];
    for (size_t f = 0; f < sources_.size(); ++f)
      for (const int64_t block : in.present()) {
        auto& entry = entries[f * static_cast<size_t>(dataset_.blocks_per_file) +
                              static_cast<size_t>(block - in.first_block())];
        if (const int64_t size = sizes[next++]; size > 0) {
          if (size < entry.size) entry.flags = static_cast<uint32_t>(dataset_.fields[f].codec);
          entry.size = static_cast<uint32_t>(size);
        }
        entry.offset = at;
        at += entry.size;
      }
  }
}

void IdxWriter::write_packed(const Packed& packed) {
  for (const auto& [key, bytes] : packed)
    open_->write(path_of(dataset_.file_of(key.second)), bytes, offset_of(key.first, key.second));
}

// The head of a file is one peer's; which, follows from the file's number.
void IdxWriter::write_heads(const Exchange& exchange) {
  for (int64_t number = exchange.rank(); number < file_count();
       number += static_cast<int64_t>(exchange.size())) {
    const auto& in = file(number);
    if (in.present().empty()) continue;
    const auto at = entries_.find(number);
    const auto entries = at != entries_.end() ? at->second : idx::raw_entries(dataset_, in);
    int64_t end = in.begin();
    for (const auto& entry : entries) end = std::max<int64_t>(end, entry.offset + entry.size);
    open_->extend(path_of(number), end);
    open_->write(path_of(number), idx::head_of(entries), 0);
  }
}

const idx::File& IdxWriter::file(int64_t number) {
  auto at = files_.find(number);
  if (at == files_.end()) at = files_.emplace(number, idx::File(dataset_, number)).first;
  return at->second;
}

int64_t IdxWriter::file_count() const {
  return (dataset_.blocks() + dataset_.blocks_per_file - 1) / dataset_.blocks_per_file;
}

std::filesystem::path IdxWriter::path_of(int64_t file_number) const {
  return folder_ / idx::file_name(dataset_, file_number * dataset_.blocks_per_file, step_);
}

size_t IdxWriter::block_bytes(size_t field) const {
  return static_cast<size_t>(dataset_.block_samples()) * dataset_.fields[field].sample_size();
}

int64_t IdxWriter::offset_of(size_t field, int64_t block) {
  const int64_t number = dataset_.file_of(block);
  const auto& in = file(number);
  const auto at = entries_.find(number);
  if (at == entries_.end()) return in.offset(field, block);
  const auto place = field * static_cast<size_t>(dataset_.blocks_per_file) +
                     static_cast<size_t>(block - in.first_block());
  return at->second[place].offset;
}

}  // namespace pillion::stages
