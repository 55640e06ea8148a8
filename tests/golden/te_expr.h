// Reads the tensor expressions of te_text.h.
#pragma once

#include <cctype>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "tensorwright/te.h"
#include "tests/golden/te_text.h"

namespace tw::golden {

// A place in a line.
class Cursor {
 public:
  explicit Cursor(const Line& line, std::string text) : line_(line), text_(std::move(text)) {}

  bool accept(std::string_view sign) {
    skip();
    if (text_.compare(at_, sign.size(), sign) != 0) return false;
    const bool is_word = std::isalpha(static_cast<unsigned char>(sign[0]));
    if (is_word && at_ + sign.size() < text_.size() && is_name(text_[at_ + sign.size()])) return false;
    at_ += sign.size();
    return true;
  }
  void expect(std::string_view sign) {
    if (!accept(sign)) fail("'" + std::string(sign) + "' expected");
  }
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  // Letters, digits and what `more` holds: dots and stars in names of axes and stages.
  std::string word(std::string_view more = "") {
    skip();
    const size_t begin = at_;
    while (at_ < text_.size() && (is_name(text_[at_]) || more.find(text_[at_]) != more.npos)) ++at_;
    if (begin == at_) fail("a name expected");
    return text_.substr(begin, at_ - begin);
  }
  std::string until(char end) {
    const size_t begin = at_;
    for (int depth = 0; at_ < text_.size() && (depth > 0 || text_[at_] != end); ++at_)  // outside brackets
      depth += (text_[at_] == '(') - (text_[at_] == ')');
    return text_.substr(begin, at_ - begin);
  }
  [[noreturn]] void fail(const std::string& problem) {
    throw std::runtime_error("line " + std::to_string(line_.number) + ": " + problem + " before: " + text_.substr(at_));
  }

 private:
  static bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  const Line& line_;
  std::string text_;
  size_t at_ = 0;
};

std::string trimmed(const std::string&);
std::vector<std::string> split_list(const std::string&, char by);  // outside brackets
std::string dtype_named(const std::string&);                       // f32 -> float32

struct Declarations {
  std::map<std::string, te::Tensor> tensors;
  std::map<std::string, te::IterVar> axes;
  std::map<std::string, te::Var> variables;  // of the lambda being read
  std::map<std::string, te::Var> scalars;
  std::vector<te::Tensor> order;
};

te::Expr read_expression(Cursor&, const Declarations&, const SourceLine&);

}  // namespace tw::golden
