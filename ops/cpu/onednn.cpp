#include <swapadvisor/core/error.h>
#include <swapadvisor/ops/cpu/onednn.h>

namespace swapadvisor {

namespace {

void multiply(MatrixView<const float> a, MatrixView<const float> b, MatrixView<float> c, float alpha,
              float beta) {
  if (c.column_major) return multiply(b.transposed(), a.transposed(), c.transposed(), alpha, beta);
  const dnnl_status_t status =
      dnnl_sgemm(a.column_major ? 'T' : 'N', b.column_major ? 'T' : 'N', c.rows, c.cols, a.cols, alpha,
                 a.data, a.stride, b.data, b.stride, beta, c.data, c.stride);
  SWAPADVISOR_ASSERT(status == dnnl_success, "dnnl_sgemm of {} × {} × {} failed with status {}", c.rows,
                     c.cols, a.cols, static_cast<int>(status));
}

}  // namespace

void onednn_gemm(MatrixView<const float> a, MatrixView<const float> b, MatrixView<float> c, bool accumulate) {
  multiply(a, b, c, 1, accumulate ? 1 : 0);
}

void onednn_scaled_gemm(MatrixView<const float> a, MatrixView<const float> b, MatrixView<float> c,
                        float alpha) {
  multiply(a, b, c, alpha, 0);
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

void OnednnCall::add(int argument, const dnnl::memory::desc& desc, const dnnl::engine& engine) {
  memories_.push_back(dnnl::memory(desc, engine, DNNL_MEMORY_NONE));
  arguments_.push_back({argument, memories_.back().get()});
}

void OnednnCall::address(std::size_t argument, const void* data) const {
  // oneDNN takes inputs and outputs alike as void*; it does not write inputs.
  memories_[argument].set_data_handle(const_cast<void*>(data));
}

void OnednnCall::execute(const dnnl::stream& stream) const {
  const dnnl_status_t status = dnnl_primitive_execute(primitive_.get(), stream.get(),
                                                      static_cast<int>(arguments_.size()), arguments_.data());
  SWAPADVISOR_ASSERT(status == dnnl_success, "a oneDNN primitive failed with status {}",
                     static_cast<int>(status));
}

OnednnReorder::OnednnReorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to,
                             const dnnl::engine& engine) {
  const dnnl::reorder::primitive_desc desc(engine, from, engine, to, user_scratchpad());
  scratch_bytes = static_cast<std::int64_t>(desc.scratchpad_desc().get_size());
  call.set_primitive(dnnl::reorder(desc));
  call.add(DNNL_ARG_FROM, from, engine);
  call.add(DNNL_ARG_TO, to, engine);
  call.add(DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc(), engine);
}

bool is_reference(std::string_view implementation) {
  return implementation.starts_with("ref");
}

}  // namespace swapadvisor
