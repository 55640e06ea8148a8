// oneDNN's matmul, convolution, softmax and layer normalisation behind a few C functions, so that one Python process
// can interleave it with everything else. bench/peers/onednn.py compiles this file once against the PyPI packages
// onednn-cpu-gomp and onednn-devel-cpu-gomp.
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

// Operands and sum, by the number that Python passes.
struct Types {
  memory::data_type left, right, sum;
};
constexpr Types kOperands[] = {{memory::data_type::f32, memory::data_type::f32, memory::data_type::f32},
                               {memory::data_type::bf16, memory::data_type::bf16, memory::data_type::f32},
                               {memory::data_type::u8, memory::data_type::s8, memory::data_type::s32},
                               {memory::data_type::s8, memory::data_type::s8, memory::data_type::s32}};

// The weights in the layout that a primitive wants, brought there now, outside any clock.
memory own_layout(const memory::desc& wanted, memory plain, dnnl::stream& stream) {
  memory own(wanted, engine());
  dnnl::reorder(plain, own).execute(stream, plain, own);
  stream.wait();
  return own;
}

// What follows a sum, by the number that Python passes: nothing, ReLU, GELU by the error function.
dnnl::primitive_attr with_activation(int activation) {
  dnnl::primitive_attr attributes;
  if (activation == 0) return attributes;
  dnnl::post_ops post;
  post.append_eltwise(activation == 1 ? dnnl::algorithm::eltwise_relu : dnnl::algorithm::eltwise_gelu_erf, 0.f, 0.f);
  attributes.set_post_ops(post);
  return attributes;
}

std::string& why_not() {
  static std::string text;
  return text;
}

// The handle of what `make` binds, or null where this CPU has no such primitive.
template <typename Make>
void* if_possible(Make make) {
  try {
    return make();
  } catch (const dnnl::error& error) {
    why_not() = error.what();
    return nullptr;
  }
}

}  // namespace

extern "C" {

// Why the last handle is null.
const char* tw_peer_why_not() { return why_not().c_str(); }

const char* tw_peer_version() {
  static const std::string text = [] {
    const dnnl_version_t* v = dnnl_version();
    return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
  }();
  return text.c_str();
}

void tw_peer_threads(int n) { omp_set_num_threads(n); }

// C[m,n] = A[m,k] B[k,n] (+ bias[n], activation), float32 row-major ("plain"); with `packed` B is brought into oneDNN's
// own layout here, outside the clock. The arrays must outlive the handle. The thread count is the one set before.
void* tw_peer_matmul(long m, long n, long k, float* a, float* b, float* c, float* bias, int activation, int packed) {
  using tag = memory::format_tag;
  const auto f32 = memory::data_type::f32;
  memory::desc a_desc({m, k}, f32, tag::ab), b_plain({k, n}, f32, tag::ab), c_desc({m, n}, f32, tag::ab);
  memory::desc b_desc = packed ? memory::desc({k, n}, f32, tag::any) : b_plain;
  memory::desc bias_desc = bias ? memory::desc({1, n}, f32, tag::ab) : memory::desc();
  const dnnl::primitive_attr attributes = with_activation(activation);
  auto primitive_desc = bias ? dnnl::matmul::primitive_desc(engine(), a_desc, b_desc, bias_desc, c_desc, attributes)
                             : dnnl::matmul::primitive_desc(engine(), a_desc, b_desc, c_desc, attributes);
  auto* out = new Bound{dnnl::matmul(primitive_desc), dnnl::stream(engine()), {}};
  memory b_memory(b_plain, engine(), b);
  if (packed) b_memory = own_layout(primitive_desc.weights_desc(), b_memory, out->stream);
  out->arguments = {{DNNL_ARG_SRC, memory(a_desc, engine(), a)},
                    {DNNL_ARG_WEIGHTS, b_memory},
                    {DNNL_ARG_DST, memory(c_desc, engine(), c)}};
  if (bias) out->arguments[DNNL_ARG_BIAS] = memory(bias_desc, engine(), bias);
  return out;
}

// C[m,n] = A[m,k] B[k,n] of narrow operands. B is brought into oneDNN's own layout here, outside the clock.
void* tw_peer_narrow_matmul(long m, long n, long k, void* a, void* b, void* c, int types) {
  return if_possible([&] {
    using tag = memory::format_tag;
    const auto [left, right, sum] = kOperands[types];
    memory::desc a_desc({m, k}, left, tag::ab), b_plain({k, n}, right, tag::ab), c_desc({m, n}, sum, tag::ab);
    dnnl::matmul::primitive_desc chosen(engine(), a_desc, memory::desc({k, n}, right, tag::any), c_desc);
    auto* out = new Bound{dnnl::matmul(chosen), dnnl::stream(engine()), {}};
    out->arguments = {{DNNL_ARG_SRC, memory(a_desc, engine(), a)},
                      {DNNL_ARG_WEIGHTS, own_layout(chosen.weights_desc(), memory(b_plain, engine(), b), out->stream)},
                      {DNNL_ARG_DST, memory(c_desc, engine(), c)}};
    return out;
  });
}

// C[i] = A[i] B[i] for each of `batch` pairs, float32, all row-major.
void* tw_peer_batch_matmul(long batch, long m, long n, long k, float* a, float* b, float* c) {
  const auto f32 = memory::data_type::f32;
  const auto plain = memory::format_tag::abc;
  memory::desc a_desc({batch, m, k}, f32, plain), b_desc({batch, k, n}, f32, plain), c_desc({batch, m, n}, f32, plain);
  return new Bound{dnnl::matmul(dnnl::matmul::primitive_desc(engine(), a_desc, b_desc, c_desc)),
                   dnnl::stream(engine()),
                   {{DNNL_ARG_SRC, memory(a_desc, engine(), a)},
                    {DNNL_ARG_WEIGHTS, memory(b_desc, engine(), b)},
                    {DNNL_ARG_DST, memory(c_desc, engine(), c)}}};
}

// One image: x[h][w][in] (NHWC), weights [kernel][kernel][in / groups][out], y[][][out], padded alike on all sides;
// groups is 1, or in = out for a depthwise convolution of weights [kernel][kernel][in]. The weights are brought into
// oneDNN's own layout here, outside the clock.
void* tw_peer_conv2d(long in, long out, long size, long kernel, long stride, long padding, long groups, void* x,
                     void* weights, void* y, int types) {
  return if_possible([&] {
    using tag = memory::format_tag;
    const auto [left, right, sum] = kOperands[types];
    const long result = (size + 2 * padding - kernel) / stride + 1;
    const memory::dims kernels = groups > 1 ? memory::dims{groups, out / groups, in / groups, kernel, kernel}
                                            : memory::dims{out, in, kernel, kernel};
    memory::desc x_desc({1, in, size, size}, left, tag::nhwc), y_desc({1, out, result, result}, sum, tag::nhwc);
    memory::desc w_plain(kernels, right, groups > 1 ? tag::hwigo : tag::hwio);
    dnnl::convolution_forward::primitive_desc chosen(
        engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_auto, x_desc,
        memory::desc(kernels, right, tag::any), y_desc, {stride, stride}, {padding, padding}, {padding, padding});
    auto* bound = new Bound{dnnl::convolution_forward(chosen), dnnl::stream(engine()), {}};
    bound->arguments = {
        {DNNL_ARG_SRC, memory(x_desc, engine(), x)},
        {DNNL_ARG_WEIGHTS, own_layout(chosen.weights_desc(), memory(w_plain, engine(), weights), bound->stream)},
        {DNNL_ARG_DST, memory(y_desc, engine(), y)}};
    return bound;
  });
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
