// Expressions of the text form, by precedence climbing; parse_numbers.cc has their numbers. parse.cc adds statements.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/ir/parse_tokens.h"
#include "src/ir/text.h"

namespace tw::ir {

class ExprParser {
 public:
  explicit ExprParser(std::string_view text) : text_(text), tokens_(tokens_of(text)) {}

 protected:
  // What a name means. A buffer has a second handle for accesses by element offset, A@[i].
  struct Meaning {
    Var var;
    Buffer buffer, linear;
  };

  const Token& now() const { return tokens_[at_]; }
  const Token& next() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  bool at(std::string_view sign) const { return now().is(sign); }
  bool accept(std::string_view sign);
  void expect(std::string_view sign);
  void advance() { at_ += at_ + 1 < tokens_.size(); }
  size_t place() const { return at_; }
  void go_back(size_t place) { at_ = place; }
  [[noreturn]] void expected(const std::string& what);  // ..., not what came
  [[noreturn]] void refuse(const Token& where, const std::string& why);
  void check(const Token& where, const std::string& fault);

  Expr expression(int level = kLoosest);
  std::vector<Expr> expressions(std::string_view closing);  // up to and including the closing sign
  int64_t integer(const std::string& what);
  int lanes();
  std::string name();  // of what is being declared
  void bind(const std::string& name, Meaning meaning);
  void release(const std::string& name);
  Meaning& meaning(const Token& word);

  struct Access {
    Buffer buffer;
    std::vector<Expr> at;
    Expr pred;
  };
  Access access();  // A[i, j : 16 where p]
  void define();    // %1 = e

  // Nesting is the reader's stack.
  class Deeper {
   public:
    explicit Deeper(ExprParser& p) : parser_(p) {
      if (++parser_.depth_ > kDeepest)
        parser_.refuse(parser_.now(), "at most " + std::to_string(kDeepest) + " levels of nesting expected");
    }
    ~Deeper() { --parser_.depth_; }

   private:
    ExprParser& parser_;
  };

 private:
  static constexpr int kDeepest = 500'000;  // brackets, not's, blocks and the operators between them

  Expr operand();
  Expr number(bool negative);
  Expr special_float(bool negative);
  Expr integer_constant(const Token& digits, Type type, bool negative);
  Expr definition();
  Expr let_expression();
  Expr word();
  Expr function(const Token& word);
  Expr reduction(const Token& word, ReduceOp op);
  Expr ramp_call(const Token& word);
  Expr extern_call(bool pure);
  Expr address();
  Expr subscript();
  std::vector<Expr> arguments(size_t count, const Token& word);
  Expr infix(const Token& where, BinOp op, Expr a, Expr b);
  static void fit(std::span<Expr* const>, int lanes = 1);  // scalars beside vectors are broadcast

  std::string_view text_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
  std::unordered_map<std::string, std::vector<Meaning>> names_;  // innermost last
  std::unordered_map<std::string, Expr> defined_;                // "1" of %1
};

}  // namespace tw::ir
