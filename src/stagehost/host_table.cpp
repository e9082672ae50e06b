// SPDX-License-Identifier: BSD-3-Clause
// Thin C functions over setup, work and state. Each catches everything.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "comm/agreement.hpp"
#include "comm/communicator.hpp"
#include "layout/assignment.hpp"
#include "layout/division.hpp"
#include "stagehost/peer_messages.hpp"
#include "stagehost/plugin.hpp"
#include "stagehost/setup.hpp"
#include "stagehost/sink.hpp"
#include "stagehost/state.hpp"
#include "stagehost/table_writing.hpp"
#include "stagehost/work.hpp"

namespace pillion::stagehost {
namespace {

using base::guard;
using base::Value;

// Structs that a plug-in makes for the host: each begins with its size, and is not believed before
// that has been checked.

/// Throws ErrorCode::Plugin unless a struct is as large as the host's, or larger with nothing in
/// what the host does not know. `what` names it in messages.
template <class T>
void expect_known(const T& given, const char* what) {
  constexpr size_t most = 65536;  // a larger value is not a size
  if (given.size < sizeof(T) || given.size > most)
    base::fail(ErrorCode::Plugin,
               "a stage passed {} of {} bytes, and this Pillion has {}; build the plug-in again",
               what, given.size, sizeof(T));
  const auto* bytes = reinterpret_cast<const std::byte*>(&given);
  if (std::any_of(bytes + sizeof(T), bytes + given.size,
                  [](std::byte b) { return b != std::byte{0}; }))
    base::fail(ErrorCode::Plugin,
               "a stage set what this Pillion does not know in {} of {} bytes; use a newer Pillion",
               what, given.size);
}

const Value* node(const pillion_value* value) { return reinterpret_cast<const Value*>(value); }
const pillion_value* handle(const Value* value) {
  return reinterpret_cast<const pillion_value*>(value);
}

int32_t fail(int32_t code, const char* message) {
  return base::set_last_error(static_cast<ErrorCode>(code), message);
}

const pillion_value* parameters(pillion_setup* setup) { return handle(&setup->parameters); }

int32_t value_kind(const pillion_value* value) {
  if (value == nullptr) return PILLION_VALUE_NULL;
  switch (node(value)->kind) {
    case Value::Kind::Scalar: return PILLION_VALUE_SCALAR;
    case Value::Kind::List: return PILLION_VALUE_LIST;
    case Value::Kind::Map: return PILLION_VALUE_MAP;
    default: return PILLION_VALUE_NULL;
  }
}

int64_t value_size(const pillion_value* value) {
  return value == nullptr ? 0 : static_cast<int64_t>(node(value)->entries.size());
}

bool inside(const pillion_value* value, int64_t index) {
  return index >= 0 && index < value_size(value);
}

const pillion_value* value_at(const pillion_value* value, int64_t index) {
  return inside(value, index) ? handle(&node(value)->entries[static_cast<size_t>(index)].second)
                              : nullptr;
}

const char* value_key(const pillion_value* value, int64_t index) {
  return inside(value, index) ? node(value)->entries[static_cast<size_t>(index)].first.c_str() : "";
}

const pillion_value* value_find(const pillion_value* value, const char* key) {
  return value == nullptr ? nullptr : handle(node(value)->find(key));
}

const char* value_text(const pillion_value* value) {
  return value == nullptr ? "" : node(value)->text.c_str();
}

const char* value_place(const pillion_value* value) {
  thread_local std::string text;
  text = value == nullptr ? "?" : node(value)->place();
  return text.c_str();
}

int32_t describe_named(pillion_setup* setup, int32_t what, const char* name,
                       const pillion_value* place, pillion_field_description* description) {
  return guard([&] {
    expect_known(*description, "a description");
    if (what == PILLION_DESCRIBE_FIELD) describe_field(*setup, name, node(place), *description);
    else if (what == PILLION_DESCRIBE_MESH) describe_mesh(*setup, name, node(place), *description);
    else base::fail(ErrorCode::Plugin, "a stage asked to describe {}, which is not known", what);
  });
}

int32_t request_input(pillion_setup* setup, const pillion_input_request* request, int32_t* input) {
  return guard([&] {
    expect_known(*request, "a request for an input");
    *input = add_input(*setup, *request);
  });
}

int32_t declare_output(pillion_setup* setup, const pillion_output* wanted, int32_t* output) {
  return guard([&] {
    expect_known(*wanted, "an output");
    *output = add_output(*setup, *wanted);
  });
}

int32_t require_whole(pillion_setup* setup) {
  setup->requires_whole = true;
  return 0;
}

int32_t declare_recoverable(pillion_setup* setup) {
  setup->is_recoverable = true;
  return 0;
}

int32_t require_separate_job(pillion_setup* setup, const pillion_value* place) {
  return guard([&] { expect_separate_job(*setup, node(place)); });
}

int32_t make_box(pillion_work* work, int32_t output, const int64_t* lo, const int64_t* hi,
                 void** data) {
  return guard([&] {
    model::Box box;
    std::copy_n(lo, 3, box.lo.begin());
    std::copy_n(hi, 3, box.hi.begin());
    *data = produce_box(*work, output, box);
  });
}

int32_t spatial_part(const pillion_work* work, int32_t input, double* lo, double* hi) {
  return guard([&] {
    const auto& request = work->setup->inputs.at(static_cast<size_t>(input));
    const auto mesh = layout::mesh_of(request, *work->context->catalogue);
    if (work->context->catalogue->mesh(mesh).kind == model::MeshKind::Unstructured)
      base::fail(ErrorCode::Plugin,
                 "a stage asks for its part of the domain of mesh '{}'; an unstructured mesh has "
                 "no domain",
                 mesh);
    const auto& domain = domain_of(*work->publication, mesh);
    const auto& peers = *work->context->peers;
    const auto part = layout::spatial_part(domain, peers.rank(), peers.size());
    std::copy_n(part.lo.begin(), 3, lo);
    std::copy_n(part.hi.begin(), 3, hi);
  });
}

int32_t declare_product(pillion_setup* setup, const char* name) {
  return guard([&] { add_product(*setup, name); });
}

int32_t declare_memory(pillion_setup* setup, double per_input_byte, int64_t bytes) {
  return guard([&] { add_memory(*setup, per_input_byte, bytes); });
}

int64_t step(const pillion_work* work) { return work->context->origin.step; }
double time(const pillion_work* work) { return work->context->origin.time; }
int64_t publication(const pillion_work* work) { return work->context->before; }
double interval(const pillion_work* work) { return work->context->interval; }
int32_t products_due(const pillion_work* work) { return work->context->products_due ? 1 : 0; }

const char* units(const pillion_work* work, const char* name) {
  const auto& context = *work->context;
  if (std::string(name) == "time") return context.origin.time_units.c_str();
  if (const auto* field = context.catalogue->find_field(name)) return field->units.c_str();
  if (const auto* mesh = context.catalogue->find_mesh(name)) return mesh->units.c_str();
  for (const auto& scalar : context.origin.scalars)
    if (scalar.name == name) return scalar.units.c_str();
  return "";
}

int32_t scalar_count(const pillion_work* work) {
  return static_cast<int32_t>(work->context->origin.scalars.size());
}

const char* scalar_name(const pillion_work* work, int32_t number) {
  if (number < 0 || number >= scalar_count(work)) return "";
  return work->context->origin.scalars[static_cast<size_t>(number)].name.c_str();
}

int32_t scalar(const pillion_work* work, const char* name, double* value) {
  return guard([&] {
    std::vector<std::string> known;
    for (const auto& scalar : work->context->origin.scalars) {
      if (scalar.name == name) return static_cast<void>(*value = scalar.value);
      known.push_back(scalar.name);
    }
    base::fail(ErrorCode::Stage, "the simulation has no scalar '{}'{}; declare it under 'scalars:'",
               name, base::suggestion(name, known));
  });
}

const pillion_mesh* mesh(pillion_work* work, const char* name) {
  const pillion_mesh* found = nullptr;
  (void)guard([&] { found = &mesh_of(*work, name); });
  return found;
}

int32_t block_count(const pillion_work* work, int32_t input) {
  if (input < 0 || static_cast<size_t>(input) >= work->inputs.size()) return 0;
  return static_cast<int32_t>(work->inputs[static_cast<size_t>(input)].blocks.size());
}

const pillion_block* block(const pillion_work* work, int32_t input, int32_t index) {
  if (index < 0 || index >= block_count(work, input)) return nullptr;
  return &work->inputs[static_cast<size_t>(input)].blocks[static_cast<size_t>(index)];
}

int32_t make_output(pillion_work* work, int32_t output, int32_t input, int32_t index, void** data) {
  return guard([&] { *data = produce(*work, output, input, index); });
}

/// Columns as this library knows them. A plug-in may be older, with columns of fewer members.
std::vector<pillion_column> columns_of(const pillion_table& table) {
  std::vector<pillion_column> out(static_cast<size_t>(std::max(table.column_count, 0)));
  if (out.empty()) return out;
  const size_t size = table.columns->size;
  if (size < offsetof(pillion_column, role) || size > sizeof(pillion_column))
    base::fail(ErrorCode::Stage, "columns of table '{}' have {} bytes; this version knows {}",
               table.name, size, sizeof(pillion_column));
  const auto* from = reinterpret_cast<const std::byte*>(table.columns);
  for (auto& column : out) {
    std::memcpy(&column, from, size);
    from += size;
  }
  return out;
}

int32_t write_one_table(pillion_work* work, const pillion_table* table) {
  return guard([&] {
    expect_known(*table, "a table");
    const auto columns = columns_of(*table);
    pillion_table known = *table;
    known.columns = columns.data();
    write_table(known, *work->context);
  });
}

int32_t withhold(pillion_work* work) {
  return guard([&] { work->withheld = true; });
}

int32_t fetch_records(pillion_work* work, const pillion_records* have, const int64_t* wanted,
                      int64_t count, void* records) {
  return guard([&] {
    fetch(*have, {wanted, static_cast<size_t>(count)}, records, std::nullopt, *work->context);
  });
}

int32_t fetch_known(pillion_work* work, const pillion_records* have, const int64_t* wanted,
                    int64_t count, void* records, uint8_t* found) {
  return guard([&] {
    const auto size = static_cast<size_t>(count);
    fetch(*have, {wanted, size}, records, std::span(found, size), *work->context);
  });
}

int32_t warn(pillion_work* work, const char* topic, const char* message) {
  return guard([&] {
    const auto& context = *work->context;
    if (context.peers->rank() != 0) return;
    const auto& origin = context.origin;
    context.sink->note(
        fmt::format("{}/{}/{}", origin.analysis, origin.number, topic),
        fmt::format("analysis '{}', stage '{}': {}", origin.analysis, origin.stage, message));
  });
}

int32_t product_folder(pillion_work* work, const char** path) {
  return guard([&] {
    const auto& context = *work->context;
    work->folder = context.sink->folder_of(context.origin.analysis).string();
    *path = work->folder.c_str();
  });
}

int32_t write_text(pillion_work* work, const char* name, const char* title, const char* comment,
                   const char* text, int32_t durable) {
  return guard([&] {
    const auto& context = *work->context;
    if (context.peers->rank() == 0)
      context.sink->write_text({name, title, comment, text, durable != 0}, context.origin);
  });
}

int32_t write_file(pillion_work* work, const char* name, const char* title, const void* bytes,
                   size_t size, int32_t per_step) {
  return guard([&] {
    const auto& context = *work->context;
    if (context.peers->rank() == 0)
      context.sink->write_file(
          {name, title, {static_cast<const char*>(bytes), size}, per_step != 0}, context.origin);
  });
}

int32_t origin(pillion_work* work, const char* name, const char* title, const char** text) {
  return guard([&] {
    work->origin = products::format_origin(title, name, work->context->origin, "");
    *text = work->origin.c_str();
  });
}

int32_t peer(const pillion_work* work) { return work->context->peers->rank(); }
int32_t peers(const pillion_work* work) { return work->context->peers->size(); }

comm::Operation to_operation(int32_t operation) {
  switch (operation) {
    case PILLION_SUM: return comm::Operation::Sum;
    case PILLION_MIN: return comm::Operation::Min;
    case PILLION_MAX: return comm::Operation::Max;
    default: base::fail(ErrorCode::Plugin, "reduction {} is not known", operation);
  }
}

int32_t reduce(pillion_work* work, void* values, int64_t count, pillion_type type,
               int32_t operation) {
  return guard([&] {
    const auto& peers = *work->context->peers;
    const auto op = to_operation(operation);
    work->context->fence->before_collective();
    switch (type) {
      case PILLION_INT32: return peers.reduce(static_cast<int32_t*>(values), count, op);
      case PILLION_INT64: return peers.reduce(static_cast<int64_t*>(values), count, op);
      case PILLION_FLOAT32: return peers.reduce(static_cast<float*>(values), count, op);
      case PILLION_FLOAT64: return peers.reduce(static_cast<double*>(values), count, op);
      default:
        base::fail(ErrorCode::Plugin,
                   "values of type number {} cannot be reduced; copy them as int32, int64, float32 "
                   "or float64",
                   type);
    }
  });
}

int32_t communicator(const pillion_work* work) {
  return comm::to_fortran(work->context->peers->handle());
}

int32_t exchange_messages(pillion_work* work, const pillion_message* out, int32_t out_count,
                          const pillion_message** in, int32_t* in_count) {
  return guard([&] {
    work->received = exchange({out, static_cast<size_t>(out_count)}, *work->context);
    *in = work->received.messages.data();
    *in_count = static_cast<int32_t>(work->received.messages.size());
  });
}

int32_t gather_bytes(pillion_work* work, int32_t to, const void* bytes, size_t size,
                     const pillion_message** in, int32_t* in_count) {
  return guard([&] {
    work->received = gather(to, {static_cast<const std::byte*>(bytes), size}, *work->context);
    *in = work->received.messages.data();
    *in_count = static_cast<int32_t>(work->received.messages.size());
  });
}

int32_t broadcast_bytes(pillion_work* work, int32_t from, const void* bytes, size_t size,
                        const void** received, size_t* received_size) {
  return guard([&] {
    work->received = broadcast(from, {static_cast<const std::byte*>(bytes), size}, *work->context);
    *received = work->received.messages.front().bytes;
    *received_size = work->received.messages.front().size;
  });
}

int32_t take_turn(pillion_work* work, int32_t at_once, int32_t (*body)(void*), void* argument) {
  int32_t status = 0;
  const int32_t own = guard([&] {
    in_turn(
        at_once, [&] { status = body(argument); }, *work->context);
  });
  return status != 0 ? status : own;
}

int32_t part(const pillion_work* work, const pillion_division* division, int64_t* lo, int64_t* hi) {
  return guard([&] {
    const auto box = part_of(*division, *work->context->peers);
    std::copy_n(box.lo.begin(), 3, lo);
    std::copy_n(box.hi.begin(), 3, hi);
  });
}

int32_t move_cells(pillion_work* work, const pillion_division* from, const pillion_division* to,
                   int64_t bytes_per_cell, const void* source, void* target) {
  return guard([&] { regroup(*from, *to, bytes_per_cell, source, target, *work->context); });
}

int32_t save_global(pillion_state* state, const char* name, const void* bytes, size_t size) {
  return guard([&] {
    const auto* begin = static_cast<const std::byte*>(bytes);
    state->globals[name].assign(begin, begin + size);
  });
}

int32_t save_keyed(pillion_state* state, const char* name, const int64_t* keys, int64_t count,
                   const void* records, size_t record_size) {
  return guard([&] {
    const auto* begin = static_cast<const std::byte*>(records);
    state->keyed[name] = {{keys, keys + count},
                          record_size,
                          {begin, begin + record_size * static_cast<size_t>(count)}};
  });
}

int32_t load_global(pillion_state* state, const char* name, const void** bytes, size_t* size) {
  return guard([&] {
    const auto at = state->globals.find(name);
    if (at == state->globals.end())
      base::fail(ErrorCode::File, "the checkpoint does not hold '{}' of this stage", name);
    *bytes = at->second.data();
    *size = at->second.size();
  });
}

int32_t load_keyed(pillion_state* state, const char* name, const int64_t** keys, int64_t* count,
                   const void** records, size_t record_size) {
  return guard([&] {
    const auto at = state->keyed.find(name);
    if (at == state->keyed.end())
      base::fail(ErrorCode::File, "the checkpoint does not hold '{}' of this stage", name);
    if (at->second.record_size != record_size && !at->second.keys.empty())
      base::fail(ErrorCode::File, "records of '{}' have {} bytes in the checkpoint, not {}", name,
                 at->second.record_size, record_size);
    *keys = at->second.keys.data();
    *count = static_cast<int64_t>(at->second.keys.size());
    *records = at->second.values.data();
  });
}

}  // namespace

const pillion_stage_host& host_table() {
  static const pillion_stage_host table = {.abi_version = PILLION_STAGE_ABI_VERSION,
                                           .size = sizeof(pillion_stage_host),
                                           .fail = &fail,
                                           .failure = &base::last_error,
                                           .parameters = &parameters,
                                           .value_kind = &value_kind,
                                           .value_size = &value_size,
                                           .value_at = &value_at,
                                           .value_key = &value_key,
                                           .value_find = &value_find,
                                           .value_text = &value_text,
                                           .value_place = &value_place,
                                           .describe = &describe_named,
                                           .request_input = &request_input,
                                           .declare_output = &declare_output,
                                           .require_whole = &require_whole,
                                           .declare_product = &declare_product,
                                           .declare_memory = &declare_memory,
                                           .step = &step,
                                           .time = &time,
                                           .publication = &publication,
                                           .interval = &interval,
                                           .products_due = &products_due,
                                           .units = &units,
                                           .mesh = &mesh,
                                           .block_count = &block_count,
                                           .block = &block,
                                           .produce = &make_output,
                                           .produce_box = &make_box,
                                           .spatial_part = &spatial_part,
                                           .part = &part,
                                           .write_table = &write_one_table,
                                           .product_folder = &product_folder,
                                           .write_text = &write_text,
                                           .origin = &origin,
                                           .write_file = &write_file,
                                           .peer = &peer,
                                           .peers = &peers,
                                           .reduce = &reduce,
                                           .communicator = &communicator,
                                           .exchange = &exchange_messages,
                                           .gather = &gather_bytes,
                                           .broadcast = &broadcast_bytes,
                                           .in_turn = &take_turn,
                                           .regroup = &move_cells,
                                           .fetch = &fetch_records,
                                           .withhold = &withhold,
                                           .save_global = &save_global,
                                           .save_keyed = &save_keyed,
                                           .load_global = &load_global,
                                           .load_keyed = &load_keyed,
                                           .scalar_count = &scalar_count,
                                           .scalar_name = &scalar_name,
                                           .scalar = &scalar,
                                           .require_separate_job = &require_separate_job,
                                           .declare_recoverable = &declare_recoverable,
                                           .warn = &warn,
                                           .fetch_known = &fetch_known};
  return table;
}

}  // namespace pillion::stagehost
