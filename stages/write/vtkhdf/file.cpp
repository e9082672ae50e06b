// SPDX-License-Identifier: BSD-3-Clause
// Datasets are contiguous, so that the place of each row in the file is known when it is made.
#include "file.hpp"

#include <optional>

#include "../../common/files.hpp"
#include "../../common/hdf5.hpp"
#include "../cost_table.hpp"

namespace pillion::stages::write_vtkhdf {
namespace {

/// Rows of the datasets: all of them, and the first that this peer has.
struct Share {
  std::vector<int64_t> totals, firsts;
};

int64_t rows_here(const Dataset& dataset) {
  int64_t rows = 0;
  for (const auto& piece : dataset.pieces) rows += piece.count;
  return rows;
}

/// [peers]
Share share_of(const stage::Step& step, const std::vector<Dataset>& datasets) {
  const size_t width = datasets.size(), peers = static_cast<size_t>(step.peers());
  const auto self = static_cast<size_t>(step.peer());
  std::vector<int64_t> counts(width * peers);
  for (size_t d = 0; d < width; ++d) counts[self * width + d] = rows_here(datasets[d]);
  step.sum(std::span(counts));
  Share out{std::vector<int64_t>(width), std::vector<int64_t>(width)};
  for (size_t p = 0; p < peers; ++p)
    for (size_t d = 0; d < width; ++d) {
      out.totals[d] += counts[p * width + d];
      if (p < self) out.firsts[d] += counts[p * width + d];
    }
  for (size_t d = 0; d < width; ++d)
    if (datasets[d].total >= 0) out.totals[d] = datasets[d].total;
  return out;
}

hdf5::Handle type_of(pillion_type element) {
  return {H5Tcopy(hdf5::type_of(element)), H5Tclose, "make a type"};
}

/// VTK's reader takes texts of one length in ASCII only.
void put_text(hid_t object, const char* name, const std::string& text) {
  hdf5::put(object, name, hdf5::text_type(std::max<size_t>(text.size(), 1)), {}, text.c_str());
}

void put_attribute(hid_t object, const Attribute& attribute, bool is_vtk) {
  const char* name = attribute.name.c_str();
  const auto* text = std::get_if<std::string>(&attribute.value);
  if (text != nullptr && is_vtk) return put_text(object, name, *text);
  hdf5::put_value(object, name, attribute.value);
}

/// Makes groups that are not there.
hdf5::Handle group_of(hid_t file, const std::string& path) {
  if (path == "/" || H5Lexists(file, path.c_str(), H5P_DEFAULT) > 0)
    return {H5Gopen2(file, path.c_str(), H5P_DEFAULT), H5Gclose, "open the group " + path};
  const auto parent = path.substr(0, std::max<size_t>(path.rfind('/'), 1));
  (void)group_of(file, parent);
  return {H5Gcreate2(file, path.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose,
          "make the group " + path};
}

void make_texts(hid_t file, const Texts& texts) {
  (void)group_of(file, texts.path.substr(0, texts.path.rfind('/')));
  std::vector<const char*> values;
  for (const auto& text : texts.values) values.push_back(text.c_str());
  const hdf5::Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "make a type of text");
  hdf5::check(H5Tset_size(type, H5T_VARIABLE), "make a type of text");
  const hdf5::Handle made(
      H5Dcreate2(file, texts.path.c_str(), type, hdf5::space({static_cast<hsize_t>(values.size())}),
                 H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
      H5Dclose, "make the dataset " + texts.path);
  if (!values.empty())
    hdf5::check(H5Dwrite(made, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
                "write " + texts.path);
}

/// Returns the byte of the file at which the rows begin, or 0 if there are none.
int64_t make_dataset(hid_t file, const Dataset& dataset, int64_t total) {
  std::vector<hsize_t> extents{static_cast<hsize_t>(total)};
  for (const auto n : dataset.row) extents.push_back(static_cast<hsize_t>(n));
  const auto how = hdf5::properties(H5P_DATASET_CREATE);
  hdf5::check(H5Pset_layout(how, H5D_CONTIGUOUS), "reserve room");
  hdf5::check(H5Pset_alloc_time(how, H5D_ALLOC_TIME_EARLY), "reserve room");
  hdf5::check(H5Pset_fill_time(how, H5D_FILL_TIME_NEVER), "reserve room");
  (void)group_of(file, dataset.path.substr(0, std::max<size_t>(dataset.path.rfind('/'), 1)));
  const hdf5::Handle made(H5Dcreate2(file, dataset.path.c_str(), type_of(dataset.element),
                                     hdf5::space(extents), H5P_DEFAULT, how, H5P_DEFAULT),
                          H5Dclose, "make the dataset " + dataset.path);
  if (!dataset.units.empty()) hdf5::put(made, "units", dataset.units);
  if (!dataset.role.empty()) put_text(made, "Attribute", dataset.role);
  return total * dataset.row_bytes() == 0 ? 0 : static_cast<int64_t>(H5Dget_offset(made));
}

/// Makes the file; returns the place of each dataset.
std::vector<int64_t> make_file(const std::filesystem::path& path, const Content& content,
                               const std::vector<int64_t>& totals) {
  Hdf5Disk disk(path);
  auto file = disk.make_file();
  std::vector<int64_t> places;
  for (const auto& attribute : content.attributes)
    put_attribute(group_of(file, attribute.group), attribute, attribute.group != "/");
  for (const auto& texts : content.texts) make_texts(file, texts);
  for (size_t d = 0; d < totals.size(); ++d)
    places.push_back(make_dataset(file, content.datasets[d], totals[d]));
  for (const auto& link : content.links) {
    const auto target = link.target.c_str();
    (void)group_of(file, link.path.substr(0, link.path.rfind('/')));
    hdf5::check(H5Lcreate_hard(file, target, file, link.path.c_str(), H5P_DEFAULT, H5P_DEFAULT),
                "name " + link.path);
  }
  file.close("write " + path.string());
  disk.check();
  return places;
}

/// Writes the rows of this peer.
int64_t fill(const std::filesystem::path& path, const Content& content, const Share& share,
             const std::vector<int64_t>& places, bool durable) {
  OpenFiles files(false, durable);
  Bytes memory;
  for (size_t d = 0; d < places.size(); ++d) {
    const auto& dataset = content.datasets[d];
    int64_t next = share.firsts[d];
    for (const auto& piece : dataset.pieces) {
      const int64_t first = piece.first >= 0 ? piece.first : next;
      next += piece.count;
      const int64_t size = piece.count * dataset.bytes_of_one();
      if (size == 0) continue;
      const auto bytes = piece.source(memory);
      if (static_cast<int64_t>(bytes.size()) != size)
        throw Error(ErrorCode::Internal, "rows of " + dataset.path + " have " +
                                             std::to_string(bytes.size()) + " bytes, not " +
                                             std::to_string(size));
      files.write(path, bytes, places[d] + first * dataset.bytes_of_one());
    }
  }
  if (durable) files.sync();
  return files.bytes();
}

}  // namespace

Cost write_file(const stage::Step& step, const Content& content, const std::filesystem::path& path,
                const Writing& how) {
  const hdf5::Quiet quiet;
  const write::Stopwatch watch;
  const auto share = share_of(step, content.datasets);
  std::optional<UnfinishedFile> file;
  std::vector<int64_t> places;
  if (step.peer() == 0) {
    file.emplace(path);
    places = make_file(file->aside(), content, share.totals);
  }
  std::vector<int64_t> of_all;
  append(of_all, step.broadcast(std::as_bytes(std::span(places))));
  Cost cost;
  step.in_turn(how.at_once, [&] {
    cost.bytes = fill(UnfinishedFile::aside(path), content, share, of_all, how.durable);
  });
  step.agree();
  if (file) file->finish(how.durable);
  step.agree();
  cost.seconds = watch.seconds();
  return cost;
}

}  // namespace pillion::stages::write_vtkhdf
