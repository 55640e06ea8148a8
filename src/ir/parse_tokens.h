// The tokens of the text form: words, numbers, signs, and where lines begin.
#pragma once

#include <string_view>
#include <vector>

#include "tensorwright/error.h"

namespace tw::ir {

struct Token {
  enum Kind : uint8_t { kWord, kQuoted, kInteger, kReal, kSign, kNewline, kEnd } kind;
  uint32_t indent = 0;      // of kNewline: the blanks before the line that follows
  std::string_view text;    // numbers without their suffix, quoted names with their quotes
  std::string_view suffix;  // of numbers
  bool is(std::string_view sign) const { return text == sign && (kind == kSign || kind == kWord); }
};

// Thrown inside the parser only; parse_program returns its Diagnostic.
struct SyntaxError {
  Diagnostic diagnostic;
};

// "expected, not what came", with the line and a caret. `at` points into `text`.
[[noreturn]] void syntax_error(std::string_view text, const char* at, const std::string& problem);

// Each line begins with a kNewline token (blank lines and comments leave none; inside brackets there are no line ends)
// and the last token is kEnd. Throws SyntaxError.
std::vector<Token> tokens_of(std::string_view text);

std::string describe(const Token&);  // 'for', end of line, end of text

}  // namespace tw::ir
