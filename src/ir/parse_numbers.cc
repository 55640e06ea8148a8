// The numbers of the text form: 1, -2i8, 0.5f64, inf_f64, nan.
#include <charconv>
#include <limits>

#include "src/ir/parse_expr.h"

namespace tw::ir {
namespace {

std::optional<Type> suffix_type(std::string_view suffix) {
  for (const Suffix& known : kSuffixes) {
    if (known.text == suffix) return known.type;
  }
  return std::nullopt;
}

}  // namespace

Expr ExprParser::number(bool negative) {
  const Token token = now();
  advance();
  const Type plain = token.kind == Token::kReal ? Type::f(32) : Type::index();
  const std::optional<Type> type = token.suffix().empty() ? plain : suffix_type(token.suffix());
  if (!type) refuse(token, "a suffix such as i32, u8 or f64 expected, not '" + std::string(token.suffix()) + "'");
  if (!type->is_float()) {
    if (token.kind == Token::kReal) refuse(token, "a whole number expected before " + std::string(token.suffix()));
    return integer_constant(token, *type, negative);
  }
  // float32 is read as such: by way of float64 it would be rounded twice.
  const char *begin = token.begin, *end = begin + token.size;
  float narrow = 0;
  double value = 0;
  const std::errc failed =
      type->bits == 32 ? std::from_chars(begin, end, narrow).ec : std::from_chars(begin, end, value).ec;
  if (type->bits == 32) value = narrow;
  if (failed != std::errc()) value = std::strtod(std::string(token.text()).c_str(), nullptr);  // too large or too small
  return float_imm(*type, negative ? -value : value);
}

Expr ExprParser::integer_constant(const Token& digits, Type type, bool negative) {
  uint64_t magnitude = 0;
  const auto read = std::from_chars(digits.text().data(), digits.text().data() + digits.text().size(), magnitude);
  const uint64_t half = uint64_t{1} << (type.bits - 1);
  const uint64_t largest = !type.is_uint() ? half - !negative : negative ? 0 : half - 1 + half;
  if (read.ec != std::errc() || magnitude > largest)
    refuse(digits,
           "a value of " + to_string(type) + " expected, not " + (negative ? "-" : "") + std::string(digits.text()));
  return int_imm(type, static_cast<int64_t>(negative ? 0 - magnitude : magnitude));
}

Expr ExprParser::special_float(bool negative) {
  const Token token = now();
  advance();
  const std::string_view kind = token.text().substr(0, 3);
  Type type = Type::f(32);
  if (token.text().size() > 3) {
    const auto suffix = suffix_type(token.text().substr(token.text()[3] == '_' ? 4 : 3));
    if (token.text()[3] != '_' || !suffix || !suffix->is_float())
      refuse(token, "inf, nan or inf_f64 expected, not " + describe(token));
    type = *suffix;
  }
  const double infinity = std::numeric_limits<double>::infinity();
  return float_imm(type, kind == "nan" ? std::numeric_limits<double>::quiet_NaN() : negative ? -infinity : infinity);
}

int64_t ExprParser::integer(const std::string& what) {
  int64_t value = 0;
  const std::string_view digits = now().text();
  if (now().kind != Token::kInteger || !now().suffix().empty() ||
      std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc()) {
    expected(what);
  }
  advance();
  return value;
}

int ExprParser::lanes() {
  const Token& where = now();
  const int64_t count = integer("a number of lanes");
  if (count < 2 || count > std::numeric_limits<uint16_t>::max())
    refuse(where, "2..65535 lanes expected, not " + std::to_string(count));
  return static_cast<int>(count);
}

}  // namespace tw::ir
