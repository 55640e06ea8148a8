// The three error channels of Tensorwright, which are never mixed:
//
//   user error            a Diagnostic thrown as tw::Error at the public API, with the user's own line
//   rejected candidate    a Result<T> holding a Diagnostic; rendered only when somebody asks
//   compiler bug          TW_CHECK, which throws InternalError ("internal error: ...")
//
// Python sees each ErrorKind as a class of its own below tensorwright.Error.
#pragma once

#include <cstdint>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensorwright/value.h"

namespace tw {

// A line of the user's program. An empty file means "not known yet": the Python binding then fills in the innermost
// frame that lies outside the package.
struct SourceLine {
  std::string file;
  int line = 0;
  std::string text;  // the line itself; read from the file when empty and needed

  SourceLine();
  SourceLine(std::string file, int line, std::string text = {});
  SourceLine(const std::source_location&);
  TW_DECLARE_VALUE(SourceLine);
  bool known() const { return !file.empty(); }
};

enum class ErrorKind : uint8_t {
  kDType,     // Python: DTypeError(Error, TypeError)          a dtype that the operation does not take
  kExpr,      // Python: ExprError(Error, ValueError)          a tensor expression that has no meaning
  kSchedule,  // Python: ScheduleError(Error, ValueError)      a Step that is refused
  kArgument,  // Python: ArgumentError(Error, ValueError)      a bad argument of a call, of a kernel or of the API
  kTarget,    // Python: TargetError(Error, ValueError)        unknown target, CPU or attribute
  kBuild,     // Python: BuildError(Error, RuntimeError)       code generation, linking or loading failed
  kLog,       // Python: LogError(Error, ValueError)           a tuning log that cannot be used
  kNoRecord,  // Python: NoRecord(Error, LookupError)          no tuning record for this task and target
  kTune,      // Python: TuneError(Error, RuntimeError)        tuning cannot start or every candidate failed
  kRpc,       // Python: RpcError(Error, ConnectionError)     a machine elsewhere that is away, refuses or breaks the protocol
  kParse,     // Python: ParseError(Error, ValueError)         malformed IR, Step or JSON text
  kInternal,  // Python: InternalError(Error, RuntimeError)    a bug of ours
};

// First line: what was asked, the rule, what was expected and what came. Notes: the thing with its extent, the reason,
// the way out. Rendered as
//
//   tune_me.py:31: split: tail must be one that visits each value once, not shift_inward
//       s[C].split(k, factor=48, tail="shift_inward")
//       stage C, axis k (reduction over 0..1025)
//       shift_inward revisits values; the reduction would add them twice. Use guard, mask or peel.
struct Diagnostic {
  ErrorKind kind = ErrorKind::kInternal;
  std::string what;
  SourceLine where;
  std::vector<std::string> notes;

  Diagnostic();
  Diagnostic(ErrorKind, std::string what, SourceLine where = {}, std::vector<std::string> notes = {});
  TW_DECLARE_VALUE(Diagnostic);
  Diagnostic&& operator<<(std::string note) &&;
  std::string render() const;
};

class Error : public std::runtime_error {
 public:
  explicit Error(Diagnostic d);
  Error(const Error&);
  ~Error() override;
  const Diagnostic& diagnostic() const { return diagnostic_; }
  ErrorKind kind() const { return diagnostic_.kind; }

 private:
  Diagnostic diagnostic_;
};

// A T or the Diagnostic that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Diagnostic d) : state_(std::move(d)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  const T& operator*() const& { return std::get<0>(state_); }
  T& operator*() & { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  const T* operator->() const { return &std::get<0>(state_); }
  T* operator->() { return &std::get<0>(state_); }
  const Diagnostic& error() const& { return std::get<1>(state_); }
  Diagnostic&& error() && { return std::get<1>(std::move(state_)); }

  // The value, or the Diagnostic thrown as an Error: the step from the second channel to the first.
  T value_or_throw() && {
    if (!ok()) throw Error(std::get<1>(std::move(state_)));
    return std::get<0>(std::move(state_));
  }

 private:
  std::variant<T, Diagnostic> state_;
};

struct Unit {};
using Status = Result<Unit>;

[[noreturn]] void throw_internal(const char* file, int line, const char* condition, const std::string& detail);

}  // namespace tw

#define TW_CONCAT_INNER(a, b) a##b
#define TW_CONCAT(a, b) TW_CONCAT_INNER(a, b)

// TW_TRY(Axis axis, nest.leaf(...));  declares `axis`, or returns the Diagnostic from the enclosing function.
#define TW_TRY(decl, ...) TW_TRY_INNER(TW_CONCAT(tw_try_, __LINE__), decl, __VA_ARGS__)
#define TW_TRY_INNER(tmp, decl, ...)            \
  auto tmp = (__VA_ARGS__);                     \
  if (!tmp.ok()) return std::move(tmp).error(); \
  decl = *std::move(tmp)

// A condition that only a bug of ours can break.
#define TW_CHECK(condition, ...)                                                                      \
  do {                                                                                                \
    if (!(condition)) ::tw::throw_internal(__FILE__, __LINE__, #condition, std::string{__VA_ARGS__}); \
  } while (false)
