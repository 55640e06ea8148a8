// Lowered programs -> the text of one C file. Private to codegen/c.
//
// How to read it: emit_file.cc drives and writes what stands around the kernels; emit_loops.cc, emit_parallel.cc and
// emit_scratch.cc write the statements that are the host's own. Programs come as lanes.h leaves them.
#pragma once

#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "codegen/c/emitter.h"
#include "tensorwright/target.h"

namespace tw::codegen {

class CFileEmitter : public CEmitter {
 public:
  // The text of one file with all programs; their names differ.
  std::string file(const std::vector<ir::Program>& programs, const Target& target);

 private:
  CText emit_extern(const ir::CallExtern& call, ir::Type type) override;
  void emit_for(const ir::For& loop) override;
  void emit_allocate(const ir::Allocate& alloc) override;
  void emit_evaluate(const ir::Expr& value) override;
  void emit_sync(const ir::Sync& sync) override;
  void begin_branch(const ir::Stmt& then) override;
  void emit_counted_loop(const std::string& begin, const std::string& end, const ir::For& loop);
  void emit_parallel(const ir::For& loop);
  void emit_parallel_body(const ir::For& loop, const std::string& function, const std::string& fields,
                          const std::vector<std::string>& opening);
  std::string emit_extent(const ir::Expr& extent);
  std::string scratch_type(const ir::Buffer& buffer);
  void emit_heap_scratch(const ir::Allocate& alloc, const std::string& bytes);
  void leave_if(const std::string& failed, const std::string& code);

  // Functions and files.
  void emit_kernel(const ir::Program& program);
  void emit_descriptor(const ir::Program& program, const Target& target);
  std::string vector_type(ir::Type element, int lanes);
  std::string pointer(const ir::Buffer& buffer) const;  // to it: "const float*"
  void look_through(const ir::Program& program);        // for written_ and fuses_

  // What belongs to the function under construction; a parallel body has its own.
  struct Frame {
    std::vector<std::string> held;               // scratch to be released when the function is left, innermost last
    std::map<std::string, std::string> externs;  // C functions that it calls: name and declaration
    int64_t stack_bytes = 0;
    int loops = 0;  // around what is written
    bool in_parallel = false;
  };

  std::string functions_;  // finished ones
  Frame frame_;
  CNames function_names_;
  std::vector<std::pair<std::string, std::string>> vector_types_;  // with GNU C, without
  std::unordered_set<uint64_t> written_;                           // buffers that the program stores to
  std::unordered_set<uint64_t> addressed_;                         // whose addresses functions are given
  std::string kernel_name_;
  std::vector<std::string>
      externs_;  // the symbols of the C functions that the program calls, in the order of the table
};

}  // namespace tw::codegen
