// SPDX-License-Identifier: BSD-3-Clause
// Limits of control groups, in trees of files as kernels and containers show them.
#include "node/room.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

using namespace pillion::node;

namespace {

namespace fs = std::filesystem;

constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();
constexpr const char* no_limit_in_version_1 = "9223372036854771712";

class Tree {
 public:
  Tree() : root_(fs::temp_directory_path() / ("pillion-room-" + std::to_string(getpid()))) {}
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree() { fs::remove_all(root_); }
  Tree& add(const std::string& path, const std::string& text) {
    const fs::path file = root_ / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
    return *this;
  }
  /// A group of version 1 or 2, with pages of files among what it uses.
  Tree& add_group(int version, const std::string& path, const std::string& limit, int64_t used,
                  int64_t pages) {
    add(path + (version == 1 ? "/memory.limit_in_bytes" : "/memory.max"), limit);
    add(path + (version == 1 ? "/memory.usage_in_bytes" : "/memory.current"), std::to_string(used));
    // In version 1 a key without "total_" counts the group alone, without those below it.
    std::string text = "cache 77\n";
    if (version == 1) text += "inactive_file " + std::to_string(pages / 2) + "\ntotal_";
    return add(path + "/memory.stat",
               text + "inactive_file " + std::to_string(pages) + "\nunevictable 5");
  }
  [[nodiscard]] int64_t available() const { return available_in_groups(root_.string()); }

 private:
  fs::path root_;
};

constexpr const char* mount_1 =
    "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:7 - cgroup cgroup rw,memory";
constexpr const char* mount_2 =
    "25 18 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate";

}  // namespace

TEST_CASE("limits of version 2 hold along the whole path, without pages of files") {
  Tree tree;
  tree.add("proc/self/cgroup", "0::/slurm/job_7/step_0").add("proc/self/mountinfo", mount_2);
  CHECK(tree.available() == unlimited);
  tree.add_group(2, "sys/fs/cgroup/slurm/job_7/step_0", "max", 500, 0);
  CHECK(tree.available() == unlimited);
  tree.add_group(2, "sys/fs/cgroup/slurm/job_7", "1000", 700, 600);
  CHECK(tree.available() == 900);
  tree.add_group(2, "sys/fs/cgroup/slurm", "2000", 1500, 100);
  CHECK(tree.available() == 600);
}

TEST_CASE("limits of version 1 hold too") {
  Tree tree;
  tree.add("proc/self/cgroup", "4:memory:/slurm/uid_1/job_7\n3:cpuset:/\n0::/")
      .add("proc/self/mountinfo", mount_1);
  CHECK(tree.available() == unlimited);
  tree.add_group(1, "sys/fs/cgroup/memory/slurm/uid_1/job_7", "1000", 700, 200);
  CHECK(tree.available() == 500);
  tree.add_group(1, "sys/fs/cgroup/memory/slurm/uid_1", no_limit_in_version_1, 5000, 0);
  tree.add_group(1, "sys/fs/cgroup/memory/slurm", "3000", 2900, 0);
  CHECK(tree.available() == 100);
  tree.add_group(1, "sys/fs/cgroup/memory", "3000", 3500, 0);
  CHECK(tree.available() == 0);
}

TEST_CASE("where both versions are there, that with the memory controller counts") {
  Tree tree;
  tree.add("proc/self/cgroup", "5:cpu,memory,blkio:/a\n1:name=systemd:/a\n0::/a")
      .add("proc/self/mountinfo",
           "40 31 0:37 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
           "35 31 0:32 / /sys/fs/cgroup/cpu,memory,blkio rw - cgroup cgroup rw,cpu,memory,blkio")
      .add_group(1, "sys/fs/cgroup/cpu,memory,blkio/a", "1000", 10, 0);
  CHECK(tree.available() == 990);
}

TEST_CASE("a container that sees only its own group finds its limit") {
  for (const char* path : {"/docker/ab12", "/docker/ab12/inner", "/other/name", "/../../host"}) {
    CAPTURE(path);
    Tree tree;
    tree.add("proc/self/cgroup", std::string("6:memory:") + path)
        .add("proc/self/mountinfo",
             "35 31 0:32 /docker/ab12 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory")
        .add_group(1, "sys/fs/cgroup/memory", "1000", 400, 100);
    CHECK(tree.available() == 700);
  }
  Tree tree;
  tree.add("proc/self/cgroup", "0::/").add("proc/self/mountinfo", mount_2);
  tree.add_group(2, "sys/fs/cgroup", "1000", 400, 0);
  CHECK(tree.available() == 600);
}

TEST_CASE("what cannot be read is no limit") {
  Tree tree;
  CHECK(tree.available() == unlimited);
  tree.add("proc/self/cgroup", "\n:\n0::\nnonsense")
      .add("proc/self/mountinfo", "1 2\n - \nx - cgroup2");
  CHECK(tree.available() == unlimited);
  tree.add("proc/self/mountinfo", mount_2);
  tree.add("sys/fs/cgroup/memory.max", "1000");
  CHECK(tree.available() == unlimited);
  tree.add("sys/fs/cgroup/memory.current", "1");
  CHECK(tree.available() == 999);
}
