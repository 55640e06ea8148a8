// Shared objects whose bytes were cut off or changed, 100,000 of them: each is refused with a typed error, or is one
// that lies within itself and can be mapped. Nothing outside of the bytes is read.
// (tests/unit/runtime_elf_image_test.cc has each rule by its name.)
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "src/runtime/elf_image.h"
#include "src/runtime/elf_object.h"
#include "tests/faults/malformed.h"
#include "tests/unit/small_elf.h"

namespace tw::faults {
namespace {

using diff::Random;
using runtime::ElfObject;
using test::SmallElf;

constexpr int kObjects = 100'000;
constexpr uint64_t kPages[] = {4096, 16384, 65536};

bool holds(const ElfObject::Segment& segment, uint64_t address, uint64_t bytes) {
  return address >= segment.begin && address < segment.end && bytes <= segment.end - address;
}

// "" or what of the object lies outside of it.
std::string unsound(const ElfObject& object, uint64_t page) {
  const auto in_some = [&](uint64_t address, uint64_t bytes, int protection) {
    return std::any_of(object.segments.begin(), object.segments.end(), [&](const ElfObject::Segment& s) {
      return holds(s, address, bytes) && (s.protection & protection) == protection;
    });
  };
  uint64_t pages_used = 0;
  for (const ElfObject::Segment& s : object.segments) {
    if (s.begin / page < pages_used || s.end <= s.begin || s.end > object.size) return "its segments";
    if (s.contents.size() > s.end - s.begin) return "the contents of a segment";
    if ((s.protection & PROT_WRITE) && (s.protection & PROT_EXEC)) return "its protection";
    pages_used = (s.end - 1) / page + 1;
  }
  for (const ElfObject::Relocation& relocation : object.relocations)
    if (!in_some(relocation.address, 8, PROT_WRITE)) return "a relocation";
  for (const ElfObject::Pages& relro : object.relro)
    if (relro.begin % page != 0 || relro.end % page != 0 || relro.begin >= relro.end || relro.end > object.size)
      return "RELRO";
  for (const auto& [name, address] : object.symbols)
    if (!in_some(address, 1, PROT_NONE)) return "symbol " + name;
  return object.size > uint64_t{257} << 20 ? "its size" : "";
}

// What is wrong with how the bytes were judged, or "".
std::string judge(std::string_view bytes, int& mapped) {
  const Exact exact(bytes);
  const Stopwatch watch;
  for (const uint64_t page : kPages) {
    const Result<ElfObject> object = runtime::read_elf(exact.view(), page);
    if (const std::string found = object ? unsound(*object, page) : untyped(object.error()); !found.empty())
      return found;
  }
  const auto image = runtime::map_elf(exact.view());
  if (!image) return untyped(image.error());
  ++mapped;
  for (const auto& [name, address] : runtime::read_elf(exact.view(), 4096).value_or_throw().symbols)
    if (!(*image)->symbol(name)) return "symbol " + name + " is not found";
  return watch.too_long();
}

std::string with_a_number(Random& r, std::string bytes) {
  static const std::vector<uint64_t> kNumbers = {0,
                                                 1,
                                                 8,
                                                 0xFFF,
                                                 0x1000,
                                                 SmallElf::kPage,
                                                 test::kTableAt,
                                                 test::kVariableAt,
                                                 uint64_t{1} << 28,
                                                 uint64_t{1} << 32,
                                                 uint64_t{1} << 63,
                                                 (uint64_t{1} << 63) - 1,
                                                 ~uint64_t{0},
                                                 ~uint64_t{0} - 0xFFF};
  const size_t width = r.one_of<size_t>({2, 4, 8}), places = bytes.size() / width;
  char* const place = bytes.data() + width * static_cast<size_t>(r.below(static_cast<int64_t>(places)));
  uint64_t value = 0;
  std::memcpy(&value, place, width);
  const uint64_t changed = r.chance(70) ? r.pick(kNumbers) : value + static_cast<uint64_t>(r.below(33)) - 16;
  std::memcpy(place, &changed, width);
  return bytes;
}

std::string mutated(Random& r, std::string bytes) {
  for (int64_t n = r.chance(60) ? 1 : 1 + r.below(4); n > 0; --n) {
    if (r.chance(60)) {
      bytes = with_a_number(r, std::move(bytes));
    } else {
      bytes[static_cast<size_t>(r.below(static_cast<int64_t>(bytes.size())))] ^= static_cast<char>(1 << r.below(8));
    }
  }
  return bytes;
}

std::string sound_object(bool sysv) {
  SmallElf object;
  if (sysv) object.dynamic[SmallElf::kHash] = {DT_HASH, {offsetof(SmallElf, sysv_hash)}};
  return object.bytes();
}

TEST(MalformedElf, CutShortAtEveryByte) {
  const std::string bytes = sound_object(false);
  int mapped = 0;
  for (size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_EQ(judge(bytes.substr(0, size), mapped), "") << size;
    ASSERT_EQ(mapped, 0) << size;
  }
  EXPECT_EQ(judge(bytes, mapped), "");
  EXPECT_EQ(mapped, 1);
}

TEST(MalformedElf, EveryByteChanged) {
  const std::string bytes = sound_object(false);
  int mapped = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int flip = 1; flip < 256; flip <<= 1) {
      std::string changed = bytes;
      changed[at] ^= static_cast<char>(flip);
      ASSERT_EQ(judge(changed, mapped), "") << "byte " << at << ", by " << flip;
    }
  }
}

TEST(MalformedElf, IsRefusedOrLiesWithinItself) {
  const char* first = std::getenv("TW_SEED");
  const uint64_t seed = first ? std::strtoull(first, nullptr, 10) : 0;
  const std::string sound[] = {sound_object(false), sound_object(true)};
  int mapped = 0;
  for (uint64_t n = 0; n < kObjects; ++n) {
    Random r(seed + n);
    ASSERT_EQ(judge(mutated(r, sound[n % 2]), mapped), "") << "seed " << seed + n;
  }
  std::printf("%d objects, %d mapped all the same\n", kObjects, mapped);
  EXPECT_GT(mapped, kObjects / 10);
  EXPECT_LT(mapped, kObjects * 9 / 10);
}

}  // namespace
}  // namespace tw::faults
