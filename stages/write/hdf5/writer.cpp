// SPDX-License-Identifier: BSD-3-Clause
// The files of a step: made, filled, named.
#include "writer.hpp"

#include <chrono>
#include <cstdio>
#include <map>

#include "../../common/files.hpp"
#include "chunks.hpp"

namespace pillion::stages::write_hdf5 {
namespace {

constexpr int64_t bytes_of_round = int64_t{64} << 20;  ///< that a file's peer is sent at once

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// In front of a compressed chunk on its way.
struct ChunkHead {
  uint64_t field, part, size;
  int64_t chunk;
  uint64_t skipped;
};

void append(Bytes& to, const void* data, size_t size) {
  const auto* bytes = static_cast<const std::byte*>(data);
  to.insert(to.end(), bytes, bytes + size);
}

}  // namespace

std::string step_path(const std::string& name, int64_t step) {
  char number[32];
  std::snprintf(number, sizeof number, "%09lld", static_cast<long long>(step));
  return name + "_hdf5/" + name + "." + number + ".h5";
}

std::string dataset_title(const write::WrittenFields& fields) {
  std::string out = "Dataset of";
  for (size_t f = 0; f < fields.names.size(); ++f) out += (f > 0 ? ", " : " ") + fields.names[f];
  return out;
}

struct Hdf5Writer::Job {
  struct Mine {
    Mine(size_t number, const std::filesystem::path& path) : part(number), file(path) {}
    size_t part;
    UnfinishedFile file;
    std::unique_ptr<Hdf5File> content{};
  };

  const stage::Step& step;
  const write::WrittenFields& fields;
  const Chunking& chunking;
  const StepText& text;
  std::filesystem::path path;
  std::list<Mine> mine{};  ///< files that this peer makes
  Hdf5Cost cost{};

  size_t send(const ChunkPiece& piece, const ChunkFilter& filter,
              std::map<int32_t, Bytes>& out) const;
  void take(ByteSpan message);
  [[nodiscard]] size_t peers() const { return static_cast<size_t>(step.peers()); }
  [[nodiscard]] size_t root_of(size_t part) const { return part * peers() / chunking.parts(); }
  [[nodiscard]] std::string part_name(size_t part) const {
    char number[32];
    std::snprintf(number, sizeof number, ".%04zu.h5", part);
    return "parts/" + path.stem().string() + number;
  }
  [[nodiscard]] std::filesystem::path part_path(size_t part) const {
    return chunking.parts() == 1 ? path : path.parent_path() / part_name(part);
  }
  [[nodiscard]] std::vector<size_t> element_sizes() const {
    std::vector<size_t> out;
    for (const auto& field : fields.fields)
      out.push_back(write::WrittenFields::element_size(field));
    return out;
  }
};

Hdf5Cost Hdf5Writer::write(const stage::Step& step, const write::WrittenFields& fields,
                           const Chunking& chunking, std::vector<StoredBlock> blocks,
                           const StepText& text, const std::filesystem::path& path) {
  const double begin = seconds();
  Job job{.step = step, .fields = fields, .chunking = chunking, .text = text, .path = path};
  make_files(job);
  if (compression_.is_on()) write_filtered(job, blocks);
  else fill(job, blocks);
  job.step.agree();
  for (auto& mine : job.mine) mine.file.finish(durable_);
  job.step.agree();
  if (chunking.parts() > 1 && step.peer() == 0) show_parts(job);
  job.step.agree();
  job.cost.seconds[1] = seconds() - begin - job.cost.seconds[0];
  for (const auto& block : blocks)
    for (const auto size : job.element_sizes())
      job.cost.counts[1] += product(block.extent) * static_cast<int64_t>(size);
  job.cost.counts[2] = static_cast<int64_t>(job.mine.size());
  return job.cost;
}

void Hdf5Writer::make_files(Job& job) {
  for (size_t p = 0; p < job.chunking.parts(); ++p) {
    if (job.root_of(p) != static_cast<size_t>(job.step.peer())) continue;
    auto& mine = job.mine.emplace_back(p, job.part_path(p));
    mine.content = std::make_unique<Hdf5File>(mine.file.aside(), job.fields, job.text,
                                              job.chunking.part(p), compression_);
  }
}

void Hdf5Writer::fill(Job& job, const std::vector<StoredBlock>& blocks) {
  const size_t fields = job.fields.fields.size();
  Bytes places;
  for (auto& mine : job.mine) {
    const auto of_part = mine.content->places();
    append(places, of_part.data(), of_part.size() * sizeof(int64_t));
    mine.content->close();
  }
  // The first peer makes the first part; parts belong to peers in order.
  Bytes of_all = places;
  if (job.chunking.parts() > 1) {
    const auto gathered = job.step.gather(places);
    of_all.clear();
    for (const auto& message : gathered) stages::append(of_all, message.bytes);
  }
  std::vector<int64_t> begins;
  stages::append(begins, job.step.broadcast(of_all));
  const auto sizes = job.element_sizes();
  ChunkPieces pieces(job.chunking, blocks, sizes, false);
  job.step.in_turn(at_once_, [&] {
    OpenFiles files(false);
    for (size_t n = 0; n < pieces.count(); ++n) {
      const auto piece = pieces[n];
      const int64_t chunk_bytes =
          product(job.chunking.part(piece.part).chunk) * static_cast<int64_t>(sizes[piece.field]);
      files.write(
          UnfinishedFile::aside(job.part_path(piece.part)), piece.bytes,
          begins[piece.part * fields + piece.field] + piece.chunk * chunk_bytes + piece.begin);
    }
    if (durable_) files.sync();
    job.cost.counts[0] += files.bytes();
  });
}

void Hdf5Writer::write_filtered(Job& job, const std::vector<StoredBlock>& blocks) {
  const auto sizes = job.element_sizes();
  const WholeChunks whole(job.step, job.chunking, blocks, sizes);
  ChunkPieces pieces(job.chunking, whole.blocks(), sizes, true);
  const ChunkFilter filter(compression_);
  const int64_t budget =
      bytes_of_round * static_cast<int64_t>(job.chunking.parts()) / job.step.peers();
  int64_t left = 1;
  for (size_t n = 0; left > 0;) {
    const double begin = seconds();
    std::map<int32_t, Bytes> out;
    for (size_t sent = 0; n < pieces.count() && sent < static_cast<size_t>(budget); ++n)
      sent += job.send(pieces[n], filter, out);
    job.cost.seconds[0] += seconds() - begin;
    left = static_cast<int64_t>(pieces.count() - n);
    job.step.max(std::span(&left, 1));
    const auto in = job.step.exchange(messages_of(out));
    job.step.in_turn(at_once_, [&] {
      for (const auto& message : in) job.take(message.bytes);
    });
  }
  for (auto& mine : job.mine) mine.content->close();
}

/// Compresses a chunk and puts it into the message to whom its file belongs.
size_t Hdf5Writer::Job::send(const ChunkPiece& piece, const ChunkFilter& filter,
                             std::map<int32_t, Bytes>& out) const {
  const auto& field = fields.fields[piece.field];
  const auto extents = extents_of(chunking.part(piece.part).chunk, field);
  const auto done = filter(piece.bytes, hdf5::type_of(field.type), extents);
  const ChunkHead head{piece.field, piece.part, done.bytes.size(), piece.chunk, done.skipped};
  auto& to = out[static_cast<int32_t>(root_of(piece.part))];
  append(to, &head, sizeof head);
  append(to, done.bytes.data(), done.bytes.size());
  return done.bytes.size();
}

/// Writes the chunks of a message.
void Hdf5Writer::Job::take(ByteSpan message) {
  ChunkHead head{};
  for (size_t at = 0; at < message.size(); at += head.size) {
    std::memcpy(&head, message.data() + at, sizeof head);
    at += sizeof head;
    for (auto& file : mine)
      if (file.part == head.part)
        file.content->write_chunk(head.field, head.chunk, static_cast<uint32_t>(head.skipped),
                                  message.subspan(at, head.size));
    cost.counts[0] += static_cast<int64_t>(head.size);
  }
}

// Readers that know nothing of parts find all of it in one file.
void Hdf5Writer::show_parts(Job& job) {
  std::vector<std::string> names;
  for (size_t p = 0; p < job.chunking.parts(); ++p) names.push_back(job.part_name(p));
  UnfinishedFile file(job.path);
  Hdf5File content(file.aside(), job.fields, job.text, job.chunking, names);
  content.close();
  file.finish(durable_);
}

}  // namespace pillion::stages::write_hdf5
