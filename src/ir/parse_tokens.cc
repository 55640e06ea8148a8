#include "src/ir/parse_tokens.h"

#include <algorithm>

#include "src/ir/text.h"

namespace tw::ir {
namespace {

// Bounds the depth of what is parsed: each level of a tree costs a token of one line.
constexpr size_t kTokensPerLine = 1'000'000;
constexpr int64_t kBrackets = 50'000;  // refused here, where the stack is still shallow

bool is_word(char c) { return is_letter(c) || is_digit(c); }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    tokens_.reserve(text_.size() / 3 + 2);
    start_line();
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\r') {
        ++at_;
      } else if (c == '#') {
        skip_comment();
      } else if (c == '\n') {
        ++at_;
        if (brackets_ == 0) start_line();
      } else {
        token(c);
      }
    }
    if (tokens_.empty() || tokens_.back().kind != Token::kNewline)
      tokens_.push_back({Token::kNewline, 0, 0, text_.data() + at_});
    tokens_.push_back({Token::kEnd, 0, 0, text_.data() + at_});
    return std::move(tokens_);
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void skip_comment() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  // Blank lines and lines of comment do not count.
  void start_line() {
    const char* line_end = text_.data() + (at_ > 0 ? at_ - 1 : 0);
    for (;;) {
      const size_t begin = at_;
      while (peek() == ' ') ++at_;
      if (peek() == '\t')
        syntax_error(text_, text_.data() + at_, "blanks expected at the beginning of a line, not a tab");
      const size_t indent = at_ - begin;
      if (peek() == '\r') ++at_;
      if (peek() == '#') skip_comment();
      if (at_ < text_.size() && text_[at_] == '\n') {
        ++at_;
        continue;
      }
      const uint32_t at_end = at_ >= text_.size() ? 0 : static_cast<uint32_t>(std::min<size_t>(indent, UINT32_MAX));
      tokens_.push_back({Token::kNewline, 0, at_end, line_end});
      line_begin_ = tokens_.size();
      return;
    }
  }

  void token(char c) {
    if (tokens_.size() - line_begin_ > kTokensPerLine) {
      syntax_error(text_, text_.data() + at_,
                   "a line of at most " + std::to_string(kTokensPerLine) + " words and signs expected");
    }
    if (is_letter(c)) return word();
    if (is_digit(c)) return number();
    if (c == '"') return quoted();
    sign();
  }

  // A dot belongs to a word when a letter or digit follows: i.o, but not 0..n.
  void word() {
    const size_t begin = at_;
    while (is_word(peek()) || (peek() == '.' && is_word(peek(1)))) ++at_;
    push(Token::kWord, begin);
  }

  void number() {
    const size_t begin = at_;
    Token::Kind kind = Token::kInteger;
    digits();
    if (peek() == '.' && is_digit(peek(1))) {
      kind = Token::kReal;
      ++at_;
      digits();
    }
    const size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
    if ((peek() == 'e' || peek() == 'E') && is_digit(peek(1 + sign))) {
      kind = Token::kReal;
      at_ += 1 + sign;
      digits();
    }
    push(kind, begin);
    const size_t suffix = at_;
    while (is_word(peek())) ++at_;
    tokens_.back().suffix_size = static_cast<uint32_t>(at_ - suffix);
  }
  void digits() {
    while (is_digit(peek())) ++at_;
  }

  void quoted() {
    const size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') at_ += text_[at_] == '\\' ? 2 : 1;
    if (peek() != '"') syntax_error(text_, text_.data() + begin, "a closing quote expected");
    ++at_;
    push(Token::kQuoted, begin);
  }

  void sign() {
    static constexpr std::string_view kOne = "()[]:,=<>+-*/%&|^@";
    const char c = text_[at_], d = peek(1);
    const bool pair = (d == '=' && (c == '=' || c == '!' || c == '<' || c == '>')) ||
                      (c == d && (c == '<' || c == '>' || c == '/' || c == '.'));
    if (!pair && kOne.find(c) == kOne.npos)
      syntax_error(text_, text_.data() + at_, "a word, a number or a sign expected");
    brackets_ += c == '(' || c == '[';
    if (brackets_ > kBrackets)
      syntax_error(text_, text_.data() + at_, "at most " + std::to_string(kBrackets) + " levels of nesting expected");
    brackets_ -= (c == ')' || c == ']') && brackets_ > 0;
    const size_t begin = at_;
    at_ += pair ? 2 : 1;
    push(Token::kSign, begin);
    tokens_.back().sign = Token::code(text_.substr(begin, at_ - begin));
  }

  void push(Token::Kind kind, size_t begin) {
    tokens_.push_back({kind, 0, static_cast<uint32_t>(at_ - begin), text_.data() + begin});
  }

  std::string_view text_;
  size_t at_ = 0, line_begin_ = 0;
  int64_t brackets_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

void syntax_error(std::string_view text, const char* at, const std::string& problem) {
  const auto offset = static_cast<size_t>(at - text.data());
  const std::string_view before = text.substr(0, offset);
  const size_t line_begin = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
  const size_t column = offset - line_begin;
  const auto number = std::count(before.begin(), before.end(), '\n') + 1;
  const std::string_view line = text.substr(line_begin, text.find('\n', line_begin) - line_begin);

  constexpr size_t kShown = 100;  // a window around the place
  const auto within_character = [&](size_t n) { return n < line.size() && (line[n] & 0xc0) == 0x80; };
  size_t first = column > kShown / 2 ? column - kShown / 2 : 0, end = std::min(line.size(), first + kShown);
  while (first > 0 && within_character(first)) --first;
  while (within_character(end)) ++end;
  Diagnostic d;
  d.kind = ErrorKind::kParse;
  d.what = "IR text, line " + std::to_string(number) + ", column " + std::to_string(column + 1) + ": " + problem;
  if (first < line.size()) d.notes.push_back(std::string(line.substr(first, end - first)));
  if (first < line.size()) d.notes.push_back(std::string(column - first, ' ') + "^");
  throw SyntaxError{std::move(d)};
}

std::vector<Token> tokens_of(std::string_view text) { return Lexer(text).run(); }

std::string describe(const Token& token) {
  if (token.kind == Token::kNewline) return "the end of the line";
  if (token.kind == Token::kEnd) return "the end of the text";
  return "'" + std::string(token.text().substr(0, 40)) + std::string(token.suffix().substr(0, 40)) + "'";
}

}  // namespace tw::ir
