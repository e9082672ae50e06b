// SPDX-License-Identifier: BSD-3-Clause
// A plug-in engine of ADIOS2 (2.12 or later): what a program puts between BeginStep and EndStep
// becomes a step of a Pillion session. Global arrays become fields, single values scalars. Nothing
// of the program changes but the name of its engine, which a configuration file of ADIOS2 may set.
#include <adios2.h>
#include <adios2/plugin/PluginEngineInterface.h>
#include <mpi.h>
#include <pillion/pillion.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <iostream>
#include <locale>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using adios2::Dims;

/// Part of an array, with its slowest axis first.
struct Block {
  Dims start, count;
  const void* values = nullptr;
  std::vector<std::byte> copy{};  ///< of values that the program may change now
};

/// A global array of this step.
struct Array {
  pillion_type type;
  Dims shape;
  std::vector<Block> blocks;
};

template <class T>
constexpr std::optional<pillion_type> type_of() {
  if constexpr (std::is_same_v<T, char> || !std::is_arithmetic_v<T>) return std::nullopt;
  else if constexpr (std::is_same_v<T, double>) return PILLION_FLOAT64;
  else if constexpr (std::is_same_v<T, float>) return PILLION_FLOAT32;
  else if constexpr (std::is_floating_point_v<T>) return std::nullopt;
  else if constexpr (sizeof(T) == 8) return std::is_signed_v<T> ? PILLION_INT64 : PILLION_UINT64;
  else if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? PILLION_INT32 : PILLION_UINT32;
  else if constexpr (sizeof(T) == 2) return std::is_signed_v<T> ? PILLION_INT16 : PILLION_UINT16;
  else return std::is_signed_v<T> ? PILLION_INT8 : PILLION_UINT8;
}

const char* name_of(pillion_type type) {
  constexpr std::array names = {"",      "int32", "int64",  "float32", "float64", "int8",
                                "uint8", "int16", "uint16", "uint32",  "uint64"};
  return names.at(static_cast<size_t>(type));
}

void check(pillion_status status) {
  if (status != PILLION_OK) throw std::runtime_error(pillion_error_message());
}

/// The lines of all ranks, each line once.
std::set<std::string> lines_of_all(const std::set<std::string>& mine, MPI_Comm comm) {
  std::string text;
  for (const auto& line : mine) text += line + "\n";
  int ranks = 1, size = static_cast<int>(text.size()), total = 0;
  MPI_Comm_size(comm, &ranks);
  std::vector<int> sizes(static_cast<size_t>(ranks)), places;
  MPI_Allgather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, comm);
  for (const int one : sizes) places.push_back(std::exchange(total, total + one));
  std::string all(static_cast<size_t>(total), ' ');
  MPI_Allgatherv(text.data(), size, MPI_CHAR, all.data(), sizes.data(), places.data(), MPI_CHAR,
                 comm);
  std::set<std::string> out;
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) out.insert(line);
  return out;
}

std::string joined(const Dims& numbers, const char* between) {
  std::string out;
  for (const auto n : numbers) out += (out.empty() ? "" : between) + std::to_string(n);
  return out;
}

/// Names of fields become parts of files, and stand in quotes in a catalogue; variables of ADIOS2
/// may have any.
std::string field_name(std::string variable) {
  std::replace_if(
      variable.begin(), variable.end(),
      [](unsigned char c) { return c < 0x20 || c == 0x7f || std::strchr("/\"\\$", c) != nullptr; },
      '_');
  return variable;
}

/// The mesh of a shape, and the entry of an array in the catalogue.
std::string mesh_of(const Dims& shape) { return "grid_" + joined(shape, "_"); }
std::string mesh_entry(const Dims& shape) {
  const Dims cells(shape.rbegin(), shape.rend());
  return "  " + mesh_of(shape) + ": {kind: uniform, cells: [" + joined(cells, ", ") + "]}";
}
std::string field_entry(const std::string& name, const Array& array) {
  return "  \"" + name + "\": {mesh: " + mesh_of(array.shape) + ", type: " + name_of(array.type) +
         "}";
}

/// Axes of an array beside that of the components, if the field has several.
size_t axes_of(const pillion_field& field, const Array& array) {
  return array.shape.size() - (field.components > 1 && !array.shape.empty() ? 1 : 0);
}

/// Why the array of a program cannot be the field of the catalogue; "" if it can.
std::string mismatch_of(const pillion_field& field, const Array& array) {
  const std::string is = "the program puts '" + std::string(field.name) + "' with the shape " +
                         joined(array.shape, " x ");
  const size_t axes = axes_of(field, array), last = array.shape.empty() ? 0 : array.shape.back();
  if (field.components > 1 && last != static_cast<size_t>(field.components))
    return is + ", so its fastest axis is not that of the " + std::to_string(field.components) +
           " components in the catalogue; with one array for each component, list the arrays: " +
           "'components: [x, y, z]'";
  if (field.mesh_kind == PILLION_PARTICLES)
    return axes == 1 ? ""
                     : is + ", but particles with " + std::to_string(field.components) +
                           " components are N values of each: set 'components' to the length of "
                           "the fastest axis";
  if (axes < 1 || axes > 3) return is + ", and Pillion's grids have 1 to 3 axes";
  if (field.axes == 0 || field.levels > 1 || field.point_axes != 0) return "";
  Dims cells(field.cells, field.cells + field.axes);
  const Dims given(array.shape.begin(), array.shape.begin() + static_cast<std::ptrdiff_t>(axes));
  const Dims expected(given.rbegin(), given.rend());
  if (cells == expected) return "";
  return is + ", so mesh '" + field.mesh + "' needs 'cells: [" + joined(expected, ", ") +
         "]', found [" + joined(cells, ", ") +
         "]; if the first axis is the fastest, set the engine's parameter ArrayOrder to Fortran";
}

/// Not before the first array is known, and closed at the end of MPI at the latest.
class PillionEngine final : public adios2::plugin::PluginEngineInterface {
 public:
#if ADIOS2_USE_MPI
  PillionEngine(adios2::IO io, const std::string& name, adios2::Mode mode, MPI_Comm comm)
      : PluginEngineInterface(io, name, mode, comm) {
    open(comm);
  }
#endif
  PillionEngine(adios2::IO io, const std::string& name, adios2::Mode mode)
      : PluginEngineInterface(io, name, mode) {
    int is_running = 0;
    MPI_Initialized(&is_running);
    if (is_running == 0) MPI_Init(nullptr, nullptr);
    owns_mpi_ = is_running == 0;
    open(owns_mpi_ ? MPI_COMM_SELF : MPI_COMM_WORLD);
  }
  ~PillionEngine() override {
    int is_finalized = 0;
    MPI_Finalized(&is_finalized);
    if (is_finalized == 0) pillion_close(std::exchange(session_, nullptr));
    if (is_finalized == 0 && owns_mpi_) MPI_Finalize();
  }

  adios2::StepStatus BeginStep(adios2::StepMode, float) override {
    arrays_.clear();
    scalars_.clear();
    return adios2::StepStatus::OK;
  }
  [[nodiscard]] size_t CurrentStep() const override { return steps_; }
  void EndStep() override {
    offer();
    ++steps_;
    arrays_.clear();
    scalars_.clear();
  }
  /// The program may change its values from here on.
  void PerformPuts() override {
    for (auto& [name, array] : arrays_)
      for (auto& block : array.blocks) keep(block, size_of(array.type));
  }
  void DoClose(int) override {
    if (!arrays_.empty()) EndStep();  // a program without steps
    const auto status = pillion_close(std::exchange(session_, nullptr));
    if (status != PILLION_OK) warn(pillion_error_message());
  }

#define PILLION_PUT(T)                                                         \
  void DoPutSync(adios2::Variable<T> variable, const T* values) override {     \
    put(variable, values, true);                                               \
  }                                                                            \
  void DoPutDeferred(adios2::Variable<T> variable, const T* values) override { \
    put(variable, values, false);                                              \
  }
  ADIOS2_FOREACH_STDTYPE_1ARG(PILLION_PUT)
#undef PILLION_PUT

 private:
  void open(MPI_Comm comm) {
    if (m_OpenMode != adios2::Mode::Write)
      throw std::invalid_argument("the engine pillion only takes what programs write; open '" +
                                  m_Name + "' with Mode::Write");
    const auto given = parameter("configuration"), order = parameter("arrayorder");
    if (!order.empty() && order != "C" && order != "Fortran")
      throw std::invalid_argument("the engine's parameter 'ArrayOrder' is '" + order +
                                  "'; expected C (the last axis is the fastest) or Fortran");
    is_fortran_ = order == "Fortran";
    MPI_Comm_rank(comm, &rank_);
    warn_of_unknown_parameters();
    pillion_options* options = nullptr;
    check(pillion_options_create(&options));
    // The program computes on all of its ranks, so none becomes a sidecar.
    auto status = pillion_options_set_role(options, PILLION_ROLE_SIMULATION);
    if (status == PILLION_OK) status = pillion_options_set_deferred(options);
    if (status == PILLION_OK)
      status = pillion_open_with(given.empty() ? "pillion.yaml" : given.c_str(), comm, options,
                                 &session_);
    pillion_options_free(options);
    if (status == PILLION_ERROR_PLACEMENT)
      warn(
          "a program behind ADIOS2 computes on all of its ranks: set 'sidecars: {job: separate}' "
          "and start `pillion attach`, or leave 'sidecars' out");
    check(status);
  }

  static std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
  }

  /// A parameter of the engine, whose name in lower case is `name`; "" if it is not given.
  [[nodiscard]] std::string parameter(const std::string& name) const {
    for (const auto& [key, value] : m_IO.Parameters()) {
      if (lower(key) == name) return value;
    }
    return "";
  }

  void warn_of_unknown_parameters() {
    for (const auto& [key, value] : m_IO.Parameters()) {
      const std::string name = lower(key);
      const bool is_known = name == "configuration" || name == "arrayorder" ||
                            name == "pluginname" || name == "pluginlibrary" ||
                            name.rfind("domain:", 0) == 0;
      if (!is_known)
        warn("the engine has no parameter '" + key +
             "'; it has Configuration, ArrayOrder and Domain:MESH");
    }
  }

  /// The domain of particles, which ADIOS2 knows nothing of: lower and upper bounds, and
  /// `periodic`.
  void set_domain(const std::string& mesh) {
    const std::string given = parameter(lower("domain:" + mesh));
    std::istringstream words(given);
    words.imbue(std::locale::classic());
    pillion_domain domain{};
    for (double& value : domain.lo) words >> value;
    for (double& value : domain.hi) words >> value;
    const bool has_bounds = !words.fail();
    std::string word;
    if (has_bounds && words >> word && word == "periodic")
      std::fill(std::begin(domain.periodic), std::end(domain.periodic), 1);
    if (!has_bounds || (!word.empty() && (word != "periodic" || words >> word)))
      throw std::invalid_argument("mesh '" + mesh +
                                  "' has particles: give the engine the parameter 'Domain:" + mesh +
                                  "' with six numbers, the lower bounds and the upper bounds, and "
                                  "the word periodic if it is; found '" +
                                  given + "'");
    check(pillion_set_domain(session_, mesh.c_str(), &domain));
  }

  void warn(const std::string& text) {
    if (rank_ == 0 && warned_.insert(text).second)
      std::cerr << "pillion: warning: " << text << std::endl;
  }

  /// These two are the step and the time that Pillion counts.
  static bool is_of_step(const std::string& name) { return name == "step" || name == "time"; }

  static size_t size_of(pillion_type type) {
    constexpr std::array<size_t, 11> sizes = {0, 4, 8, 4, 8, 1, 1, 2, 2, 4, 8};
    return sizes.at(static_cast<size_t>(type));
  }

  static void keep(Block& block, size_t size) {
    if (!block.copy.empty()) return;
    for (const auto n : block.count) size *= n;
    block.copy.resize(size);
    if (size > 0) std::memcpy(block.copy.data(), block.values, size);
    block.values = block.copy.data();
  }

  /// As the program gives it, in its own order.
  [[nodiscard]] Dims slowest_first(Dims numbers) const {
    if (is_fortran_) std::reverse(numbers.begin(), numbers.end());
    return numbers;
  }

  template <class T>
  void put(const adios2::Variable<T>& variable, const T* values, bool may_change) {
    const auto name = field_name(variable.Name());
    constexpr auto type = type_of<T>();
    const auto shape = variable.ShapeID();
    if constexpr (type.has_value()) {
      if (shape == adios2::ShapeID::GlobalValue) {
        scalars_[name] = static_cast<double>(*values);
        return;
      }
      if (shape == adios2::ShapeID::GlobalArray) {
        const Array all{*type, slowest_first(variable.Shape()), {}};
        auto& array = arrays_.try_emplace(name, all).first->second;
        array.blocks.push_back(
            {slowest_first(variable.Start()), slowest_first(variable.Count()), values});
        if (may_change) keep(array.blocks.back(), sizeof(T));
        return;
      }
    }
    warn("variable '" + name + "' is ignored: Pillion takes global arrays and single values of " +
         "integers and reals");
  }

  /// Once all ranks have an idea of what there is: a rank may have put nothing.
  void configure() {
    MPI_Comm comm = pillion_communicator(session_);
    std::set<std::string> meshes, fields, scalars;
    for (const auto& [name, array] : arrays_) {
      if (array.shape.size() > 3) {
        warn("variable '" + name + "' is ignored: it has " + std::to_string(array.shape.size()) +
             " axes, and Pillion's grids have 1 to 3");
        continue;
      }
      meshes.insert(mesh_entry(array.shape));
      fields.insert(field_entry(name, array));
    }
    std::set<std::string> names = {"step", "time"};
    for (const auto& [name, value] : scalars_) names.insert(name);
    for (const auto& name : lines_of_all(names, comm)) {
      names_.push_back(name);
      if (!is_of_step(name)) scalars.insert("  \"" + name + "\": {}");
    }
    std::string catalogue;
    for (const auto& [section, mine] : {std::pair{"meshes", &meshes}, std::pair{"fields", &fields},
                                        std::pair{"scalars", &scalars}}) {
      const auto all = lines_of_all(*mine, comm);
      if (!all.empty()) catalogue += std::string(section) + ":\n";
      for (const auto& line : all) catalogue += line + "\n";
    }
    check(pillion_offer_catalogue(session_, catalogue.c_str()));
    check(pillion_configure(session_));
    int32_t count = 0;
    check(pillion_count_fields(session_, &count));
    for (int32_t n = 0; n < count; ++n) {
      pillion_field field{};
      check(pillion_get_field(session_, n, &field));
      fields_[field.name] = field;
      if (field.mesh_kind == PILLION_PARTICLES && field.used != 0) set_domain(field.mesh);
    }
    std::set<std::string> mismatches;
    for (const auto& [name, field] : fields_)
      if (const auto found = arrays_.find(name); found != arrays_.end())
        if (const auto why = mismatch_of(field, found->second); !why.empty())
          mismatches.insert(why);
    const auto all = lines_of_all(mismatches, comm);
    if (!all.empty()) throw std::runtime_error("pillion: error: " + *all.begin());
  }

  /// Gives all ranks the scalars of this step, each from the lowest rank that has put it: programs
  /// put single values from one rank.
  void agree_on_scalars() {
    MPI_Comm comm = pillion_communicator(session_);
    int ranks = 1, rank = 0;
    MPI_Comm_size(comm, &ranks);
    MPI_Comm_rank(comm, &rank);
    if (ranks == 1) return;
    const int count = static_cast<int>(names_.size());
    std::vector<int> owners(names_.size(), ranks);
    std::vector<double> values(names_.size());
    for (size_t n = 0; n < names_.size(); ++n)
      if (scalars_.count(names_[n]) > 0) owners[n] = rank;
    MPI_Allreduce(MPI_IN_PLACE, owners.data(), count, MPI_INT, MPI_MIN, comm);
    for (size_t n = 0; n < names_.size(); ++n)
      if (owners[n] == rank) values[n] = scalars_[names_[n]];
    MPI_Allreduce(MPI_IN_PLACE, values.data(), count, MPI_DOUBLE, MPI_SUM, comm);
    for (size_t n = 0; n < names_.size(); ++n)
      if (owners[n] < ranks) scalars_[names_[n]] = values[n];
  }

  /// Blocks that the program has put, and no others. Returns fields that failed, and why. Their
  /// blocks are not ended, so that no analysis reads them at this step.
  std::map<std::string, std::string> share() {
    std::map<std::string, std::string> failed;
    for (const auto& [name, field] : fields_) {
      const auto found = arrays_.find(name);
      try {
        check(pillion_begin_blocks(session_, name.c_str()));
        if (found != arrays_.end()) share_blocks(name, field, found->second);
        check(pillion_end_blocks(session_, name.c_str()));
      } catch (const std::exception& error) {
        failed.emplace(name, error.what());
      }
    }
    return failed;
  }

  void share_blocks(const std::string& name, const pillion_field& field, const Array& array) {
    const auto why = mismatch_of(field, array);
    if (!why.empty()) throw std::runtime_error(why);
    int32_t number = 0;
    for (const auto& block : array.blocks) share_block(name, field, array, block, number++);
  }

  /// Before it is asked whether the step is due, because conditions use them.
  void set_scalars() {
    agree_on_scalars();
    for (const auto& [name, value] : scalars_)
      if (!is_of_step(name) && pillion_set_scalar(session_, name.c_str(), value) != PILLION_OK)
        warn(pillion_error_message());
  }

  void share_block(const std::string& name, const pillion_field& field, const Array& array,
                   const Block& block, int32_t number) {
    if (field.mesh_kind == PILLION_PARTICLES) {
      check(pillion_share_particles_typed(session_, name.c_str(), number,
                                          static_cast<int64_t>(block.count.front()), block.values,
                                          array.type));
      return;
    }
    std::array<int64_t, 3> lo{}, hi{};
    const size_t axes = axes_of(field, array);
    for (size_t d = 0; d < axes; ++d) {
      lo[d] = static_cast<int64_t>(block.start[axes - 1 - d]);
      hi[d] = lo[d] + static_cast<int64_t>(block.count[axes - 1 - d]);
    }
    check(pillion_share_box_typed(session_, name.c_str(), number, lo.data(), hi.data(),
                                  block.values, array.type));
  }

  /// Until the first step a failure ends the program on all ranks; later failures are warnings.
  void offer() {
    if (session_ == nullptr) return;
    const bool is_first = !std::exchange(is_configured_, true);
    if (is_first) configure();
    set_scalars();
    const auto step = scalars_.count("step") > 0 ? static_cast<int64_t>(scalars_["step"])
                                                 : static_cast<int64_t>(steps_);
    const double time = scalars_.count("time") > 0 ? scalars_["time"] : static_cast<double>(step);
    std::string problem;
    std::map<std::string, std::string> failed;
    int32_t is_due = 1;
    if (!is_first && pillion_is_due(session_, step, time, &is_due) != PILLION_OK)
      problem = pillion_error_message();
    if (is_due != 0) failed = share();
    if (!failed.empty()) problem = failed.begin()->second;
    // Also after a failure to share, which may be this rank's alone: the others wait in this call,
    // and all of them learn of a fault of the first step there.
    const auto status = pillion_step(session_, step, time);
    if (problem.empty() && status != PILLION_OK) problem = pillion_error_message();
    for (const auto& [name, why] : failed) pillion_end_blocks(session_, name.c_str());
    if (problem.empty()) return;
    if (is_first) throw std::runtime_error(problem);
    if (warned_.insert(problem).second)
      std::cerr << "pillion: warning: rank " << rank_ << ": " << problem << std::endl;
  }

  pillion_session* session_ = nullptr;
  bool owns_mpi_ = false, is_fortran_ = false;
  int rank_ = 0;
  bool is_configured_ = false;
  size_t steps_ = 0;
  std::map<std::string, Array> arrays_;    ///< of this step
  std::map<std::string, double> scalars_;  ///< of this step
  std::vector<std::string> names_;         ///< of all scalars of the first step; alike on all ranks
  std::map<std::string, pillion_field> fields_;
  std::set<std::string> warned_;
};

}  // namespace

extern "C" {

#if ADIOS2_USE_MPI
adios2::plugin::PluginEngineInterface* EngineCreate(adios2::IO io, const std::string& name,
                                                    const adios2::Mode mode, MPI_Comm comm) {
  return new PillionEngine(io, name, mode, comm);
}
#else
adios2::plugin::PluginEngineInterface* EngineCreate(adios2::IO io, const std::string& name,
                                                    const adios2::Mode mode) {
  return new PillionEngine(io, name, mode);
}
#endif

void EngineDestroy(adios2::plugin::PluginEngineInterface* engine) { delete engine; }
}
