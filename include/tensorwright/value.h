// A large value's copies, moves and end: declared in its class by TW_DECLARE_VALUE, made in one file by
// TW_DEFINE_VALUE, where each file that uses one would make them again.
#pragma once

// NOLINTBEGIN(bugprone-macro-parentheses): T names a class
#define TW_DECLARE_VALUE(T)   \
  T(const T&);                \
  T(T&&) noexcept;            \
  T& operator=(const T&);     \
  T& operator=(T&&) noexcept; \
  ~T()

#define TW_DEFINE_VALUE(T)                 \
  T::T(const T&) = default;                \
  T::T(T&&) noexcept = default;            \
  T& T::operator=(const T&) = default;     \
  T& T::operator=(T&&) noexcept = default; \
  T::~T() = default
// NOLINTEND(bugprone-macro-parentheses)
