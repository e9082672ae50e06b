// SPDX-License-Identifier: BSD-3-Clause
// Filters by name, and the file in memory that they work in.
#include "compression.hpp"

#include <pillion/stage.hpp>

#include "../../common/hdf5.hpp"
#include "../../common/options.hpp"

namespace pillion::stages::write_hdf5 {
namespace {

struct Filter {
  const char* name;
  H5Z_filter_t id;  ///< as registered with the HDF Group
};
constexpr Filter filters[] = {{"gzip", H5Z_FILTER_DEFLATE}, {"zstd", 32015}, {"blosc", 32001}};

std::string available() {
  std::string out;
  for (const auto& filter : filters)
    if (H5Zfilter_avail(filter.id) > 0) out += (out.empty() ? "" : ", ") + std::string(filter.name);
  return out.empty() ? "none" : out;
}

}  // namespace

Compression::Compression(const stage::Setup& setup) {
  const hdf5::Quiet quiet;
  const auto value = setup["compression"];
  const int chosen = choice(value, {"none", "gzip", "zstd", "blosc"});
  shuffles_ = setup["shuffle"].boolean();
  if (chosen == 0) return;
  name_ = filters[chosen - 1].name;
  id_ = filters[chosen - 1].id;
  if (!hdf5::has_filter(id_))
    value.fail("HDF5 has no filter '" + name_ + "' here (there are: " + available() +
               "); filters that are plug-ins are looked for where HDF5_PLUGIN_PATH says");
}

void Compression::put(hid_t properties) const {
  if (!is_on()) return;
  const std::string what = "compress with " + name_;
  // Blosc shuffles by itself; the first four of its numbers are for its own use.
  const bool is_blosc = name_ == "blosc";
  if (shuffles_ && !is_blosc) hdf5::check(H5Pset_shuffle(properties), what);
  const std::vector<unsigned> blosc{0, 0, 0, 0, 5, shuffles_ ? 1u : 0u, 0}, zstd{3}, gzip{4};
  const auto& numbers = is_blosc ? blosc : name_ == "zstd" ? zstd : gzip;
  hdf5::check(H5Pset_filter(properties, id_, H5Z_FLAG_OPTIONAL, numbers.size(), numbers.data()),
              what);
}

ChunkFilter::ChunkFilter(const Compression& compression) : compression_(compression) {
  const auto access = hdf5::properties(H5P_FILE_ACCESS);
  hdf5::check(H5Pset_fapl_core(access, size_t{1} << 20, 0), "compress in memory");
  file_ = hdf5::Handle(H5Fcreate("pillion-filter", H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose,
                       "compress in memory");
}

FilteredChunk ChunkFilter::operator()(std::span<const std::byte> chunk, hid_t type,
                                      const std::vector<hsize_t>& extents) const {
  const std::string what = "compress a chunk";
  const auto how = hdf5::properties(H5P_DATASET_CREATE);
  hdf5::check(H5Pset_chunk(how, static_cast<int>(extents.size()), extents.data()), what);
  compression_.put(how);
  const auto all = hdf5::space(extents);
  const hdf5::Handle dataset(H5Dcreate_anon(file_, type, all, how, H5P_DEFAULT), H5Dclose, what);
  hdf5::check(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, chunk.data()), what);
  hdf5::check(H5Dflush(dataset), what);
  const std::vector<hsize_t> origin(extents.size());
  hsize_t size = 0;
  hdf5::check(H5Dget_chunk_storage_size(dataset, origin.data(), &size), what);
  FilteredChunk out;
  out.bytes.resize(size);
  hdf5::check(H5Dread_chunk(dataset, H5P_DEFAULT, origin.data(), &out.skipped, out.bytes.data()),
              what);
  return out;
}

}  // namespace pillion::stages::write_hdf5
