// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include "replay/plan.hpp"

using namespace replay;

TEST_CASE("frames are read from bytes as they were") {
  Frame frame{.step = -3, .time = 0.1, .fields = {}, .domains = {}};
  Stored& stored = frame.fields["gas"];
  stored.path = std::string("a\nb\0c", 5);
  stored.dataset = "/x/gas";
  stored.number = Number::UInt16;
  stored.type = "unsigned";
  stored.swapped = stored.fortran = true;
  stored.shape = {7, 0, 5};
  stored.offset = int64_t{1} << 40;
  stored.format = Format::Raw;
  stored.step = -7;
  stored.column = 3;
  frame.fields["none"];
  frame.domains["stars"].hi[2] = 2.5;
  const auto out = read_frames(bytes_of({Frame(), frame}));
  REQUIRE(out.size() == 2);
  CHECK(out[0].fields.empty());
  CHECK(out[1].step == -3);
  CHECK(out[1].time == 0.1);
  CHECK(out[1].domains.at("stars").hi[2] == 2.5);
  const Stored& same = out[1].fields.at("gas");
  CHECK(same.path == stored.path);
  CHECK(same.dataset == stored.dataset);
  CHECK(same.number == stored.number);
  CHECK(same.type == stored.type);
  CHECK(same.swapped);
  CHECK(same.fortran);
  CHECK(same.shape == stored.shape);
  CHECK(same.offset == stored.offset);
  CHECK(same.format == stored.format);
  CHECK(same.step == stored.step);
  CHECK(same.column == stored.column);
  CHECK(!out[1].fields.at("none").number);
}
