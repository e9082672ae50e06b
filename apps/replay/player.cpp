// SPDX-License-Identifier: BSD-3-Clause
// What simulations do by computing, done by reading. A rank shares one block of each field.
#include "replay/player.hpp"

#include <algorithm>
#include <cstring>

#include "replay/agreement.hpp"

namespace replay {
namespace {

using pillion::Field;

void check(pillion_status status) {
  if (status != PILLION_OK)
    throw pillion::Error(static_cast<pillion::ErrorCode>(status), pillion_error_message());
}

/// A part of a mesh, in the order of an array's dimensions.
Part in_file(const Arrangement& arrangement, const Part& of_mesh) {
  Part part;
  for (const auto& [axis, extent] : arrangement) {
    const bool whole = axis == Dimension::components;
    part.lo.push_back(whole ? 0 : of_mesh.lo[static_cast<size_t>(axis)]);
    part.hi.push_back(whole ? extent : of_mesh.hi[static_cast<size_t>(axis)]);
  }
  return part;
}

/// How to stride through what was read: per axis of the mesh, and then from component to component.
std::vector<int64_t> strides_of(const Arrangement& arrangement, const Part& part, int32_t axes) {
  std::vector<int64_t> strides(static_cast<size_t>(axes) + 1, 1);
  int64_t stride = 1;
  for (size_t d = arrangement.size(); d-- > 0;) {
    const int axis = arrangement[d].axis;
    strides[static_cast<size_t>(axis == Dimension::components ? axes : axis)] = stride;
    stride *= part.hi[d] - part.lo[d];
  }
  return strides;
}

/// Puts the components of each particle together, which were one after the other.
void interleave(std::byte* values, int64_t count, int64_t components, size_t size) {
  const std::vector<std::byte> apart(values,
                                     values + static_cast<size_t>(count * components) * size);
  for (int64_t c = 0; c < components; ++c)
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(values + static_cast<size_t>(i * components + c) * size,
                  apart.data() + static_cast<size_t>(c * count + i) * size, size);
}

}  // namespace

Player::Player(pillion::Session& session, std::vector<Field> fields, Indices indices, MPI_Comm comm)
    : session_(session), fields_(std::move(fields)), indices_(indices), comm_(comm) {
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &ranks_);
}

Tally Player::play(const std::vector<Frame>& frames) {
  for (const Frame& frame : frames) {
    const bool due = session_.is_due(frame.step, frame.time);
    // Before the first step everything must be shared, whether it is looked at or not.
    if (due || tally_.steps == 0)
      together(comm_, [&] {
        set_domains(frame);
        share(frame, due);
      });
    session_.step(frame.step, frame.time);
    ++tally_.steps;
    tally_.due += due ? 1 : 0;
  }
  return tally_;
}

void Player::set_domains(const Frame& frame) {
  for (const auto& [mesh, domain] : frame.domains) {
    const bool used = std::any_of(fields_.begin(), fields_.end(),
                                  [&, &name = mesh](const Field& f) { return f.mesh == name; });
    const auto [at, is_new] = domains_.try_emplace(mesh, domain);
    if (!used || (!is_new && std::memcmp(&at->second, &domain, sizeof domain) == 0)) continue;
    at->second = domain;
    session_.set_domain(mesh, domain);
  }
}

void Player::share(const Frame& frame, bool with_values) {
  for (const Field& field : fields_) {
    const Stored& stored = frame.fields.at(field.name);
    if (field.mesh_kind == PILLION_PARTICLES) share_particles(field, stored, with_values);
    else share_grid(field, stored, with_values);
  }
}

const Part& Player::part_of_mesh(const Field& field, const Arrangement& arrangement) {
  const auto [at, is_new] = parts_.try_emplace(field.mesh);
  if (!is_new) return at->second;
  std::vector<int64_t> extents;
  std::vector<size_t> axes;
  for (const auto& [axis, extent] : arrangement)
    if (axis != Dimension::components) {
      extents.push_back(extent);
      axes.push_back(static_cast<size_t>(axis));
    }
  const Part part = part_of(extents, rank_, ranks_);
  at->second = part;
  for (size_t d = 0; d < axes.size(); ++d) {
    at->second.lo[axes[d]] = part.lo[d];
    at->second.hi[axes[d]] = part.hi[d];
  }
  return at->second;
}

std::byte* Player::memory(const std::string& field, int64_t values, pillion_type type) {
  auto& memory = memory_[field];
  memory.resize(static_cast<size_t>(values) * size_of(type));
  return memory.data();
}

void Player::share_grid(const Field& field, const Stored& stored, bool with_values) {
  const auto arrangement = arrange(stored, field, indices_);
  const Part& box = part_of_mesh(field, arrangement);
  const Part part = in_file(arrangement, box);
  if (part.count() == 0) return;
  std::byte* values = memory(field.name, part.count(), field.type);
  if (with_values) tally_.bytes += files_.read(stored, arrangement, part, field.type, values);
  check(pillion_share_box_strided(session_.handle(), field.name.c_str(), 0, box.lo.data(),
                                  box.hi.data(), values, field.type,
                                  strides_of(arrangement, part, field.axes).data()));
}

void Player::share_particles(const Field& field, const Stored& stored, bool with_values) {
  const auto arrangement = arrange(stored, field, indices_);
  const Part mine = part_of({stored.shape.front()}, rank_, ranks_);
  const Part part = in_file(arrangement, mine);
  std::byte* values = memory(field.name, part.count(), field.type);
  if (with_values) tally_.bytes += files_.read(stored, arrangement, part, field.type, values);
  if (arrangement.front().axis == Dimension::components)
    interleave(values, mine.count(), field.components, size_of(field.type));
  check(pillion_share_particles_typed(session_.handle(), field.name.c_str(), 0, mine.count(),
                                      values, field.type));
}

}  // namespace replay
