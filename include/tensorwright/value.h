// A large value's copies, moves and end: declared in its class by TW_DECLARE_VALUE, made in one file by
// TW_DEFINE_VALUE. Each file that used one would make them again: a fifth of the compiler's time went into that.
#pragma once

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
