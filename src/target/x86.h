// The features of x86-64 that code may use, and the CPUs that -mcpu=native names, as tables.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tw::target::x86 {

enum class Register { kEax, kEbx, kEcx, kEdx };
// What the system must save for it.
enum class State { kNone, kYmm, kZmm, kTiles, kApx };

struct Feature {
  const char* name;
  uint32_t leaf, subleaf;
  Register at;
  int bit;
  State state;
  const char* needs;        // features that it is built on, direct ones
  bool on_request = false;  // -mcpu=native leaves it out: compilers have only learned to use it
};
const std::vector<Feature>& features();

// The names in a text, separated by spaces.
std::vector<std::string> words(std::string_view text);
// With all that it is built on. A name that is not in the table stands for itself.
std::set<std::string> with_needed(const std::string& feature);

// What is not in the table and not of the system is code's too: better refused as missing than run.
bool in_code(std::string_view feature);
// Features that compilers name and code has none of: of the system, of debugging, hints, or other names of what is in
// the table.
const std::set<std::string, std::less<>>& not_in_code();

// AVX10 says by a number which features of AVX-512 there are; its first version has those of Sapphire Rapids.
std::set<std::string> avx10_1();

// Attributes, "+x" and "-x", with all that follows from them: "+x" brings what x is built on, "-x" takes along what is
// built on x. So that no compiler's own rules matter. Those that code has none of are left out.
std::vector<std::string> spelled_out(const std::vector<std::string>& attributes);

// Names of CPUs, levels included, and what each has.
std::vector<std::string> cpus();
std::set<std::string> features_of(const std::string& cpu);
// The highest level that has nothing but these features.
std::string level_of(const std::set<std::string>& features);
// The CPUs that a model number stands for: with more features each; empty: not known.
std::vector<std::string> names_of(const std::string& vendor, int family, int model);

}  // namespace tw::target::x86
