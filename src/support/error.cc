#include "tensorwright/error.h"

#include "src/support/source_text.h"

namespace tw {

std::string Diagnostic::render() const {
  std::string out;
  if (where.known()) {
    out += where.file + ":" + std::to_string(where.line) + ": ";
  }
  if (kind == ErrorKind::kInternal) out += "internal error: ";
  out += what;
  if (where.known()) {
    const std::string line = where.text.empty() ? support::read_line(where.file, where.line) : where.text;
    if (!line.empty()) out += "\n    " + line;
  }
  for (const std::string& note : notes) out += "\n    " + note;
  return out;
}

Error::Error(Diagnostic d) : std::runtime_error(d.render()), diagnostic_(std::move(d)) {}

void throw_internal(const char* file, int line, const char* condition, const std::string& detail) {
  Diagnostic d;
  d.kind = ErrorKind::kInternal;
  d.what = std::string(condition) + " does not hold" + (detail.empty() ? "" : ": " + detail);
  d.notes.push_back(std::string("at ") + file + ":" + std::to_string(line) +
                    "; please report this with the program that led here");
  throw Error(std::move(d));
}

}  // namespace tw
