#include "tensorwright/error.h"

#include "src/support/source_text.h"

namespace tw {

TW_DEFINE_VALUE(SourceLine);
SourceLine::SourceLine() = default;
SourceLine::SourceLine(std::string f, int l, std::string t) : file(std::move(f)), line(l), text(std::move(t)) {}
SourceLine::SourceLine(const std::source_location& at) : file(at.file_name()), line(static_cast<int>(at.line())) {}

TW_DEFINE_VALUE(Diagnostic);
Diagnostic::Diagnostic() = default;
Diagnostic::Diagnostic(ErrorKind k, std::string text, SourceLine at, std::vector<std::string> more)
    : kind(k), what(std::move(text)), where(std::move(at)), notes(std::move(more)) {}

Diagnostic&& Diagnostic::operator<<(std::string note) && {
  notes.push_back(std::move(note));
  return std::move(*this);
}

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
Error::Error(const Error&) = default;
Error::~Error() = default;

void throw_internal(const char* file, int line, const char* condition, const std::string& detail) {
  Diagnostic d;
  d.kind = ErrorKind::kInternal;
  d.what = std::string(condition) + " does not hold" + (detail.empty() ? "" : ": " + detail);
  d.notes.push_back(std::string("at ") + file + ":" + std::to_string(line) +
                    "; please report this with the program that led here");
  throw Error(std::move(d));
}

}  // namespace tw
