// tensorwright._core: the compiled half of the Python package.
#include "python/bind/bind.h"

PYBIND11_MODULE(_core, m) {
  m.doc() = "The compiled half of tensorwright; its names are reached through the package.";
  tw::bind::bind_errors(m);
  tw::bind::bind_te(m);
  tw::bind::bind_statements(m);
  tw::bind::bind_tiles(m);
  tw::bind::bind_ops(m);
  tw::bind::bind_ops_nn(m);
  bind_schedule(m);
  tw::bind::bind_runtime(m);
  tw::bind::bind_build(m);
  bind_explain(m);  // after Target
  bind_autotune(m);
  bind_packs(m);
  tw::bind::bind_rpc(m);
  tw::bind::bind_logs(m);
  tw::bind::bind_aot(m);
}
