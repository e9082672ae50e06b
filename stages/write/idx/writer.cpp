// SPDX-License-Identifier: BSD-3-Clause
// Gathering, exchanging and writing blocks. Blocks that are not compressed have their places by
// rule; of compressed ones peers first tell each other the sizes. A peer writes the blocks that it
// has itself, or, where many peers would write to one file, sends them to the file's writer.
#include "writer.hpp"

#include <chrono>

#include "compression.hpp"

namespace pillion::stages::write_idx {
namespace {

constexpr size_t at_once =
    48;  ///< bytes of an element that are encoded in one pass: more needs memory

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

IdxWriter::IdxWriter(idx::Dataset dataset, std::vector<write::Source> sources,
                     std::filesystem::path folder, const IdxOptions& options)
    : dataset_(std::move(dataset)),
      sources_(std::move(sources)),
      folder_(std::move(folder)),
      options_(options) {}

/// However a step ends, nothing of it stays.
struct IdxWriter::Closing {
  IdxWriter& writer;
  ~Closing() {
    writer.batch_.reset();
    writer.rounds_.reset();
    writer.open_.reset();
    writer.assembled_.clear();
    writer.kept_.clear();
    writer.placed_.clear();
    writer.entries_.clear();
  }
};

IdxCost IdxWriter::write(const std::vector<SampleBox>& boxes, const stage::Step& step) {
  cost_ = {};
  step_ = step.index();
  const Closing closing{*this};
  boxes_ = &boxes;
  open(step);
  make_plan(boxes, step);
  write_in_turn(step, [&] { encode_all(step); });
  exchange_parts(step);
  write_in_turn(step, [&] { put_together(step); });
  if (compresses()) place(step);
  write_in_turn(step, [&] {
    const Timed timed(cost_.write);
    write_kept(step);
    write_heads(step);
    if (options_.durable) open_->sync();
  });
  cost_.bytes = open_->bytes();
  cost_.files = open_->count();
  return cost_;
}

FileWriters IdxWriter::writers_of(size_t peers) const {
  if (options_.direct) return {0, peers};
  auto out = usual_writers(peers, file_count());
  if (options_.aggregators > 0) out.count = std::min(options_.aggregators, peers);
  if (out.gathers() && options_.at_once > 0)
    out.count = std::min(out.count, static_cast<size_t>(options_.at_once));
  return out;
}

size_t IdxWriter::writers_among(size_t peers) const {
  const auto writers = writers_of(peers);
  return writers.gathers() ? writers.count : peers;
}

void IdxWriter::open(const stage::Step& step) {
  const auto peers = static_cast<size_t>(step.peers());
  open_.emplace(true, options_.durable);
  batch_.emplace(*open_);
  writers_ = writers_of(peers);
  if (!writers_.gathers()) return;
  int64_t sample = 0;
  for (const auto& field : dataset_.fields) sample += static_cast<int64_t>(field.sample_size());
  // Every file has room for its head and as many blocks.
  const int64_t blocks = dataset_.blocks_per_file * dataset_.block_samples() * sample;
  const auto fields = static_cast<int64_t>(dataset_.fields.size());
  const int64_t file_bytes = 2 * idx::head_size(fields, dataset_.blocks_per_file) + 4096 + blocks;
  const int64_t step_bytes = (dataset_.samples() >> dataset_.left_out) * sample;
  rounds_.emplace(writers_, file_bytes, usual_round_bytes(step_bytes, peers));
}

// Where few peers write for all, their number is what limits writing, and all take part in rounds.
template <class Body>
void IdxWriter::write_in_turn(const stage::Step& step, Body&& body) const {
  if (rounds_) body();
  else step.in_turn(options_.at_once, body);
}

void IdxWriter::encode_all(const stage::Step& step) {
  const Timed timed(cost_.encode);
  for (size_t p = 0; p < out_.size(); ++p)
    out_[p].resize(message_offset(sources_.size(), plan_.samples_sent[p]));
  for (const auto& group : groups()) {
    for (const auto& cell : plan_.cells) handle(cell, group);
    keep_assembled();
    send_rounds(step);
  }
}

void IdxWriter::put(int64_t file, std::span<const std::byte> bytes, int64_t offset) {
  if (rounds_) rounds_->put(file, offset, bytes);
  else batch_->write(path_of(file), bytes, offset);
}

void IdxWriter::send_rounds(const stage::Step& step) {
  if (!rounds_) return;
  cost_.sent +=
      rounds_->send(step, [&](int64_t file, std::span<const std::byte> bytes, int64_t offset) {
        open_->write(path_of(file), bytes, offset);
      });
}

// Boxes stay as they are from step to step, as a rule; then the plan stays, too.
void IdxWriter::make_plan(const std::vector<SampleBox>& boxes, const stage::Step& step) {
  const auto peers = static_cast<size_t>(step.peers());
  const Timed timed(cost_.plan);
  std::vector<BoxShape> now;
  for (const auto& box : boxes) now.push_back(box.shape);
  int64_t changed = plan_.samples_sent.size() == peers && now == planned_ ? 0 : 1;
  step.max(std::span(&changed, 1));
  if (changed == 0) return;
  planned_.clear();
  plan_ = plan_blocks(dataset_, now, {peers, options_.shared_blocks}, options_.direct, step);
  for (auto& cell : plan_.cells)
    cell.parts_of_cubes =
        parts_of_cubes(shapes_.of(dataset_.mask, cell.cell.bits, dataset_.left_out),
                       cell.cell.corner, now[cell.cell.box].parts);
  planned_ = std::move(now);
  out_.assign(peers, {});
}

std::vector<IdxWriter::Group> IdxWriter::groups() const {
  std::vector<Group> out;
  for (size_t f = 0; f < sources_.size(); ++f) {
    const bool joins = f > 0 && sources_[f].array == sources_[f - 1].array &&
                       (out.back().count + 1) * dataset_.fields[f].sample_size() <= at_once;
    if (joins) ++out.back().count;
    else out.push_back({f, 1});
  }
  return out;
}

void IdxWriter::handle(const CellPlan& cell, const Group& group) {
  const auto& box = (*boxes_)[cell.cell.box];
  const auto& source = sources_[group.first];
  const size_t size = dataset_.fields[group.first].sample_size();
  const auto& shape = shapes_.of(dataset_.mask, cell.cell.bits, dataset_.left_out);
  if (encoded_.size() < group.count) encoded_.resize(group.count);
  std::vector<std::byte*> places;
  for (size_t g = 0; g < group.count; ++g) {
    encoded_[g].resize(std::max(encoded_[g].size(), size << shape.levels()));
    places.push_back(encoded_[g].data());
  }
  std::vector<PartElements> parts;
  for (size_t p = 0; p < box.arrays.size(); ++p) {
    const auto& array = box.arrays[p][source.array];
    auto& part = parts.emplace_back(
        PartElements{box.shape.parts[p], array.data + source.begin, array.strides});
    for (size_t a = 0; a < 3; ++a) {
      part.region.lo[a] -= cell.cell.corner[a];
      part.region.hi[a] -= cell.cell.corner[a];
    }
  }
  encode(shape, parts, cell.parts_of_cubes, size, places);
  for (size_t g = 0; g < group.count; ++g) write_parts(cell, group.first + g, places[g]);
}

void IdxWriter::write_parts(const CellPlan& cell, size_t field, const std::byte* encoded) {
  const size_t size = dataset_.fields[field].sample_size();
  const auto bytes_at = [&](int64_t at, int64_t count) {
    return std::span(encoded + static_cast<size_t>(at) * size, static_cast<size_t>(count) * size);
  };
  for (const auto& piece : cell.whole) keep(field, piece.block, bytes_at(piece.at, piece.count));
  for (const auto& piece : cell.parts) {
    const auto bytes = bytes_at(piece.at, piece.count);
    const size_t slot = static_cast<size_t>(piece.slot) * size;
    if (options_.direct)
      batch_->write(path_of(dataset_.file_of(piece.block)), bytes,
                    offset_of(field, piece.block) + static_cast<int64_t>(slot));
    else std::memcpy(assembled(field, piece.block).data() + slot, bytes.data(), bytes.size());
  }
  batch_->flush();
  for (const auto& sent : cell.sent) {
    const auto bytes = bytes_at(sent.at, sent.count);
    const size_t to =
        message_offset(field, plan_.samples_sent[sent.peer]) + static_cast<size_t>(sent.to) * size;
    std::memcpy(out_[sent.peer].data() + to, bytes.data(), bytes.size());
  }
  cost_.runs += static_cast<int64_t>(cell.whole.size() + cell.parts.size() + cell.sent.size());
}

/// A whole block: written or sent at once, or kept until its place is known.
void IdxWriter::keep(size_t field, int64_t block, std::span<const std::byte> bytes) {
  if (!compresses()) {
    put(dataset_.file_of(block), bytes, offset_of(field, block));
    return;
  }
  auto smaller = packed(dataset_, dataset_.fields[field], block, bytes);
  kept_[{field, block}] = smaller.empty() ? Bytes(bytes.begin(), bytes.end()) : std::move(smaller);
}

Bytes& IdxWriter::assembled(size_t field, int64_t block) {
  auto& bytes = assembled_[{field, block}];
  if (bytes.empty())
    bytes.assign(block_bytes(field), static_cast<std::byte>(dataset_.fields[field].fill));
  return bytes;
}

size_t IdxWriter::message_offset(size_t field, int64_t samples) const {
  size_t bytes = 0;
  for (size_t f = 0; f < field; ++f) bytes += dataset_.fields[f].sample_size();
  return bytes * static_cast<size_t>(samples);
}

void IdxWriter::exchange_parts(const stage::Step& step) {
  const Timed timed(cost_.exchange);
  for (const auto& bytes : out_) cost_.sent += static_cast<int64_t>(bytes.size());
  in_ = exchange_bytes(step, out_);
}

void IdxWriter::put_together(const stage::Step& step) {
  const Timed timed(cost_.write);
  for (size_t f = 0; f < sources_.size(); ++f) {
    const size_t size = dataset_.fields[f].sample_size();
    for (const auto& landing : plan_.landing) {
      const auto peer = static_cast<size_t>(landing.peer);
      const size_t from =
          message_offset(f, plan_.samples_come[peer]) + static_cast<size_t>(landing.at) * size;
      std::memcpy(assembled(f, landing.block).data() + static_cast<size_t>(landing.slot) * size,
                  in_[peer].data() + from, static_cast<size_t>(landing.count) * size);
    }
    keep_assembled();
  }
  send_rounds(step);
}

void IdxWriter::keep_assembled() {
  for (auto& [key, bytes] : assembled_) keep(key.first, key.second, bytes);
  batch_->flush();
  assembled_.clear();
}

// The peer that writes a file's head receives the sizes of its blocks, lays them out, and returns
// their offsets. So a peer knows of its own blocks and files alone.
void IdxWriter::place(const stage::Step& step) {
  struct Size {
    int64_t field, block, bytes;
  };
  const auto peers = static_cast<size_t>(step.peers());
  std::vector<std::vector<Size>> out(peers);
  std::vector<std::vector<int64_t*>> waiting(peers);
  for (const auto& [key, bytes] : kept_) {
    const Size size{static_cast<int64_t>(key.first), key.second,
                    static_cast<int64_t>(bytes.size())};
    const size_t peer = writers_.of(dataset_.file_of(key.second));
    out[peer].push_back(size);
    waiting[peer].push_back(&placed_[key]);
  }
  std::vector<std::vector<Size>> in(peers);
  for (const auto& [peer, bytes] : step.exchange(messages_of(out)))
    append(in[static_cast<size_t>(peer)], bytes);
  const auto entry = [&](const Size& size) -> idx::Entry& {
    return entries_.at(dataset_.file_of(size.block))[entry_of(size.field, size.block)];
  };
  writers_.for_each_file(static_cast<size_t>(step.peer()), file_count(), [&](int64_t number) {
    entries_[number] = idx::raw_entries(dataset_, file(number));
  });
  for (const auto& sizes : in)
    for (const auto& size : sizes) {
      auto& found = entry(size);
      if (size.bytes < found.size)
        found.flags = flags_of(dataset_.fields[static_cast<size_t>(size.field)].codec);
      found.size = static_cast<uint32_t>(size.bytes);
    }
  for (auto& [number, entries] : entries_) {
    int64_t at = file(number).begin();
    for (auto& found : entries) {
      if (found.size == 0) continue;
      found.offset = at;
      at += found.size;
    }
  }
  std::vector<std::vector<int64_t>> replies(peers);
  for (size_t p = 0; p < peers; ++p)
    for (const auto& size : in[p]) replies[p].push_back(static_cast<int64_t>(entry(size).offset));
  for (const auto& [peer, bytes] : step.exchange(messages_of(replies))) {
    std::vector<int64_t> offsets;
    append(offsets, bytes);
    for (size_t n = 0; n < offsets.size(); ++n) *waiting[static_cast<size_t>(peer)][n] = offsets[n];
  }
}

size_t IdxWriter::entry_of(int64_t field, int64_t block) const {
  return static_cast<size_t>(field * dataset_.blocks_per_file + block % dataset_.blocks_per_file);
}

void IdxWriter::write_kept(const stage::Step& step) {
  while (!kept_.empty()) {
    const auto& [key, bytes] = *kept_.begin();
    put(dataset_.file_of(key.second), bytes, placed_.at(key));
    batch_->flush();
    kept_.erase(kept_.begin());
  }
  send_rounds(step);
}

// The head of a file is one peer's; which, follows from the file's number.
void IdxWriter::write_heads(const stage::Step& step) {
  writers_.for_each_file(static_cast<size_t>(step.peer()), file_count(), [&](int64_t number) {
    const auto& in = file(number);
    if (in.present().empty()) return;
    const auto at = entries_.find(number);
    const auto entries = at != entries_.end() ? at->second : idx::raw_entries(dataset_, in);
    int64_t end = in.begin();
    for (const auto& entry : entries) end = std::max<int64_t>(end, entry.offset + entry.size);
    open_->extend(path_of(number), end);
    open_->write(path_of(number), idx::head_of(entries), 0);
  });
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
  return file(dataset_.file_of(block)).offset(field, block);
}

}  // namespace pillion::stages::write_idx
