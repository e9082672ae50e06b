// SPDX-License-Identifier: BSD-3-Clause
// Locking, looking, moving. Locks are those of open file descriptions: the kernel releases them
// when the process dies, and two sessions of one process exclude each other. A run takes the marker
// alone, and then shares it with the other jobs that write for it.
#include "run/run_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/folder.hpp"
#include "base/process.hpp"
#include "products/whole_file.hpp"
#include "run/liveness.hpp"
#include "run/run_marker.hpp"

namespace pillion::run {

namespace fs = std::filesystem;

namespace {

/// As people would call it from where the program runs.
std::string called(const fs::path& path) {
  std::error_code error;
  const auto near = path.lexically_relative(fs::current_path(error));
  return "'" + (near.empty() || *near.begin() == ".." ? path : near).string() + "'";
}

enum class Lock { Taken, Held, Unsupported };

Lock try_lock(int file, int16_t kind) {
  struct flock whole {};
  whole.l_type = kind;
  whole.l_whence = SEEK_SET;
  while (fcntl(file, F_OFD_SETLK, &whole) != 0) {
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EACCES ? Lock::Held : Lock::Unsupported;
  }
  return Lock::Taken;
}

/// Whether another process holds a lock; nothing if the file system has none.
std::optional<bool> is_locked(int file) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (fcntl(file, F_OFD_GETLK, &whole) != 0) return {};
  return whole.l_type != F_UNLCK;
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> piece;
  for (ssize_t n = 0;
       (n = pread(file, piece.data(), piece.size(), static_cast<off_t>(text.size()))) > 0;)
    text.append(piece.data(), static_cast<size_t>(n));
  return text;
}

/// In place, for the lock is on the file. One call writes over all that is there, so that a process
/// that is killed before it cuts the file leaves no line of the run before.
void write_all(int file, std::string text, const fs::path& folder) {
  struct stat before {};
  const size_t length = text.size();
  if (fstat(file, &before) == 0 && static_cast<size_t>(before.st_size) > length)
    text.resize(static_cast<size_t>(before.st_size), '\n');
  if (pwrite(file, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) ||
      ftruncate(file, static_cast<off_t>(length)) != 0)
    base::fail(ErrorCode::File, "cannot write {}: {}", called(folder / marker_name),
               std::strerror(errno));
}

/// Whether a run that is not known to hold the marker writes in the folder. Locks of some file
/// systems are seen on one machine only, so a marker that is free says nothing of another machine.
bool is_active(const fs::path& folder, Liveness liveness, bool has_locks) {
  if (liveness == Liveness::Unknown) return has_heartbeat(folder);
  return liveness == Liveness::Active && !has_locks;
}

}  // namespace

std::string marked_id(const fs::path& folder) {
  const int file = open((folder / marker_name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return {};
  const auto mark = parse_mark(read_all(file));
  close(file);
  return mark ? mark->id : "";
}

FolderState look_at_folder(const fs::path& folder) {
  const int file = open((folder / marker_name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return folder_state(folder, {});
  auto state = folder_state(folder, read_all(file));
  const auto locked = is_locked(file);
  close(file);
  const auto liveness = state.mark ? liveness_of(*state.mark) : Liveness::Ended;
  state.is_live = locked.value_or(false) || is_active(folder, liveness, locked.has_value());
  return state;
}

bool continues(const FolderClaim& claim, const RunMarker& mark) {
  if (!claim.resumes) return false;
  const auto& runs = claim.resumed_runs;
  const auto has_made = [&](const std::string& id) {
    return std::find(runs.begin(), runs.end(), id) != runs.end();
  };
  return runs.empty() || mark.id.empty() || has_made(mark.id) ||
         std::any_of(mark.continues.begin(), mark.continues.end(), has_made);
}

namespace {

bool is_within(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

bool on_same_device(const fs::path& a, const fs::path& b) {
  struct stat of_a {
  }, of_b{};
  return stat(a.c_str(), &of_a) == 0 && stat(b.c_str(), &of_b) == 0 && of_a.st_dev == of_b.st_dev;
}

/// What names of folders with earlier results begin with: beside the output folder, or in it where
/// that is the working folder, holds it, or has no room beside it.
fs::path stem_of_aside(const fs::path& folder) {
  std::error_code error;
  const fs::path there = fs::canonical(folder, error), beside = there.parent_path();
  const bool is_around = is_within(fs::current_path(error), there);
  if (!is_around && access(beside.c_str(), W_OK | X_OK) == 0 && on_same_device(there, beside))
    return there;
  return there / "earlier";
}

/// The number at the end of "NAME.NUMBER", or 0.
int64_t number_after(const std::string& name, const std::string& text) {
  if (!text.starts_with(name + ".") || text.size() > name.size() + 10) return 0;
  const std::string digits = text.substr(name.size() + 1);
  const bool is_number = !digits.empty() && std::all_of(digits.begin(), digits.end(), [](char c) {
    return c >= '0' && c <= '9';
  });
  return is_number ? std::stoll(digits) : 0;
}

/// A new folder with the next number, so that numbers grow with time.
fs::path make_aside(const fs::path& folder) {
  const auto stem = stem_of_aside(folder);
  int64_t last = 0;
  for (const auto& entry : base::entries_of(stem.parent_path()))
    last = std::max(last, number_after(stem.filename().string(), entry.filename().string()));
  for (;;) {
    const fs::path made = stem.string() + fmt::format(".{:03}", ++last);
    if (mkdir(made.c_str(), 0777) == 0) return made;
    if (errno != EEXIST)
      base::fail(ErrorCode::File,
                 "the earlier results in {} cannot be kept aside: cannot make the folder {}: {}; "
                 "name another 'output'",
                 called(folder), called(made), std::strerror(errno));
  }
}

std::string whose(const std::optional<RunMarker>& mark) {
  if (!mark || mark->id.empty()) return "an earlier run";
  return fmt::format("run {}, started {}", mark->id, mark->started);
}

std::string refusal(const fs::path& folder, const std::optional<RunMarker>& mark) {
  return fmt::format(
      "the output folder {} holds results of {}, and 'if_exists' says 'refuse'; move them, or name "
      "another 'output'",
      called(folder), whose(mark));
}

/// Who holds a folder, as the subject of a sentence.
std::string holder(const std::optional<RunMarker>& mark) {
  if (!mark || mark->id.empty()) return "another run, which has just begun,";
  const auto run = fmt::format("run {} (process {} on host '{}', since {})", mark->id,
                               node::number_of(mark->process), mark->host, mark->started);
  return mark->ended.empty() ? run : "a job of sidecars that finishes " + run;
}

[[noreturn]] void refuse_live(const fs::path& folder, const std::optional<RunMarker>& mark) {
  base::fail(ErrorCode::State,
             "{} writes to the output folder {}; wait until it has ended, or name another 'output'",
             holder(mark), called(folder));
}

}  // namespace

std::string judge_folder(const model::Configuration& configuration) {
  const fs::path folder = configuration.output;
  const auto state = look_at_folder(folder);
  if (state.is_live)
    return fmt::format(
        "{} writes to the output folder {} now; no other run can start there "
        "before it has ended",
        holder(state.mark), called(folder));
  if (!state.has_results || !configuration.restart.empty()) return {};
  switch (configuration.if_exists) {
    case model::IfExists::Refuse:
      base::fail(ErrorCode::Configuration, "{}", refusal(folder, state.mark));
    case model::IfExists::Overwrite:
      return fmt::format("the results of {} in {} will be removed", whose(state.mark),
                         called(folder));
    case model::IfExists::KeepAside:
      return fmt::format("the results of {} in {} will be moved to {}", whose(state.mark),
                         called(folder), called(stem_of_aside(folder).string() + ".NUMBER"));
  }
  return {};
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : marker_(std::exchange(other.marker_, -1)),
      continued_(std::move(other.continued_)),
      remarks_(std::move(other.remarks_)),
      warnings_(std::move(other.warnings_)) {}

RunFolder& RunFolder::operator=(RunFolder&& other) noexcept {
  release(false);
  marker_ = std::exchange(other.marker_, -1);
  continued_ = std::move(other.continued_);
  remarks_ = std::move(other.remarks_);
  warnings_ = std::move(other.warnings_);
  return *this;
}

RunFolder::~RunFolder() { release(false); }

namespace {

/// Removes entries of a folder whose names are those of leftovers, as far as that is possible.
template <class IsLeftover>
void remove_leftovers(const fs::path& folder, const IsLeftover& is_leftover) {
  for (const auto& entry : base::entries_of(folder))
    if (is_leftover(entry.filename().string())) (void)base::remove_all(entry);
}

void refuse_unwritable(const fs::path& folder) {
  if (access(folder.c_str(), W_OK | X_OK) == 0) return;
  const int error = errno;
  struct stat status {};
  (void)stat(folder.c_str(), &status);
  base::fail(ErrorCode::File,
             "no products can be written to the output folder {}, whose mode is {:04o}: {}; a "
             "umask must leave the owner all rights, as 0077 does",
             called(folder), status.st_mode & 07777U, std::strerror(error));
}

}  // namespace

void RunFolder::clear(const FolderClaim& claim, const FolderState& state) {
  const auto& folder = claim.folder;
  if (state.has_results && claim.if_exists == model::IfExists::Refuse)
    base::fail(ErrorCode::State, "{}", refusal(folder, state.mark));
  const bool keeps = state.has_results && claim.if_exists == model::IfExists::KeepAside;
  const fs::path to = keeps ? make_aside(folder) : fs::path();
  if (keeps && state.mark && !state.mark->id.empty())
    products::write_whole(to / marker_name, format_mark(*state.mark), false);
  for (const auto& entry : state.entries) {
    std::error_code error;
    if (keeps) remove_leftovers(folder / entry, is_unfinished_product);
    if (keeps) fs::rename(folder / entry, to / entry, error);
    else error = base::remove_all(folder / entry);
    if (error)
      base::fail(ErrorCode::File, "cannot {} {}, which is of {}: {}; name another 'output'",
                 keeps ? "move aside" : "remove", called(folder / entry), whose(state.mark),
                 error.message());
  }
  if (!state.has_results) return;
  if (keeps)
    remarks_.push_back(
        fmt::format("the earlier results in {} were moved to {}", called(folder), called(to)));
  else remarks_.push_back(fmt::format("the earlier results in {} were removed", called(folder)));
}

std::vector<std::string> RunFolder::own_folders(const fs::path& folder,
                                                const std::vector<std::string>& analyses,
                                                const std::vector<std::string>& known) {
  auto out = known;
  for (const auto& name : analyses) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::error_code error;
    const auto status = fs::symlink_status(folder / name, error);
    if (!fs::exists(status) || (fs::is_directory(status) && !has_something(folder / name)))
      out.push_back(name);
    else
      warnings_.push_back(fmt::format(
          "{}, where products of analysis '{}' go, holds files that are of no run; they "
          "stay there, and later runs will not move it aside",
          called(folder / name), name));
  }
  return out;
}

RunFolder RunFolder::take(const FolderClaim& claim) {
  products::make_folder(claim.folder);
  refuse_unwritable(claim.folder);
  const fs::path path = claim.folder / marker_name;
  RunFolder out(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (out.marker_ < 0)
    base::fail(ErrorCode::File, "cannot create {}: {}", called(path), std::strerror(errno));
  const auto lock = try_lock(out.marker_, F_WRLCK);
  const auto state = folder_state(claim.folder, read_all(out.marker_));
  const auto earlier = state.mark ? liveness_of(*state.mark) : Liveness::Ended;
  if (lock == Lock::Held || is_active(claim.folder, earlier, lock == Lock::Taken))
    refuse_live(claim.folder, state.mark);
  if (lock == Lock::Unsupported)
    out.warnings_.push_back(fmt::format(
        "the file system of {} has no locks, so nothing prevents a second run from writing there "
        "at the same time{}",
        called(claim.folder),
        earlier == Liveness::Unknown
            ? fmt::format("; nor can it be seen from here whether {} has ended", holder(state.mark))
            : ""));
  const auto known = out.succeed(claim, state);
  remove_leftovers(claim.folder, [&](const std::string& name) {
    const bool unowned = lock == Lock::Taken || (state.mark && !state.mark->id.empty() &&
                                                 name.find(state.mark->id) != std::string::npos);
    return is_leftover(name) && unowned;
  });
  for (const auto& analysis : known)
    if (lock == Lock::Taken) remove_leftovers(claim.folder / analysis, is_unfinished_product);
  const RunMarker mark{.id = id_of(claim.run),
                       .continues = out.continued_,
                       .host = base::host_name(),
                       .started = base::format_utc(base::calendar_seconds()),
                       .ended = {},
                       .process = node::this_process_if_known(),
                       .pid_namespace = node::pid_namespace(),
                       .folders = out.own_folders(claim.folder, claim.analyses, known),
                       .boot = node::boot_id()};
  write_all(out.marker_, format_mark(mark), claim.folder);
  // Others may join now, and none may take it.
  (void)try_lock(out.marker_, F_RDLCK);
  return out;
}

std::vector<std::string> RunFolder::succeed(const FolderClaim& claim, const FolderState& state) {
  continued_ = claim.resumed_runs;
  if (!state.mark || !continues(claim, *state.mark)) {
    clear(claim, state);
    if (claim.resumes && state.has_results)
      warnings_.push_back(fmt::format(
          "the results in {} were not of the run that is resumed, so they are not continued",
          called(claim.folder)));
    return {};
  }
  for (const auto& id : state.mark->continues) continued_.push_back(id);
  if (!state.mark->id.empty()) continued_.push_back(state.mark->id);
  std::vector<std::string> once;
  for (const auto& id : continued_)
    if (std::find(once.begin(), once.end(), id) == once.end()) once.push_back(id);
  continued_ = once;
  // One that was killed is repeated; one that has ended may be a variant of this one.
  const auto& runs = claim.resumed_runs;
  const bool is_variant = !state.mark->ended.empty() && !runs.empty() &&
                          std::find(runs.begin(), runs.end(), state.mark->id) == runs.end();
  if (is_variant)
    warnings_.push_back(fmt::format(
        "the results in {} were continued by {}, from the same checkpoint or a later one; its "
        "steps after this checkpoint are replaced",
        called(claim.folder), whose(state.mark)));
  return state.mark->folders;
}

RunFolder RunFolder::join(const fs::path& folder, uint64_t run,
                          const std::vector<std::string>& analyses) {
  const fs::path path = folder / marker_name;
  RunFolder out(open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  if (out.marker_ < 0)
    base::fail(ErrorCode::File, "cannot open {}: {}", called(path), std::strerror(errno));
  (void)try_lock(out.marker_, F_RDLCK);
  const auto mark = parse_mark(read_all(out.marker_));
  if (!mark || mark->id != id_of(run))
    base::fail(ErrorCode::State, "the output folder {} is not that of run {} any more",
               called(folder), id_of(run));
  out.continued_ = mark->continues;
  std::string lines;
  for (const auto& name : out.own_folders(folder, analyses, mark->folders))
    if (std::find(mark->folders.begin(), mark->folders.end(), name) == mark->folders.end())
      lines += fmt::format("folder: {}\n", name);
  if (!lines.empty() && write(out.marker_, lines.data(), lines.size()) < 0)
    base::fail(ErrorCode::File, "cannot write {}: {}", called(path), std::strerror(errno));
  return out;
}

void RunFolder::write_catalogue(const fs::path& folder, const std::string& yaml) {
  const fs::path path = folder / catalogue_name;
  std::error_code error;
  const bool is_new = fs::symlink_status(path, error).type() == fs::file_type::not_found;
  if (!is_new && !begins_with(path, catalogue_head)) return;
  products::write_whole(
      path,
      fmt::format("{}\n# What the program declares itself, for `pillion check --catalogue`.\n{}",
                  catalogue_head, yaml),
      false);
}

void RunFolder::release(bool ended) noexcept {
  if (marker_ < 0) return;
  if (ended) try {
      const auto line = fmt::format("ended: {}\n", base::format_utc(base::calendar_seconds()));
      const off_t end = lseek(marker_, 0, SEEK_END);
      (void)!pwrite(marker_, line.data(), line.size(), end);
    } catch (const std::exception&) {}
  // A child of this process may have the file open, too.
  (void)try_lock(marker_, F_UNLCK);
  close(marker_);
  marker_ = -1;
}

std::string id_of(uint64_t run) { return fmt::format("{:016x}", run); }

}  // namespace pillion::run
