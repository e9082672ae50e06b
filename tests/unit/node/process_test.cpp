// SPDX-License-Identifier: BSD-3-Clause
#include "node/process.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <initializer_list>

#include "child.hpp"

using namespace pillion::node;

namespace {

/// A child that does nothing, and its token.
struct Idler {
  Shared<Token> token;
  Child child{[this] {
    *token = this_process();
    for (;;) pause();
    return 0;
  }};
  Idler() {
    while (*static_cast<volatile Token*>(&*token) == 0) usleep(100);
  }
};

}  // namespace

TEST_CASE("a process lives until it has ended, as a zombie no more") {
  Idler idler;
  const Token token = *idler.token;
  CHECK(number_of(token) == idler.child.number());
  Watch watch;
  CHECK(is_alive(token));
  CHECK(watch.lives(token));
  idler.child.kill(SIGSTOP);
  CHECK(is_alive(token));
  CHECK(watch.lives(token));
  idler.child.kill(SIGKILL);
  idler.child.await_death();
  CHECK_FALSE(is_alive(token));
  CHECK_FALSE(watch.lives(token));
  CHECK_FALSE(Watch().lives(token));
  idler.child.wait();
  CHECK_FALSE(is_alive(token));
  CHECK_FALSE(watch.lives(token));
}

TEST_CASE("a number that was given out again is not the process that had it before") {
  const Token me = this_process();
  CHECK(number_of(me) == getpid());
  CHECK(me == this_process());
  CHECK(is_alive(me));
  const Token other_start = me - (Token{1} << 22);
  REQUIRE(number_of(other_start) == getpid());
  CHECK_FALSE(is_alive(other_start));
  CHECK_FALSE(Watch().lives(other_start));
}

TEST_CASE("nobody does not live, and a watch may turn to another process") {
  CHECK_FALSE(is_alive(0));
  Idler first, second;
  Watch watch;
  CHECK_FALSE(watch.lives(0));
  CHECK(watch.lives(*first.token));
  first.child.kill(SIGKILL);
  first.child.await_death();
  CHECK(watch.lives(*second.token));
  CHECK_FALSE(watch.lives(*first.token));
  CHECK(watch.lives(*second.token));
}

TEST_CASE("who has no file descriptor left takes nobody for dead") {
  const Token parent = this_process();
  Child poor([&] {
    Watch watched_before, watched_now;
    watched_before.lives(parent);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_NOFILE, &none);
    return is_alive(parent) && watched_before.lives(parent) && watched_now.lives(parent) ? 0 : 1;
  });
  CHECK(poor.wait() == 0);
}

TEST_CASE("a program that closes all descriptors, or uses their numbers again, kills nobody") {
  Idler idler;
  Watch closed, reused;
  // Watches take the lowest free numbers.
  const int first = dup(STDERR_FILENO);
  close(first);
  REQUIRE(closed.lives(*idler.token));
  const int second = dup(STDERR_FILENO);
  close(second);
  REQUIRE(reused.lives(*idler.token));
  close(first);
  close(second);
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  REQUIRE(write(ends[1], "x", 1) == 1);
  REQUIRE(dup2(ends[0], second) == second);  // is ready to be read
  close(first);
  CHECK(closed.lives(*idler.token));
  CHECK(reused.lives(*idler.token));
  idler.child.kill(SIGKILL);
  idler.child.await_death();
  CHECK_FALSE(closed.lives(*idler.token));
  CHECK_FALSE(reused.lives(*idler.token));
  for (const int end : {ends[0], ends[1], second}) close(end);
}

TEST_CASE("a number alone is no process, whether or not one has it") {
  CHECK_FALSE(is_alive(static_cast<Token>(getpid())));
  constexpr Token nobody = (Token{1} << 22) - 1;
  CHECK_FALSE(is_alive(nobody));
}
