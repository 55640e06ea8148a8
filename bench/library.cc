// A library's bytes and calls, for library.py: writes one of a matmul of 1024^3 for three CPUs, scheduled by the
// automatic space's prior, of an empty kernel, and of one that chooses by a size among four and one of the same size
// that does not, into the folder that is named, and says how large the matmul's code is.
#include "codegen/library.h"

#include <cstdio>

#include "codegen/files.h"
#include "src/ir/parse.h"
#include "tensorwright/build.h"

int main(int argc, char** argv) {
  using namespace tw;
  if (argc != 2) return std::fprintf(stderr, "bench_library FOLDER\n"), 1;
  const te::Tensor a = te::placeholder({1024, 1024}, "float32", "A"), b = te::placeholder({1024, 1024}, "float32", "B");
  const te::IterVar k = te::reduce_axis(0, 1024, "k");
  const te::Tensor c =
      te::compute({1024, 1024}, [&](te::Var i, te::Var j) { return te::sum(a(i, k) * b(k, j), {k}); }, "C");
  const ir::Program empty =
      ir::parse_program("kernel empty(A: float32[1], C: out float32[1]):\n  C[0] = A[0]\n").value_or_throw();
  const ir::Program one =
      ir::parse_program("kernel one(A: float32[n], C: out float32[n], n: size):\n  C[0] = A[0] + 4.0\n")
          .value_or_throw();
  const ir::Program sized = ir::parse_program(R"(kernel sized(A: float32[n], C: out float32[n], n: size):
  if n <= 1:
    C[0] = A[0] + 1.0
  else:
    if n <= 8:
      C[0] = A[0] * 2.0
    else:
      if n <= 64:
        C[0] = A[0] - 3.0
      else:
        C[0] = A[0] + 4.0
)")
                                .value_or_throw();
  codegen::LibraryKernel matmul{"matmul", {}}, nothing{"empty", {}}, of_one{"one", {}}, of_sizes{"sized", {}};
  for (const char* cpu : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    const Target target = Target::parse(std::string("llvm -mcpu=") + cpu).value_or_throw();
    matmul.variants.push_back(
        {target, lowered_program(default_schedule({c}, target), {a, b, c}, target, "matmul"), ""});
    nothing.variants.push_back({target, empty, ""});
    of_one.variants.push_back({target, one, ""});
    of_sizes.variants.push_back({target, sized, ""});
  }
  for (const codegen::LibraryFile& file :
       codegen::make_library({matmul, nothing, of_one, of_sizes}, {"bench", ""}).value_or_throw()) {
    codegen::write_file(std::string(argv[1]) + "/" + file.name, file.bytes);
    if (file.name.starts_with("matmul.")) std::printf("%s: %zu bytes\n", file.name.c_str(), file.bytes.size());
  }
}
