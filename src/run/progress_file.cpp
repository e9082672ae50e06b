// SPDX-License-Identifier: BSD-3-Clause
// The thread that writes progress.
#include "run/progress_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <utility>

#include "base/clock.hpp"
#include "node/process.hpp"
#include "products/whole_file.hpp"

namespace pillion::run {

namespace {

/// While it lives, threads that are started take no signals: these are for the program's own.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

Snapshot signed_by_this_process(Snapshot snapshot) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  snapshot.host = host.data();
  snapshot.process = getpid();
  snapshot.process_start = node::start_of(node::this_process());
  return snapshot;
}

}  // namespace

ProgressFile::ProgressFile(const std::filesystem::path& folder, Snapshot first,
                           const StepPosition& mark, double period)
    : path_(std::filesystem::absolute(folder) / progress_name(first)),
      mark_(mark),
      period_(period),
      snapshot_(signed_by_this_process(std::move(first))) {
  const NoSignals while_starting;
  thread_ = std::thread([this] { live(); });
  folder_ = ::open(path_.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

ProgressFile::~ProgressFile() {
  end(Phase::Failed, "the session ended without having been closed");
  if (folder_ >= 0) ::close(folder_);
}

void ProgressFile::end(Phase phase, const std::string& failure) {
  if (!thread_.joinable()) return;
  tell([&](Snapshot& snapshot) {
    snapshot.phase = phase;
    snapshot.failure = failure;
    snapshot.work.reset();
    ended_ = true;
  });
  wake_.notify_one();
  thread_.join();
}

std::string ProgressFile::trouble() {
  const std::lock_guard lock(mutex_);
  return std::exchange(trouble_, {});
}

// Without memory nothing more is told; the simulation goes on.
void ProgressFile::live() try {
  std::unique_lock lock(mutex_);
  while (!ended_) {
    write_news(lock);
    wake_.wait_for(lock, period_, [this] { return ended_; });
  }
  write_news(lock);
} catch (const std::exception&) {}

void ProgressFile::write_news(std::unique_lock<std::mutex>& lock) {
  auto place = mark_.get();
  if (!place) place = instant_.place;
  const bool waiting = mark_.is_waiting();
  if (version_ == written_version_ && place == instant_.place && waiting == instant_.waiting)
    return;
  written_ = snapshot_;
  written_version_ = version_;
  lock.unlock();
  if (place) pace_.note(base::monotonic_seconds(), place->step);
  const bool simulates = written_.role == "simulation";
  instant_ = {place, waiting, simulates ? pace_.per_second() : -1, base::calendar_seconds()};
  std::string trouble;
  try {
    products::write_whole(path_, format_progress(written_, instant_), false);
  } catch (const std::exception& e) {
    trouble = e.what();
  }
  lock.lock();
  if (!trouble.empty() && !std::exchange(troubled_, true)) trouble_ = trouble;
}

}  // namespace pillion::run
