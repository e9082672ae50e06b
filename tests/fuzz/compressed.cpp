// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: one block of a dataset as it is stored by each codec: zlib, LZ4 and zfp. The first
// byte of the input selects codec and type; the second whether the rest is the stored block itself,
// or changes to a block that was stored well.
#include <fcntl.h>
#include <lz4.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <pillion/idx/reader.hpp>
#include <pillion/idx/zfp.hpp>

#include "input.hpp"

using namespace pillion;
using Bytes = std::vector<std::byte>;

namespace {

constexpr int64_t samples = 64;

idx::Dataset dataset_of(unsigned kind, const std::string& path) {
  const bool is_zfp = kind % 3 == 2;
  const auto types = {"float64", "float32", "int32", "int64", "uint8[3]"};
  const std::string type = std::data(types)[kind / 3 % types.size()];
  return idx::Dataset::parse(
      "(version)\n6\n(box)\n0 3 0 3 0 3\n(bits)\nV012012\n(bitsperblock)\n6\n(blocksperfile)\n1\n"
      "(fields)\nf " +
          type + (is_zfp ? " default_compression(zfp-reversible)" : "") +
          "\n(filename_template)\n" + path + "\n",
      "fuzz.idx");
}

Bytes values(size_t size) {
  Bytes out(size);
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<std::byte>(i / 8 * 7);
  return out;
}

/// A block of the dataset as a writer stores it.
Bytes stored(const idx::Dataset& dataset, idx::Codec codec) {
  const auto& field = dataset.fields[0];
  const auto plain = values(static_cast<size_t>(samples) * field.sample_size());
  if (codec == idx::Codec::zfp) {
    if (field.components > 1) return plain;
    return idx::zfp_encoded(dataset, field, 0, plain);
  }
  Bytes out(2 * plain.size() + 64);
  auto* to = reinterpret_cast<char*>(out.data());
  const auto* from = reinterpret_cast<const char*>(plain.data());
  auto length = static_cast<uLongf>(out.size());
  if (codec == idx::Codec::zip)
    compress(reinterpret_cast<Bytef*>(to), &length, reinterpret_cast<const Bytef*>(from),
             static_cast<uLong>(plain.size()));
  else
    length = static_cast<uLongf>(LZ4_compress_default(from, to, static_cast<int>(plain.size()),
                                                      static_cast<int>(out.size())));
  out.resize(length);
  return out;
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const unsigned kind = fuzz::take<uint8_t>(input);
  const bool as_it_is = fuzz::take<uint8_t>(input) % 2 == 0;
  const auto codec = std::array{idx::Codec::zip, idx::Codec::lz4, idx::Codec::zfp}[kind % 3];

  const int file = memfd_create("block", MFD_CLOEXEC);
  const auto dataset = dataset_of(kind, "/proc/self/fd/" + std::to_string(file));
  auto block = fuzz::changed(stored(dataset, codec), as_it_is ? fuzz::Input() : input);
  if (as_it_is)
    block.assign(reinterpret_cast<const std::byte*>(input.data()),
                 reinterpret_cast<const std::byte*>(input.data() + input.size()));
  const auto begin = idx::head_size(1, 1);
  const idx::Entry entry{begin, static_cast<uint32_t>(block.size()),
                         static_cast<uint32_t>(codec) | (kind >= 128 ? 0x10u : 0u)};
  auto content = idx::head_of(std::array{entry});
  content.resize(static_cast<size_t>(begin));
  content.insert(content.end(), block.begin(), block.end());
  if (write(file, content.data(), content.size()) < 0) std::abort();

  fuzz::accept_errors([&] {
    const idx::Reader reader("/nowhere/fuzz.idx", dataset.text());
    Bytes to(static_cast<size_t>(samples) * dataset.fields[0].sample_size());
    reader.read({0, 0, dataset.lo, dataset.hi}, dataset.finest(), to.data());
  });
  close(file);
  return 0;
}
