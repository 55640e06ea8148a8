#include "codegen/c/names.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace tw::codegen {

namespace {

// Keywords of C99, C11 and C++, macros of the headers in use, and what generated code declares or calls.
constexpr std::string_view kReserved[] = {
    "auto",          "break",       "case",         "char",     "const",     "continue",
    "default",       "do",          "double",       "else",     "enum",      "extern",
    "float",         "for",         "goto",         "if",       "inline",    "int",
    "long",          "register",    "restrict",     "return",   "short",     "signed",
    "sizeof",        "static",      "struct",       "switch",   "typedef",   "union",
    "unsigned",      "void",        "volatile",     "while",    "asm",       "typeof",
    "NULL",          "INFINITY",    "NAN",          "HUGE_VAL", "errno",     "math_errhandling",
    "linux",         "unix",        "offsetof",     "isnan",    "isinf",     "signbit",
    "args",          "context",     "closure",      "captured", "begin",     "end",
    "code",          "fma",         "fmaf",         "sqrt",     "sqrtf",     "fabs",
    "fabsf",         "floor",       "floorf",       "ceil",     "ceilf",     "rint",
    "rintf",         "trunc",       "truncf",       "int8_t",   "int16_t",   "int32_t",
    "int64_t",       "uint8_t",     "uint16_t",     "uint32_t", "uint64_t",  "size_t",
    "ptrdiff_t",     "uintptr_t",   "intptr_t",     "alignas",  "and",       "bool",
    "catch",         "class",       "constexpr",    "decltype", "delete",    "explicit",
    "export",        "false",       "friend",       "mutable",  "namespace", "new",
    "noexcept",      "not",         "nullptr",      "operator", "or",        "private",
    "protected",     "public",      "template",     "this",     "throw",     "true",
    "try",           "typeid",      "typename",     "using",    "virtual",   "xor",
    "alignof",       "and_eq",      "bitand",       "bitor",    "char16_t",  "char32_t",
    "compl",         "const_cast",  "dynamic_cast", "not_eq",   "or_eq",     "reinterpret_cast",
    "static_assert", "static_cast", "thread_local", "wchar_t",  "xor_eq",    "blockIdx",
    "blockDim",      "gridDim",     "threadIdx",    "warpSize"};

constexpr std::string_view kTypeSuffixes[] = {"_bool", "_i8",  "_i16", "_i32", "_i64",  "_u8",  "_u16", "_u32",
                                              "_u64",  "_f16", "_f32", "_f64", "_bf16", "_MIN", "_MAX"};

// f32x4, u8x16: a vector's type.
bool names_vector(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789";
  const size_t bits = name.find_first_of(kDigits);
  const size_t x = bits == name.npos ? name.npos : name.find_first_not_of(kDigits, bits);
  return x != name.npos && name[x] == 'x' && x + 1 < name.size() && name.find_first_not_of(kDigits, x + 1) == name.npos;
}

bool reserved(const std::string& name) {
  if (names_vector(name)) return true;
  for (const std::string_view word : kReserved)
    if (name == word) return true;
  for (const std::string_view suffix : kTypeSuffixes)  // min_f32 and the like are helpers
    if (name.ends_with(suffix)) return true;
  for (const std::string_view prefix : {"tw_", "TW_", "__", "FP_"})
    if (name.starts_with(prefix)) return true;
  return name.size() > 1 && name[0] == '_' && std::isupper(static_cast<unsigned char>(name[1]));
}

}  // namespace

std::string c_identifier(const std::string& name) {
  std::string out;
  for (const char c : name) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0]))) out = "v" + out;
  if (out.starts_with("__")) out = "v" + out;
  return reserved(out) ? out + "_" : out;
}

std::string c_comment(std::string text) {
  for (size_t at = text.find("*/"); at != std::string::npos; at = text.find("*/", at)) text.replace(at, 2, "* ");
  std::replace_if(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 32; }, ' ');
  return text;
}

const std::string& CNames::bind(uint64_t id, const std::string& wanted) { return names_[id] = fresh(wanted); }

std::string CNames::fresh(const std::string& wanted) { return unique(c_identifier(wanted)); }

std::string CNames::symbol(const std::string& wanted) {
  std::string base = wanted;
  std::replace(base.begin(), base.end(), '.', '_');
  return unique(base);
}

std::string CNames::unique(const std::string& base) {
  std::string name = base;
  for (int n = 1; !taken_.insert(name).second; ++n) name = base + "_" + std::to_string(n);
  bound_.push_back(name);
  return name;
}

void CNames::release(size_t mark) {
  for (size_t i = mark; i < bound_.size(); ++i) taken_.erase(bound_[i]);
  bound_.resize(mark);
}

}  // namespace tw::codegen
