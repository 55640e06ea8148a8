// oneDNN's matmul, softmax and layer normalisation behind a few C functions, so that one Python process can interleave
// it with everything else. bench/peers/onednn.py compiles this file once against the PyPI packages onednn-cpu-gomp and
// onednn-devel-cpu-gomp.
#include <omp.h>

#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>

using dnnl::memory;

namespace {

// A primitive with all it reads and writes.
struct Bound {
  dnnl::primitive primitive;
  dnnl::stream stream;
  std::unordered_map<int, memory> arguments;
};

dnnl::engine& engine() {
  static dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

}  // namespace

extern "C" {

const char* tw_peer_version() {
  static const std::string text = [] {
    const dnnl_version_t* v = dnnl_version();
    return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
  }();
  return text.c_str();
}

void tw_peer_threads(int n) { omp_set_num_threads(n); }

// C[m,n] = A[m,k] B[k,n] (+ bias[n], ReLU), float32 row-major ("plain"); with `packed` B is brought into oneDNN's own
// layout here, outside the clock. The arrays must outlive the handle. The thread count is the one set before.
void* tw_peer_matmul(long m, long n, long k, float* a, float* b, float* c, float* bias, int relu, int packed) {
  using tag = memory::format_tag;
  const auto f32 = memory::data_type::f32;
  memory::desc a_desc({m, k}, f32, tag::ab), b_plain({k, n}, f32, tag::ab), c_desc({m, n}, f32, tag::ab);
  memory::desc b_desc = packed ? memory::desc({k, n}, f32, tag::any) : b_plain;
  memory::desc bias_desc = bias ? memory::desc({1, n}, f32, tag::ab) : memory::desc();
  dnnl::primitive_attr attributes;
  if (relu) {
    dnnl::post_ops post;
    post.append_eltwise(dnnl::algorithm::eltwise_relu, 0.f, 0.f);
    attributes.set_post_ops(post);
  }
  auto primitive_desc = bias ? dnnl::matmul::primitive_desc(engine(), a_desc, b_desc, bias_desc, c_desc, attributes)
                             : dnnl::matmul::primitive_desc(engine(), a_desc, b_desc, c_desc, attributes);
  auto* out = new Bound{dnnl::matmul(primitive_desc), dnnl::stream(engine()), {}};
  memory b_memory(b_plain, engine(), b);
  if (packed) {
    memory own(primitive_desc.weights_desc(), engine());
    dnnl::reorder(b_memory, own).execute(out->stream, b_memory, own);
    out->stream.wait();
    b_memory = own;
  }
  out->arguments = {{DNNL_ARG_SRC, memory(a_desc, engine(), a)},
                    {DNNL_ARG_WEIGHTS, b_memory},
                    {DNNL_ARG_DST, memory(c_desc, engine(), c)}};
  if (bias) out->arguments[DNNL_ARG_BIAS] = memory(bias_desc, engine(), bias);
  return out;
}

// C[m,n] = A[m,k] B[k,n] of narrow operands: uint8 * int8 into int32, or with `bf16` bfloat16 * bfloat16 into float32.
// B is brought into oneDNN's own layout here, outside the clock.
void* tw_peer_narrow_matmul(long m, long n, long k, void* a, void* b, void* c, int bf16) {
  using tag = memory::format_tag;
  using type = memory::data_type;
  const type left = bf16 ? type::bf16 : type::u8, right = bf16 ? type::bf16 : type::s8,
             sum = bf16 ? type::f32 : type::s32;
  memory::desc a_desc({m, k}, left, tag::ab), b_plain({k, n}, right, tag::ab), c_desc({m, n}, sum, tag::ab);
  dnnl::matmul::primitive_desc chosen(engine(), a_desc, memory::desc({k, n}, right, tag::any), c_desc);
  auto* out = new Bound{dnnl::matmul(chosen), dnnl::stream(engine()), {}};
  memory b_memory(b_plain, engine(), b), own(chosen.weights_desc(), engine());
  dnnl::reorder(b_memory, own).execute(out->stream, b_memory, own);
  out->stream.wait();
  out->arguments = {{DNNL_ARG_SRC, memory(a_desc, engine(), a)},
                    {DNNL_ARG_WEIGHTS, own},
                    {DNNL_ARG_DST, memory(c_desc, engine(), c)}};
  return out;
}

// out = softmax of each row of x, float32.
void* tw_peer_softmax(long rows, long columns, float* x, float* out) {
  memory::desc shape({rows, columns}, memory::data_type::f32, memory::format_tag::ab);
  dnnl::softmax_forward::primitive_desc chosen(engine(), dnnl::prop_kind::forward_inference,
                                               dnnl::algorithm::softmax_accurate, shape, shape, 1);
  return new Bound{dnnl::softmax_forward(chosen),
                   dnnl::stream(engine()),
                   {{DNNL_ARG_SRC, memory(shape, engine(), x)}, {DNNL_ARG_DST, memory(shape, engine(), out)}}};
}

// out = (x - mean) / sqrt(variance + epsilon) * scale + shift for each row of x, float32.
void* tw_peer_layernorm(long rows, long columns, float epsilon, float* x, float* scale, float* shift, float* out) {
  const auto f32 = memory::data_type::f32;
  memory::desc shape({rows, columns}, f32, memory::format_tag::ab), row({columns}, f32, memory::format_tag::a);
  dnnl::layer_normalization_forward::primitive_desc chosen(
      engine(), dnnl::prop_kind::forward_inference, shape, shape, epsilon,
      dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift);
  return new Bound{dnnl::layer_normalization_forward(chosen),
                   dnnl::stream(engine()),
                   {{DNNL_ARG_SRC, memory(shape, engine(), x)},
                    {DNNL_ARG_SCALE, memory(row, engine(), scale)},
                    {DNNL_ARG_SHIFT, memory(row, engine(), shift)},
                    {DNNL_ARG_DST, memory(shape, engine(), out)}}};
}

void tw_peer_run(void* handle) {
  auto* bound = static_cast<Bound*>(handle);
  bound->primitive.execute(bound->stream, bound->arguments);
  bound->stream.wait();
}

void tw_peer_free(void* handle) { delete static_cast<Bound*>(handle); }

}  // extern "C"
