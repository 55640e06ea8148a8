#include "src/support/within.h"

namespace tw::support {

std::string within(double seconds) {
  std::string text = std::to_string(seconds);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return "within " + text + " s";
}

}  // namespace tw::support
