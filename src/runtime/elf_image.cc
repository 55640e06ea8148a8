#include "src/runtime/elf_image.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "src/runtime/elf_object.h"

namespace tw::runtime {
namespace {

class ElfImage final : public Image {
 public:
  explicit ElfImage(const ElfObject& object)
      : symbols_(object.symbols),
        reserved_(object.size + object.alignment),
        reservation_(mmap(nullptr, reserved_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    const auto begin = reinterpret_cast<uintptr_t>(reservation_);
    base_ = static_cast<char*>(reservation_) + (object.alignment - begin % object.alignment) % object.alignment;
  }
  ~ElfImage() override {
    if (reserved()) munmap(reservation_, reserved_);
  }
  ElfImage(const ElfImage&) = delete;
  ElfImage& operator=(const ElfImage&) = delete;

  bool reserved() const { return reservation_ != MAP_FAILED; }
  bool fill(const ElfObject&, uint64_t page);  // false: errno says why
  void* symbol(const std::string& name) const override {
    const auto found = symbols_.find(name);
    return found != symbols_.end() ? base_ + found->second : nullptr;
  }

 private:
  bool protect(ElfObject::Pages, int protection);

  std::map<std::string, uint64_t> symbols_;
  size_t reserved_;
  void* reservation_;
  char* base_;
};

bool ElfImage::protect(ElfObject::Pages pages, int protection) {
  return mprotect(base_ + pages.begin, pages.end - pages.begin, protection) == 0;
}

bool ElfImage::fill(const ElfObject& object, uint64_t page) {
  const auto pages = [&](const ElfObject::Segment& s) { return ElfObject::Pages{s.begin / page * page, s.end}; };
  for (const ElfObject::Segment& s : object.segments) {
    if (!protect(pages(s), PROT_READ | PROT_WRITE)) return false;
    std::memcpy(base_ + s.begin, s.contents.data(), s.contents.size());
  }
  for (const ElfObject::Relocation& relocation : object.relocations) {
    const uint64_t word = reinterpret_cast<uintptr_t>(base_) + relocation.value;
    std::memcpy(base_ + relocation.address, &word, sizeof word);
  }
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
  auto image = std::make_unique<ElfImage>(object);
  if (!image->reserved() || !image->fill(object, page))
    return Diagnostic{
        ErrorKind::kBuild, std::string("no memory for the object's code: ") + std::strerror(errno), {}, {}};
  return std::unique_ptr<Image>(std::move(image));
}

}  // namespace tw::runtime
