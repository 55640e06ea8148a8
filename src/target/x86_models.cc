// Sources of model numbers: Intel's Software Developer's Manual, volume 4, table 2-1; AMD's revision guides.
#include <algorithm>

#include "src/target/x86.h"

namespace tw::target::x86 {

namespace {

struct Model {
  const char* name;
  const char* like;  // has all of that one's
  const char* adds;
};

// clang-format off
const Model kModels[] = {
    {"x86-64",          "",                "sse2"},
    {"x86-64-v2",       "x86-64",          "popcnt sse4.2"},
    {"x86-64-v3",       "x86-64-v2",       "avx2 bmi bmi2 f16c fma lzcnt movbe"},
    {"x86-64-v4",       "x86-64-v3",       "avx512bw avx512cd avx512dq avx512vl"},

    {"core2",           "x86-64",          "ssse3"},
    {"penryn",          "core2",           "sse4.1"},
    {"nehalem",         "penryn",          "popcnt sse4.2"},
    {"westmere",        "nehalem",         ""},
    {"sandybridge",     "westmere",        "avx"},
    {"ivybridge",       "sandybridge",     "f16c"},
    {"haswell",         "ivybridge",       "avx2 bmi bmi2 fma lzcnt movbe"},
    {"broadwell",       "haswell",         ""},
    {"skylake",         "broadwell",       ""},
    {"skylake-avx512",  "skylake",         "avx512bw avx512cd avx512dq avx512vl"},
    {"cascadelake",     "skylake-avx512",  "avx512vnni"},
    {"cooperlake",      "cascadelake",     "avx512bf16"},
    {"cannonlake",      "skylake-avx512",  "avx512ifma avx512vbmi"},
    {"icelake-client",  "cannonlake",      "avx512bitalg avx512vbmi2 avx512vnni avx512vpopcntdq gfni"},
    {"icelake-server",  "icelake-client",  ""},
    {"tigerlake",       "icelake-client",  "avx512vp2intersect"},
    {"rocketlake",      "icelake-client",  ""},
    {"sapphirerapids",  "icelake-server",  "amx-bf16 amx-int8 avx512bf16 avx512fp16 avxvnni"},
    {"emeraldrapids",   "sapphirerapids",  ""},
    {"graniterapids",   "sapphirerapids",  "amx-fp16"},
    {"graniterapids-d", "graniterapids",   "amx-complex"},
    {"alderlake",       "skylake",         "avxvnni gfni"},
    {"raptorlake",      "alderlake",       ""},
    {"meteorlake",      "alderlake",       ""},
    {"gracemont",       "alderlake",       ""},
    {"sierraforest",    "alderlake",       "avxifma avxneconvert avxvnniint8"},
    {"grandridge",      "sierraforest",    ""},
    {"arrowlake",       "sierraforest",    ""},
    {"arrowlake-s",     "arrowlake",       "avxvnniint16"},
    {"lunarlake",       "arrowlake-s",     ""},
    {"pantherlake",     "lunarlake",       ""},
    {"clearwaterforest", "sierraforest",   "avxvnniint16"},
    {"bonnell",         "core2",           "movbe"},
    {"silvermont",      "nehalem",         "movbe"},
    {"goldmont",        "silvermont",      ""},
    {"goldmont-plus",   "goldmont",        ""},
    {"tremont",         "goldmont-plus",   "gfni"},

    {"amdfam10",        "x86-64",          "lzcnt popcnt sse4a"},
    {"btver1",          "amdfam10",        "ssse3"},
    {"btver2",          "btver1",          "avx bmi f16c movbe"},
    {"bdver1",          "btver1",          "xop"},
    {"bdver2",          "bdver1",          "bmi f16c fma tbm"},
    {"bdver3",          "bdver2",          ""},
    {"bdver4",          "bdver3",          "avx2 bmi2 movbe"},
    {"znver1",          "x86-64-v3",       "sse4a"},
    {"znver2",          "znver1",          ""},
    {"znver3",          "znver2",          ""},
    {"znver4",          "znver3",          "avx512bf16 avx512bitalg avx512cd avx512dq avx512ifma avx512vbmi "
                                           "avx512vbmi2 avx512vl avx512vnni avx512vpopcntdq gfni"},
    {"znver5",          "znver4",          "avx512vp2intersect avxvnni"},
};

struct Numbers {
  const char* vendor;
  int family, first, last;
  const char* names;
};

constexpr const char* kIntel = "GenuineIntel";
constexpr const char* kAmd = "AuthenticAMD";

// The first row that fits.
const Numbers kNumbers[] = {
    {kIntel, 6, 0x0f, 0x0f, "core2"},           {kIntel, 6, 0x16, 0x16, "core2"},
    {kIntel, 6, 0x17, 0x17, "penryn"},          {kIntel, 6, 0x1d, 0x1d, "penryn"},
    {kIntel, 6, 0x1a, 0x1a, "nehalem"},         {kIntel, 6, 0x1e, 0x1f, "nehalem"},
    {kIntel, 6, 0x2e, 0x2e, "nehalem"},         {kIntel, 6, 0x25, 0x25, "westmere"},
    {kIntel, 6, 0x2c, 0x2c, "westmere"},        {kIntel, 6, 0x2f, 0x2f, "westmere"},
    {kIntel, 6, 0x2a, 0x2a, "sandybridge"},     {kIntel, 6, 0x2d, 0x2d, "sandybridge"},
    {kIntel, 6, 0x3a, 0x3a, "ivybridge"},       {kIntel, 6, 0x3e, 0x3e, "ivybridge"},
    {kIntel, 6, 0x3c, 0x3c, "haswell"},         {kIntel, 6, 0x3f, 0x3f, "haswell"},
    {kIntel, 6, 0x45, 0x46, "haswell"},         {kIntel, 6, 0x3d, 0x3d, "broadwell"},
    {kIntel, 6, 0x47, 0x47, "broadwell"},       {kIntel, 6, 0x4f, 0x4f, "broadwell"},
    {kIntel, 6, 0x56, 0x56, "broadwell"},       {kIntel, 6, 0x4e, 0x4e, "skylake"},
    {kIntel, 6, 0x5e, 0x5e, "skylake"},         {kIntel, 6, 0x8e, 0x8e, "skylake"},
    {kIntel, 6, 0x9e, 0x9e, "skylake"},         {kIntel, 6, 0xa5, 0xa6, "skylake"},
    {kIntel, 6, 0x55, 0x55, "skylake-avx512 cascadelake cooperlake"},
    {kIntel, 6, 0x66, 0x66, "cannonlake"},      {kIntel, 6, 0x7d, 0x7e, "icelake-client"},
    {kIntel, 6, 0x6a, 0x6a, "icelake-server"},  {kIntel, 6, 0x6c, 0x6c, "icelake-server"},
    {kIntel, 6, 0x8c, 0x8d, "tigerlake"},       {kIntel, 6, 0xa7, 0xa7, "rocketlake"},
    {kIntel, 6, 0x8f, 0x8f, "sapphirerapids"},  {kIntel, 6, 0xcf, 0xcf, "emeraldrapids"},
    {kIntel, 6, 0xad, 0xad, "graniterapids graniterapids-d"},
    {kIntel, 6, 0xae, 0xae, "graniterapids-d"}, {kIntel, 6, 0x97, 0x97, "alderlake"},
    {kIntel, 6, 0x9a, 0x9a, "alderlake"},       {kIntel, 6, 0xb7, 0xb7, "raptorlake"},
    {kIntel, 6, 0xba, 0xba, "raptorlake"},      {kIntel, 6, 0xbf, 0xbf, "raptorlake"},
    {kIntel, 6, 0xaa, 0xaa, "meteorlake"},      {kIntel, 6, 0xac, 0xac, "meteorlake"},
    {kIntel, 6, 0xbe, 0xbe, "gracemont"},       {kIntel, 6, 0xaf, 0xaf, "sierraforest"},
    {kIntel, 6, 0xb6, 0xb6, "grandridge"},      {kIntel, 6, 0xb5, 0xb5, "arrowlake"},
    {kIntel, 6, 0xc5, 0xc5, "arrowlake"},       {kIntel, 6, 0xc6, 0xc6, "arrowlake-s"},
    {kIntel, 6, 0xbd, 0xbd, "lunarlake"},       {kIntel, 6, 0xcc, 0xcc, "pantherlake"},
    {kIntel, 6, 0xdd, 0xdd, "clearwaterforest"}, {kIntel, 6, 0x1c, 0x1c, "bonnell"},
    {kIntel, 6, 0x26, 0x27, "bonnell"},         {kIntel, 6, 0x35, 0x36, "bonnell"},
    {kIntel, 6, 0x37, 0x37, "silvermont"},      {kIntel, 6, 0x4a, 0x4a, "silvermont"},
    {kIntel, 6, 0x4c, 0x4d, "silvermont"},      {kIntel, 6, 0x5a, 0x5a, "silvermont"},
    {kIntel, 6, 0x5d, 0x5d, "silvermont"},      {kIntel, 6, 0x5c, 0x5c, "goldmont"},
    {kIntel, 6, 0x5f, 0x5f, "goldmont"},        {kIntel, 6, 0x7a, 0x7a, "goldmont-plus"},
    {kIntel, 6, 0x86, 0x86, "tremont"},         {kIntel, 6, 0x96, 0x96, "tremont"},
    {kIntel, 6, 0x9c, 0x9c, "tremont"},

    {kAmd, 0x10, 0x00, 0xff, "amdfam10"},       {kAmd, 0x12, 0x00, 0xff, "amdfam10"},
    {kAmd, 0x14, 0x00, 0xff, "btver1"},         {kAmd, 0x16, 0x00, 0xff, "btver2"},
    {kAmd, 0x15, 0x02, 0x02, "bdver2"},         {kAmd, 0x15, 0x00, 0x0f, "bdver1"},
    {kAmd, 0x15, 0x10, 0x1f, "bdver2"},         {kAmd, 0x15, 0x30, 0x3f, "bdver3"},
    {kAmd, 0x15, 0x60, 0x7f, "bdver4"},         {kAmd, 0x17, 0x00, 0x2f, "znver1"},
    {kAmd, 0x17, 0x30, 0xaf, "znver2"},         {kAmd, 0x19, 0x00, 0x0f, "znver3"},
    {kAmd, 0x19, 0x20, 0x5f, "znver3"},         {kAmd, 0x19, 0x10, 0x1f, "znver4"},
    {kAmd, 0x19, 0x60, 0xaf, "znver4"},         {kAmd, 0x1a, 0x00, 0x4f, "znver5"},
    {kAmd, 0x1a, 0x60, 0x7f, "znver5"},         {"HygonGenuine", 0x18, 0x00, 0x02, "znver1"},
};
// clang-format on

}  // namespace

std::vector<std::string> cpus() {
  std::vector<std::string> names;
  for (const Model& model : kModels) names.push_back(model.name);
  return names;
}

std::set<std::string> features_of(const std::string& cpu) {
  const auto model =
      std::find_if(std::begin(kModels), std::end(kModels), [&](const Model& row) { return cpu == row.name; });
  if (model == std::end(kModels)) return {};
  std::set<std::string> all = features_of(model->like);
  for (const std::string& feature : words(model->adds)) all.merge(with_needed(feature));
  return all;
}

std::string level_of(const std::set<std::string>& features) {
  for (const char* level : {"x86-64-v4", "x86-64-v3", "x86-64-v2"}) {
    const std::set<std::string> all = features_of(level);
    if (std::includes(features.begin(), features.end(), all.begin(), all.end())) return level;
  }
  return "x86-64";
}

std::vector<std::string> names_of(const std::string& vendor, int family, int model) {
  for (const Numbers& row : kNumbers)
    if (vendor == row.vendor && family == row.family && model >= row.first && model <= row.last)
      return words(row.names);
  return {};
}

}  // namespace tw::target::x86
