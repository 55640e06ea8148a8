#include "src/support/nearest.h"

#include <algorithm>
#include <numeric>

namespace tw::support {

namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> nearest(std::string_view name, const std::vector<std::string>& candidates, size_t at_most) {
  constexpr size_t kLongest = 64;  // nobody misspells more than this
  std::vector<std::pair<size_t, std::string>> ranked;
  name = name.substr(0, kLongest);
  const size_t limit = std::max<size_t>(2, name.size() / 2);
  for (const std::string& candidate : candidates)
    if (const size_t distance = edit_distance(name, candidate); distance <= limit)
      ranked.emplace_back(distance, candidate);
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(at_most, ranked.size()); ++i) names.push_back(ranked[i].second);
  return names;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::vector<std::string> names = nearest(name, candidates);
  if (names.empty()) return "";
  std::string text = "did you mean " + names[0];
  for (size_t i = 1; i < names.size(); ++i) text += (i + 1 == names.size() ? " or " : ", ") + names[i];
  return text + "?";
}

}  // namespace tw::support
