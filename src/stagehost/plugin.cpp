// SPDX-License-Identifier: BSD-3-Clause
// Loading with dlopen. In a build tree the stages lie in BUILD/stages beside BUILD/lib or
// BUILD/src; installed, in LIBDIR/pillion/stages.
#include "stagehost/plugin.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <sstream>

#include "base/folder.hpp"
#include "base/text.hpp"

namespace pillion::stagehost {

namespace fs = std::filesystem;

namespace {

/// The file that contains this code: the library, or one of Pillion's own programs.
fs::path own_file() {
  Dl_info info{};
  std::error_code error;
  if (dladdr(reinterpret_cast<const void*>(&stage_folders), &info) != 0 &&
      info.dli_fname != nullptr) {
    const fs::path file = fs::canonical(info.dli_fname, error);
    if (!error) return file;
  }
  // A program that was found on PATH is called by its name alone.
  const fs::path program = fs::canonical("/proc/self/exe", error);
  return error ? fs::path() : program;
}

}  // namespace

std::vector<fs::path> stage_folders() {
  std::vector<fs::path> folders;
  if (const char* list = std::getenv("PILLION_STAGE_PATH")) {
    std::istringstream in(list);
    for (std::string folder; std::getline(in, folder, ':');)
      if (!folder.empty()) folders.emplace_back(folder);
  }
  const fs::path own = own_file().parent_path();
  const fs::path built = own.parent_path() / "stages";
  std::error_code error;
  const bool in_library = fs::exists(own / "pillion" / "stages", error);
  // Programs are installed beside the folder of libraries.
  folders.push_back(in_library || fs::exists(built, error)
                        ? own / "pillion" / "stages"
                        : own.parent_path() / PILLION_LIBDIR / "pillion" / "stages");
  folders.push_back(built);
  return folders;
}

std::vector<std::string> stage_names(const std::vector<fs::path>& folders) {
  std::vector<std::string> names;
  for (const auto& folder : folders)
    for (const auto& file : base::entries_of(folder))
      if (file.extension() == ".so") names.push_back(file.stem().string());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string find_stage_file(const std::string& name, const std::vector<fs::path>& folders) {
  if (name.find('/') != std::string::npos) return {};
  for (const auto& folder : folders) {
    const fs::path path = folder / (name + ".so");
    std::error_code error;
    if (fs::is_regular_file(path, error)) return path.string();
  }
  return {};
}

namespace {

bool comes_with_pillion(const std::string& stage) {
  std::istringstream names(PILLION_STAGE_NAMES);
  using Names = std::istream_iterator<std::string>;
  return std::find(Names(names), Names(), stage) != Names();
}

fs::path find_stage(const std::string& name, const base::Value& place) {
  const auto folders = stage_folders();
  const auto file = find_stage_file(name, folders);
  if (!file.empty()) return file;
  if (name == "write")
    place.fail_at_key(
        "there is no stage 'write', but one for each format: write_idx, write_hdf5, write_openpmd, "
        "write_nek, write_plotfile, write_vtkhdf and write_raw");
  if (comes_with_pillion(name))
    place.fail_at_key(
        fmt::format("stage '{}' comes with Pillion but is not built here; run "
                    "'tools/install_deps.sh stages', then build all of Pillion",
                    name));
  std::vector<std::string> searched;
  for (const auto& folder : folders) searched.push_back(folder.string());
  place.fail_at_key(fmt::format("unknown stage '{}'{} (searched {})", name,
                                base::suggestion(name, stage_names(folders)),
                                base::join(searched, ":")));
}

/// The first version of each struct has the size that it has here; later ones are larger.
void check_sizes(const pillion_stage_sizes* theirs, const fs::path& path) {
  struct Size {
    const char* what;
    size_t theirs, least, most;
  };
  if (theirs == nullptr || theirs->size < sizeof(pillion_stage_sizes))
    base::fail(ErrorCode::Plugin,
               "stage plug-in '{}' does not say with which structs it was built; build the plug-in "
               "again",
               path.string());
  const Size sizes[] = {
      {"the host's table", theirs->host, 392, sizeof(pillion_stage_host)},
      {"a description", theirs->field_description, 152, sizeof(pillion_field_description)},
      {"a request for an input", theirs->input_request, 112, sizeof(pillion_input_request)},
      {"an output", theirs->output, 56, sizeof(pillion_output)},
      {"an array", theirs->array, 112, sizeof(pillion_array)},
      {"a block", theirs->block, 200, sizeof(pillion_block)},
      {"a mesh", theirs->mesh, 216, sizeof(pillion_mesh)},
      {"a table", theirs->table, 64, sizeof(pillion_table)}};
  for (const auto& size : sizes) {
    if (size.theirs > size.most)
      base::fail(ErrorCode::Plugin,
                 "stage plug-in '{}' was built for a newer Pillion: {} has {} bytes there and {} "
                 "here; use a newer Pillion, or build the plug-in for this one",
                 path.string(), size.what, size.theirs, size.most);
    if (size.theirs < size.least)
      base::fail(ErrorCode::Plugin,
                 "stage plug-in '{}' takes {} to have {} bytes, and no Pillion has fewer than {}; "
                 "build the plug-in again",
                 path.string(), size.what, size.theirs, size.least);
  }
}

const pillion_stage_table* table_of(void* library, const fs::path& path) {
  const auto function =
      reinterpret_cast<pillion_stage_describe_function>(dlsym(library, "pillion_stage_describe"));
  if (function == nullptr)
    base::fail(ErrorCode::Plugin, "'{}' is not a stage: it does not export pillion_stage_describe",
               path.string());
  const pillion_stage_table* table = function();
  if (table == nullptr) base::fail(ErrorCode::Plugin, "'{}' describes no stage", path.string());
  if (table->abi_version != PILLION_STAGE_ABI_VERSION)
    base::fail(ErrorCode::Plugin,
               "stage plug-in '{}' was built for version {} of the stage interface, and this "
               "Pillion has version {}; build the plug-in again",
               path.string(), table->abi_version, PILLION_STAGE_ABI_VERSION);
  if (table->size < sizeof(pillion_stage_table))
    base::fail(
        ErrorCode::Plugin,
        "the table of stage plug-in '{}' has {} bytes instead of {}; build the plug-in again",
        path.string(), table->size, sizeof(pillion_stage_table));
  check_sizes(table->sizes, path);
  if (table->create == nullptr || table->run == nullptr || table->destroy == nullptr ||
      table->finish == nullptr || table->save == nullptr || table->restore == nullptr ||
      table->name == nullptr)
    base::fail(ErrorCode::Plugin, "the table of stage plug-in '{}' lacks functions", path.string());
  return table;
}

}  // namespace

// Where another rank found the file, this one need not search, and looks only if it sees other
// files than that rank.
Plugin::Plugin(const std::string& name, const base::Value& place, const std::string& file)
    : path_(file) {
  void* handle = file.empty() ? nullptr : dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    path_ = find_stage(name, place);
    handle = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (handle == nullptr)
    base::fail(ErrorCode::Plugin, "{}: stage '{}' cannot be loaded: {}", place.place(), name,
               dlerror());
  library_ = std::shared_ptr<void>(handle, [](void* h) { dlclose(h); });
  table_ = table_of(handle, path_);
}

}  // namespace pillion::stagehost
