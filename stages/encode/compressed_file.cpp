// SPDX-License-Identifier: BSD-3-Clause
// Telling the first peer what there is, making the file, filling it.
#include "compressed_file.hpp"

#include <zlib.h>

#include <cstring>
#include <memory>
#include <numeric>

#include "../common/files.hpp"
#include "../common/hdf5.hpp"

namespace pillion::stages::encode {
namespace {

using Numbers = std::vector<int64_t>;

Bytes bytes_of(const Numbers& numbers) {
  Bytes out(numbers.size() * sizeof(int64_t));
  if (!out.empty()) std::memcpy(out.data(), numbers.data(), out.size());
  return out;
}
Numbers numbers_of(ByteSpan bytes) {
  Numbers out(bytes.size() / sizeof(int64_t));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

/// CRC-32, by which a reader notices damage.
int64_t checksum(const Bytes& bytes) {
  const auto* at = reinterpret_cast<const Bytef*>(bytes.data());
  return static_cast<int64_t>(::crc32_z(::crc32(0, nullptr, 0), at, bytes.size()));
}

/// How many numbers stand in the row of a piece.
size_t width_of(const StoredArray& array) {
  return array.columns.empty() ? 1 : array.columns.size() + 2;
}

/// A row for each piece, array after array, each behind how many there are.
Numbers tables_of(const std::vector<StoredArray>& arrays) {
  Numbers out;
  for (const auto& array : arrays) {
    out.push_back(static_cast<int64_t>(array.pieces.size()));
    for (const auto& piece : array.pieces) {
      out.push_back(static_cast<int64_t>(piece.bytes.size()));
      out.insert(out.end(), piece.about.begin(), piece.about.end());
      if (!array.columns.empty()) out.push_back(checksum(piece.bytes));
    }
  }
  return out;
}

/// Of one array: the rows of all peers, and how many bytes each peer has.
struct Table {
  size_t width = 1;
  Numbers rows{}, bytes{};
  [[nodiscard]] int64_t size() const {
    return std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
  }
};

std::vector<Table> joined(const std::vector<StoredArray>& arrays,
                          const std::vector<stage::Message>& told) {
  std::vector<Table> out;
  for (const auto& array : arrays) out.push_back({width_of(array)});
  for (const auto& message : told) {
    const auto numbers = numbers_of(message.bytes);
    auto at = numbers.begin();
    for (auto& table : out) {
      table.bytes.push_back(0);
      for (int64_t piece = *at++; piece > 0; --piece) {
        table.bytes.back() += *at;
        table.rows.insert(table.rows.end(), at, at + static_cast<std::ptrdiff_t>(table.width));
        at += static_cast<std::ptrdiff_t>(table.width);
      }
    }
  }
  return out;
}

void put(hid_t object, const Attribute& attribute) {
  hdf5::put_value(object, attribute.name.c_str(), attribute.value);
}

class File {
 public:
  explicit File(const std::filesystem::path& path) : disk_(path) {
    const auto access = hdf5::properties(H5P_FILE_ACCESS);
    hdf5::check(H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_LATEST), "make a file");
    disk_.put(access);
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
    if (file < 0) disk_.check();
    file_ = {file, H5Fclose, "make " + path.string()};
  }

  void describe(const std::vector<Attribute>& attributes) {
    for (const auto& attribute : attributes) put(file_, attribute);
  }
  /// Makes the array, and returns where in the file its bytes belong.
  int64_t add(const StoredArray& array, const Table& table) {
    const bool has_table = table.width > 1;
    if (has_table) add_table(array, table);
    const auto how = hdf5::properties(H5P_DATASET_CREATE);
    hdf5::check(H5Pset_layout(how, H5D_CONTIGUOUS), "reserve room");
    hdf5::check(H5Pset_alloc_time(how, H5D_ALLOC_TIME_EARLY), "reserve room");
    hdf5::check(H5Pset_fill_time(how, H5D_FILL_TIME_NEVER), "reserve room");
    const auto size = static_cast<hsize_t>(table.size());
    const auto extent = hdf5::space({has_table ? size : size / sizeof(int64_t)});
    const hdf5::Handle made(
        H5Dcreate2(file_, array.name.c_str(), has_table ? H5T_NATIVE_UINT8 : H5T_NATIVE_INT64,
                   extent, H5P_DEFAULT, how, H5P_DEFAULT),
        H5Dclose, "make the dataset " + array.name);
    for (const auto& attribute : array.attributes) put(made, attribute);
    return size == 0 ? 0 : static_cast<int64_t>(H5Dget_offset(made));
  }
  void close() {
    file_.close("write a file");
    disk_.check();
  }

 private:
  void add_table(const StoredArray& array, const Table& table) {
    const std::string name = array.name + "_pieces";
    const auto extent = hdf5::space({table.rows.size() / table.width, table.width});
    const hdf5::Handle made(H5Dcreate2(file_, name.c_str(), H5T_NATIVE_INT64, extent, H5P_DEFAULT,
                                       H5P_DEFAULT, H5P_DEFAULT),
                            H5Dclose, "make the dataset " + name);
    if (!table.rows.empty())
      hdf5::check(
          H5Dwrite(made, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, table.rows.data()),
          "write " + name);
    std::string columns = "bytes";
    for (const auto& column : array.columns) columns += " " + column;
    columns += " crc32";
    hdf5::put(made, "columns", columns);
  }

  Hdf5Disk disk_;
  hdf5::Handle file_;
};

/// The byte of the file at which each peer's part of each array begins, peer after peer.
Numbers make_file(const std::vector<StoredArray>& arrays, const std::vector<Attribute>& attributes,
                  const std::filesystem::path& path, const std::vector<stage::Message>& told) {
  const auto tables = joined(arrays, told);
  File file(path);
  file.describe(attributes);
  Numbers places(told.size() * arrays.size());
  for (size_t a = 0; a < arrays.size(); ++a) {
    int64_t at = file.add(arrays[a], tables[a]);
    for (size_t p = 0; p < told.size(); ++p) {
      places[p * arrays.size() + a] = at;
      at += tables[a].bytes[p];
    }
  }
  file.close();
  return places;
}

}  // namespace

int64_t write_compressed(const stage::Step& step, const std::vector<StoredArray>& arrays,
                         const std::vector<Attribute>& attributes,
                         const std::filesystem::path& path, bool durable) {
  const hdf5::Quiet quiet;
  const auto told = step.gather(bytes_of(tables_of(arrays)));
  std::unique_ptr<UnfinishedFile> file;
  Numbers of_all;
  if (step.peer() == 0) {
    file = std::make_unique<UnfinishedFile>(path);
    of_all = make_file(arrays, attributes, file->aside(), told);
  }
  // A few words for each peer, along a tree: the first peer would send to each of them otherwise.
  const auto received = numbers_of(step.broadcast(std::as_bytes(std::span(of_all))));
  const auto places =
      std::span(received).subspan(static_cast<size_t>(step.peer()) * arrays.size(), arrays.size());
  OpenFiles files(false);
  for (size_t a = 0; a < arrays.size(); ++a) {
    int64_t at = places[a];
    for (const auto& piece : arrays[a].pieces) {
      if (piece.bytes.empty()) continue;
      files.write(UnfinishedFile::aside(path), piece.bytes, at);
      at += static_cast<int64_t>(piece.bytes.size());
    }
  }
  if (durable) files.sync();
  step.agree();
  int64_t size = 0;
  if (file != nullptr) {
    size = static_cast<int64_t>(std::filesystem::file_size(file->aside()));
    file->finish(durable);
  }
  step.agree();
  return size;
}

}  // namespace pillion::stages::encode
