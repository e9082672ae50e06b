// SPDX-License-Identifier: BSD-3-Clause
// A sidecar rank's part of a run: works on publications in the order in which they come, until the
// simulation ends its session.
#pragma once

#include "runtime/chains.hpp"
#include "transport/announcement.hpp"
#include "transport/transport.hpp"

namespace pillion::runtime {

class SidecarSide {
 public:
  SidecarSide(Run& run, Chains chains, std::unique_ptr<transport::Receiver> receiver)
      : run_(run), chains_(std::move(chains)), receiver_(std::move(receiver)) {}

  /// Returns when the simulation has ended its session. [collective over the sidecars]
  void serve();

 private:
  /// What every sidecar knows of the message: the head as the first sidecar got it.
  transport::Announcement agree_on_head(const std::vector<transport::Delivery>& deliveries) const;
  void take_units(const transport::Announcement& head);
  void work(const transport::Announcement& head,
            const std::vector<transport::Delivery>& deliveries);
  void work_on(const transport::Due& due, const transport::Announcement& head,
               const transport::Meshes& meshes);
  std::string save(const std::string& path) const;
  void finish(const transport::Announcement& head);
  [[nodiscard]] std::set<int32_t> disabled() const;

  Run& run_;
  Chains chains_;
  std::unique_ptr<transport::Receiver> receiver_;
};

}  // namespace pillion::runtime
