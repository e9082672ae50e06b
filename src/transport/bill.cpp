// SPDX-License-Identifier: BSD-3-Clause
// Bills as bytes.
#include "transport/bill.hpp"

namespace pillion::transport {

using base::ByteReader;
using base::ByteWriter;

namespace {

void put_items(ByteWriter& out, const std::vector<Item>& items) {
  out.put(static_cast<int64_t>(items.size()));
  for (const auto& item : items) {
    out.put(item.name);
    out.put(static_cast<int32_t>(item.type));
    out.put(item.components);
  }
}

std::vector<Item> get_items(ByteReader& in) {
  std::vector<Item> items(static_cast<size_t>(in.get<int64_t>()));
  for (auto& item : items) {
    item.name = in.get<std::string>();
    item.type = static_cast<model::ElementType>(in.get<int32_t>());
    item.components = in.get<int32_t>();
  }
  return items;
}

}  // namespace

base::Bytes bytes_of(const Bill& bill) {
  ByteWriter out;
  out.put(static_cast<int64_t>(bill.blocks.size()));
  for (const auto& block : bill.blocks) {
    out.put(block.mesh);
    out.put(block.id);
    out.put(block.box);
    out.put(block.owned);
    put_items(out, block.items);
  }
  out.put(static_cast<int64_t>(bill.parts.size()));
  for (const auto& parts : bill.parts) {
    out.put(parts.mesh);
    put_items(out, parts.items);
    out.put(parts.parts);
  }
  out.put(static_cast<int64_t>(bill.dealt.size()));
  for (const auto& mesh : bill.dealt) out.put(mesh);
  return out.take();
}

Bill read_bill(const base::Bytes& bytes) {
  ByteReader in(bytes);
  Bill bill;
  bill.blocks.resize(static_cast<size_t>(in.get<int64_t>()));
  for (auto& block : bill.blocks) {
    block.mesh = in.get<std::string>();
    block.id = in.get<int64_t>();
    block.box = in.get<model::Box>();
    block.owned = in.get<int64_t>();
    block.items = get_items(in);
  }
  bill.parts.resize(static_cast<size_t>(in.get<int64_t>()));
  for (auto& parts : bill.parts) {
    parts.mesh = in.get<std::string>();
    parts.items = get_items(in);
    parts.parts = in.get_vector<Parts::Part>();
  }
  for (auto n = in.get<int64_t>(); n > 0; --n) bill.dealt.push_back(in.get<std::string>());
  return bill;
}

}  // namespace pillion::transport
