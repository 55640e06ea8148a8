#include "rpc/tracker/predicate.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>

namespace tw::rpc {
namespace {

constexpr std::string_view kHolds = "holds";  // what descriptions say of a layer of the sandbox

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool continues_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
}

std::string to_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", number);
  return text;
}

struct ToText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(double value) const { return to_text(value); }
  std::string operator()(const std::string& value) const { return '"' + value + '"'; }
  std::string operator()(const std::vector<std::string>&) const { return "a list"; }
};

}  // namespace

class Predicate::Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<std::vector<Condition>> all() {
    std::vector<Condition> conditions;
    skip_spaces();
    if (at_ == text_.size()) return conditions;
    for (;;) {
      TW_TRY(Condition condition, one());
      conditions.push_back(std::move(condition));
      skip_spaces();
      if (at_ == text_.size()) return conditions;
      if (!take_word("and")) return expected("and, between two conditions");
    }
  }

 private:
  Result<Condition> one() {
    skip_spaces();
    if (is_quote()) {
      TW_TRY(std::string text, quoted());
      if (!take_word("in")) return expected("in, after a text");
      TW_TRY(std::string field, name());
      return Condition{field, Op::kIn, text};
    }
    TW_TRY(std::string field, name());
    const std::optional<Op> op = take_op();
    if (!op) return Condition{field};
    const size_t before = at_;
    TW_TRY(Value value, this->value());
    const bool orders = *op != Op::kEqual && *op != Op::kUnequal;
    if (orders && !std::holds_alternative<double>(value)) {
      at_ = before;
      skip_spaces();
      return expected("a number, as only they are greater or less");
    }
    return Condition{field, *op, std::move(value)};
  }

  Result<std::string> name() {
    skip_spaces();
    const size_t begin = at_;
    if (at_ < text_.size() && begins_name(text_[at_]))
      while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
    const std::string found(text_.substr(begin, at_ - begin));
    if (!found.empty() && found != "and" && found != "in") return found;
    at_ = begin;
    return expected("the name of a field");
  }

  std::optional<Op> take_op() {
    constexpr std::pair<std::string_view, Op> kOps[] = {{"==", Op::kEqual},   {"!=", Op::kUnequal}, {"<=", Op::kAtMost},
                                                        {">=", Op::kAtLeast}, {"<", Op::kLess},     {">", Op::kMore}};
    skip_spaces();
    for (const auto& [sign, op] : kOps)
      if (text_.substr(at_).starts_with(sign)) {
        at_ += sign.size();
        return op;
      }
    return {};
  }

  Result<Value> value() {
    skip_spaces();
    if (is_quote()) {
      TW_TRY(std::string text, quoted());
      return Value(std::move(text));
    }
    if (take_word("true")) return Value(true);
    if (take_word("false")) return Value(false);
    double number = 0;
    const auto [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
    if (code != std::errc() || !std::isfinite(number)) return expected("a number, a text in quotes, true or false");
    at_ = static_cast<size_t>(end - text_.data());
    return Value(number);
  }

  Result<std::string> quoted() {
    const size_t begin = at_, end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return expected("a text that ends with its quote");
    at_ = end + 1;
    return std::string(text_.substr(begin + 1, end - begin - 1));
  }

  bool take_word(std::string_view word) {
    skip_spaces();
    const std::string_view rest = text_.substr(at_);
    if (!rest.starts_with(word) || (rest.size() > word.size() && continues_name(rest[word.size()]))) return false;
    at_ += word.size();
    return true;
  }

  bool is_quote() const { return at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\''); }
  void skip_spaces() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  Diagnostic expected(const std::string& what) const {
    const std::string place = at_ == text_.size() ? "at its end" : "at character " + std::to_string(at_ + 1);
    return {ErrorKind::kRpc,
            "the predicate has to have " + what + ", " + place,
            {},
            {std::string(text_), std::string(at_, ' ') + "^",
             "for example: cores >= 4 and sandbox.seccomp and \"dotprod\" in features"}};
  }

  std::string_view text_;
  size_t at_ = 0;
};

Result<Predicate> Predicate::parse(std::string_view text) {
  Predicate predicate;
  predicate.text_ = text;
  TW_TRY(predicate.conditions_, Parser(text).all());
  return predicate;
}

std::string Predicate::lacking(const Facts& facts) const {
  for (const Condition& condition : conditions_)
    if (std::string why = lacking(condition, facts); !why.empty()) return why;
  return {};
}

std::string Predicate::lacking(const Condition& condition, const Facts& facts) {
  constexpr const char* kSigns[] = {"", "==", "!=", "<", "<=", ">", ">=", "in"};
  const auto found = facts.find(condition.field);
  if (found == facts.end()) return "it has no " + condition.field;
  const Fact& fact = found->second;
  const std::string value = std::visit(ToText{}, condition.value), has = std::visit(ToText{}, fact);
  if (condition.op == Op::kHolds) {
    if (fact == Fact(true) || fact == Fact(std::string(kHolds))) return {};
    return condition.field + " is " + has;
  }
  if (condition.op == Op::kIn) {
    const auto* list = std::get_if<std::vector<std::string>>(&fact);
    if (list == nullptr) return condition.field + " is " + has + ", not a list";
    const bool there = std::find(list->begin(), list->end(), std::get<std::string>(condition.value)) != list->end();
    return there ? "" : condition.field + " has no " + value;
  }
  const auto meets = [&] {
    const Fact wanted = std::visit([](const auto& v) { return Fact(v); }, condition.value);
    if (condition.op == Op::kEqual) return fact == wanted;
    if (condition.op == Op::kUnequal) return fact != wanted;
    const double* number = std::get_if<double>(&fact);
    if (number == nullptr) return false;
    const double limit = std::get<double>(condition.value);
    return condition.op == Op::kLess     ? *number < limit
           : condition.op == Op::kAtMost ? *number <= limit
           : condition.op == Op::kMore   ? *number > limit
                                         : *number >= limit;
  };
  if (meets()) return {};
  return condition.field + " is " + has + ", not " + kSigns[static_cast<size_t>(condition.op)] + " " + value;
}

}  // namespace tw::rpc
