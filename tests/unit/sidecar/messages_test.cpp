// SPDX-License-Identifier: BSD-3-Clause
#include "sidecar/messages.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "../collectives.hpp"
#include "comm/communicator.hpp"

using namespace pillion;

extern "C" int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm) {
  ++collectives::count;
  return PMPI_Allreduce(from, to, count, type, op, comm);
}
extern "C" int MPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm, MPI_Request* request) {
  ++collectives::count;
  return PMPI_Iallreduce(from, to, count, type, op, comm, request);
}
extern "C" int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  ++collectives::count;
  return PMPI_Bcast(data, count, type, root, comm);
}

namespace {

/// Gives headers of some sources, one message after the other.
class Scripted final : public transport::Receiver {
 public:
  using Heads = std::map<int, transport::PublicationHeader>;
  explicit Scripted(std::vector<Heads> messages) : messages_(std::move(messages)) {}
  std::optional<std::vector<transport::Delivery>> next() override {
    std::vector<transport::Delivery> out;
    for (const auto& [source, head] : messages_.at(at_)) {
      const transport::Encoder encoder(head, {});
      const auto bytes = std::make_shared<base::Bytes>(encoder.size());
      encoder.encode(bytes->data());
      out.push_back({source, bytes->data(), bytes->size(), bytes});
    }
    ++at_;
    return out;
  }
  void finish(int64_t, const std::set<int32_t>&, const std::string&) override {}

 private:
  std::vector<Heads> messages_;
  size_t at_ = 0;
};

transport::PublicationHeader head(int64_t sequence) {
  transport::PublicationHeader out;
  out.sequence = sequence;
  out.step = 10 * sequence;
  out.time = 0.1 * static_cast<double>(sequence);
  out.units["density"] = "kg";
  out.due = {{.analysis = 0, .unusable = 0, .skipped = 0, .coarsened = 0},
             {.analysis = 1, .unusable = 0, .skipped = 0, .coarsened = 0}};
  return out;
}

}  // namespace

TEST_CASE("sidecars agree on a message with one reduction, unless their headers differ") {
  const comm::Communicator side(MPI_COMM_WORLD);
  const bool is_last = side.rank() == side.size() - 1;
  const bool is_alone = side.size() == 1;
  policy::SidecarPolicy policy(policy::SidecarRole::SameJob, {true, true});
  sidecar::Messages messages(side, policy);
  auto same = head(1), flags = head(2), other = head(3), dropped = head(4);
  same.published = side.rank();  // ranks publish at times of their own
  same.targets = {side.rank()};
  if (is_last) {
    flags.schema_changed = true;
    flags.due[1].unusable = 1;
    other.time = 7;
    dropped.dropped = true;
    dropped.units.clear();
  }
  using Heads = Scripted::Heads;
  auto second = same;
  second.published = 99;
  std::vector<Heads> script{
      {{0, same}, {1, second}}, {{0, flags}}, {{0, other}}, {{0, dropped}}, {{0, head(5)}}};
  if (!is_alone && !is_last) script.back().clear();  // only the last rank has a source
  messages.set_receiver(std::make_unique<Scripted>(script));
  const auto next = [&](int expected) {
    collectives::count = 0;
    auto message = messages.read();
    CHECK_FALSE(messages.passes(message));
    messages.agree(message);
    CHECK(collectives::count == (is_alone ? 0 : expected));
    return message;
  };
  CHECK(next(1).header.step == 10);
  const auto flagged = next(1);
  CHECK(flagged.header.schema_changed);
  CHECK(flagged.all.unusable == std::set<size_t>{1});
  CHECK(next(2).header.time == (is_alone ? 7 : doctest::Approx(0.3)));
  const auto lost = next(2);
  CHECK(lost.all.dropped);
  CHECK(lost.header.dropped);
  CHECK(lost.header.units.size() == (is_alone ? 0 : 1));
  const auto fifth = next(2);
  CHECK(fifth.header.sequence == 5);
  CHECK(fifth.header.units.at("density") == "kg");
}

TEST_CASE(
    "an analysis that is unusable on one rank is so on all, and no other, however many are due") {
  const comm::Communicator side(MPI_COMM_WORLD);
  // An attached job's analyses are behind those of the run in a header.
  constexpr int32_t base = 40, own = 300;
  policy::SidecarPolicy policy(policy::SidecarRole::AttachedJob, std::vector<bool>(own, true));
  sidecar::Messages messages(side, policy);
  messages.set_base(base);
  auto all = head(1);
  all.due.clear();
  for (int32_t a = 0; a < base + own; ++a)
    all.due.push_back({.analysis = a, .unusable = 0, .skipped = 0, .coarsened = 0});
  if (side.rank() == side.size() - 1)
    for (const int32_t a : {7, base + 3, base + 120}) all.due[static_cast<size_t>(a)].unusable = 1;
  messages.set_receiver(std::make_unique<Scripted>(std::vector<Scripted::Heads>{{{0, all}}}));
  auto message = messages.read();
  messages.agree(message);
  CHECK(message.all.unusable == std::set<size_t>{3, 120});
}

TEST_CASE("a rank passes publications that no enabled analysis needs, without the others") {
  const comm::Communicator side(MPI_COMM_WORLD);
  policy::SidecarPolicy policy(policy::SidecarRole::AttachedJob, {true, true});
  sidecar::Messages messages(side, policy);
  auto first = head(1), needed = head(2), checkpoint = head(3), mixed = head(4), every = head(64);
  for (auto* header : {&first, &checkpoint, &mixed, &every}) header->due.pop_back();
  checkpoint.kind = transport::MessageKind::Checkpoint;
  mixed.dropped = true;
  using Heads = Scripted::Heads;
  messages.set_receiver(std::make_unique<Scripted>(std::vector<Heads>{
      {{0, first}}, {{0, needed}}, {{0, checkpoint}}, {{0, mixed}, {1, needed}}, {{0, every}}}));
  (void)policy.on(policy::AnalysisFailed{0});
  collectives::count = 0;
  auto message = messages.read();
  CHECK(messages.passes(message));
  CHECK(message.header.sequence == 1);
  // Another needs it, it is no publication, one of two sources says more, and one in 64.
  for (int i = 0; i < 4; ++i) {
    message = messages.read();
    CHECK_FALSE(messages.passes(message));
  }
  CHECK(collectives::count == 0);
}
