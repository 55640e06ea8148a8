// Names of variables and buffers in C: one each among those in scope, as close to the schedule's as C allows.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tw::codegen {

// Letters, digits and _, never a keyword or a name that generated code uses itself: i.o -> i_o, int -> int_.
std::string c_identifier(const std::string& name);

// The text as it may stand in a comment.
std::string c_comment(std::string text);

// Names in nested blocks. A block's names are free again when it ends.
class CNames {
 public:
  const std::string& bind(uint64_t id, const std::string& wanted);
  std::string fresh(const std::string& wanted);   // of nothing in the program
  std::string symbol(const std::string& wanted);  // of the file: with a prefix that is reserved for it
  const std::string& of(uint64_t id) const { return names_.at(id); }
  bool known(uint64_t id) const { return names_.contains(id); }

  struct Block {
    CNames& names;
    size_t mark;
    explicit Block(CNames& n) : names(n), mark(n.bound_.size()) {}
    ~Block() { names.release(mark); }
    Block(const Block&) = delete;
  };

 private:
  std::string unique(const std::string& base);
  void release(size_t mark);

  std::unordered_map<uint64_t, std::string> names_;
  std::unordered_set<std::string> taken_;
  std::vector<std::string> bound_;
};

}  // namespace tw::codegen
