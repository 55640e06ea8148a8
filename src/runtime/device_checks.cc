#include "src/runtime/device_checks.h"

#include <algorithm>

namespace tw::runtime {

std::string check_kernel(size_t argument) { return "tw_check_" + std::to_string(argument); }

bool is_checked_on_device(const ArgSpec& spec) {
  return spec.strides.empty() && !spec.dtype.is_packed() && !spec.symbolic() && spec.bytes() >= kLeastChecked;
}

DeviceChecks::DeviceChecks(const RunRequest& request, Device& device)
    : request_(request), device_(device), gone_(request.device_checks.size() == 0) {
  if (!gone_) device_.when_short([this] { give_way(); });
}

DeviceChecks::~DeviceChecks() { device_.when_short({}); }

void DeviceChecks::give_way() {
  if (running_) return;
  gone_ = true;
  checks_.clear();
}

DeviceChecks::Check* DeviceChecks::check_of(size_t argument, size_t bytes_of_part) {
  if (gone_ || !is_checked_on_device(request_.args[argument])) return nullptr;
  if (!loaded_) gone_ = !device_.load(request_.device_checks).ok();
  loaded_ = true;
  if (gone_) return nullptr;
  const auto [found, is_new] = checks_.try_emplace(argument);
  Check& check = found->second;
  if (!is_new) return check.parts ? &check : nullptr;
  Result<Device::Launch> kernel = device_.find(check_kernel(argument));
  if (!kernel) return nullptr;
  check.kernel = *std::move(kernel);
  check.parts = device_.scratch(kCheckParts * bytes_of_part);
  return check.parts ? &check : nullptr;
}

bool DeviceChecks::run(Check& check, std::vector<void*> addresses) {
  check.parts->poison(0xFF);
  addresses.push_back(check.parts->address());
  running_ = true;
  const Device::Elapsed elapsed = device_.time(check.kernel, addresses.data(), 1);
  running_ = false;
  return elapsed.code == 0;
}

bool DeviceChecks::agrees(size_t argument, const DeviceMemory& output, const void* expected) try {
  Check* const check = check_of(argument, sizeof(int32_t));
  if (check == nullptr) return false;
  if (!check->tolerances) {
    const double tolerances[] = {request_.rtol[argument], request_.atol[argument]};
    check->expected = device_.scratch(request_.args[argument].bytes());
    check->expected->upload(expected);
    check->tolerances = device_.scratch(sizeof tolerances);
    check->tolerances->upload(tolerances);
  }
  if (!run(*check, {output.address(), check->expected->address(), check->tolerances->address()})) return false;
  const auto* wrong = static_cast<const int32_t*>(check->parts->contents());
  return std::all_of(wrong, wrong + kCheckParts, [](int32_t count) { return count == 0; });
} catch (const Error&) {  // of memory, mostly
  gone_ = true;
  return false;
}

std::optional<uint64_t> DeviceChecks::digest(size_t argument, const DeviceMemory& input) try {
  Check* const check = check_of(argument, sizeof(uint64_t));
  if (check == nullptr || !run(*check, {input.address()})) return std::nullopt;
  return check->parts->digest();
} catch (const Error&) {
  gone_ = true;
  return std::nullopt;
}

}  // namespace tw::runtime
