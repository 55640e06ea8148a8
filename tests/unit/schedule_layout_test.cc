// Index maps, judged by going through all elements; and the programs that pack parameters.
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "schedule/layout.h"
#include "schedule/pack.h"
#include "src/ir/interp.h"
#include "src/ir/parse.h"
#include "src/ir/simplify.h"
#include "src/support/deep_stack.h"
#include "tests/diff/random.h"

namespace tw::schedule {
namespace {

using Numbers = std::vector<int64_t>;

struct Written {
  Numbers extents;
  std::vector<std::string> indices;
  std::string pad;
};

Layout layout_of(const Written& map) {
  Layout layout{{}, {}, map.pad, 0};
  std::vector<std::string> names;
  for (size_t d = 0; d < map.extents.size(); ++d) {
    names.push_back(std::string(1, static_cast<char>('i' + d)));
    layout.dimensions.emplace_back(names.back());
  }
  for (const std::string& text : map.indices)
    layout.indices.push_back(ir::parse_expr(text, names, layout.dimensions).value_or_throw());
  return layout;
}

Result<IndexMap> proved(const Written& map) {
  return index_map(layout_of(map), {map.extents.begin(), map.extents.end()});
}

Numbers values_of(const std::vector<Extent>& extents) {
  Numbers out;
  for (const Extent& extent : extents) out.push_back(extent.value());
  return out;
}

Numbers numbers_of(const std::vector<ir::Expr>& values) {
  Numbers out;
  for (const ir::Expr& value : values) out.push_back(ir::as_int(ir::simplify(value)).value());
  return out;
}

int64_t product(const Numbers& n) { return std::accumulate(n.begin(), n.end(), int64_t{1}, std::multiplies<>()); }

// All points of a box.
void each(const Numbers& box, const std::function<void(const std::vector<ir::Expr>&)>& visit) {
  for (int64_t n = 0; n < product(box); ++n) {
    std::vector<ir::Expr> at(box.size());
    int64_t rest = n;
    for (size_t d = box.size(); d-- > 0; rest /= box[d]) at[d] = ir::Expr(rest % box[d]);
    visit(at);
  }
}

// What is wrong with a map that was proved, or "".
std::string fault(const Written& written, const IndexMap& map) {
  const Layout layout = layout_of(written);
  const Numbers shape = values_of(map.shape), padded = values_of(map.padded);
  if (product(shape) != product(padded)) return "as many places as elements expected";
  std::set<Numbers> taken;
  std::string found;
  each(padded, [&](const std::vector<ir::Expr>& at) {
    const Numbers there = numbers_of(place(layout, at));
    for (size_t q = 0; q < shape.size(); ++q)
      if (there[q] < 0 || there[q] >= shape[q]) found = "a place outside of the memory";
    if (!taken.insert(there).second) found = "a place that is taken twice";
    if (numbers_of(element_at(map, {there.begin(), there.end()})) != numbers_of(at)) found = "the inverse is another";
  });
  return found;
}

TEST(ScheduleLayout, MapsThatAreProved) {
  const std::vector<Written> maps = {
      {{6, 4}, {"j", "i"}, ""},
      {{60, 30}, {"i // 16", "j", "i % 16"}, "0"},
      {{64, 30}, {"i // 16", "j", "i % 16"}, ""},
      {{6, 10}, {"i * 10 + j"}, ""},
      {{6, 10}, {"(i * 10 + j) // 15", "(i * 10 + j) % 15"}, ""},
      {{5, 8}, {"(i * 8 + j) // 16", "(i * 8 + j) % 16"}, "0"},
      {{6, 7}, {"(i * 7 + j) // 16", "(i * 7 + j) % 16"}, "0"},
      {{7, 3}, {"(i * 3 + j) // 4", "(i * 3 + j) % 4"}, "0"},
      {{20, 3}, {"(i // 2 * 3 + j) // 4", "i % 2", "(i // 2 * 3 + j) % 4"}, "0"},
      {{6, 10}, {"5 - i", "9 - j"}, ""},
      {{6, 10}, {"3 - (i * 10 + j) // 15", "14 - (i * 10 + j) % 15"}, ""},
      {{24}, {"i % 2", "i // 2 % 3", "i // 6"}, ""},
      {{24, 3}, {"(i // 6) * 3 + j", "i % 6"}, ""},
      {{13}, {"i // 3 // 2", "i // 3 % 2", "i % 3"}, "0"},
      {{1, 8}, {"j // 4", "j % 4"}, ""},
      {{10, 1}, {"i + j * 7", "0"}, ""},
      {{0, 3}, {"j", "i"}, ""},
      {{7}, {"i // 16", "i % 16"}, "1"},
      {{1}, {"i // 3", "2 - i % 3"}, "1"},
      {{12}, {"(4 * i) // 8", "i % 2"}, ""},
      {{}, {}, ""},
  };
  for (const Written& written : maps) {
    const auto map = proved(written);
    ASSERT_TRUE(map.ok()) << map.error().render();
    EXPECT_EQ(fault(written, *map), "") << written.indices[0];
  }
}

TEST(ScheduleLayout, MapsThatAreNone) {
  const std::vector<Written> maps = {
      {{6, 4}, {"j"}, ""},
      {{6, 4}, {"i", "i"}, ""},
      {{6, 4}, {"i", "j", "j"}, ""},
      {{6, 4}, {"i + j", "j"}, ""},
      {{6, 4}, {"2 * i", "j"}, ""},
      {{6, 4}, {"i + 1", "j"}, ""},
      {{6, 4}, {"i * 3 + j"}, ""},
      {{6, 4}, {"i * 5 + j"}, ""},
      {{6, 4}, {"i // 4", "i % 2", "j"}, "0"},
      {{6, 4}, {"i // 2", "i % 4", "j"}, "0"},
      {{6, 4}, {"i * j", "j"}, ""},
      {{6, 4}, {"i // 0", "j"}, "0"},
      {{6, 4}, {"i // -2", "j"}, "0"},
      {{6, 4}, {"i % 3", "j"}, ""},
      {{60}, {"i // 16", "i % 16"}, ""},
      {{64}, {"i // 4611686018427387904", "i % 4611686018427387904"}, "0"},
      {{64}, {"i * 4611686018427387904 * 4"}, ""},
      {{64}, {"min(i, 7)"}, ""},
  };
  for (const Written& written : maps) EXPECT_FALSE(proved(written).ok()) << written.indices[0];
}

// Sums, quotients and remainders at random: whatever is proved is true.
std::string random_index(diff::Random& random, int depth) {
  const int64_t kind = depth == 0 ? random.below(2) : random.below(8);
  const auto part = [&] { return "(" + random_index(random, depth - 1) + ")"; };
  const std::string number = std::to_string(random.one_of<int64_t>({1, 2, 2, 3, 4, 6, 12}));
  if (kind < 2) return kind ? "i" : "j";
  if (kind == 2) return part() + " // " + number;
  if (kind == 3) return part() + " % " + number;
  if (kind == 4) return part() + " * " + number;
  if (kind == 5) return std::to_string(random.below(12)) + " - " + part();
  return part() + " * " + number + " + " + part();
}

TEST(ScheduleLayout, WhatIsProvedIsTrue) {
  diff::Random random(20);
  int found = 0;
  const auto judge_one = [&] {
    Written written{{random.one_of<int64_t>({1, 2, 3, 4, 6, 12}), random.one_of<int64_t>({1, 2, 3, 4, 5})}, {}, "0"};
    for (int64_t q = 1 + random.below(3); q > 0; --q)
      written.indices.push_back(random_index(random, static_cast<int>(random.below(3))));
    const auto map = proved(written);
    if (!map.ok() || product(values_of(map->padded)) > 200) return;
    ++found;
    ASSERT_EQ(fault(written, *map), "") << canonical(layout_of(written),
                                                     {written.extents.begin(), written.extents.end()});
  };
  support::on_deep_stack([&] {  // one for all: each of 300,000 small expressions would have made its own
    for (int i = 0; i < 20'000 && !HasFatalFailure(); ++i) judge_one();
  });
  EXPECT_GT(found, 500);
}

TEST(ScheduleLayout, EqualMapsHaveEqualTexts) {
  const auto text = [](const Written& written) {
    return canonical(layout_of(written), {written.extents.begin(), written.extents.end()});
  };
  EXPECT_EQ(text({{60, 30}, {"i // 16", "j", "i % 16"}, "0"}), "[60, 30] -> [i0 // 16, i1, i0 % 16], pad 0");
  EXPECT_EQ(text({{60}, {"(i + 0) // 4 // 4", "i % 16"}, "0"}), text({{60}, {"i // 16", "i % 16"}, "0"}));
  EXPECT_NE(text({{60}, {"i // 16", "i % 16"}, "0"}), text({{64}, {"i // 16", "i % 16"}, "0"}));
}

TEST(ScheduleLayout, AProgramPacksAParameter) {
  const te::Tensor b = te::placeholder({ir::Expr(5), ir::Expr(3)}, "int32", "B", te::Placeholder{.param = true});
  const te::Tensor c = te::compute({5, 3}, [&](te::Var i, te::Var j) { return b(i, j) + 1; }, "C");
  Schedule s({c});
  EXPECT_TRUE(packed_params(s).empty());
  EXPECT_FALSE(pack_program(s, "B", "pack").ok());
  s.apply(TransformLayout{"B", {"ax1", "ax0 // 4", "ax0 % 4"}, "-1"});
  const std::vector<PackedParam> params = packed_params(s);
  ASSERT_EQ(params.size(), 1u);
  EXPECT_EQ(params[0].placeholder, "B");
  EXPECT_EQ(numbers_of(params[0].packed), (Numbers{3, 2, 4}));
  EXPECT_FALSE(pack_program(s, "C", "pack").ok());
  const ir::Program pack = pack_program(s, "B", "pack").value_or_throw(), kernel = to_ir(s, {b, c}).value_or_throw();
  EXPECT_EQ(kernel.params[0].layout, params[0].layout);
  std::vector<int32_t> from(15), to(24, 77), out(15);
  std::iota(from.begin(), from.end(), 0);
  const std::vector<ir::InterpBuffer> packing = {{from.data(), from.size() * 4}, {to.data(), to.size() * 4}},
                                      running = {packing[1], {out.data(), out.size() * 4}};
  ASSERT_TRUE(ir::interpret(pack, packing).ok());
  EXPECT_EQ(
      to, (std::vector<int32_t>{0, 3, 6, 9, 12, -1, -1, -1, 1, 4, 7, 10, 13, -1, -1, -1, 2, 5, 8, 11, 14, -1, -1, -1}));
  ASSERT_TRUE(ir::interpret(kernel, running).ok());
  for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], from[i] + 1);
}

}  // namespace
}  // namespace tw::schedule
