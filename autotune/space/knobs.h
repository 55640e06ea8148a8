// The values of a knob: how the options of define_split, define_reorder and define_annotate become lists.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tensorwright/autotune.h"

namespace tw::autotune {

std::vector<KnobValue> split_values(const std::string& name, int64_t extent, const SplitOptions&);
std::vector<KnobValue> reorder_values(const std::string& name, size_t axes,
                                      const std::vector<std::vector<int>>& orders);
std::vector<KnobValue> annotate_values(const std::string& name, size_t axes, const std::string& policy);

std::string_view name_of(KnobKind);  // "split"

[[noreturn]] void tune_error(std::string what, std::vector<std::string> notes = {});

}  // namespace tw::autotune
