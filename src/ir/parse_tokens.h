// The tokens of the text form: words, numbers, signs, and where lines begin.
#pragma once

#include <string_view>
#include <vector>

#include "tensorwright/error.h"

namespace tw::ir {

struct Token {
  enum Kind : uint8_t { kWord, kQuoted, kInteger, kReal, kSign, kNewline, kEnd } kind;
  uint16_t sign = 0;  // of kSign: its characters, so that a comparison is of numbers
  uint32_t size = 0;  // of kNewline: the blanks before the line that follows
  const char* begin = nullptr;
  uint32_t suffix_size = 0;  // of numbers: 3 of 4u16

  std::string_view text() const { return {begin, kind == kNewline ? 0 : size}; }
  std::string_view suffix() const { return {begin + size, suffix_size}; }
  uint32_t indent() const { return size; }
  bool is(std::string_view word) const {
    if (kind == kSign) return sign == code(word);
    return kind == kWord && size == word.size() && *begin == word[0] && text() == word;
  }
  static constexpr uint16_t code(std::string_view sign) {
    if (sign.empty() || sign.size() > 2) return 0;
    return static_cast<uint16_t>(static_cast<uint8_t>(sign[0]) |
                                 (sign.size() == 2 ? static_cast<uint8_t>(sign[1]) << 8 : 0));
  }
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
