#include "src/runtime/elf_image.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "src/runtime/elf_object.h"

namespace tw::runtime {
namespace {

class ElfImage final : public Image {
 public:
  explicit ElfImage(std::map<std::string, uint64_t> symbols) : symbols_(std::move(symbols)) {}
  ~ElfImage() override {
    if (reservation_ != MAP_FAILED) munmap(reservation_, reserved_);
  }
  ElfImage(const ElfImage&) = delete;
  ElfImage& operator=(const ElfImage&) = delete;

  bool map(const ElfObject&, uint64_t page);  // false: errno says why
  void* symbol(const std::string& name) const override {
    const auto found = symbols_.find(name);
    return found != symbols_.end() ? base_ + found->second : nullptr;
  }

 private:
  bool reserve(uint64_t bytes, uint64_t alignment);
  bool protect(ElfObject::Pages, int protection);
  void relocate(const ElfObject::Relocation&);

  std::map<std::string, uint64_t> symbols_;
  void* reservation_ = MAP_FAILED;
  size_t reserved_ = 0;
  char* base_ = nullptr;  // in it, as the object wants to be aligned
};

bool ElfImage::reserve(uint64_t bytes, uint64_t alignment) {
  reserved_ = bytes + alignment;
  reservation_ = mmap(nullptr, reserved_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reservation_ == MAP_FAILED) return false;
  const uint64_t past = reinterpret_cast<uintptr_t>(reservation_) % alignment;
  base_ = static_cast<char*>(reservation_) + (past == 0 ? 0 : alignment - past);
  return true;
}

bool ElfImage::protect(ElfObject::Pages pages, int protection) {
  return mprotect(base_ + pages.begin, pages.end - pages.begin, protection) == 0;
}

void ElfImage::relocate(const ElfObject::Relocation& relocation) {
  const uint64_t word = reinterpret_cast<uintptr_t>(base_) + relocation.value;
  std::memcpy(base_ + relocation.address, &word, sizeof word);
}

bool ElfImage::map(const ElfObject& object, uint64_t page) {
  const auto pages = [&](const ElfObject::Segment& s) { return ElfObject::Pages{s.begin / page * page, s.end}; };
  if (!reserve(object.size, object.alignment)) return false;
  for (const ElfObject::Segment& s : object.segments) {
    if (!protect(pages(s), PROT_READ | PROT_WRITE)) return false;
    std::memcpy(base_ + s.begin, s.contents.data(), s.contents.size());
  }
  for (const ElfObject::Relocation& relocation : object.relocations) relocate(relocation);
  for (const ElfObject::Segment& s : object.segments) {
    if (s.protection & PROT_EXEC) __builtin___clear_cache(base_ + s.begin, base_ + s.end);
    if (!protect(pages(s), s.protection)) return false;
  }
  for (const ElfObject::Pages& relro : object.relro)
    if (!protect(relro, PROT_READ)) return false;
  return true;
}

}  // namespace

Result<std::unique_ptr<Image>> map_elf(std::string_view bytes) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  TW_TRY(const ElfObject object, read_elf(bytes, page));
  auto image = std::make_unique<ElfImage>(object.symbols);
  if (image->map(object, page)) return std::unique_ptr<Image>(std::move(image));
  return Diagnostic{ErrorKind::kBuild, std::string("no memory for the object's code: ") + std::strerror(errno), {}, {}};
}

}  // namespace tw::runtime
